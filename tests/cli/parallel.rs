//! Tests of concurrent and killed hooks: no answered review is lost, nothing is recorded twice, and
//! the chain is valid.
//!
//! `PORTCULLIS_ROUNDS` (200) sets how often eight hooks start at once, `PORTCULLIS_KILLS` (100) how
//! many are killed.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod common;
mod kills;

use anyhow::{Context, Result, anyhow, ensure};
use common::reply::{self, Answer};
use common::site::{Site, name_of};
use common::{process, tell, trial};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Child, ExitCode, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// The number of hooks that start at once.
const AT_ONCE: usize = 8;
const SESSION: &str = "parallel";

fn main() -> ExitCode {
    common::run_in_turn(vec![
        trial("parallel: eight hooks of one session at once lose nothing", at_once),
        trial("parallel: a killed hook loses nothing that it answered", killed),
        trial(
            "parallel: five hundred kills in a busy session lose nothing and hide nothing",
            kills::busy,
        ),
        trial("parallel: eight first hooks make one home", first),
        trial("parallel: a first hook that is killed leaves a home that works", killed_first),
    ])
}

fn number(variable: &str, default: usize) -> Result<usize> {
    match std::env::var(variable) {
        Ok(text) => {
            text.parse().with_context(|| format!("{variable} is `{text}`, which is not a number"))
        }
        Err(_) => Ok(default),
    }
}

fn at_once() -> Result<()> {
    let site = Site::new("at-once")?;
    let rounds = number("PORTCULLIS_ROUNDS", 200)?;
    let begun = Instant::now();
    together(&site, rounds)?;
    tell(&format!(
        "{rounds} rounds of {AT_ONCE} hooks took {:.1} s",
        begun.elapsed().as_secs_f64()
    ));
    site.verify()?;
    let records = site.records()?;
    let mut sent = BTreeMap::new();
    for event in (0..rounds)
        .flat_map(|round| (0..AT_ONCE).map(move |worker| (round, worker)))
        .map(|at| event(&site, at))
    {
        *sent.entry(name_of(&event).to_owned()).or_insert(0) += 1;
    }
    ensure!(
        records.len() == rounds * AT_ONCE,
        "{} hooks answered, but the journal has {} records",
        rounds * AT_ONCE,
        records.len()
    );
    for (event, count) in sent {
        let found = records.iter().filter(|record| record["event"] == event.as_str()).count();
        ensure!(
            found == count,
            "{count} times {event} was answered, but {found} records tell of it"
        );
    }
    history(&records)?;
    totals(&site, &records)
}

/// Each worker is a client of its own that sends a call in one round and its result in the next.
fn together(site: &Site, rounds: usize) -> Result<()> {
    let barrier = Barrier::new(AT_ONCE);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|worker| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut wrong = Ok(());
                    for round in 0..rounds {
                        barrier.wait();
                        let outcome = quiet(site, &event(site, (round, worker)));
                        wrong = wrong
                            .and(outcome.with_context(|| format!("round {round}, hook {worker}")));
                    }
                    wrong
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
    })
}

/// Returns the event before or after a call, in turns; half of the workers are a round later, and
/// theirs begin with a prompt.
fn event(site: &Site, (round, worker): (usize, usize)) -> Value {
    let calls = site.calls(SESSION);
    let late = worker % 2;
    if round < late {
        return calls.prompt(&format!("read the notes of worker {worker}"));
    }
    let turn = round - late;
    let (id, command) =
        (format!("w{worker}-{}", turn / 2), format!("cat notes-{worker}-{}.txt", turn / 2));
    if turn.is_multiple_of(2) {
        calls.bash(&id, &command)
    } else {
        calls.bash_done(&id, &command, &format!("the notes of {id}"))
    }
}

fn quiet(site: &Site, event: &Value) -> Result<()> {
    let reply = site.hook(event)?;
    ensure!(reply.answer == Answer::Quiet, "{reply:?}");
    Ok(())
}

/// Checks that there is one record per call and result, linked to each other, in steps without
/// gaps.
fn history(records: &[Value]) -> Result<()> {
    let ids: BTreeSet<&str> = records.iter().filter_map(|record| record["id"].as_str()).collect();
    ensure!(ids.len() == records.len(), "{} records share {} ids", records.len(), ids.len());
    let by_call = |kind: &str| -> Result<BTreeMap<String, &Value>> {
        let mut found = BTreeMap::new();
        for record in records.iter().filter(|record| record["kind"] == kind) {
            let call = record["call"]
                .as_str()
                .ok_or_else(|| anyhow!("a record without its call: {record}"))?;
            ensure!(
                found.insert(call.to_owned(), record).is_none(),
                "call `{call}` has two records of kind {kind}"
            );
        }
        Ok(found)
    };
    let (reviews, outcomes) = (by_call("review")?, by_call("outcome")?);
    ensure!(
        reviews.len() + outcomes.len() + named(records, "session") == records.len(),
        "there are records of other kinds: {:?}",
        kinds(records)
    );
    let steps: BTreeSet<u64> =
        reviews.values().filter_map(|record| record["step"].as_u64()).collect();
    ensure!(steps.len() == reviews.len(), "{} calls share {} steps", reviews.len(), steps.len());
    ensure!(steps.iter().copied().eq(0..steps.len() as u64), "the steps have gaps");
    for (call, outcome) in &outcomes {
        let review =
            reviews.get(call).ok_or_else(|| anyhow!("call `{call}` ended without a review"))?;
        ensure!(
            outcome["details"]["review"] == review["id"],
            "the result of `{call}` names another review"
        );
        ensure!(outcome["step"] == review["step"], "the result of `{call}` is of another step");
        ensure!(
            review["sequence"].as_u64() < outcome["sequence"].as_u64(),
            "`{call}` ended before it began"
        );
    }
    Ok(())
}

/// Checks that the session's own totals agree with its records.
fn totals(site: &Site, records: &[Value]) -> Result<()> {
    quiet(site, &site.calls(SESSION).event("SessionEnd", json!({ "reason": "other" })))?;
    let ended = site.records()?;
    let totals = &ended.last().ok_or_else(|| anyhow!("no record of the end"))?["details"]["totals"];
    let (steps, prompts) = (named(records, "review"), named(records, "session"));
    ensure!(
        totals["steps"] == steps && totals["prompts"] == prompts,
        "{steps} calls, {prompts} prompts, but the session counted {totals}"
    );
    Ok(())
}

fn named(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["kind"] == kind).count()
}

fn kinds(records: &[Value]) -> BTreeSet<&str> {
    records.iter().filter_map(|record| record["kind"].as_str()).collect()
}

/// Runs two hooks at a time, one of which is killed at some point, until enough were.
fn killed() -> Result<()> {
    let site = Site::new("killed")?;
    let kills = number("PORTCULLIS_KILLS", 100)?;
    let usual = usual(&site)?;
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut answered, mut caught, mut rounds) = (BTreeSet::new(), 0, 0);
    while caught < kills {
        ensure!(rounds < kills * 20, "{rounds} hooks were shot at and {caught} hit");
        let (victim, other) = (format!("victim-{rounds}"), format!("other-{rounds}"));
        rounds += 1;
        let calls = site.calls("killed");
        let beside = start(&site, &calls.bash(&other, "ls"))?;
        let hit =
            shoot(start(&site, &calls.bash(&victim, "ls"))?, usual.mul_f64(chance.below(1.0)))?;
        caught += usize::from(hit.code.is_none());
        if whole(&hit.stdout) {
            answered.insert(victim);
        }
        let reply =
            reply::read("PreToolUse", &ended(beside)?).context("the hook beside the killed one")?;
        ensure!(reply.answer == Answer::Quiet, "the hook beside the killed one: {reply:?}");
        answered.insert(other);
    }
    tell(&format!(
        "{caught} of {rounds} hooks were killed on their way, within {:.1} ms",
        usual.as_secs_f64() * 1000.0
    ));
    site.verify()?;
    let records = site.records()?;
    let mut recorded = BTreeSet::new();
    for record in records.iter().filter(|record| record["session"] == "killed") {
        let call = record["call"].as_str().unwrap_or_default().to_owned();
        ensure!(recorded.insert(call), "a call has two records: {record}");
    }
    let lost: Vec<_> = answered.difference(&recorded).collect();
    ensure!(lost.is_empty(), "these were answered and have no record: {lost:?}");
    site.ordinary("after")?;
    site.verify()
}

/// Kills the first hooks while they create the journal, or also key and compiled code.
fn killed_first() -> Result<()> {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for (name, rounds, cold) in [("killed-first", 40, false), ("killed-cold", 4, true)] {
        let time =
            usual(&Site::new(&format!("{name}-usual"))?)?.mul_f64(if cold { 40.0 } else { 1.0 });
        for round in 0..rounds {
            let site = Site::new(&format!("{name}-{round}"))?;
            if cold {
                std::fs::remove_dir_all(site.state())?;
            }
            let hit = shoot(
                start(&site, &site.calls("killed").bash("first", "ls"))?,
                time.mul_f64(chance.below(1.0)),
            )?;
            site.ordinary("after").with_context(|| format!("after a kill in round {round}"))?;
            site.verify()?;
            let found =
                site.records()?.iter().filter(|record| record["session"] == "killed").count();
            ensure!(
                found <= 1 && (found == 1 || !whole(&hit.stdout)),
                "an answer without a record"
            );
        }
    }
    Ok(())
}

/// Kills a hook after that time.
fn shoot(mut hook: Child, after: Duration) -> Result<process::Ended> {
    thread::sleep(after);
    hook.kill()?;
    ended(hook)
}

/// Returns true if the answer was written, even if its hook was killed.
fn whole(stdout: &[u8]) -> bool {
    stdout.last() == Some(&b'\n') && serde_json::from_slice::<Value>(stdout).is_ok()
}

/// Measures the median time of two hooks at once.
fn usual(site: &Site) -> Result<Duration> {
    let mut times = Vec::new();
    for turn in 0..11 {
        let calls = site.calls("usual");
        let begun = Instant::now();
        let hooks = [0, 1].map(|hook| start(site, &calls.bash(&format!("{turn}-{hook}"), "ls")));
        for hook in hooks {
            ensure!(ended(hook?)?.code == Some(0), "a hook failed");
        }
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

fn start(site: &Site, event: &Value) -> Result<Child> {
    let mut hook = site.command(&["hook", "claude"]);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hook.spawn().context("cannot start the hook")?;
    let mut stdin = child.stdin.take().ok_or_else(|| anyhow!("the hook has no input"))?;
    // A small input fits into the pipe, so this never blocks.
    stdin.write_all(event.to_string().as_bytes())?;
    Ok(child)
}

fn ended(child: Child) -> Result<process::Ended> {
    let output = child.wait_with_output()?;
    Ok(process::Ended {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Lets hooks race to create the journal; the last time also key and compiled code.
fn first() -> Result<()> {
    for round in 0..8 {
        let site = Site::new(&format!("first-{round}"))?;
        if round == 7 {
            std::fs::remove_dir_all(site.state())?;
        }
        let barrier = Barrier::new(AT_ONCE);
        let hook = |number: usize| {
            barrier.wait();
            quiet(&site, &site.calls(&format!("session-{number}")).bash("first", "ls"))
        };
        thread::scope(|scope| {
            let hook = &hook;
            let hooks: Vec<_> =
                (0..AT_ONCE).map(|number| scope.spawn(move || hook(number))).collect();
            hooks
                .into_iter()
                .try_for_each(|hook| hook.join().map_err(|_| anyhow!("a worker panicked"))?)
        })
        .with_context(|| format!("round {round}"))?;
        site.verify()?;
        let records = site.records()?;
        ensure!(
            records.len() == AT_ONCE,
            "{} of {AT_ONCE} first calls have a record",
            records.len()
        );
    }
    Ok(())
}

/// A pseudo-random generator with the same numbers in each run.
struct Chance(u64);

impl Chance {
    /// Returns a number of at least 0 and below `limit`.
    fn below(&mut self, limit: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * limit
    }
}

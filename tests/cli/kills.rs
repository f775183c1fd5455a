//! A busy session in which hooks are killed: no answered review is lost, and every call has a
//! record that says whether it was reviewed.
//!
//! `PORTCULLIS_BUSY_KILLS` (500) sets the number of killed hooks.

use super::{AT_ONCE, Chance, ended, number, start, usual, whole};
use crate::common::site::Site;
use crate::common::{reply, tell};
use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SESSION: &str = "busy";

/// The fate of one call.
struct Call {
    id: String,
    /// Its review was answered.
    answered: bool,
    /// Its result was reported to us.
    reported: bool,
}

/// Runs eight clients of one session, most of whose hooks are killed at some point.
pub fn busy() -> Result<()> {
    let site = Site::new("busy")?;
    let kills = number("PORTCULLIS_BUSY_KILLS", 500)?;
    let (hits, usual, begun) = (AtomicUsize::new(0), usual(&site)?, Instant::now());
    let calls = thread::scope(|scope| {
        let work = |worker: usize| work(&site, worker, usual, &hits, kills);
        let workers: Vec<_> =
            (0..AT_ONCE).map(|worker| scope.spawn(move || work(worker))).collect();
        let calls: Result<Vec<Vec<Call>>> = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
            .collect();
        calls
    })?;
    let calls: Vec<Call> = calls.into_iter().flatten().collect();
    let unanswered = calls.iter().filter(|call| !call.answered).count();
    tell(&format!(
        "{} of {} hooks were killed, {unanswered} without an answer, in {:.1} s",
        hits.into_inner(),
        calls.len(),
        begun.elapsed().as_secs_f64()
    ));
    site.verify()?;
    judge(&calls, &site.records()?)?;
    site.ordinary("after")?;
    site.verify()
}

/// Sends calls until enough hooks were killed. The result of a call without an answer is reported,
/// as if the client had gone on; of the others, that of some.
fn work(
    site: &Site,
    worker: usize,
    usual: Duration,
    hits: &AtomicUsize,
    kills: usize,
) -> Result<Vec<Call>> {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (worker as u64 + 1));
    let (events, mut calls, mut within) = (site.calls(SESSION), Vec::new(), usual);
    while hits.load(Ordering::Relaxed) < kills {
        ensure!(calls.len() < kills * 20, "{} hooks were shot at, and too few hit", calls.len());
        let (id, command) = (
            format!("w{worker}-{}", calls.len()),
            format!("cat notes-{worker}-{}.txt", calls.len()),
        );
        let mut hook = start(site, &events.bash(&id, &command))?;
        let shot = chance.below(1.0) < 0.8;
        if shot {
            thread::sleep(within.mul_f64(chance.below(1.0)));
            shoot(&mut hook, chance.below(1.0) < 0.5);
        }
        let end = ended(hook)?;
        let answered = whole(&end.stdout);
        let hit = shot && end.code.is_none();
        if shot {
            // The delay adapts to the duration of a hook: about half of the kills hit, at any
            // point.
            within = within.mul_f64(if hit { 1.25 } else { 0.8 }).min(usual * 20);
        }
        if hit {
            hits.fetch_add(1, Ordering::Relaxed);
        } else {
            reply::read("PreToolUse", &end).with_context(|| format!("call `{id}`"))?;
        }
        let reported = !answered || chance.below(1.0) < 0.3;
        if reported {
            site.hook(&events.bash_done(&id, &command, "the notes"))
                .with_context(|| format!("the result of `{id}`"))?;
        }
        calls.push(Call { id, answered, reported });
    }
    Ok(calls)
}

/// Kills a hook at once, or asks it to end. One that has ended by itself does not matter.
fn shoot(hook: &mut Child, asked: bool) {
    let _ = kill_process(Pid::from_child(hook), if asked { Signal::TERM } else { Signal::KILL });
}

fn judge(calls: &[Call], records: &[Value]) -> Result<()> {
    let reviews = by_call(records, &["review"])?;
    let results = by_call(records, &["outcome", "unreviewed"])?;
    for Call { id, answered, reported } in calls {
        let (review, result) = (reviews.get(id.as_str()), results.get(id.as_str()));
        ensure!(review.is_some() || !answered, "`{id}` was answered and has no record");
        ensure!(
            result.is_some() == *reported,
            "of the result of `{id}` (reported: {reported}) the record is {result:?}"
        );
        match (review, result) {
            (Some(review), Some(result)) => {
                ensure!(
                    result["kind"] == "outcome" && result["details"]["review"] == review["id"],
                    "`{id}` was reviewed, but {result}"
                );
            }
            (None, Some(result)) => {
                ensure!(result["kind"] == "unreviewed", "`{id}` was not reviewed, but {result}")
            }
            _ => {}
        }
    }
    ensure!(
        reviews.keys().all(|id| calls.iter().any(|call| call.id == *id)),
        "there are records of calls that were never made"
    );
    Ok(())
}

/// Returns the records of these kinds by their calls, at most one each.
fn by_call<'a>(records: &'a [Value], kinds: &[&str]) -> Result<BTreeMap<&'a str, &'a Value>> {
    let mut found = BTreeMap::new();
    for record in records.iter().filter(|record| {
        record["session"] == SESSION && kinds.iter().any(|kind| record["kind"] == *kind)
    }) {
        let call = record["call"]
            .as_str()
            .ok_or_else(|| anyhow!("a record without its call: {record}"))?;
        ensure!(
            found.insert(call, record).is_none(),
            "call `{call}` has two records of the kinds {kinds:?}"
        );
    }
    Ok(found)
}

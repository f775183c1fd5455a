//! Runs one attack through the built binary.

use crate::attacks::{Attack, Bytes};
use crate::common::reply::{self, Answer, Reply};
use crate::common::site::{Site, name_of};
use crate::guest;
use crate::meter::{self, Used};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// The guest whose hook is the baseline.
pub const BENIGN: &str = "benign";
/// The attacking plugin's name.
pub const NAME: &str = "attack";

/// The cost of each attack beyond the benign guest.
pub static MEASURED: Mutex<BTreeMap<&str, Used>> = Mutex::new(BTreeMap::new());

/// The number of attempts for an attack that exceeds its bound. Other load on the machine only
/// increases processor time, so the minimum is closest to the guest's cost.
const TRIES: usize = 3;

/// Plays the attack, and again in another site while it exceeds its bound.
pub fn run(attack: &'static Attack) -> Result<()> {
    let mut cost = played(attack, 1)?;
    for round in 2..=TRIES {
        if within(attack, cost).is_err() {
            cost = cost.better(played(attack, round)?);
        }
    }
    MEASURED.lock().unwrap_or_else(PoisonError::into_inner).insert(attack.name, cost);
    within(attack, cost)
}

fn within(attack: &Attack, cost: Used) -> Result<()> {
    let (ms, mib) = (cost.processor / 1_000, cost.memory >> 20);
    ensure!(
        ms <= attack.most_ms,
        "it took {ms} ms of processor time more than a benign guest; at most {} are its bound",
        attack.most_ms
    );
    ensure!(
        mib <= attack.most_mib,
        "it took {mib} MiB more than a benign guest; at most {} are its bound",
        attack.most_mib
    );
    Ok(())
}

/// Plays the guest in a site of its own; returns its cost beyond the benign guest.
fn played(attack: &'static Attack, round: usize) -> Result<Used> {
    let site = Site::new(&format!("{}-{round}", attack.name))?;
    let cost = match attack.bytes {
        Bytes::Text => one(&site, attack, &guest::from_text(attack.name)?)?,
        Bytes::Made(make) => one(&site, attack, &make()?)?,
        Bytes::Many(make) => many(&site, attack, &make()?)?,
        Bytes::Played(_, play) => play(&site, attack)?,
    };
    fs::remove_dir_all(site.state().join("plugins"))?;
    if matches!(attack.bytes, Bytes::Played(..)) {
        site.write("config.toml", "")?;
    }
    site.ordinary("after")?;
    site.verify()?;
    Ok(beyond(cost, benign()?))
}

/// Runs it twice: a guest that runs out of fuel does so at the same point, compiled again or not,
/// and a failed compilation is not repeated.
fn one(site: &Site, attack: &Attack, bytes: &[u8]) -> Result<Used> {
    site.write(&format!("plugins/{NAME}.wasm"), bytes)?;
    let (mut cost, mut spent, mut failures) = (Used::default(), Vec::new(), Vec::new());
    for round in ["first", "second"] {
        let (reply, used) = asked(site, round)?;
        let record = newest(site)?;
        judged(attack, &reply, &record).with_context(|| format!("the {round} time: {reply:?}"))?;
        others_answered(&record)?;
        cost = cost.worse(used);
        spent.push(fuel(&record));
        failures.push(failures_kept(site)?);
        let limited = faults(&record)?.iter().any(|fault| fault == "compile-limit");
        ensure!(!limited || failures[0].len() == 1, "that it could not be compiled was not kept");
    }
    ensure!(failures[0] == failures[1], "it was compiled again");
    ensure!(spent[0] == spent[1], "it ended at another point the second time: {spent:?}");
    Ok(cost)
}

/// Each file gets an answer, and those that cannot be loaded a fault.
fn many(site: &Site, attack: &Attack, files: &[Vec<u8>]) -> Result<Used> {
    let (mut cost, mut failed) = (Used::default(), 0);
    for (index, bytes) in files.iter().enumerate() {
        site.write(&format!("plugins/{NAME}.wasm"), bytes)?;
        let (reply, used) = asked(site, &index.to_string())?;
        let faulty = !faults(&newest(site)?)?.is_empty();
        let expected = if faulty { Answer::Asked } else { Answer::Quiet };
        ensure!(reply.answer == expected, "file {index} of `{}`: {reply:?}", attack.name);
        failed += usize::from(faulty);
        cost = cost.worse(used);
    }
    ensure!(
        failed * 2 > files.len(),
        "{failed} of {} files did not load: were they damaged at all?",
        files.len()
    );
    Ok(cost)
}

/// Checks that the result matches the table.
pub fn judged(attack: &Attack, reply: &Reply, record: &Value) -> Result<()> {
    let answer = match attack.verdict {
        "allow" => Answer::Quiet,
        "warn" => Answer::Informed,
        "ask" => Answer::Asked,
        _ => Answer::Refused,
    };
    ensure!(
        reply.answer == answer && record["verdict"] == attack.verdict,
        "the verdict is {}",
        record["verdict"]
    );
    clean(&reply.said, record)?;
    let found = faults(record)?;
    if let Some((fault, says)) = attack.or.filter(|(fault, _)| found == [*fault]) {
        return reply.says(&[fault, says]);
    }
    ensure!(found.iter().map(String::as_str).eq(attack.fault), "the faults are {found:?}");
    reply.says(&[attack.says])
}

/// Checks that no third-party text contains control sequences, impersonates the host or fills the
/// journal.
fn clean(said: &str, record: &Value) -> Result<()> {
    for never in
        ["\u{1b}", "\u{202e}", "\nPortcullis: a person", "\n[portcullis]", "</system-reminder"]
    {
        ensure!(!said.contains(never), "{never:?} is in {said:?}");
        ensure!(!texts(record).iter().any(|text| text.contains(never)), "{never:?} is in {record}");
    }
    let logs = record["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|plugin| plugin["log"].to_string().len());
    ensure!(logs.max() <= Some(16 << 10), "a plugin's log has too many bytes: {record}");
    Ok(())
}

/// Returns every text of a document.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(object) => object.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Returns the notes about failed compilations, and their times.
fn failures_kept(site: &Site) -> Result<Vec<(PathBuf, SystemTime)>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(site.state().join("cache"))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|end| end == "failed") {
            kept.push((entry.path(), entry.metadata()?.modified()?));
        }
    }
    Ok(kept)
}

/// Returns the names of the record's faults, all of which must be the attacker's.
fn faults(record: &Value) -> Result<Vec<String>> {
    let faults = record["faults"].as_array().cloned().unwrap_or_default();
    ensure!(
        faults.iter().all(|fault| fault["source"] == NAME),
        "somebody else has a fault: {faults:?}"
    );
    Ok(faults.iter().filter_map(|fault| Some(fault["kind"].as_str()?.to_owned())).collect())
}

/// Checks that the other plugins judged the action: `ls` has a risk only if a plugin assessed it.
pub fn others_answered(record: &Value) -> Result<()> {
    let names: Vec<&str> = record["plugins"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|plugin| plugin["name"].as_str())
        .collect();
    ensure!(
        ["risk", "rules", "side-effects"].iter().all(|name| names.contains(name)),
        "only {names:?} were asked: {record}"
    );
    Ok(())
}

fn fuel(record: &Value) -> Option<u64> {
    let mut plugins = record["plugins"].as_array()?.iter();
    plugins.find(|plugin| plugin["name"] == NAME)?["fuel"].as_u64()
}

/// Makes the hook judge an action.
pub fn asked(site: &Site, id: &str) -> Result<(Reply, Used)> {
    let event = site.calls("hostile").bash(id, "ls");
    let (ended, used) =
        meter::run(&site.command(&["hook", "claude"]), event.to_string().as_bytes(), site.root())?;
    Ok((reply::read(name_of(&event), &ended)?, used))
}

/// Returns the record of the newest review.
pub fn newest(site: &Site) -> Result<Value> {
    let mut reviews = site.records()?.into_iter().filter(|record| record["kind"] == "review");
    reviews.next_back().ok_or_else(|| anyhow!("there is no record of a review"))
}

/// Returns the cost of a benign guest's hook when its plugin is new: the maximum of a few.
pub fn benign() -> Result<Used> {
    static COST: OnceLock<std::result::Result<Used, String>> = OnceLock::new();
    let cost = COST.get_or_init(|| benign_measured().map_err(|error| format!("{error:#}")));
    cost.clone().map_err(|error| anyhow!("the benign guest: {error}"))
}

fn benign_measured() -> Result<Used> {
    let mut most = Used::default();
    for round in 0..5 {
        let site = Site::new(&format!("{BENIGN}-{round}"))?;
        site.write(&format!("plugins/{NAME}.wasm"), guest::from_text(BENIGN)?)?;
        let (reply, used) = asked(&site, BENIGN)?;
        ensure!(reply.answer == Answer::Quiet, "{reply:?}");
        most = most.worse(used);
    }
    Ok(most)
}

fn beyond(used: Used, benign: Used) -> Used {
    Used {
        processor: used.processor.saturating_sub(benign.processor),
        memory: used.memory.saturating_sub(benign.memory),
    }
}

//! Tests of maintenance: retention, kept heads, the cache. Everything that it removes remains
//! accounted for.

use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_store::{Durability, Home, NewRecord, Store};
use serde_json::Value;
use std::fs;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("maintain: old records go, the chain and its kept heads hold", retention),
        trial("maintain: a journal that was rolled back contradicts its kept heads", rolled_back),
        trial("maintain: work that fails is named, waits and is done later", failing),
        trial("maintain: one instance at a time", single),
    ]
}

const DAY: u64 = 86_400_000;

fn now() -> u64 {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Creates records `agedDAYS` of these ages in days, in a journal without newer ones.
pub fn age(site: &Site, days: &[u64], summary: &str) -> Result<()> {
    let mut store = Store::open_database(&Home::open_root(site.state())?, Durability::Process)?;
    for day in days {
        let at = now() - day * DAY;
        let id = format!("aged{day}");
        let document = serde_json::json!({
            "version": 1, "id": id, "at": at, "kind": "fault", "client": "claude", "session": "old", "event": "PreToolUse",
            "subject": "Bash", "summary": summary, "mode": "blocking",
        });
        store.append_records(vec![NewRecord {
            id,
            at,
            kind: "fault".into(),
            document: document.to_string(),
            ..NewRecord::default()
        }])?;
    }
    Ok(())
}

fn configure(site: &Site, text: &str) -> Result<()> {
    site.write("config.toml", text)
}

fn retention() -> Result<()> {
    let site = Site::new("retention")?;
    let heads = site.person().join("heads");
    configure(
        &site,
        &format!("[audit]\nretention_days = 30\nanchors = [{:?}]\n", heads.display().to_string()),
    )?;
    age(&site, &[90, 60, 31, 29, 1], "from long ago")?;
    site.ordinary("s")?;
    site.snapshot("upkeep", "old records are removed", &["maintain", "--all"])?;
    ensure!(site.records()?.len() == 4, "{:?}", site.records()?);
    ensure!(fs::read_to_string(&heads)?.lines().count() == 1);
    site.ordinary("s")?;
    site.snapshot("upkeep", "the chain after it", &["audit", "verify"])?;
    let json: Value = serde_json::from_str(&site.output(&["audit", "verify", "--json"])?)?;
    ensure!(json["kept_heads"]["compared"] == 1 && json["pruned"]["sequence"] == 3, "{json}");
    ensure!(json["kept_heads"]["missing"] == serde_json::json!([]), "{json}");
    let again = site.output(&["maintain"])?;
    ensure!(!again.contains("removed"), "nothing was due: {again}");
    missing_heads(&site, &heads)?;
    configure(&site, "[audit]\nretention_days = 0\n")?;
    let said = site.output(&["maintain", "--all", "--json"])?;
    ensure!(said.contains("kept forever") && site.records()?.len() == 5, "{said}");
    site.verify()
}

/// Whoever replaces a journal removes what it could be compared with, too.
fn missing_heads(site: &Site, heads: &Path) -> Result<()> {
    let hidden = heads.with_extension("hidden");
    fs::rename(heads, &hidden)?;
    let ended = site.run(&["audit", "verify", "--json"])?;
    let json: Value = serde_json::from_str(&ended.text())?;
    ensure!(json["kept_heads"]["missing"] == serde_json::json!([heads]), "{json}");
    ensure!(ended.stderr.contains("is missing, so nothing is compared"), "{}", ended.all());
    let report = site.run(&["doctor", "--json"])?.text();
    ensure!(report.contains("are missing: nothing is compared with them"), "{report}");
    Ok(fs::rename(&hidden, heads)?)
}

fn rolled_back() -> Result<()> {
    let site = Site::new("rolled-back")?;
    let heads = site.person().join("heads");
    configure(&site, &format!("[audit]\nanchors = [{:?}]\n", heads.display().to_string()))?;
    site.ordinary("s")?;
    site.output(&["maintain", "--all"])?;
    let old = fs::read(site.state().join("journal.db"))?;
    site.ordinary("s")?;
    site.output(&["maintain", "--all"])?;
    site.verify()?;
    site.forget_journal()?;
    site.write("journal.db", old)?;
    site.snapshot("upkeep", "a journal that was rolled back", &["audit", "verify"])?;
    configure(&site, "")?;
    site.snapshot("upkeep", "a journal without its mark", &["audit", "verify"])?;
    let file = heads.display().to_string();
    ensure!(site.run(&["audit", "verify", "--heads", &file])?.code == Some(3));
    fs::write(&heads, "no head\n")?;
    site.snapshot("upkeep", "heads that are none", &["audit", "verify", "--heads", &file])?;
    Ok(())
}

fn failing() -> Result<()> {
    let site = Site::new("failing-work")?;
    let folder = site.person().join("not-there");
    let file = folder.join("heads").display().to_string();
    configure(&site, &format!("[audit]\nanchors = [{file:?}]\n"))?;
    site.ordinary("s")?;
    site.snapshot("upkeep", "work that fails", &["maintain"])?;
    fs::create_dir(&folder)?;
    site.snapshot("upkeep", "work that waits to be tried again", &["maintain"])?;
    site.snapshot("upkeep", "work that is done later", &["maintain", "--all"])?;
    site.verify()
}

fn single() -> Result<()> {
    let site = Site::new("single")?;
    site.ordinary("s")?;
    let lock = fs::File::create(site.state().join("maintain.lock"))?;
    lock.lock().context("cannot lock")?;
    site.snapshot("upkeep", "another instance", &["maintain", "--all"])?;
    drop(lock);
    site.snapshot("upkeep", "no other instance", &["maintain", "--all"])?;
    Ok(())
}

//! What no honest journal does, done to homes by somebody who has their key, and to batches by
//! somebody who has a machine's certificate.

use super::fleets::{Fleet, act, machine_of, send, send_all};
use super::wire::{batch, certificate_of, post, records};
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_store::{Durability, Home, Store};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
const FAR: u64 = 1 << 52;

/// Copies a home, or puts a copy back.
fn copy_home(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(copied.success(), "cannot copy `{}`", from.display());
    Ok(())
}

/// A home of which an older copy exists: the copy has 2 actions, the home and the hub 4.
fn with_older_copy(fleet: &Fleet, name: &str) -> Result<Site> {
    let site = fleet.machine(name)?;
    act(&site, 2)?;
    send_all(&site, LIMIT)?;
    copy_home(&site.state(), &site.root().join("older"))?;
    act(&site, 2)?;
    send_all(&site, LIMIT)?;
    Ok(site)
}

fn older(site: &Site) -> Result<()> {
    copy_home(&site.root().join("older"), &site.state())
}

fn older_with_new_cursor(site: &Site) -> Result<()> {
    let cursor = fs::read(site.state().join("fleet/progress"))?;
    older(site)?;
    Ok(fs::write(site.state().join("fleet/progress"), cursor)?)
}

/// Rows: what somebody with the home's key does, and the kind of the incident.
pub fn of_homes() -> Result<()> {
    type Deed = fn(&Site) -> Result<()>;
    let rows: &[(&str, Deed, &str)] = &[
        ("an older copy is put back", older, "older-copy"),
        (
            "an older copy is put back and goes on",
            |site| {
                older(site)?;
                act(site, 1)
            },
            "older-copy",
        ),
        (
            "an older copy goes on for longer",
            |site| {
                older(site)?;
                act(site, 8)
            },
            "fork",
        ),
        (
            "the past is rewritten under the cursor",
            |site| {
                older_with_new_cursor(site)?;
                act(site, 8)
            },
            "rewritten-past",
        ),
        (
            "an older copy loses its cursor",
            |site| {
                older(site)?;
                Ok(fs::remove_file(site.state().join("fleet/progress"))?)
            },
            "older-copy",
        ),
        (
            "records are removed before they are sent",
            |site| {
                act(site, 3)?;
                let mut store =
                    Store::open_existing(&Home::open_root(site.state())?, Durability::Process)?;
                store.prune_before(FAR, FAR)?;
                Ok(())
            },
            "gap",
        ),
        (
            "the journal is thrown away",
            |site| {
                site.forget_journal()?;
                act(site, 1)
            },
            "older-copy",
        ),
        (
            "journal and cursor are thrown away",
            |site| {
                site.forget_journal()?;
                fs::remove_file(site.state().join("fleet/progress"))?;
                act(site, 9)
            },
            "new-journal",
        ),
    ];
    let fleet = Fleet::start("incidents")?;
    for (name, deed, kind) in rows {
        let site = with_older_copy(&fleet, name)?;
        let machine = machine_of(&site)?;
        let before = fleet.hashes(&site)?;
        deed(&site).with_context(|| (*name).to_owned())?;
        let status = send(&site)?;
        let kinds =
            format!("SELECT string_agg(kind, ' ') FROM incidents WHERE machine = '{machine}'");
        let found = fleet.query(&kinds)?;
        ensure!(found == *kind, "{name}: {found}, {status}");
        let is_refused = *kind != "new-journal";
        ensure!((status["in_order"] == false) == is_refused, "{name}: {status}");
        ensure!((status["disputed"] == true) == is_refused, "{name}: {status}");
        let after = fleet.hashes(&site)?;
        ensure!(!is_refused || before == after, "{name}: the hub took records");
        ensure!(before.iter().all(|hash| after.contains(hash)), "{name}: the hub lost records");
        // Again: counted, not repeated.
        send(&site)?;
        ensure!(fleet.query(&kinds)? == *kind, "{name}: {}", fleet.query(&kinds)?);
    }
    Ok(())
}

/// Rows: a change of an honest batch of records 6 to 9, after records 1 to 5, and the kind of the
/// incident.
pub fn of_batches() -> Result<()> {
    type Change = fn(&mut Value);
    let rows: &[(&str, Change, &str)] = &[
        ("a document", |batch| batch["records"][1]["document"] = json!("{}"), "forged-hash"),
        (
            "the last hash",
            |batch| batch["records"][3]["hash"] = json!("00".repeat(32)),
            "forged-hash",
        ),
        ("a link", |batch| batch["records"][2]["previous"] = json!("00".repeat(32)), "broken-link"),
        (
            "a record is left out",
            |batch| drop(batch["records"].as_array_mut().unwrap().remove(1)),
            "gap",
        ),
        (
            "the first is left out",
            |batch| drop(batch["records"].as_array_mut().unwrap().remove(0)),
            "gap",
        ),
        ("two are swapped", |batch| batch["records"].as_array_mut().unwrap().swap(1, 2), "gap"),
        (
            "another past",
            |batch| batch["records"] = json!(records(6, 9, "other")),
            "rewritten-past",
        ),
        ("another record", |batch| batch["records"] = json!(records(1, 9, "other")), "fork"),
        ("a time", |batch| batch["records"][1]["at"] = json!(1), "forged-columns"),
        ("a verdict", |batch| batch["records"][1]["verdict"] = json!("allow"), "forged-columns"),
        ("an older head", |batch| batch["head"]["sequence"] = json!(4), "older-copy"),
    ];
    let fleet = Fleet::start("forged")?;
    for (name, change, kind) in rows {
        let site = fleet.machine(&format!("forged {name}"))?;
        let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
        ensure!(post(&fleet, &own, &batch(&machine, records(1, 5, "own")))?.status == 200);
        let mut changed = batch(&machine, records(6, 9, "own"));
        change(&mut changed);
        let answer = post(&fleet, &own, &changed)?;
        ensure!(answer.refused() == (409, "incident"), "{name}: {answer:?}");
        ensure!(answer.body["head"]["sequence"] == 5, "{name}: {answer:?}");
        let kinds =
            format!("SELECT string_agg(kind, ' ') FROM incidents WHERE machine = '{machine}'");
        ensure!(fleet.query(&kinds)? == *kind, "{name}: {}", fleet.query(&kinds)?);
        let count = format!("SELECT count(*) FROM records WHERE machine = '{machine}'");
        ensure!(fleet.query(&count)? == "5", "{name}");
        // The honest one still counts.
        ensure!(
            post(&fleet, &own, &batch(&machine, records(6, 9, "own")))?.status == 200,
            "{name}"
        );
    }
    Ok(())
}

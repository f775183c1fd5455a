//! Journals with many records, which no hook had to write.

use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Durability, Home, NewRecord, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The records of a long journal.
pub const MANY: u64 = 10_000;

/// A text that every format has to escape somewhere.
const HOSTILE: &str = "=cmd|' /C calc'!A0 \"quoted\" a=b|c\\d \u{1b}[2J \u{202e}ünder";

/// Returns a record at a position, as an exporter can read it.
pub fn record(sequence: u64) -> NewRecord {
    let at = 1_760_000_000_000 + sequence * 1000;
    let mut record = Record::outside_session(
        RecordKind::Configuration,
        "trial",
        &format!("record {sequence}: {HOSTILE}"),
        at,
        &sequence.to_string(),
    );
    record.details.insert("padding".into(), "x".repeat(200).into());
    NewRecord {
        id: record.id.clone(),
        at,
        kind: record.kind.as_str().into(),
        subject: record.subject.clone(),
        document: record.document(),
        ..NewRecord::default()
    }
}

pub fn open(site: &Site) -> Result<Store> {
    Ok(Store::open_database(&Home::open_root(site.state())?, Durability::Process)?)
}

/// Appends records to a site's journal.
pub fn append(site: &Site, sequences: impl Iterator<Item = u64>) -> Result<()> {
    let mut store = open(site)?;
    let all: Vec<NewRecord> = sequences.map(record).collect();
    for part in all.chunks(1000) {
        store.append_records(part.to_vec())?;
    }
    site.give_back()
}

static LONG: OnceLock<std::result::Result<Site, String>> = OnceLock::new();

/// Returns a site with `MANY` records, a copy of one that is written once.
pub fn long_site(name: &str, configuration: &str) -> Result<Site> {
    let long = LONG.get_or_init(|| fill().map_err(|error| format!("{error:#}")));
    let long = long.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?;
    let site = Site::new(name)?;
    for file in ["key", "journal.db", "journal.mark"] {
        let copied = fs::copy(long.state().join(file), site.state().join(file));
        copied.with_context(|| format!("cannot copy `{file}`"))?;
    }
    copy_folder(&long.state().join("keys"), &site.state().join("keys"))?;
    site.write("config.toml", configuration)?;
    Ok(site)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let (path, to) = (entry?.path(), to.to_owned());
        let to = to.join(path.file_name().context("no name")?);
        if path.is_dir() { copy_folder(&path, &to)? } else { fs::copy(&path, &to).map(drop)? }
    }
    Ok(())
}

fn fill() -> Result<Site> {
    let site = Site::new("long journal")?;
    append(&site, 1..=MANY)?;
    open(&site)?.checkpoint_log()?;
    Ok(site)
}

/// Checks that deliveries hold each record from 1 to `last`, in order; returns how many came twice.
/// What comes twice is the end of what came before.
pub fn check_complete(deliveries: &[Vec<u64>], last: u64) -> Result<u64> {
    let (mut next, mut twice) = (1, 0);
    for (number, delivery) in deliveries.iter().enumerate() {
        let Some(first) = delivery.first() else { continue };
        ensure!(*first <= next, "delivery {number} begins with {first}, and {next} is missing");
        ensure!(
            delivery.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            "delivery {number} is not in order: {delivery:?}"
        );
        let end = delivery[delivery.len() - 1] + 1;
        twice += next.min(end) - first;
        next = next.max(end);
    }
    ensure!(next == last + 1, "records from {next} to {last} are missing");
    Ok(twice)
}

/// Returns the path of a new file beside a site's state.
pub fn beside(site: &Site, name: &str) -> PathBuf {
    site.root().join(name)
}

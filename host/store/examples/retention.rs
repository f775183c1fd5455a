//! Measures the duration of retention, and the time that a hook has to wait for it:
//! `cargo run --release -p portcullis-store --example retention`.
//!
//! A journal of 20,000 records of 3 KB is pruned to a tenth, while this process commits as a hook
//! does, with a separate store for each commit.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use portcullis_store::{Commit, CommitError, Durability, Home, NewRecord, Store, StoreError};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const RECORDS: u64 = 20_000;
const SESSION: &str = "0b5e3f7c-6a55-4a35-9d1c-2f1d6f2f7a10";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let home = Home::open_root(folder.path().join("home"))?;
    fill(&home)?;
    let quiet = hooks(&home, "quiet", |count| count < 300)?;
    let size = std::fs::metadata(home.journal())?.len();
    let stop = AtomicBool::new(false);
    let (pruned, took, busy) = std::thread::scope(|scope| {
        let pruner = scope.spawn(|| {
            let start = Instant::now();
            let pruned = Store::open_database(&home, Durability::Process)
                .and_then(|mut store| store.prune_before(RECORDS / 10 * 9, RECORDS));
            stop.store(true, Ordering::Relaxed);
            (pruned, start.elapsed())
        });
        let busy = hooks(&home, "busy", |_| !stop.load(Ordering::Relaxed));
        pruner.join().map(|(pruned, took)| (pruned, took, busy))
    })
    .map_err(|_| "the pruner failed")?;
    let pruned = pruned?;
    let mut store = Store::open_database(&home, Durability::Process)?;
    store.checkpoint_log()?;
    println!(
        "{} records in {} ms, {} to {} KiB",
        pruned.records,
        took.as_millis(),
        size / 1024,
        std::fs::metadata(home.journal())?.len() / 1024
    );
    for (name, mut times) in [("alone", quiet), ("beside it", busy?)] {
        times.sort_unstable();
        let at = |part: usize| {
            times.get(times.len() * part / 1_000).or(times.last()).map_or(0, Duration::as_micros)
        };
        println!(
            "hook {name}: {} commits, median {} us, 99 % {} us, longest {} us",
            times.len(),
            at(500),
            at(990),
            at(1_000)
        );
    }
    let verified = store.verify_chain(|_| {})?;
    println!("verified {} records, first bad: {:?}", verified.records, verified.first_bad);
    Ok(())
}

fn fill(home: &Home) -> Result<(), StoreError> {
    let mut store = Store::open_database(home, Durability::Process)?;
    for first in (0..RECORDS).step_by(200) {
        store
            .append_records((first..first + 200).map(|n| record(&format!("r{n}"), n)).collect())?;
    }
    store.checkpoint_log()
}

fn hooks(
    home: &Home,
    name: &str,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<Vec<Duration>, CommitError> {
    let mut times = Vec::new();
    for n in 0.. {
        if !go_on(n) {
            break;
        }
        times.push(hook(home.path(), &format!("{name}{n}"))?);
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(times)
}

fn hook(folder: &Path, id: &str) -> Result<Duration, CommitError> {
    let start = Instant::now();
    let mut store = Store::open_database(&Home::open_root(folder)?, Durability::Process)?;
    let snapshot = store.take_snapshot(SESSION, None)?;
    let records = vec![record(id, RECORDS)];
    store.commit_review(
        &snapshot,
        Commit { session_state: Some(vec![1; 10_000]), records, ..Commit::default() },
    )?;
    Ok(start.elapsed())
}

fn record(id: &str, at: u64) -> NewRecord {
    let document = format!("{{\"text\":\"{}\"}}", "x".repeat(3_000));
    NewRecord {
        id: id.into(),
        at,
        kind: "review".into(),
        subject: "Bash".into(),
        document,
        ..NewRecord::default()
    }
}

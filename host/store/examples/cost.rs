//! Measures one hook's cost for the store, next to `sh -c true` in the same run:
//! `cargo run --release -p portcullis-store --example cost`.
//!
//! Each round is a separate process that opens the store, takes a snapshot and commits a 3 KB
//! record with 10 KB of state, into a journal that is checkpointed as maintenance would.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use portcullis_store::{Commit, CommitError, Durability, Home, NewRecord, Store, StoreError};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;
const SESSION: &str = "0b5e3f7c-6a55-4a35-9d1c-2f1d6f2f7a10";

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, mode, folder, id] if mode == "hook" => hook(folder, id),
        [_, mode] if mode == "nothing" => Ok(()),
        _ => measure(),
    }
}

/// Prints the time of one hook's share, in microseconds.
fn hook(folder: &str, id: &str) -> Result<(), Box<dyn Error>> {
    let [open, snapshot, commit] = once(Path::new(folder), id)?;
    println!("{open} {snapshot} {commit}");
    Ok(())
}

/// Opens, takes a snapshot and commits.
fn once(folder: &Path, id: &str) -> Result<[f64; 3], CommitError> {
    let start = Instant::now();
    let mut store = Store::open_database(&Home::open_root(folder)?, Durability::Process)?;
    let opened = Instant::now();
    let snapshot = store.take_snapshot(SESSION, None)?;
    let seen = Instant::now();
    store.commit_review(&snapshot, commit(id))?;
    Ok([micros(opened - start), micros(seen - opened), micros(seen.elapsed())])
}

fn commit(id: &str) -> Commit {
    let step = id.parse().unwrap_or(0);
    let mut state = vec![0; 10_000];
    blake3::Hasher::new().update(id.as_bytes()).finalize_xof().fill(&mut state);
    let record = NewRecord {
        id: blake3::hash(id.as_bytes()).to_hex().to_string(),
        at: 1_700_000_000_000,
        kind: "review".into(),
        step: Some(step),
        call_id: Some(format!("toolu_{id}")),
        subject: "Bash".into(),
        verdict: Some("allow".into()),
        document: format!("{{\"text\":\"{}\"}}", "x".repeat(3_000)),
    };
    Commit { session_state: Some(state), records: vec![record], ..Commit::default() }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let home = Home::open_root(folder.path().join("home"))?;
    let myself = std::env::current_exe()?;
    let mut figures = Figures::default();
    for round in 0..ROUNDS {
        let mut hook = Command::new(&myself);
        hook.arg("hook").arg(home.path()).arg(round.to_string());
        let mut nothing = Command::new(&myself);
        nothing.arg("nothing");
        let mut sh = Command::new("sh");
        sh.args(["-c", "true"]);
        for (command, times) in [hook, nothing, sh].iter_mut().zip(&mut figures.processes) {
            let (text, took) = run(command)?;
            times.push(took);
            for (part, value) in figures.cold.iter_mut().zip(text.split_whitespace()) {
                part.push(value.parse()?);
            }
        }
        for (part, value) in
            figures.warm.iter_mut().zip(once(home.path(), &format!("warm{round}"))?)
        {
            part.push(value);
        }
        figures.maintain(&home)?;
    }
    figures.print();
    let verified = Store::open_database(&home, Durability::Process)?.verify_chain(|_| {})?;
    println!("verified {} records, first bad: {:?}", verified.records, verified.first_bad);
    Ok(())
}

/// Measurements, all in microseconds.
#[derive(Default)]
struct Figures {
    /// Open, snapshot and commit, each in a new process.
    cold: [Vec<f64>; 3],
    /// The same in a process that has done it before.
    warm: [Vec<f64>; 3],
    /// The hook, this program doing nothing, the shell.
    processes: [Vec<f64>; 3],
    checkpoints: Vec<f64>,
    largest_log: u64,
}

impl Figures {
    fn maintain(&mut self, home: &Home) -> Result<(), StoreError> {
        let mut store = Store::open_database(home, Durability::Process)?;
        self.largest_log = self.largest_log.max(store.log_size());
        if store.checkpoint_due() {
            let start = Instant::now();
            store.checkpoint_log()?;
            self.checkpoints.push(micros(start.elapsed()));
        }
        Ok(())
    }

    fn print(&self) {
        let [hook, nothing, sh] = self.processes.each_ref().map(|times| median(times));
        let line =
            |name: &str, value: f64| println!("{name:24} {value:8.0} us {:6.2} x sh", value / sh);
        println!("medians of {ROUNDS}, log up to {} KiB", self.largest_log / 1024);
        for (where_, parts) in [("", &self.cold), (", warm", &self.warm)] {
            let parts = parts.each_ref().map(|times| median(times));
            for (name, value) in ["open", "snapshot", "commit"].iter().zip(parts) {
                line(&format!("{name}{where_}"), value);
            }
            line(&format!("all three{where_}"), parts.iter().sum());
        }
        for (name, value) in
            [("process", hook), ("process doing nothing", nothing), ("sh -c true", sh)]
        {
            line(name, value);
        }
        line(&format!("checkpoint ({} times)", self.checkpoints.len()), median(&self.checkpoints));
    }
}

fn run(command: &mut Command) -> Result<(String, f64), Box<dyn Error>> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let took = micros(start.elapsed());
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", output.status).into());
    }
    Ok((String::from_utf8(output.stdout)?, took))
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

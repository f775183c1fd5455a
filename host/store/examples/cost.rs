//! Measures one hook's cost for the store, next to `sh -c true` in the same run:
//! `cargo run --release -p portcullis-store --example cost`.
//!
//! Each round is a separate process that opens the store, takes a snapshot and commits a 3 KB
//! record with 10 KB of state, into a journal that is checkpointed as maintenance would; the same with
//! encryption switched off, one after the other. Then opening alone, with logs of different lengths: the first process
//! that opens a journal reads the whole log.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use portcullis_store::{Commit, CommitError, Durability, Home, NewRecord, Store, StoreError};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;
/// The lengths of logs to open with, in KiB: empty, half of what maintenance lets it become, and nearly all of it.
const LOGS: [u64; 3] = [0, 250, 500];
const SESSION: &str = "0b5e3f7c-6a55-4a35-9d1c-2f1d6f2f7a10";

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, mode, folder, id] if mode == "hook" => hook(folder, id),
        [_, mode, folder] if mode == "open" => open(folder),
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

/// Prints the time of opening and of a snapshot, in microseconds.
fn open(folder: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let store = Store::open_database(&Home::open_root(folder)?, Durability::Process)?;
    store.take_snapshot(SESSION, None)?;
    println!("{}", micros(start.elapsed()));
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
    let home = |name: &str| Home::open_root(folder.path().join(name));
    let mut sides = [Side::new(home("encrypted")?), Side::new(home("plain")?)];
    sides[1].home.data_keys().set_off(true)?;
    let myself = std::env::current_exe()?;
    let (mut nothings, mut shells) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for side in &mut sides {
            side.measure_round(&myself, round)?;
        }
        nothings.push(run(Command::new(&myself).arg("nothing"))?.1);
        shells.push(run(Command::new("sh").args(["-c", "true"]))?.1);
    }
    let sh = median(&shells);
    let line =
        |name: &str, value: f64| println!("{name:24} {value:8.0} us {:6.2} x sh", value / sh);
    for (name, side) in ["encrypted", "plain"].iter().zip(&sides) {
        side.print(name, line);
    }
    line("process doing nothing", median(&nothings));
    line("sh -c true", sh);
    for wanted in LOGS {
        let home = Home::open_root(folder.path().join(format!("log{wanted}")))?;
        let length = fill_log(&home, wanted << 10)?;
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            times.push(run(Command::new(&myself).arg("open").arg(home.path()))?.0.trim().parse()?);
        }
        line(&format!("open, log of {} KiB", length >> 10), median(&times));
    }
    let [encrypted, plain] = &sides;
    for (name, of) in [("cold", Side::cold as fn(&Side) -> f64), ("warm", Side::warm)] {
        println!("encryption, {name}: {:.0} us more", of(encrypted) - of(plain));
    }
    for side in &sides {
        let mut store = Store::open_database(&side.home, Durability::Process)?;
        let verified = store.verify_chain(|_| {})?;
        println!("verified {} records, first bad: {:?}", verified.records, verified.first_bad);
    }
    Ok(())
}

/// Commits until the log has that length; returns the length that it has.
fn fill_log(home: &Home, wanted: u64) -> Result<u64, Box<dyn Error>> {
    let mut store = Store::open_database(home, Durability::Process)?;
    store.checkpoint_log()?;
    let mut step = 0;
    while store.log_size() < wanted {
        let snapshot = store.take_snapshot(SESSION, None)?;
        store.commit_review(&snapshot, commit(&step.to_string()))?;
        step += 1;
    }
    Ok(store.log_size())
}

/// One home and its measurements, all in microseconds.
struct Side {
    home: Home,
    /// Open, snapshot and commit, each in a new process.
    cold: [Vec<f64>; 3],
    /// The same in a process that has done it before.
    warm: [Vec<f64>; 3],
    processes: Vec<f64>,
    checkpoints: Vec<f64>,
    largest_log: u64,
}

impl Side {
    fn new(home: Home) -> Self {
        let (cold, warm) = Default::default();
        Self { home, cold, warm, processes: vec![], checkpoints: vec![], largest_log: 0 }
    }

    fn measure_round(&mut self, program: &Path, round: usize) -> Result<(), Box<dyn Error>> {
        let mut hook = Command::new(program);
        hook.arg("hook").arg(self.home.path()).arg(round.to_string());
        let (text, took) = run(&mut hook)?;
        self.processes.push(took);
        for (part, value) in self.cold.iter_mut().zip(text.split_whitespace()) {
            part.push(value.parse()?);
        }
        let warm = once(self.home.path(), &format!("warm{round}"))?;
        for (part, value) in self.warm.iter_mut().zip(warm) {
            part.push(value);
        }
        Ok(self.maintain()?)
    }

    fn maintain(&mut self) -> Result<(), StoreError> {
        let mut store = Store::open_database(&self.home, Durability::Process)?;
        self.largest_log = self.largest_log.max(store.log_size());
        if store.checkpoint_due() {
            let start = Instant::now();
            store.checkpoint_log()?;
            self.checkpoints.push(micros(start.elapsed()));
        }
        Ok(())
    }

    fn cold(&self) -> f64 {
        self.cold.iter().map(|part| median(part)).sum()
    }

    fn warm(&self) -> f64 {
        self.warm.iter().map(|part| median(part)).sum()
    }

    fn print(&self, name: &str, line: impl Fn(&str, f64)) {
        println!("{name}: medians of {ROUNDS}, log up to {} KiB", self.largest_log / 1024);
        for (where_, parts) in [("", &self.cold), (", warm", &self.warm)] {
            for (name, part) in ["open", "snapshot", "commit"].iter().zip(parts) {
                line(&format!("{name}{where_}"), median(part));
            }
        }
        line("all three", self.cold());
        line("all three, warm", self.warm());
        line("process", median(&self.processes));
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

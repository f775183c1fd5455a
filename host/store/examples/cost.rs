//! What one hook pays for the store, beside `sh -c true` in the same run:
//! `cargo run --release -p portcullis-store --example cost`.
//!
//! Each round is a process of its own that opens the store, takes a snapshot and commits a 3 KB record
//! with 10 KB of state, into a journal that is checkpointed as maintenance would.
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use portcullis_store::{Commit, Durability, Home, NewRecord, Store, StoreError};
use std::error::Error;
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

/// One hook's share: three times in microseconds on stdout.
fn hook(folder: &str, id: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let home = Home::open(folder)?;
    let mut store = Store::open(&home, Durability::Process)?;
    let opened = Instant::now();
    let snapshot = store.snapshot(SESSION, None)?;
    let seen = Instant::now();
    store.commit(&snapshot, commit(id))?;
    let committed = Instant::now();
    println!("{} {} {}", micros(opened - start), micros(seen - opened), micros(committed - seen));
    Ok(())
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
    Commit { session_state: Some(state), agent_state: None, records: vec![record] }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let home = Home::open(folder.path().join("home"))?;
    let myself = std::env::current_exe()?;
    let mut parts: [Vec<f64>; 3] = Default::default();
    let mut rounds: [Vec<f64>; 3] = Default::default();
    let mut largest = 0;
    for round in 0..ROUNDS {
        let mut hook = Command::new(&myself);
        hook.arg("hook").arg(home.path()).arg(round.to_string());
        let mut nothing = Command::new(&myself);
        nothing.arg("nothing");
        let mut sh = Command::new("sh");
        sh.args(["-c", "true"]);
        for (command, times) in [hook, nothing, sh].iter_mut().zip(&mut rounds) {
            let (text, took) = run(command)?;
            times.push(took);
            for (part, value) in parts.iter_mut().zip(text.split_whitespace()) {
                part.push(value.parse()?);
            }
        }
        largest = largest.max(maintain(&home)?);
    }
    report(&parts, &rounds, largest);
    let mut store = Store::open(&home, Durability::Process)?;
    println!("verified {} records: {:?}", store.verify(|_| {})?.records, store.verify(|_| {})?.first_bad);
    Ok(())
}

/// Checkpoints when it is due; the size of the log.
fn maintain(home: &Home) -> Result<u64, StoreError> {
    let mut store = Store::open(home, Durability::Process)?;
    let size = store.log_size();
    if store.checkpoint_due() {
        store.checkpoint()?;
    }
    Ok(size)
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

fn report(parts: &[Vec<f64>; 3], rounds: &[Vec<f64>; 3], largest: u64) {
    let [hook, nothing, sh] = rounds.each_ref().map(|times| median(times));
    println!("median of {ROUNDS}, log up to {} KiB", largest / 1024);
    for (name, times) in ["open", "snapshot", "commit"].iter().zip(parts) {
        println!("{name:10} {:8.0} us  {:5.2} x sh", median(times), median(times) / sh);
    }
    let total = parts.each_ref().map(|times| median(times)).iter().sum::<f64>();
    println!("{:10} {total:8.0} us  {:5.2} x sh", "all three", total / sh);
    for (name, value) in [("process", hook), ("nothing", nothing), ("sh -c true", sh)] {
        println!("{name:10} {value:8.0} us  {:5.2} x sh", value / sh);
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

//! Fuzzes the parsers of hostile bytes with changed and spliced inputs: the shell reader, the
//! readers of files that run by themselves and of inline code, the parser of a client's events with
//! the facts derived from them, the inspection of a plugin's file before it is compiled, a plugin's
//! answers, and bundles. A run takes a given time; it ends with 1 if an input makes a target panic,
//! take more steps than its length allows, or answer beyond its bounds. The input is then minimized and printed.
//!
//! `portcullis-fuzz [--seconds N] [--start N] [TARGET...]`: N seconds for each target (default 10)
//! from the given seed of the random numbers (default: the time), which is printed so that a run
//! can be repeated.
//!
//! It is not guided by coverage: the seeds in `seeds/`, one file each, contain every construct that
//! the targets know, and changes recombine them. A component's seeds are the builtin plugins, an
//! answer's the words of valid answers.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports to its user")]

mod autoruns;
mod bundle;
mod change;
mod component;
mod inline_code;
mod results;
mod shell;
mod wire;

use change::Input;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// A requirement for every input.
type Check = fn(&[u8]) -> Result<(), String>;

/// The source of inputs.
type Seeds = fn() -> Vec<&'static [u8]>;

/// A target's name, its seeds and its check.
const TARGETS: &[(&str, Seeds, Check)] = &[
    ("shell", || shell::SEEDS.to_vec(), shell::check),
    ("autoruns", || autoruns::SEEDS.to_vec(), autoruns::check),
    ("inline-code", || inline_code::SEEDS.to_vec(), inline_code::check),
    ("wire", || wire::SEEDS.to_vec(), wire::check),
    ("component", component::seeds, component::check),
    ("results", results::seeds, results::check),
    ("bundle", bundle::seeds, bundle::check),
];

/// The number of attempts to minimize a failing input.
const SHRINKS: usize = 2000;

/// The timeout of one input, regardless of its steps: so many looks at it, and the time between
/// two. One long sleep would take a machine that was suspended for an input that hangs.
const LOOKS: u32 = 6;
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// The options of the command line.
struct Wanted {
    seconds: u64,
    start: u64,
    targets: Vec<String>,
}

fn main() -> ExitCode {
    let wanted = match wanted(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    std::panic::set_hook(Box::new(|_| {}));
    watch();
    let mut failed = false;
    for (name, seeds, check) in TARGETS.iter().filter(|(name, ..)| {
        wanted.targets.is_empty() || wanted.targets.iter().any(|want| want == name)
    }) {
        failed |= !fuzz(name, seeds().leak(), *check, &wanted);
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn wanted(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let mut wanted = Wanted { seconds: 10, start: now, targets: Vec::new() };
    while let Some(word) = words.next() {
        let mut number = |flag: &str| {
            words
                .next()
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| format!("`{flag}` wants a whole number after it"))
        };
        match word.as_str() {
            "--seconds" => wanted.seconds = number("--seconds")?,
            "--start" => wanted.start = number("--start")?,
            name if TARGETS.iter().any(|(target, ..)| *target == name) => wanted.targets.push(word),
            other => {
                let names: Vec<&str> = TARGETS.iter().map(|(target, ..)| *target).collect();
                return Err(format!(
                    "there is no target `{other}`: the targets are {}",
                    names.join(", ")
                ));
            }
        }
    }
    Ok(wanted)
}

/// Runs one target for its time; returns true if every check passed.
fn fuzz(name: &str, seeds: &'static [&'static [u8]], check: Check, wanted: &Wanted) -> bool {
    let mut key = [0; 32];
    for (byte, value) in key.iter_mut().zip(wanted.start.to_le_bytes().into_iter().cycle()) {
        *byte = value;
    }
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &key));
    let inputs = change::inputs(seeds);
    let begun = Instant::now();
    let mut executions = 0_u64;
    if seeds.is_empty() {
        println!("fuzz {name}: there is no seed");
        return false;
    }
    for seed in seeds {
        if let Err(problem) = run(check, seed) {
            println!("fuzz {name}: a seed fails: {problem}\n{}", String::from_utf8_lossy(seed));
            return false;
        }
    }
    while begun.elapsed() < Duration::from_secs(wanted.seconds) {
        let Ok(mut tree) = inputs.new_tree(&mut runner) else {
            println!("fuzz {name}: no input could be made");
            return false;
        };
        executions += 1;
        if let Err(problem) = run(check, &tree.current().bytes()) {
            let (input, problem) = smallest(&mut tree, check, problem);
            println!(
                "fuzz {name}: {problem}\nafter {executions} executions from --start {}: {:?}",
                wanted.start,
                String::from_utf8_lossy(&input)
            );
            return false;
        }
    }
    println!(
        "fuzz {name}: {executions} executions in {} s from --start {}, nothing found",
        wanted.seconds, wanted.start
    );
    true
}

fn smallest(
    tree: &mut impl ValueTree<Value = Input>,
    check: Check,
    first: String,
) -> (Vec<u8>, String) {
    let mut found = (tree.current().bytes(), first);
    for _ in 0..SHRINKS {
        let bytes = tree.current().bytes();
        let more = match run(check, &bytes) {
            Err(problem) => {
                found = (bytes, problem);
                tree.simplify()
            }
            Ok(()) => tree.complicate(),
        };
        if !more {
            break;
        }
    }
    found
}

/// A counter that is incremented when an input is begun and when it is done: odd while one is at
/// work.
static TURNS: AtomicU64 = AtomicU64::new(0);

fn run(check: Check, bytes: &[u8]) -> Result<(), String> {
    TURNS.fetch_add(1, Ordering::Relaxed);
    let answer = catch_unwind(AssertUnwindSafe(|| check(bytes)));
    TURNS.fetch_add(1, Ordering::Relaxed);
    answer.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Ends the run if one input exceeds its timeout: a hang has no steps to count.
fn watch() {
    std::thread::spawn(|| {
        let (mut seen, mut looks) = (0, 0);
        loop {
            std::thread::sleep(BETWEEN_LOOKS);
            let turn = TURNS.load(Ordering::Relaxed);
            looks = if turn == seen && turn % 2 == 1 { looks + 1 } else { 0 };
            seen = turn;
            if looks == LOOKS {
                println!("fuzz: input number {} of this run does not end", turn / 2);
                std::process::exit(1);
            }
        }
    });
}

//! Fuzzes the parsers of hostile bytes with changed and spliced inputs: the shell reader, the
//! readers of files that run by themselves and of inline code, the parser of a client's events with
//! the facts derived from them, the inspection of a plugin's file before it is compiled, a plugin's
//! answers, bundles, and the messages between hook and service. A run takes a given time; it ends with 1 if an input makes a target panic,
//! take more steps than its length allows, or answer beyond its bounds. The input is then minimized
//! and printed.
//!
//! `portcullis-fuzz [--seconds N] [--start N] [TARGET...]`: N seconds for each target (default 10)
//! from the given seed of the random numbers (default: the time), which is printed so that a run
//! can be repeated. `--input FILE TARGET` gives a target this input alone, and `--slow FOLDER`
//! writes the slowest input of each target into a folder.
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
mod protocol;
mod results;
mod shell;
mod wire;

use change::Input;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
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
    ("protocol", protocol::seeds, protocol::check),
];

/// The number of attempts to minimize a failing input.
const SHRINKS: usize = 2000;

/// The timeout of one input, regardless of its steps: processor time, so that neither a busy
/// machine nor one that was suspended counts.
const MOST_TIME: Duration = Duration::from_secs(30);

/// The options of the command line.
struct Wanted {
    seconds: u64,
    start: u64,
    targets: Vec<String>,
    /// The file with the only input.
    input: Option<PathBuf>,
    /// The folder that receives the slowest inputs.
    slow: Option<PathBuf>,
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
    watch(wanted.start);
    let mut failed = false;
    for (name, seeds, check) in TARGETS.iter().filter(|(name, ..)| {
        wanted.targets.is_empty() || wanted.targets.iter().any(|want| want == name)
    }) {
        failed |= match &wanted.input {
            Some(file) => !check_file(name, *check, file),
            None => !fuzz(name, seeds().leak(), *check, &wanted),
        };
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn wanted(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let mut wanted =
        Wanted { seconds: 10, start: now, targets: Vec::new(), input: None, slow: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` needs a value after it"));
        let number = |text: String| {
            text.parse().map_err(|_| format!("`{word} {text}`: `{text}` is not a whole number"))
        };
        match word.as_str() {
            "--seconds" => wanted.seconds = number(value()?)?,
            "--start" => wanted.start = number(value()?)?,
            "--input" => wanted.input = Some(value()?.into()),
            "--slow" => wanted.slow = Some(value()?.into()),
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

/// Gives a target the input that a file holds; returns true if the check passed.
fn check_file(name: &str, check: Check, file: &Path) -> bool {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            println!("fuzz {name}: {} cannot be read: {error}", file.display());
            return false;
        }
    };
    let begun = Instant::now();
    let result = run(check, &bytes);
    let ended = result.as_ref().map_or_else(String::as_str, |()| "nothing found");
    println!("fuzz {name}: {} bytes, {} ms: {ended}", bytes.len(), begun.elapsed().as_millis());
    result.is_ok()
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
    let mut slowest = (Duration::ZERO, Vec::new());
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
        let (bytes, input_begun) = (tree.current().bytes(), Instant::now());
        let result = run(check, &bytes);
        if input_begun.elapsed() > slowest.0 {
            slowest = (input_begun.elapsed(), bytes);
        }
        if let Err(problem) = result {
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
        "fuzz {name}: {executions} executions in {} s from --start {}, the slowest {} ms, nothing found",
        wanted.seconds,
        wanted.start,
        slowest.0.as_millis()
    );
    let written = wanted.slow.as_ref().map(|folder| std::fs::write(folder.join(name), &slowest.1));
    if let Some(Err(error)) = written {
        println!("fuzz {name}: the slowest input was not written: {error}");
        return false;
    }
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

/// The number of inputs that were begun, and the one at work.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static AT_WORK: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn at_work() -> MutexGuard<'static, Option<Vec<u8>>> {
    AT_WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(check: Check, bytes: &[u8]) -> Result<(), String> {
    *at_work() = Some(bytes.to_vec());
    BEGUN.fetch_add(1, Ordering::Relaxed);
    let answer = catch_unwind(AssertUnwindSafe(|| check(bytes)));
    *at_work() = None;
    answer.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Ends the run if one input exceeds its timeout, and prints it: a hang has no steps to count.
fn watch(start: u64) {
    std::thread::spawn(move || {
        let (mut seen, mut since) = (0, processor_time());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let number = BEGUN.load(Ordering::Relaxed);
            let input = at_work().clone().filter(|_| number == seen);
            let Some(input) = input else {
                (seen, since) = (number, processor_time());
                continue;
            };
            if processor_time().saturating_sub(since) >= MOST_TIME {
                println!(
                    "fuzz: input {number} from --start {start} does not end: {:?}",
                    String::from_utf8_lossy(&input)
                );
                std::process::exit(1);
            }
        }
    });
}

/// The processor time of this process. Linux counts it in hundredths of a second, in the 14th and
/// 15th field of this file; elsewhere it is the time that has passed.
fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        let fields: Vec<u64> = text
            .rsplit_once(')')?
            .1
            .split_whitespace()
            .map(|field| field.parse().unwrap_or_default())
            .collect();
        Some(fields.get(11)? + fields.get(12)?)
    });
    ticks.map_or_else(|| BEGIN.elapsed(), |ticks| Duration::from_millis(ticks * 10))
}

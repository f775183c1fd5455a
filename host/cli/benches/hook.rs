//! Measures the cost of one hook: whole processes, in turn, in one run.
//!
//! `cargo bench --workspace --bench hook` prints the median and the ratio to `sh -c true`, for
//! `portcullis hook claude` (release, warm cache, all builtin plugins, record written) and for
//! programs whose cost is well known. Quote the ratios: the times depend on the machine.
//! `PORTCULLIS_BENCH_PROGRAMS` names a folder with other programs to measure, for example those that are published.
//!
//! The program is copied first, as an installation does. The output of a linker is in the page
//! cache in small pieces until it is read from the disk again, which makes every start of it a
//! fifth slower.
//!
//! The last column counts page faults. They grow when the functions of a hook are scattered over the
//! program, as they are when `host/cli/function-order.txt` is out of date.
//!
//! The rows `encrypted` and `plain` are the same events in two homes of their own, which differ in
//! nothing but encryption. A last line has the median of the differences within a round.
//!
//! The rows `service` are the same events in a home of their own, through `portcullis-hook` and a
//! service that runs beside them.
//!
//! Two sessions are measured. In the ordinary one the agent goes from file to file without any
//! finding, which the benchmark checks. In the other one it repeats itself: patterns are detected,
//! interventions are made and recorded, and limits are in force.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;
#[path = "support/events.rs"]
mod events;
#[path = "support/served.rs"]
mod served;

use events::{AFTER, BEFORE, EDIT, EDITED, OTHER, PROMPT};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use served::RunningService;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The number of rounds of every command; `PORTCULLIS_BENCH_ROUNDS` overrides it.
const ROUNDS: usize = 200;

/// The folder of the hooks that review by themselves.
const HOME: &str = "home";
/// The folders of hooks that review by themselves and get the same events: one encrypts what it keeps.
const ENCRYPTED: &str = "encrypted";
const PLAIN: &str = "plain";
/// The folder of the hooks that ask the service.
const SERVED: &str = "served";
/// All of them.
const HOMES: [&str; 4] = [HOME, ENCRYPTED, PLAIN, SERVED];
/// The program that asks it.
const SMALL_HOOK: &str = "portcullis-hook";

/// The number of rounds between two prompts of the person: limits count what happened since the
/// last one.
const TURN: usize = 20;

struct Case {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    input: Option<PathBuf>,
    /// The folder of its configuration and state.
    home: &'static str,
    /// True if nothing may be reported about the session.
    ordinary: bool,
    times: Vec<Duration>,
    faults: Vec<u64>,
}

/// The page faults of a hook before a shell command above which its functions are taken to be
/// scattered: 470 after 20 rounds and 510 after 200 where they are side by side, 560 with a list in which
/// a sixth of the names are out of date, on Linux 6.18.
const SCATTERED: u64 = 530;

fn main() {
    let rounds = choices::count_rounds(ROUNDS);
    let folder = std::env::temp_dir().join(format!("portcullis-bench-{}", std::process::id()));
    fs::create_dir_all(folder.join("project")).unwrap();
    // The bench `checkpoints` measures what they add.
    for home in HOMES {
        fs::create_dir_all(folder.join(home)).unwrap();
        let config = folder.join(home).join("config.toml");
        fs::write(config, "[checkpoints]\nenabled = false\n").unwrap();
    }
    fs::copy(choices::find_program("portcullis"), program(&folder)).unwrap();
    fs::copy(choices::find_program(SMALL_HOOK), folder.join(SMALL_HOOK)).unwrap();
    let mut off = Command::new(program(&folder));
    off.args(["encryption", "off", "--yes"]).env("PORTCULLIS_HOME", folder.join(PLAIN));
    assert!(off.stdout(Stdio::null()).status().unwrap().success(), "encryption stays on");
    // Plugins are compiled by the first process of a home, which needs more memory than any other.
    for text in [PROMPT, BEFORE, AFTER] {
        let text = text.replace(r#""session_id":"bench""#, r#""session_id":"compiles""#);
        let input = Some(event(&folder, "compiles.json", &text));
        let first = case("the first hooks", program(&folder), &["hook", "claude"], input);
        once(&Case { home: SERVED, ..first }, &folder, 0);
    }
    let service = RunningService::start(&program(&folder), &folder.join(SERVED));
    let mut cases = cases(&folder);
    for round in 0..rounds + 5 {
        if round % TURN == 0 {
            for home in HOMES {
                once(&prompt(&folder, home), &folder, round);
            }
        }
        for index in 0..cases.len() {
            let case = place_in_round(&cases, index, round);
            let Some(case) = cases.get_mut(case) else { continue };
            let (time, faults) = once(case, &folder, round);
            if round >= 5 {
                case.times.push(time);
                case.faults.push(faults);
            }
        }
    }
    report(&mut cases, rounds);
    service.report_memory();
    drop(service);
    fs::remove_dir_all(&folder).unwrap();
}

fn cases(folder: &Path) -> Vec<Case> {
    let hook = program(folder);
    let event = |name: &str, text: &str| Some(event(folder, name, text));
    let call = &["hook", "claude"];
    let mut cases = vec![
        case("sh -c true", "/bin/sh".into(), &["-c", "true"], None),
        case(
            "hook: ordinary, before a shell command",
            hook.clone(),
            call,
            event("before.json", BEFORE),
        ),
        case("hook: ordinary, after it", hook.clone(), call, event("after.json", AFTER)),
        case("hook: ordinary, before an edit", hook.clone(), call, event("edit.json", EDIT)),
        case("hook: ordinary, after it", hook.clone(), call, event("edited.json", EDITED)),
        case(
            "hook: going wrong, before a command",
            hook.clone(),
            call,
            event("again.json", &again(BEFORE)),
        ),
        case(
            "hook: going wrong, after it",
            hook.clone(),
            call,
            event("again-after.json", &again(AFTER)),
        ),
        case(
            "hook: going wrong, before an edit",
            hook.clone(),
            call,
            event("again-edit.json", &again(EDIT)),
        ),
        case("hook: an event that nobody needs", hook.clone(), call, event("other.json", OTHER)),
    ];
    for (name, home, file, text) in [
        ("encrypted: ordinary, before a shell command", ENCRYPTED, "before.json", BEFORE),
        ("plain: ordinary, before a shell command", PLAIN, "before.json", BEFORE),
        ("encrypted: ordinary, after it", ENCRYPTED, "after.json", AFTER),
        ("plain: ordinary, after it", PLAIN, "after.json", AFTER),
    ] {
        let pair = case(name, hook.clone(), call, event(file, text));
        cases.push(Case { home, ..pair });
    }
    let small = folder.join(SMALL_HOOK);
    for (name, file, text) in [
        ("service: ordinary, before a shell command", "before.json", BEFORE),
        ("service: ordinary, after it", "after.json", AFTER),
        ("service: ordinary, before an edit", "edit.json", EDIT),
        ("service: ordinary, after it", "edited.json", EDITED),
    ] {
        let served = case(name, small.clone(), call, event(file, text));
        cases.push(Case { home: SERVED, ..served });
    }
    for (name, program, arguments) in
        [("python3 -c pass", "python3", ["-c", "pass"]), ("node -e 0", "node", ["-e", "0"])]
    {
        match found(program) {
            Some(path) => cases.push(case(name, path, &arguments, None)),
            None => println!("{name}: not on this machine"),
        }
    }
    cases
}

fn case(name: &'static str, program: PathBuf, arguments: &[&str], input: Option<PathBuf>) -> Case {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Case {
        name,
        program,
        arguments,
        input,
        home: HOME,
        ordinary: name.contains(": ordinary"),
        times: Vec::new(),
        faults: Vec::new(),
    }
}

fn program(folder: &Path) -> PathBuf {
    folder.join("portcullis")
}

fn prompt(folder: &Path, home: &'static str) -> Case {
    let prompt = case(
        "the person's prompt",
        program(folder),
        &["hook", "claude"],
        Some(event(folder, "prompt.json", PROMPT)),
    );
    Case { home, ..prompt }
}

fn event(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text.replace("@project@", &folder.join("project").display().to_string()))
        .unwrap();
    path
}

/// Returns the real program, not a shim that searches for it at each start.
fn found(program: &str) -> Option<PathBuf> {
    let ask = match program {
        "python3" => {
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()
        }
        _ => Command::new("node").args(["-p", "process.execPath"]).output(),
    };
    let path = PathBuf::from(String::from_utf8(ask.ok()?.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// Runs one round, which is another call of the session; it continues from the state that the case
/// before it left. Returns its time and its page faults.
fn once(case: &Case, folder: &Path, round: usize) -> (Duration, u64) {
    let input = case.input.as_ref().map_or_else(Stdio::null, |path| {
        let text = fs::read_to_string(path)
            .unwrap()
            .replace("@round@", &round.to_string())
            .replace("@part@", &round.to_string());
        let current = folder.join("input.json");
        fs::write(&current, text).unwrap();
        Stdio::from(File::open(current).unwrap())
    });
    let said = folder.join("said.json");
    let mut command = Command::new(&case.program);
    command
        .args(&case.arguments)
        .stdin(input)
        .stdout(File::create(&said).unwrap())
        .stderr(Stdio::null());
    command.env("PORTCULLIS_HOME", folder.join(case.home));
    // Cargo sets it, and a shell that searches cargo's folders for its libraries first takes a
    // third longer.
    command.env_remove("LD_LIBRARY_PATH");
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    // The process stays until its counters are read.
    let pid = Pid::from_child(&child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let time = begun.elapsed();
    let faults = count_faults(child.id());
    let status = child.wait().unwrap();
    assert!(status.success(), "{} failed", case.name);
    let said = fs::read_to_string(said).unwrap();
    assert!(!case.ordinary || !said.contains("ortcullis"), "{} is not ordinary: {said}", case.name);
    (time, faults)
}

/// Returns the page faults of a process that has ended and that nobody has waited for.
fn count_faults(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in front may hold spaces. The number is the tenth field.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    fields.split_whitespace().nth(7).and_then(|field| field.parse().ok()).unwrap_or_default()
}

/// Returns the same event in another session, where each round is like the first.
fn again(event: &str) -> String {
    event.replace(r#""session_id":"bench""#, r#""session_id":"again""#).replace("@part@", "1")
}

/// Returns the index of the case that runs at a place of a round: of a pair, each is first in every other
/// round.
fn place_in_round(cases: &[Case], index: usize, round: usize) -> usize {
    match cases.get(index).map(|case| case.home) {
        Some(ENCRYPTED) if round % 2 == 1 => index + 1,
        Some(PLAIN) if round % 2 == 1 => index - 1,
        _ => index,
    }
}

/// Returns the median of what encryption adds within a round, in milliseconds, for each pair.
fn compare_pairs(cases: &[Case]) -> Vec<f64> {
    let pairs = cases.iter().zip(cases.iter().skip(1));
    pairs
        .filter(|(one, other)| one.home == ENCRYPTED && other.home == PLAIN)
        .map(|(encrypted, plain)| {
            let times = encrypted.times.iter().zip(&plain.times);
            let mut more: Vec<f64> = times
                .map(|(one, other)| (one.as_secs_f64() - other.as_secs_f64()) * 1000.0)
                .collect();
            more.sort_unstable_by(f64::total_cmp);
            more.get(more.len() / 2).copied().unwrap_or_default()
        })
        .collect()
}

fn report(cases: &mut [Case], rounds: usize) {
    let added = compare_pairs(cases);
    for case in cases.iter_mut() {
        case.times.sort_unstable();
        case.faults.sort_unstable();
    }
    let faults = |case: &Case| case.faults.get(case.faults.len() / 2).copied().unwrap_or_default();
    let median = |case: &Case| {
        case.times.get(case.times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1000.0
    };
    let least =
        |case: &Case| case.times.first().copied().unwrap_or_default().as_secs_f64() * 1000.0;
    let shell = cases.first().map(median).unwrap_or_default();
    println!(
        "{:<42} {:>9} {:>9} {:>14} {:>7}   ({rounds} rounds)",
        "whole process", "least ms", "median ms", "x `sh -c true`", "faults"
    );
    for case in cases.iter() {
        println!(
            "{:<42} {:>9.2} {:>9.2} {:>14.2} {:>7}",
            case.name,
            least(case),
            median(case),
            median(case) / shell,
            faults(case)
        );
    }
    if let [before, after] = added[..] {
        println!(
            "encryption adds {before:.2} ms before a command and {after:.2} ms after it (medians of \
             {rounds} pairs)"
        );
    }
    if cases.get(1).is_some_and(|case| faults(case) > SCATTERED) {
        println!(
            "The functions of a hook are scattered: run `host/cli/renew-function-order`, and commit \
             the list."
        );
    }
}

//! Measures what checkpoints add to a hook: whole processes, without and with them in turn, in one
//! run.
//!
//! `cargo bench --workspace --bench checkpoints` prints, for the hook before and the hook after a
//! call, the median without checkpoints, with them, and the difference, as well as the mean
//! processor time of both hooks together. The calls are made in git repositories of 5,000 and of
//! 100,000 files. Their effects do not take place, except that one file is rewritten between the
//! two hooks of a call that changes something.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The number of turns of every call; each turn has this many calls without checkpoints and as many
/// with them. `PORTCULLIS_BENCH_ROUNDS` overrides it.
const ROUNDS: usize = 20;
const CALLS: usize = 10;
/// The sizes of the repositories in files, each with the part of the turns that it gets.
/// `PORTCULLIS_BENCH_FILES` chooses one of them.
const SIZES: [(usize, usize); 2] = [(5_000, 1), (100_000, 10)];
/// The number of files in the folder that is deleted.
const FOLDER: usize = 100;
/// The unit in which the system counts processor time, in milliseconds.
const TICK_MS: f64 = 10.0;

/// The calls: a tool, its parameters, and whether it changes a file.
const CALLED: [(&str, &str, &str, bool); 5] = [
    ("Read of a file", "Read", r#"{"file_path":"@project@/d1/f50"}"#, false),
    ("`cat` of a file", "Bash", r#"{"command":"cat d1/f50"}"#, false),
    (
        "Edit of a file",
        "Edit",
        r#"{"file_path":"@project@/d1/f50","old_string":"a","new_string":"b"}"#,
        true,
    ),
    ("`rm -r` of 100 files", "Bash", r#"{"command":"rm -r d0"}"#, false),
    ("`make`", "Bash", r#"{"command":"make"}"#, true),
];

/// The times of one side of a call.
#[derive(Default)]
struct Times {
    before: Vec<Duration>,
    after: Vec<Duration>,
    processor_ms: f64,
}

fn main() {
    let rounds = choices::count_rounds(ROUNDS);
    let chosen: Option<usize> =
        std::env::var("PORTCULLIS_BENCH_FILES").ok().and_then(|files| files.parse().ok());
    for (files, part) in
        SIZES.into_iter().filter(|(files, _)| chosen.is_none_or(|one| one == *files))
    {
        measure(files, (rounds / part).max(1));
    }
}

fn measure(files: usize, rounds: usize) {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    make(&project, files);
    let homes = [false, true].map(|enabled| home(folder.path(), enabled));
    // Files that changed a moment ago are read once more, so wait until they are older.
    std::thread::sleep(Duration::from_secs(4));
    let mut measured: Vec<[Times; 2]> = CALLED.iter().map(|_| Default::default()).collect();
    for round in 0..=rounds {
        for (call, times) in CALLED.iter().zip(&mut measured) {
            let mut sides: Vec<(&PathBuf, &mut Times)> = homes.iter().zip(times).collect();
            if round % 2 == 1 {
                sides.reverse();
            }
            for (home, times) in sides {
                // The first call fills caches.
                let mut unmeasured = Times::default();
                one_round(
                    call,
                    round,
                    home,
                    &project,
                    if round == 0 { &mut unmeasured } else { times },
                );
            }
        }
    }
    report(measured, files, rounds);
}

fn home(folder: &Path, enabled: bool) -> PathBuf {
    let home = folder.join(format!("home-{enabled}"));
    fs::create_dir(&home).unwrap();
    fs::write(home.join("config.toml"), format!("[checkpoints]\nenabled = {enabled}\n")).unwrap();
    home
}

/// Creates a repository in which everything is committed.
fn make(project: &Path, files: usize) {
    for at in 0..files {
        let path = project.join(format!("d{}/f{at}", at / FOLDER));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{at} and so on; ").repeat(at % 500 + 1)).unwrap();
    }
    let git = "git init -q . && git add . && git -c user.name=a -c user.email=a@example.com commit -qm all";
    assert!(
        Command::new("sh").args(["-c", git]).current_dir(project).status().unwrap().success(),
        "no repository"
    );
}

fn one_round(
    call: &(&str, &str, &str, bool),
    round: usize,
    home: &Path,
    project: &Path,
    times: &mut Times,
) {
    let (name, tool, parameters, changes) = call;
    let event = |event: &str, at: usize, more: &str| {
        let text = format!(
            r#"{{"session_id":"bench","cwd":"@project@","permission_mode":"default","hook_event_name":"{event}","tool_name":"{tool}","tool_input":{parameters}{more},"tool_use_id":"{tool}_{round}_{at}_{}"}}"#,
            name.len()
        );
        text.replace("@project@", &project.display().to_string())
    };
    let begun = processor_ticks();
    for at in 0..CALLS {
        times.before.push(hook(home, &event("PreToolUse", at, "")));
        if *changes {
            fs::write(project.join("d1/f50"), format!("{round} {at} {}", home.display())).unwrap();
        }
        times.after.push(hook(
            home,
            &event("PostToolUse", at, r#","tool_response":{"stdout":"","stderr":""}"#),
        ));
    }
    times.processor_ms += (processor_ticks() - begun) * TICK_MS;
}

fn hook(home: &Path, event: &str) -> Duration {
    let mut command = Command::new(choices::find_program("portcullis"));
    command
        .args(["hook", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Cargo sets it, and a program that searches cargo's folders for its libraries first starts
    // more slowly.
    command.env("PORTCULLIS_HOME", home).env_remove("LD_LIBRARY_PATH");
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "`{event}` failed");
    begun.elapsed()
}

/// Returns the processor time of all finished child processes, in ticks; 0 if the system does not
/// report it.
fn processor_ticks() -> f64 {
    let line = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = line.rsplit(')').next().unwrap_or_default();
    after_name
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum()
}

fn report(measured: Vec<[Times; 2]>, files: usize, rounds: usize) {
    println!(
        "{files} files, {rounds} rounds of {CALLS} calls; milliseconds, without and with checkpoints"
    );
    println!(
        "| call | before | with | adds | after | with | adds | processor, both | with | adds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for ((name, ..), [off, on]) in CALLED.iter().zip(measured) {
        let hooks = (rounds * CALLS) as f64;
        let processor = [off.processor_ms / hooks, on.processor_ms / hooks];
        let pairs =
            [[off.before, on.before].map(median), [off.after, on.after].map(median), processor];
        let cells = pairs.map(|[off, on]| {
            format!("{off:.2} | {on:.2} | {:+.2} ({:+.0} %)", on - off, (on / off - 1.0) * 100.0)
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1000.0
}

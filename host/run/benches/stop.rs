//! The duration of a stop: `cargo bench -p portcullis-run --bench stop`. Forty stops of each of
//! five agents.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench prints and may stop"
)]

use portcullis_run::{AgentCommand, Reentry, Run, RunLimits, RunOutcome, Sinks, StandardInput};
use std::process::ExitCode;
use std::time::Duration;

const ROUNDS: usize = 40;

/// The agents' scripts; each writes a line when it is ready.
const AGENTS: [(&str, &str); 5] = [
    ("obeys", "echo ready; sleep 999"),
    (
        "forks 50 that ignore signals",
        "trap '' TERM INT HUP; n=0; while [ $n -lt 50 ]; do (while :; do sleep 9; done) & n=$((n+1)); done; echo ready; wait",
    ),
    (
        "opens sessions and daemons",
        "trap '' TERM; setsid sh -c 'while :; do sleep 9; done' & (setsid sh -c '(sleep 999 >/dev/null 2>&1 </dev/null &)' &); echo ready; while :; do sleep 9; done",
    ),
    (
        "floods its output",
        "trap '' TERM PIPE; echo ready; (yes flood >&2) & while :; do yes flood; done",
    ),
    ("forks without end", "trap '' TERM; echo ready; while :; do (sleep .05 &) ; done"),
];

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some("watch") => return portcullis_run::watcher_main(args),
        Some("launch") => return portcullis_run::launcher_main(args),
        _ => {}
    }
    println!("| agent | cgroup | stops | p50 | p99 | most |");
    println!("|---|---|---|---|---|---|");
    for cgroup in [true, false] {
        let mut all = Vec::new();
        for (name, script) in AGENTS {
            let mut took: Vec<Duration> = (0..ROUNDS).map(|_| stop(script, cgroup)).collect();
            row(name, cgroup, &mut took);
            all.extend(took);
        }
        row("all", cgroup, &mut all);
    }
    ExitCode::SUCCESS
}

fn stop(script: &str, cgroup: bool) -> Duration {
    let reentry = Reentry {
        program: std::env::current_exe().unwrap(),
        watcher: "watch".to_owned(),
        launcher: "launch".to_owned(),
    };
    let agent = AgentCommand {
        input: StandardInput::Nothing,
        cgroup,
        ..AgentCommand::new(["sh", "-c", script])
    };
    let mut run =
        Run::start_agent(&agent, &RunLimits::default(), &reentry, Sinks::default()).unwrap();
    run.next_event();
    std::thread::sleep(Duration::from_millis(100));
    run.stop_handle().emergency();
    let ended = run.wait_for_end().unwrap();
    assert_eq!(ended.outcome, RunOutcome::Emergency);
    let stopped = ended.stopped.unwrap();
    if stopped.took > Duration::from_secs(1) {
        eprintln!("slow: {stopped:?}, the agent's {:?}", ended.exit);
    }
    assert!(stopped.survivors.is_empty());
    stopped.took
}

fn row(name: &str, cgroup: bool, took: &mut [Duration]) {
    took.sort();
    let at = |percent: usize| {
        took.get((took.len() * percent).div_ceil(100).saturating_sub(1))
            .copied()
            .unwrap_or_default()
            .as_millis()
    };
    println!(
        "| {name} | {cgroup} | {} | {} ms | {} ms | {} ms |",
        took.len(),
        at(50),
        at(99),
        at(100)
    );
}

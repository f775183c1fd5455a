//! The cost of a session's past: one action, reviewed before and after it ran, at 10, 200 and
//! 10,000 earlier steps.
//!
//! ```text
//! cargo bench --workspace --bench history              prints the ratios
//! cargo bench --workspace --bench history -- --hold    fails above 10 % more than at 10
//! ```
//!
//! An action is the work of its two hooks without the process and the journal: the stored state is
//! read, all builtin plugins are called, the new state is written. The state at each length is kept
//! and reused for every round, so that measuring adds no step to it. History is bounded at 200
//! steps, of which a plugin gets as many as it asks for, and a plugin's own state at 64 KiB. A
//! person asks for more every 50 steps: a session at its limits is asked about each action, which
//! costs more.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench prints, and ends when it cannot go on"
)]

use portcullis_agents::claude::wire as claude;
use portcullis_builtin::{ALL, Builtin, CHOICE, SHELL_READER};
use portcullis_core::event::Event;
use portcullis_core::fault::OnFault;
use portcullis_core::mask::Masker;
use portcullis_core::observe::Observations;
use portcullis_core::pipeline::{self, Ports, Settings};
use portcullis_core::policy::Policy;
use portcullis_core::record::Record;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::undo::NoUndo;
use portcullis_engine::{
    Engine, Kind, Limits, PluginSet, PluginSpec, ReviewClock, Setting, SettingValue, Source,
};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of steps that the session has already had.
const LENGTHS: [usize; 3] = [10, 200, 10_000];
/// The number of steps from one prompt to the next.
const BETWEEN_PROMPTS: usize = 50;
/// Rounds of one action at each length, alternately.
const ROUNDS: usize = 300;
/// Rounds that are not counted, since caches fill.
const WARM: usize = 30;
/// The most that an action may cost at any length, in hundredths of its lowest cost.
const MOST: u128 = 110;

/// A session's state in its stored form.
#[derive(Clone, Default)]
struct Stored {
    session: Option<Vec<u8>>,
    agent: Option<Vec<u8>>,
}

/// All builtin plugins, and the clock of a made-up session.
struct Host {
    plugins: PluginSet,
    policy: Policy,
    masker: Masker,
    now: u64,
}

fn main() -> ExitCode {
    let mut host = Host::new();
    let mut stored = Stored::default();
    let mut states = Vec::new();
    for step in 0..=LENGTHS[LENGTHS.len() - 1] {
        if step.is_multiple_of(BETWEEN_PROMPTS) {
            stored = host.review(&stored, &prompt(step));
        }
        if LENGTHS.contains(&step) {
            states.push(stored.clone());
        }
        stored = host.step(&stored, step);
    }
    let mut times = vec![Vec::with_capacity(ROUNDS); states.len()];
    for round in 0..WARM + ROUNDS {
        for (at, state) in states.iter().enumerate() {
            let begun = Instant::now();
            host.step(state, LENGTHS[at] + round % 7);
            if round >= WARM {
                times[at].push(begun.elapsed());
            }
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    let base = medians[0].as_nanos().max(1);
    let mut worst = 0;
    for (length, median) in LENGTHS.iter().zip(&medians) {
        let hundredths = median.as_nanos() * 100 / base;
        worst = worst.max(hundredths);
        println!(
            "{length:>6} earlier steps: {median:?} an action, {hundredths} % of what it costs at {}",
            LENGTHS[0]
        );
    }
    println!("at most {MOST} %, medians of {ROUNDS}");
    let holds = worst <= MOST || !std::env::args().any(|argument| argument == "--hold");
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Host {
    fn new() -> Self {
        let clock = ReviewClock { now_ms: 1_700_000_000_000, time_budget: None };
        let engine = Engine::new(None).expect("an engine");
        let reader = PluginSpec { limits: Limits::shell_reader(), ..entry(&SHELL_READER) };
        let plugins = PluginSet::new(engine, reader, ALL.iter().map(entry).collect(), clock)
            .expect("a set of plugins");
        let policy = Policy::default();
        let masker = Masker::new([7; 32], &policy.mask);
        Self { plugins, policy, masker, now: clock.now_ms }
    }

    /// Reviews one action before and after it ran; returns the new state.
    fn step(&mut self, stored: &Stored, index: usize) -> Stored {
        let [before, after] = action(index);
        let between = self.review(stored, &before);
        self.review(&between, &after)
    }

    fn review(&mut self, stored: &Stored, event: &Event) -> Stored {
        self.now += 1000;
        self.plugins.begin_review(self.now);
        let settings = Settings {
            policy: &self.policy,
            masker: &self.masker,
            home: "/home/me",
            exceptions: &[],
            unwhole: &[],
            measured: None,
        };
        let mut ports = Ports {
            plugins: &mut self.plugins,
            observe: &mut |_| Observations::new(),
            details: &|_| None,
            undo: &NoUndo,
        };
        let state = State::decode_state(stored.session.as_deref(), stored.agent.as_deref())
            .expect("a state of this version");
        let reviewed = pipeline::run_pipeline(event, state, self.now, &settings, &mut ports);
        let held = |record: &&Record| record.verdict().is_some_and(|found| found >= Verdict::Ask);
        if let Some(record) = reviewed.records.iter().find(held) {
            panic!("the session is not an ordinary one: {}", record.document());
        }
        let (session, agent) = reviewed.state.encode().expect("a state that can be written");
        Stored { session: Some(session), agent: Some(agent) }
    }
}

/// Returns the actions of a typical agent in rotation: it reads, edits, lists, builds and tests,
/// and a test fails now and then.
fn action(index: usize) -> [Event; 2] {
    let file = format!("/home/me/shop/src/part{}.rs", index % 37);
    let (tool, input, failed) = match index % 7 {
        0 => (
            "Bash",
            json!({"command": format!("cargo test part{} 2>&1 | tail -20", index % 11)}),
            index.is_multiple_of(3),
        ),
        1 | 4 => ("Read", json!({"file_path": file}), false),
        2 => (
            "Edit",
            json!({"file_path": file, "old_string": format!("a{index}"), "new_string": format!("b{index}")}),
            false,
        ),
        3 => (
            "Bash",
            json!({"command": format!("grep -rn 'fn part{}' src && git diff --stat", index % 13)}),
            false,
        ),
        5 => {
            ("Grep", json!({"pattern": format!("part{index}"), "path": "/home/me/shop/src"}), false)
        }
        _ => ("Bash", json!({"command": "git status --short && ls -la src"}), false),
    };
    let event = |name: &str, end: Value| {
        let mut payload = json!({"session_id": "bench", "cwd": "/home/me/shop", "permission_mode": "default", "hook_event_name": name,
            "tool_name": tool, "tool_input": input, "tool_use_id": format!("call{index}")});
        for (key, value) in end.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        claude::parse_event(payload.to_string().as_bytes()).expect("a payload")
    };
    let (name, end) = if failed {
        (
            "PostToolUseFailure",
            json!({"error": format!("Exit code 101\nerror[E0425]: no value `a{}` in this scope", index % 5)}),
        )
    } else {
        (
            "PostToolUse",
            json!({"tool_response": {"stdout": format!("line {index}\n").repeat(20), "stderr": ""}}),
        )
    };
    [event("PreToolUse", json!({})), event(name, end)]
}

/// Returns what the person asks for at a step.
fn prompt(step: usize) -> Event {
    let payload = json!({"session_id": "bench", "cwd": "/home/me/shop", "hook_event_name": "UserPromptSubmit",
        "prompt": format!("Rename a{step} to b{step} everywhere in src, and run the tests of each part.")});
    claude::parse_event(payload.to_string().as_bytes()).expect("a payload")
}

fn entry(builtin: &'static Builtin) -> PluginSpec {
    let choice = builtin.choice();
    let kind = Kind::ALL
        .iter()
        .copied()
        .find(|kind| kind.as_str() == builtin.kind.as_str())
        .expect("a kind of both");
    PluginSpec {
        name: builtin.name.to_owned(),
        source: Source::Builtin {
            name: builtin.name,
            kind,
            waits_for_outcome: builtin.waits_for_outcome,
            descriptor: (!builtin.descriptor.is_empty()).then_some(builtin.descriptor),
            digest: builtin.component.digest,
            bytes: builtin.component,
        },
        settings: choice
            .map(|name| Setting { key: CHOICE.into(), value: SettingValue::Text(name.into()) })
            .into_iter()
            .collect(),
        injected_settings: Vec::new(),
        on_fault: OnFault::Block,
        limits: Limits::builtin(),
        grants: Arc::default(),
        shadow: false,
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

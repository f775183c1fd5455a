//! Measures the resident service under load: agents at once, and sessions of different lengths.
//!
//! `cargo bench --workspace --bench service` prints, for eight agents that work at the same time
//! through `portcullis-hook` (each action before and after it ran, in a session for each agent), how
//! long a hook takes, how many events are reviewed in a second, and what memory the service takes.
//! `sh -c true` is started in turn with them in the same way, since on a busy machine all processes
//! take longer.
//!
//! Then it prints the cost of an action in a session of 10,000 past steps as a share of that in a
//! session of 10, in turn, without the process of the hook.
//!
//! `PORTCULLIS_BENCH_SECONDS` sets the length of the first part (60), `PORTCULLIS_BENCH_STEPS` the
//! longer session (10,000), `PORTCULLIS_BENCH_ROUNDS` the measured actions of each session (300), and
//! `PORTCULLIS_BENCH_PROGRAMS` a folder with other programs.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "a measurement for people"
)]

#[path = "support/choices.rs"]
mod choices;
#[path = "support/served.rs"]
mod served;

use portcullis_protocol::{Answer, Reply, Request, ReviewRequest, read_message, write_message};
use served::RunningService;
use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The agents that work at the same time.
const AGENTS: usize = 8;
/// The steps of a short session.
const SHORT: usize = 10;
/// The actions between two prompts of the person: limits count what happened since the last one.
const TURN: usize = 20;
/// An agent starts `sh -c true` after so many actions.
const SHELL_EVERY: usize = 4;

struct Ground {
    folder: PathBuf,
    home: PathBuf,
    hook: PathBuf,
}

fn main() {
    let ground = Ground::prepare();
    ground.compile_plugins();
    let service = RunningService::start(&ground.folder.join("portcullis"), &ground.home);
    let seconds = choices::read_number("PORTCULLIS_BENCH_SECONDS", 60);
    work_at_once(&ground, Duration::from_secs(seconds as u64));
    service.report_memory();
    compare_lengths(&ground);
    service.report_memory();
    drop(service);
    fs::remove_dir_all(&ground.folder).unwrap();
}

impl Ground {
    fn prepare() -> Self {
        let folder =
            env::temp_dir().join(format!("portcullis-bench-service-{}", std::process::id()));
        let home = folder.join("home");
        fs::create_dir_all(folder.join("project")).unwrap();
        fs::create_dir_all(&home).unwrap();
        // The bench `checkpoints` measures what they add.
        fs::write(home.join("config.toml"), "[checkpoints]\nenabled = false\n").unwrap();
        let hook = folder.join("portcullis-hook");
        fs::copy(choices::find_program("portcullis"), folder.join("portcullis")).unwrap();
        fs::copy(choices::find_program("portcullis-hook"), &hook).unwrap();
        Self { folder, home, hook }
    }

    /// Compiles the plugins, as an installation does: the process that does it takes more memory
    /// than any other.
    fn compile_plugins(&self) {
        for text in [BEFORE, AFTER] {
            self.start_hook(&self.event(text, "compiles", 0));
        }
    }

    /// Returns an event of a session's step.
    fn event(&self, text: &str, session: &str, step: usize) -> String {
        text.replace("@project@", &self.folder.join("project").display().to_string())
            .replace("@session@", session)
            .replace("@step@", &step.to_string())
    }

    /// Starts a hook with an event, as a client does; returns the time until it ended.
    fn start_hook(&self, event: &str) -> Duration {
        let mut command = Command::new(&self.hook);
        command.args(["hook", "claude"]).env("PORTCULLIS_HOME", &self.home);
        command.env_remove("LD_LIBRARY_PATH").stdin(Stdio::piped()).stdout(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let time = begun.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !said.contains("ortcullis"), "{event}: {said}");
        time
    }

    /// Asks the service without a hook; returns the time until its answer.
    fn ask(&self, text: &str, session: &str, step: usize) -> Duration {
        let request = Request::Review(Box::new(ReviewRequest {
            agent: "claude".to_owned(),
            timeout: 30,
            process: std::process::id(),
            folder: self.folder.clone(),
            variables: env::vars_os()
                .filter(|(name, _)| name == "HOME" || name == "PATH")
                .chain([("PORTCULLIS_HOME".into(), self.home.clone().into())])
                .collect(),
            payload: self.event(text, session, step).into_bytes(),
            ..ReviewRequest::default()
        }));
        let begun = Instant::now();
        let mut stream = UnixStream::connect(self.home.join("service.sock")).unwrap();
        write_message(&mut stream, &request).unwrap();
        let reply = read_message(&mut stream).unwrap();
        let time = begun.elapsed();
        assert!(matches!(&reply, Reply::Answer(Answer { exit: 0, .. })), "{reply:?}");
        time
    }

    /// Makes an action of a session; returns the time of its two reviews together.
    fn act(&self, session: &str, step: usize) -> Duration {
        self.prompt(session, step);
        self.ask(BEFORE, session, step) + self.ask(AFTER, session, step)
    }

    /// Lets the person say something, if it is time for that.
    fn prompt(&self, session: &str, step: usize) {
        if step.is_multiple_of(TURN) {
            self.ask(PROMPT, session, step);
        }
    }
}

/// The times of one agent's processes.
#[derive(Default)]
struct AgentTimes {
    hooks: Vec<Duration>,
    shells: Vec<Duration>,
}

fn work_at_once(ground: &Ground, length: Duration) {
    let begun = Instant::now();
    let times: Vec<AgentTimes> = thread::scope(|scope| {
        let agents: Vec<_> = (0..AGENTS)
            .map(|agent| scope.spawn(move || work(ground, &format!("agent-{agent}"), length)))
            .collect();
        agents.into_iter().map(|agent| agent.join().unwrap()).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let sorted = |of: fn(&AgentTimes) -> &Vec<Duration>| {
        let mut all: Vec<Duration> = times.iter().flat_map(of).copied().collect();
        all.sort_unstable();
        all
    };
    let (hooks, shells) = (sorted(|times| &times.hooks), sorted(|times| &times.shells));
    println!("{AGENTS} agents at once for {seconds:.0} s: {} hooks", hooks.len());
    println!("{:<24} {:>8} {:>8} {:>8}", "whole process, ms", "median", "p99", "most");
    for (name, times) in [("hook", &hooks), ("sh -c true", &shells)] {
        let [median, late, most] = [0.5, 0.99, 1.0].map(|part| percentile(times, part));
        println!("{name:<24} {median:>8.2} {late:>8.2} {most:>8.2}");
    }
    println!(
        "{:.0} reviews a second; a hook takes {:.2} x `sh -c true` (medians)",
        hooks.len() as f64 / seconds,
        percentile(&hooks, 0.5) / percentile(&shells, 0.5)
    );
}

fn work(ground: &Ground, session: &str, length: Duration) -> AgentTimes {
    let (begun, mut times) = (Instant::now(), AgentTimes::default());
    for step in 0.. {
        if begun.elapsed() >= length {
            break;
        }
        ground.prompt(session, step);
        for text in [BEFORE, AFTER] {
            times.hooks.push(ground.start_hook(&ground.event(text, session, step)));
        }
        if step.is_multiple_of(SHELL_EVERY) {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "true"]).env_remove("LD_LIBRARY_PATH");
            let begun = Instant::now();
            assert!(command.status().unwrap().success(), "sh failed");
            times.shells.push(begun.elapsed());
        }
    }
    times
}

fn compare_lengths(ground: &Ground) {
    let steps = choices::read_number("PORTCULLIS_BENCH_STEPS", 10_000);
    let rounds = choices::count_rounds(300);
    for step in 0..steps {
        ground.act("long", step);
    }
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let session = format!("short-{round}");
        // A service knows the command lines that it has read, so no session gets those of another one.
        let first = (steps + rounds + round * TURN).next_multiple_of(TURN);
        for step in first..first + SHORT {
            ground.act(&session, step);
        }
        short.push(ground.act(&session, first + SHORT));
        long.push(ground.act("long", steps + round));
    }
    for times in [&mut short, &mut long] {
        times.sort_unstable();
    }
    let (short, long) = (percentile(&short, 0.5), percentile(&long, 0.5));
    println!(
        "an action after {SHORT} steps takes {short:.2} ms, after {steps} steps {long:.2} ms: {:.0} % \
         ({rounds} rounds, both reviews, without the hooks' processes)",
        long / short * 100.0
    );
}

/// Returns the time in milliseconds that a part of sorted times do not exceed.
fn percentile(sorted: &[Duration], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index, and no negative one"
    )]
    let index = (last as f64 * part).round() as usize;
    sorted.get(index).copied().unwrap_or_default().as_secs_f64() * 1e3
}

const BEFORE: &str = r#"{"session_id":"@session@","cwd":"@project@","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --package part@step@ 2>&1 | tail -20","description":"run the tests"},"tool_use_id":"call_@step@"}"#;
const AFTER: &str = r#"{"session_id":"@session@","cwd":"@project@","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cargo test --package part@step@ 2>&1 | tail -20","description":"run the tests"},"tool_response":{"stdout":"part@step@: test result: ok. 12 passed","stderr":""},"tool_use_id":"call_@step@"}"#;
const PROMPT: &str = r#"{"session_id":"@session@","cwd":"@project@","hook_event_name":"UserPromptSubmit","prompt":"Run the tests of the next parts, one by one."}"#;

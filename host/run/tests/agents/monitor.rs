//! The monitor's side: runs one agent as instructed, and reports the outcome as one line of JSON.

use crate::alive::{MARK, alive};
use portcullis_run::{
    AgentCommand, Confinement, Reentry, Run, RunEvent, RunLimits, Sinks, StandardInput, StreamLine,
    exit_code,
};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

pub(crate) fn main(settings: &str) -> ExitCode {
    let settings: Value = serde_json::from_str(settings).unwrap();
    let folder = PathBuf::from(settings["folder"].as_str().unwrap());
    let reentry = Reentry {
        program: std::env::current_exe().unwrap(),
        watcher: "watch".to_owned(),
        launcher: "launch".to_owned(),
    };
    let sinks = Sinks {
        output: Some(Box::new(Beginning::of(&folder.join("output")))),
        errors: Some(Box::new(Beginning::of(&folder.join("errors")))),
    };
    // A descriptor that the monitor's parent left open to everybody.
    std::mem::forget(rustix::io::dup(File::open("/etc/passwd").unwrap()).unwrap());
    let run = Run::start_agent(&agent(&settings, &folder), &limits(&settings), &reentry, sinks);
    let said = match run {
        Ok(run) => follow(run, &settings, &folder),
        Err(error) => {
            let code = exit_code(&Err(error));
            json!({"code": code})
        }
    };
    println!("{said}");
    ExitCode::SUCCESS
}

fn agent(settings: &Value, folder: &Path) -> AgentCommand {
    let command = settings["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.as_str().unwrap().to_owned());
    let mut agent = AgentCommand::new(command);
    agent.folder = Some(folder.to_owned());
    agent.environment.push((MARK.into(), Some(folder.as_os_str().to_owned())));
    agent.cgroup = settings["cgroup"].as_bool().unwrap();
    agent.input =
        if settings["input"].is_string() { StandardInput::Written } else { StandardInput::Nothing };
    agent.longest_line = 1 << 20;
    if let Ok(confinement) = serde_json::from_value::<Confinement>(settings["confinement"].clone())
    {
        agent.confinement = confinement;
    }
    agent
}

fn limits(settings: &Value) -> RunLimits {
    let of = |name: &str| settings["limits"][name].as_u64();
    RunLimits {
        time: of("time").map(Duration::from_millis),
        memory: of("memory"),
        processes: of("processes"),
        tokens: of("tokens"),
        output: of("output"),
    }
}

/// A sink that writes the first 4 MiB to a file: a flood that reached the disk would slow down the
/// whole machine.
struct Beginning(File, usize);

impl Beginning {
    fn of(path: &Path) -> Self {
        Self(File::create(path).unwrap(), 4 << 20)
    }
}

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let kept = bytes.len().min(self.1);
        self.1 -= kept;
        self.0.write_all(&bytes[..kept])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn follow(mut run: Run, settings: &Value, folder: &Path) -> Value {
    if let (Some(text), Some(mut input)) = (settings["input"].as_str(), run.take_input()) {
        input.write_all(text.as_bytes()).unwrap();
    }
    if settings["emergency"].as_bool() == Some(true) {
        let (stopper, ready) = (run.stop_handle(), folder.join("ready"));
        thread::spawn(move || {
            while fs::read(&ready).unwrap_or_default().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            stopper.emergency();
        });
    }
    if settings["leave"].as_bool() == Some(true) {
        return leave(run, folder);
    }
    let (mut long, mut warned) = (0_u64, 0_u64);
    if settings["blind"].as_bool() != Some(true) {
        while let Some(event) = run.next_event() {
            warned += u64::from(matches!(event, RunEvent::Warning(_)));
            long += u64::from(matches!(event, RunEvent::Output(StreamLine::TooLong { .. })));
        }
    } else {
        // Takes no event without dropping the queue: the agent has to wait.
        while !run.is_over() {
            thread::sleep(Duration::from_millis(20));
        }
    }
    let ended = run.wait_for_end();
    let code = exit_code(&ended);
    let ended = ended.unwrap();
    json!({
        "code": code,
        "alive": alive(folder.to_str().unwrap()),
        "exit": ended.exit.map(|exit| exit.to_string()),
        "stopped": ended.stopped.is_some(),
        "killed": ended.stopped.as_ref().map(|stopped| stopped.killed),
        "took": ended.stopped.as_ref().map(|stopped| stopped.took.as_millis() as u64),
        "survivors": ended.stopped.map(|stopped| stopped.survivors),
        "warnings": ended.warnings.iter().map(|warning| warning.limit.to_string()).collect::<Vec<_>>(),
        "tokens": ended.totals.tokens.spent(),
        "output": ended.totals.output,
        "long": long,
        "warned": warned,
        "peak": peak(),
    })
}

/// Drops the run when its agent is ready, and checks that this ended it.
fn leave(run: Run, folder: &Path) -> Value {
    while !folder.join("ready").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    drop(run);
    let living = || alive(folder.to_str().unwrap());
    for _ in 0..3000 {
        if living().is_empty() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    json!({"code": 0, "alive": living()})
}

/// Returns the peak memory of this process, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

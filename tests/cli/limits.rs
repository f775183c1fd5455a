//! Tests of the limits of a prompt through the hook: silent below four fifths, a warning from there
//! on, a refusal at the limit, and a new count with the person's next prompt.

use crate::common::process;
use crate::common::reply::{Answer, Reply};
use crate::common::site::{LIMIT, Site};
use crate::common::trial;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// The way in which a prompt uses something.
#[derive(Clone, Copy)]
enum Use {
    /// The transcript has a message with this many tokens, on two lines.
    Tokens(u64),
    /// A command's result has this many bytes.
    Output(usize),
    /// This many milliseconds pass.
    Time(u64),
    /// The client has this many other processes.
    Processes(usize),
    /// The client's process has this many megabytes more.
    Memory(usize),
}

/// A limit: its line in the configuration, the uses one after the other with the answer to a write
/// after each, and what the refusal says.
type Row = (&'static str, &'static [(Use, Answer)], &'static str);

const ROWS: &[Row] = &[
    (
        "token_usage = 1000",
        &[
            (Use::Tokens(790), Answer::Quiet),
            (Use::Tokens(10), Answer::Informed),
            (Use::Tokens(10), Answer::Quiet),
            (Use::Tokens(90), Answer::Informed),
            (Use::Tokens(100), Answer::Refused),
        ],
        "1000 tokens are used; 1000 is the most for a prompt (`limits.token_usage`)",
    ),
    (
        "output_mb = 1",
        &[
            (Use::Output(700_000), Answer::Quiet),
            (Use::Output(200_000), Answer::Informed),
            (Use::Output(200_000), Answer::Refused),
        ],
        "1 MB is the most for a prompt (`limits.output_mb`)",
    ),
    (
        "execution_time_seconds = 5",
        &[
            (Use::Time(0), Answer::Quiet),
            (Use::Time(4050), Answer::Informed),
            (Use::Time(1000), Answer::Refused),
        ],
        "5 s is the most for a prompt (`limits.execution_time_seconds`)",
    ),
    (
        "processes = 5",
        &[
            (Use::Processes(0), Answer::Quiet),
            (Use::Processes(3), Answer::Informed),
            (Use::Processes(5), Answer::Refused),
        ],
        "6 processes are used; 5 is the most at once (`limits.processes`)",
    ),
    (
        "memory_mb = 60",
        &[
            (Use::Memory(0), Answer::Quiet),
            (Use::Memory(52), Answer::Informed),
            (Use::Memory(90), Answer::Refused),
        ],
        "60 MB is the most at once (`limits.memory_mb`)",
    ),
];

pub fn tests() -> Vec<Trial> {
    let row = |(index, row): (usize, &'static Row)| {
        let key = row.0.split(' ').next().unwrap_or_default();
        trial(format!("limits: {key} warns, holds, and begins again"), move || holds(index, row))
    };
    let mut tests: Vec<Trial> = ROWS.iter().enumerate().map(row).collect();
    tests.push(trial(
        "limits: tightened ones are shown with their bases, and end with calm steps",
        tightened,
    ));
    tests.push(trial("limits: the defaults hold no ordinary prompt", defaults));
    tests
}

fn holds(index: usize, (setting, uses, refusal): &'static Row) -> Result<()> {
    let site = Site::new(&format!("limits-{index}"))?;
    site.write("config.toml", format!("[limits]\n{setting}\n"))?;
    let transcript = site.root().join("transcript.jsonl");
    fs::write(&transcript, "")?;
    let send = |mut event: Value, used: Option<Use>| -> Result<Reply> {
        event["transcript_path"] = json!(transcript);
        let name = event["hook_event_name"].as_str().unwrap_or_default().to_owned();
        site.ask(client(&site, used), &name, event.to_string().as_bytes())
    };
    let calls = site.calls("s");
    let write = |id: usize, used: Option<Use>| {
        let input = json!({ "file_path": site.project().join("a.txt"), "content": "x" });
        send(calls.before(&format!("w{id}"), "Write", input), used)
    };
    send(calls.prompt("Write a file."), None)?;
    for (step, (used, expected)) in uses.iter().enumerate() {
        match used {
            Use::Tokens(count) => {
                let usage = json!({ "input_tokens": count - 1, "output_tokens": 1, "cache_read_input_tokens": 9999 });
                let message = json!({ "id": format!("m{step}"), "usage": usage });
                let line = json!({ "type": "assistant", "message": message });
                let mut file = OpenOptions::new().append(true).open(&transcript)?;
                write!(file, "{line}\n{line}\n")?;
            }
            Use::Output(bytes) => {
                let id = format!("o{step}");
                send(calls.bash(&id, "ls"), None)?;
                send(calls.bash_done(&id, "ls", &"x".repeat(*bytes)), None)?;
            }
            Use::Time(milliseconds) => sleep(Duration::from_millis(*milliseconds)),
            // Processes are measured at a prompt's first action, and then before every fourth.
            Use::Processes(_) | Use::Memory(_) => drop(send(calls.prompt("Go on."), None)?),
        }
        let reply = write(step, Some(*used)).with_context(|| format!("use {step}"))?;
        ensure!(reply.answer == *expected, "use {step} of `{setting}`: {reply:?}");
        if *expected == Answer::Refused {
            reply.says(&[refusal])?;
            let reading = send(calls.bash("read", "ls"), Some(*used))?;
            ensure!(reading.answer != Answer::Refused, "reading goes on: {reading:?}");
        }
    }
    send(calls.prompt("Go on."), None)?;
    let reply = write(99, None)?;
    ensure!(reply.answer == Answer::Quiet, "the next prompt starts again: {reply:?}");
    site.verify()
}

/// Starts the hook as a client with these processes or this memory would.
fn client(site: &Site, used: Option<Use>) -> Command {
    let before = match used {
        // They must not hold the hook's output open.
        Some(Use::Processes(count)) => "sleep 5 <&- >&- 2>&- & ".repeat(count),
        Some(Use::Memory(megabytes)) => {
            format!("x=$(head -c {megabytes}000000 /dev/zero | tr '\\0' a); ")
        }
        _ => String::new(),
    };
    let program = site.binary().display();
    let script = format!("export CLAUDE_PID=$$; {before}'{program}' hook claude; exit $?");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(site.project()).env_clear();
    let ours = site.command(&[]);
    shell.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", "/usr/bin:/bin");
    site.as_its_user(&mut shell);
    shell
}

/// An intervention for repeated errors cuts ten writes to seven, in the first prompt.
const TIGHTENING: &str = "limits.file_operations = 10
interventions.ladders.repetitive_errors = [\"resource_throttling\", \"resource_throttling\", \"resource_throttling\", \"resource_throttling\"]
";

fn tightened() -> Result<()> {
    let site = Site::new("limits-tightened")?;
    site.write("config.toml", TIGHTENING)?;
    let calls = site.calls("s");
    let write = |id: usize| {
        let input = json!({ "file_path": site.project().join("a.txt"), "content": "x" });
        site.hook(&calls.before(&format!("w{id}"), "Write", input))
    };
    let status = |arguments: &[&str]| -> Result<String> {
        let asked = json!({ "session_id": "s", "cwd": site.project() });
        Ok(site.feed(arguments, asked.to_string().as_bytes())?.text())
    };
    site.hook(&calls.prompt("Write a file."))?;
    let look = "cat a.txt";
    for id in 0..3 {
        let id = format!("f{id}");
        site.hook(&calls.bash(&id, look))?;
        let error = "Exit code 1\ncat: a.txt: No such file or directory";
        site.hook(&calls.bash_failed(&id, look, error))?;
    }
    // The errors are over, and with them what is detected.
    site.hook(&calls.bash("ends", look))?;
    site.hook(&calls.bash_done("ends", look, "x"))?;
    for id in 0..7 {
        let reply = write(id)?;
        ensure!(reply.answer != Answer::Refused, "write {id}: {reply:?}");
    }
    let refused = write(7)?;
    ensure!(refused.answer == Answer::Refused, "{refused:?}");
    refused.says(&["7 is the most", "`limits.file_operations` is 10"])?;
    let (line, explained) = (status(&["status"])?, site.output(&["explain", "last"])?);
    for said in [&line, &explained] {
        ensure!(said.contains("file operations 7/7 (base 10)"), "{said}");
    }
    let shown: Value = serde_json::from_str(&status(&["status", "--json"])?)?;
    let files = json!({ "quantity": "file-operations", "maximum": 7, "used": 7, "base": 10 });
    let listed = shown["limits"].as_array().cloned().unwrap_or_default();
    ensure!(listed.first() == Some(&files), "{listed:?}");
    for id in 0..20 {
        let reply = site.hook(&calls.bash(&format!("c{id}"), "ls"))?;
        if reply.said.contains("the limits are the base limits again") {
            reply.says(&["10 writes and deletions (7 before)"])?;
            break;
        }
    }
    let records = site.records()?;
    let detects =
        |record: &Value| record["detections"].as_array().is_some_and(|all| !all.is_empty());
    let calm = records.iter().rev().take_while(|record| !detects(record));
    let calm = calm.filter(|record| record["kind"] == "review").count();
    ensure!(calm == 20, "the limits are the base limits again after {calm} calm steps");
    ensure!(status(&["status"])?.contains("file operations 7/10,"), "{}", status(&["status"])?);
    ensure!(write(8)?.answer != Answer::Refused, "the limit is the configured one again");
    site.verify()
}

fn defaults() -> Result<()> {
    let site = Site::new("limits-defaults")?;
    let text = site.output(&["config", "show"])?;
    for line in ["limits.token_usage", "limits.processes", "limits.output_mb"] {
        ensure!(text.contains(line), "`config show` does not list `{line}`");
    }
    let calls = site.calls("s");
    site.hook(&calls.prompt("Build it."))?;
    for id in 0..12 {
        let id = id.to_string();
        let reply = site.hook(&calls.bash(&id, "ls"))?;
        ensure!(reply.answer == Answer::Quiet, "{reply:?}");
        site.hook(&calls.bash_done(&id, "ls", &"x".repeat(30_000)))?;
    }
    let ended = process::run(site.command(&["audit", "verify"]), b"", LIMIT)?;
    ensure!(ended.code == Some(0), "{}", ended.all());
    Ok(())
}

//! Runs a row and checks how it ended.

use crate::alive::alive;
use crate::rows::{Act, Row};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time that anything may take on a busy machine; no measurement depends on it.
const GUARD: Duration = Duration::from_secs(90);

pub(crate) fn check(row: &Row, cgroup: bool) -> Result<(), String> {
    let site = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(site.path()).unwrap();
    let mut monitor = start(row, cgroup, &folder);
    act(row.act, &monitor, &folder);
    if matches!(row.act, Act::KillMonitor | Act::KillBoth) {
        monitor.wait().unwrap();
        return until(|| alive(folder.to_str().unwrap()).is_empty()).ok_or_else(|| {
            format!("live after their monitor: {:?}", alive(folder.to_str().unwrap()))
        });
    }
    let output = monitor.wait_with_output().unwrap();
    let said: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {output:?}"))?;
    let mut wrong = Vec::new();
    if said["code"] != row.code {
        wrong.push(format!("the code should be {}", row.code));
    }
    for empty in ["alive", "survivors"] {
        if said[empty].as_array().is_some_and(|some| !some.is_empty()) {
            wrong.push(format!("`{empty}` should be empty"));
        }
    }
    for (key, value) in row.also.iter().filter(|(key, value)| said[*key] != *value) {
        wrong.push(format!("`{key}` should be {value}"));
    }
    // A line of 64 MB or a flood of some GB is never held.
    if said["peak"].as_u64().is_some_and(|peak| peak > 100_000) {
        wrong.push("the monitor's memory should stay small".to_owned());
    }
    for (file, text) in &row.files {
        let found = fs::read_to_string(folder.join(file)).unwrap_or_default();
        if found.trim() != *text {
            wrong.push(format!(
                "`{file}` should hold {text:?} and holds {:?}",
                found.chars().take(300).collect::<String>()
            ));
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{}: {said}\n{}", wrong.join("; "), errors(&folder)))
    }
}

fn start(row: &Row, cgroup: bool, folder: &Path) -> Child {
    fs::write(folder.join("script"), row.script).unwrap();
    fs::create_dir(folder.join("in")).unwrap();
    let command = row.command.map_or_else(|| vec![row.shell, "script"], |command| vec![command]);
    let confinement = row.confinement.as_ref().map(|of| of(folder));
    let settings = json!({
        "folder": folder, "command": command, "cgroup": cgroup, "limits": row.limits, "input": row.input,
        "emergency": row.act == Act::Emergency || row.act == Act::HaltWatcher, "leave": row.act == Act::Leave, "blind": row.blind, "confinement": confinement,
    });
    Command::new(std::env::current_exe().unwrap())
        .args(["monitor", &settings.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Carries out the row's act once the agent is ready: it wrote its watcher's id and its own to a
/// file.
fn act(act: Act, monitor: &Child, folder: &Path) {
    if matches!(act, Act::Nothing | Act::Emergency | Act::Leave) {
        return;
    }
    let file = folder.join(if act == Act::HaltWatcher { "almost" } else { "ready" });
    let ids = || -> Option<Vec<i32>> {
        let text = fs::read_to_string(&file).ok()?;
        let ids: Vec<i32> = text.split_whitespace().filter_map(|id| id.parse().ok()).collect();
        (ids.len() == 2 && text.ends_with('\n')).then_some(ids)
    };
    until(|| ids().is_some()).expect("the agent gets ready");
    let ids = ids().unwrap();
    let signal =
        |id: i32, signal: Signal| kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    let monitor = i32::try_from(monitor.id()).unwrap();
    match act {
        Act::Nothing | Act::Emergency | Act::Leave => {}
        Act::KillMonitor => signal(monitor, Signal::KILL),
        Act::KillWatcher => signal(ids[0], Signal::KILL),
        Act::KillBoth => {
            // A halted monitor does not see its watcher die.
            signal(monitor, Signal::STOP);
            signal(ids[0], Signal::KILL);
            signal(monitor, Signal::KILL);
        }
        Act::KillAgent => signal(ids[1], Signal::KILL),
        Act::HaltWatcher => {
            signal(ids[0], Signal::STOP);
            fs::write(folder.join("ready"), "now").unwrap();
        }
        Act::Signal(sent) => signal(monitor, sent),
    }
}

fn until(what: impl Fn() -> bool) -> Option<()> {
    let start = Instant::now();
    while start.elapsed() < GUARD {
        if what() {
            return Some(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

fn errors(folder: &Path) -> String {
    fs::read_to_string(folder.join("errors")).unwrap_or_default().chars().take(500).collect()
}

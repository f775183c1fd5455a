//! What the guard is made of: configuration, mode, plugins and their compiled code, and whether all of it
//! together still refuses what it must.

use super::finding::{Check, Finding, or_ok};
use super::grants;
use crate::breakers::{self, Held};
use crate::config::{Config, PluginConfig};
use crate::paint;
use crate::pause;
use crate::runtime::{Circumstances, Reviewer};
use portcullis_core::breaker::Waits;
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::policy::Mode;
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_core::wire::claude;
use portcullis_engine::{Description, Source};
use portcullis_store::{Breakers, Home};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What the loaded plugins must refuse.
const BAD: &str = "rm -rf ~";

/// Whether the configuration says what its owner thinks.
pub fn configuration(config: &Result<Config, String>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let tell =
                |line: &str| Finding::problem(Check::Configuration, line.trim(), "mend that line: each action is refused until then");
            return error.lines().filter(|line| !line.trim().is_empty()).map(tell).collect();
        }
    };
    let mut findings: Vec<Finding> = config.plugins.iter().filter_map(|(name, said)| weakened(name, said)).collect();
    let used = config.plugins.iter().filter(|(_, said)| said.enabled != Some(false));
    findings.extend(used.filter_map(|(name, said)| grants::note(name, &said.grants)));
    if !config.policy.hold_settings {
        let what = "`hold_settings` is false: an agent that changes the client's settings can switch the hooks off in its own session";
        findings.push(Finding::warning(Check::Configuration, what, "set `hold_settings = true`, or remove the line"));
    }
    let disabled = &config.policy.interventions.disabled;
    if !disabled.is_empty() {
        let what =
            format!("switched off: {}", disabled.iter().map(|name| format!("`interventions.{name}`")).collect::<Vec<_>>().join(", "));
        findings.push(Finding::note(Check::Configuration, what, ""));
    }
    or_ok(findings, Check::Configuration, "valid")
}

fn weakened(name: &str, said: &PluginConfig) -> Option<Finding> {
    let builtin = portcullis_builtin::find(name).is_some() || name == portcullis_builtin::SHELL_READER.name;
    let key = |key: &str| format!("remove `{key}` from `[plugins.{name}]`");
    match (said.enabled, said.on_fault) {
        (Some(false), _) if builtin => {
            Some(Finding::warning(Check::Configuration, format!("the builtin plugin `{name}` is switched off"), key("enabled")))
        }
        (Some(false), _) => Some(Finding::note(Check::Configuration, format!("the plugin `{name}` is switched off"), "")),
        _ if said.shadow && builtin => {
            let what = format!("the builtin plugin `{name}` looks on: what it finds does not count");
            Some(Finding::warning(Check::Configuration, what, key("shadow")))
        }
        _ if said.shadow => {
            let what = format!(
                "the plugin `{name}` looks on and does not count: `portcullis plugin compare {name}` shows what it would have done"
            );
            Some(Finding::note(Check::Configuration, what, ""))
        }
        (_, Some(OnFault::Warn)) => {
            let what = format!("an action runs although the plugin `{name}` failed on it: its `on_fault` is `warn`");
            Some(Finding::warning(Check::Configuration, what, key("on_fault")))
        }
        (_, Some(OnFault::Ask)) if builtin => {
            Some(Finding::note(Check::Configuration, format!("a person is asked where the builtin plugin `{name}` fails"), ""))
        }
        _ => None,
    }
}

/// Whether decisions hold at `now`.
pub fn mode(home: &Home, config: &Config, now: u64) -> Finding {
    match pause::current(home, now) {
        Err(error) => {
            Finding::problem(Check::Mode, error.to_string(), format!("rm {}", super::access::quoted(&home.path().join(pause::FILE))))
        }
        Ok(Some(pause)) => {
            let why = if pause.reason.is_empty() { String::new() } else { format!(" ({})", pause.reason) };
            let what = format!("paused until {} UTC{why}: nothing is refused", paint::time(pause.until));
            Finding::warning(Check::Mode, what, "`portcullis resume` ends the pause")
        }
        Ok(None) if config.policy.mode == Mode::Off => Finding::warning(
            Check::Mode,
            "off: `reviewer.enabled` is false, so nothing is reviewed; what the agent does is recorded as unreviewed",
            "remove the line, or set `mode = \"observe\"` to have reviews without refusals",
        ),
        Ok(None) if config.policy.mode == Mode::Async => {
            Finding::ok(Check::Mode, "async: the hook decides before it answers, as with blocking, since the client takes one answer")
        }
        Ok(None) if config.policy.mode == Mode::Observe => Finding::note(
            Check::Mode,
            "observe: everything is recorded, nothing is refused",
            "set `mode = \"blocking\"` when you have seen enough",
        ),
        Ok(None) => Finding::ok(Check::Mode, "blocking: decisions hold"),
    }
}

/// What has to be compiled before it can run, which the next hook would do while the agent waits.
pub fn uncompiled(descriptions: &[Description], cache: &Path) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let files: Vec<String> =
        fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let compiled = |description: &&Description| {
        let Ok(inspection) = &description.inspection else { return true };
        let begin = format!("{}-{version}-", inspection.digest);
        files.iter().any(|file| file.starts_with(&begin) && file.ends_with(".code"))
    };
    descriptions.iter().filter(|description| !compiled(description)).map(|description| description.name.clone()).collect()
}

/// Says what was not compiled. `now_done`: it is by now.
pub fn code(uncompiled: &[String], reviewer: &Reviewer, now_done: bool) -> Vec<Finding> {
    let mut by_reason: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for event in reviewer.plugins.take_cache_events() {
        by_reason.entry(event.reason).or_default().push(event.path);
    }
    let mut findings: Vec<Finding> = by_reason.iter().filter_map(|(reason, paths)| unusable(reason, paths)).collect();
    if !uncompiled.is_empty() {
        let what = format!("not compiled: {}", uncompiled.join(", "));
        findings.push(if now_done {
            Finding::note(Check::Code, format!("{what}; it is now"), "")
        } else {
            Finding::warning(Check::Code, format!("{what}: the next action waits for it"), "run `portcullis doctor`, which compiles them")
        });
    }
    or_ok(findings, Check::Code, "everything is compiled")
}

/// What of the cache could not be used, told once for each reason.
fn unusable(reason: &str, paths: &[PathBuf]) -> Option<Finding> {
    let (first, rest) = paths.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let what = format!("`{}`{more} could not be used: {reason}", first.display());
    let mend = if first.is_dir() {
        format!("chmod 700 {}", super::access::quoted(first))
    } else {
        "it was compiled anew; if it comes back, look for what writes there or for a failing disk".to_owned()
    };
    Some(Finding::warning(Check::Code, what, mend))
}

/// Loads every plugin, compiling what is not compiled yet.
pub fn plugins(reviewer: &mut Reviewer, descriptions: &[Description]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut count = 0;
    reviewer.plugins.warm(|progress| {
        count = progress.total;
        if let Err(fault) = progress.result {
            findings.push(unloadable(progress.name, &format!("{}: {}", fault.kind, fault.detail), descriptions));
        }
    });
    or_ok(findings, Check::Plugins, format!("all {count} load"))
}

/// What can be told of them without loading.
pub fn described(descriptions: &[Description]) -> Vec<Finding> {
    let broken = |description: &Description| {
        description.inspection.as_ref().err().map(|error| unloadable(&description.name, &error.to_string(), descriptions))
    };
    or_ok(descriptions.iter().filter_map(broken).collect(), Check::Plugins, format!("{} found", descriptions.len()))
}

fn unloadable(name: &str, why: &str, descriptions: &[Description]) -> Finding {
    let description = descriptions.iter().find(|description| description.name == name);
    let (file, mend) = match description.map(|description| &description.source) {
        Some(Source::File(path)) => {
            let mend = format!("replace the file, or switch it off: `[plugins.{name}]` with `enabled = false`");
            (format!(" (`{}`)", path.display()), mend)
        }
        _ => (String::new(), "its settings stand in the configuration; if those are right, reinstall this program".to_owned()),
    };
    let meaning = description.map_or_else(String::new, |description| match description.on_fault {
        _ if description.shadow => ": it looks on, so actions are reviewed as without it".to_owned(),
        OnFault::Block => ": each action is refused".to_owned(),
        OnFault::Ask => ": a person is asked about each action".to_owned(),
        OnFault::Warn => ": actions run without it".to_owned(),
    });
    Finding::problem(Check::Plugins, format!("the plugin `{name}`{file} cannot be loaded: {why}{meaning}"), mend)
}

/// The plugins that are held for their failures.
pub fn held(known: &Breakers, reviewer: &mut Reviewer, now: u64) -> Vec<Finding> {
    let held = breakers::held(known, now);
    if held.is_empty() {
        return Vec::new();
    }
    let descriptions = reviewer.plugins.describe();
    let is_there = |held: &Held| descriptions.iter().any(|description| held.is_of(description));
    let tell = |held: Held| {
        let Held { name, breaker, waits } = held;
        let told = breaker.told();
        match waits {
            Waits::Until(time) => Finding::warning(
                Check::Plugins,
                format!("the plugin `{name}` is held until {} UTC, and a person is asked about each action: {told}", paint::time(time)),
                format!(
                    "mend or replace its file, or look on: it is tried again by itself, and at once after `portcullis plugin release {name}`"
                ),
            ),
            Waits::ForAPerson => Finding::problem(
                Check::Plugins,
                format!("the plugin `{name}` is in quarantine, and a person is asked about each action: {told}"),
                format!(
                    "mend or replace its file, run `portcullis plugin release {name}`, or switch it off: `[plugins.{name}]` with `enabled = false`"
                ),
            ),
        }
    };
    held.into_iter().filter(is_there).map(tell).collect()
}

/// Puts a known-bad action to the loaded plugins. Nothing of it is recorded.
pub fn judgement(reviewer: &mut Reviewer, known: &Breakers, now: u64) -> Finding {
    let event = json!({
        "session_id": "portcullis-doctor",
        "transcript_path": "/dev/null",
        "cwd": "/",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": BAD },
        "tool_use_id": "portcullis-doctor",
    });
    let wrong = |what: String| {
        Finding::problem(
            Check::Judgement,
            what,
            "`portcullis review --command 'rm -rf ~'` shows what each plugin says; do not let an agent work until it is refused",
        )
    };
    let event = match claude::parse(event.to_string().as_bytes()) {
        Ok(event) => event,
        Err(error) => return wrong(format!("a known-bad action could not be read: {}", error.problem)),
    };
    let held = breakers::holds(known, now);
    let around = Circumstances { held: &held, ..Circumstances::default() };
    let reviewed = reviewer.review(&event, State::default(), now, &around, &|_| None);
    let review = reviewed.records.iter().find(|record| record.kind == RecordKind::Review);
    let decision = review.and_then(|record| record.decision.as_ref());
    // That a plugin is held is told by itself.
    let faults = review.into_iter().flat_map(|record| &record.faults).filter(|fault| fault.kind != FaultKind::Held);
    let faults: Vec<String> = faults.map(ToString::to_string).collect();
    match decision.map(|decision| decision.verdict) {
        _ if !faults.is_empty() => wrong(format!("a known-bad action could not be judged by all plugins: {}", faults.join("; "))),
        Some(Verdict::Block) => Finding::ok(Check::Judgement, format!("`{BAD}` is to be refused, say the loaded plugins")),
        Some(verdict) => wrong(format!("the loaded plugins say `{verdict}` to a known-bad action, `{BAD}`")),
        None => wrong("a known-bad action got no decision".to_owned()),
    }
}

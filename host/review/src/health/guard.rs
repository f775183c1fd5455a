//! The parts of the guard: configuration, mode, plugins and their compiled code, and a test that
//! all of them together still refuse a known-bad action.

use super::finding::{Check, HealthFinding, or_ok};
use super::grants;
use crate::breakers::{self, HeldPlugin};
use crate::reviewer::{ReviewContext, Reviewer};
use portcullis_config::clock::format_utc;
use portcullis_config::paths::Paths;
use portcullis_config::pause;
use portcullis_config::{Config, PluginConfig};
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::policy::Mode;
use portcullis_core::record::RecordKind;
use portcullis_core::score::Verdict;
use portcullis_core::session::State;
use portcullis_engine::{Description, Kind, Source};
use portcullis_store::{Breakers, Home};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The action that the loaded plugins must refuse.
const BAD: &str = "rm -rf ~";

/// Checks that the configuration does what its owner expects.
pub(super) fn configuration(config: &Result<Config, String>) -> Vec<HealthFinding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let tell = |line: &str| {
                HealthFinding::problem(
                    Check::Configuration,
                    line.trim(),
                    "fix that line: each action is refused until then",
                )
            };
            return error.lines().filter(|line| !line.trim().is_empty()).map(tell).collect();
        }
    };
    let mut findings: Vec<HealthFinding> =
        config.plugins.iter().filter_map(|(name, said)| weakened(name, said)).collect();
    let used = config.plugins.iter().filter(|(_, said)| said.enabled != Some(false));
    findings.extend(used.filter_map(|(name, said)| grants::describe_grants(name, &said.grants)));
    if !config.policy.hold_settings {
        let what = "`hold_settings` is false: an agent that changes the client's settings can \
             switch the hooks off in its own session";
        findings.push(HealthFinding::warning(
            Check::Configuration,
            what,
            "set `hold_settings = true`, or remove the line",
        ));
    }
    let disabled = &config.policy.interventions.disabled;
    if !disabled.is_empty() {
        let what = format!(
            "switched off: {}",
            disabled
                .iter()
                .map(|name| format!("`interventions.{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        findings.push(HealthFinding::note(Check::Configuration, what, ""));
    }
    or_ok(findings, Check::Configuration, "valid")
}

/// Checks that a plugins folder that somebody named exists: its plugins do not run otherwise.
pub(super) fn plugins_folder(places: &Paths, config: &Config) -> Option<HealthFinding> {
    let folder = &config.plugins_dir;
    let named = *folder != places.config.join("plugins");
    (named && !folder.is_dir()).then(|| {
        HealthFinding::warning(
            Check::Configuration,
            format!("`plugins_dir` is `{}`, and there is no such folder", folder.display()),
            "create it, or remove the key",
        )
    })
}

fn weakened(name: &str, said: &PluginConfig) -> Option<HealthFinding> {
    let builtin =
        portcullis_builtin::find(name).is_some() || name == portcullis_builtin::SHELL_READER.name;
    let key = |key: &str| format!("remove `{key}` from `[plugins.{name}]`");
    match (said.enabled, said.on_fault) {
        (Some(false), _) if builtin => Some(HealthFinding::warning(
            Check::Configuration,
            format!("the builtin plugin `{name}` is switched off"),
            key("enabled"),
        )),
        (Some(false), _) => Some(HealthFinding::note(
            Check::Configuration,
            format!("the plugin `{name}` is switched off"),
            "",
        )),
        _ if said.shadow && builtin => {
            let what =
                format!("the builtin plugin `{name}` is in shadow mode: its findings do not count");
            Some(HealthFinding::warning(Check::Configuration, what, key("shadow")))
        }
        _ if said.shadow => {
            let what = format!(
                "the plugin `{name}` is in shadow mode and does not count: `portcullis plugin \
                 compare {name}` shows what it would have done"
            );
            Some(HealthFinding::note(Check::Configuration, what, ""))
        }
        (_, Some(OnFault::Warn)) => {
            let what = format!(
                "an action runs although the plugin `{name}` failed on it: its `on_fault` is `warn`"
            );
            Some(HealthFinding::warning(Check::Configuration, what, key("on_fault")))
        }
        (_, Some(OnFault::Ask)) if builtin => Some(HealthFinding::note(
            Check::Configuration,
            format!("a person is asked where the builtin plugin `{name}` fails"),
            "",
        )),
        _ => None,
    }
}

/// Checks that verdicts are enforced at `now`.
pub(super) fn mode(home: &Home, config: &Config, now: u64) -> HealthFinding {
    match pause::read_current(home, now) {
        Err(error) => HealthFinding::problem(
            Check::Mode,
            error.to_string(),
            format!("rm {}", super::access::quoted(&home.path().join(pause::FILE))),
        ),
        Ok(Some(pause)) => {
            let why = if pause.reason.is_empty() {
                String::new()
            } else {
                format!(" ({})", pause.reason)
            };
            let what =
                format!("paused until {} UTC{why}: nothing is refused", format_utc(pause.until));
            HealthFinding::warning(Check::Mode, what, "`portcullis resume` ends the pause")
        }
        Ok(None) if config.policy.mode == Mode::Off => HealthFinding::warning(
            Check::Mode,
            "off: `reviewer.enabled` is false, so nothing is reviewed; what the agent does is recorded as unreviewed",
            "remove the line, or set `mode = \"observe\"` to have reviews without refusals",
        ),
        Ok(None) if config.policy.mode == Mode::Async => HealthFinding::ok(
            Check::Mode,
            "async: the hook decides before it answers, as with blocking, since the client takes one answer",
        ),
        Ok(None) if config.policy.mode == Mode::Observe => HealthFinding::note(
            Check::Mode,
            "observe: everything is recorded, nothing is refused",
            "set `mode = \"blocking\"` when you have seen enough",
        ),
        Ok(None) => HealthFinding::ok(Check::Mode, "blocking: decisions hold"),
    }
}

/// Returns the plugins that still have to be compiled, which the next hook would do while the agent
/// waits.
pub(super) fn uncompiled(descriptions: &[Description], cache: &Path) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let files: Vec<String> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let compiled = |description: &&Description| {
        // A plugin that cannot be inspected is reported as such, and there is nothing to compile.
        let Ok(inspection) = &description.inspection else { return true };
        let begin = format!("{}-{version}-", inspection.digest);
        files.iter().any(|file| file.starts_with(&begin) && file.ends_with(".code"))
    };
    descriptions
        .iter()
        .filter(|description| !compiled(description))
        .map(|description| description.name.clone())
        .collect()
}

/// Reports uncompiled plugins. `now_done`: they have been compiled by now.
pub(super) fn code(
    uncompiled: &[String],
    reviewer: &Reviewer,
    now_done: bool,
) -> Vec<HealthFinding> {
    let mut by_reason: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for event in reviewer.plugins.take_cache_events() {
        by_reason.entry(event.reason).or_default().push(event.path);
    }
    let mut findings: Vec<HealthFinding> =
        by_reason.iter().filter_map(|(reason, paths)| unusable(reason, paths)).collect();
    if !uncompiled.is_empty() {
        let what = format!("not compiled: {}", uncompiled.join(", "));
        findings.push(if now_done {
            HealthFinding::note(Check::Code, format!("{what}; it is now"), "")
        } else {
            HealthFinding::warning(
                Check::Code,
                format!("{what}: the next action waits for it"),
                "run `portcullis doctor`, which compiles them",
            )
        });
    }
    or_ok(findings, Check::Code, "everything is compiled")
}

/// Reports unusable cache files, once for each reason.
fn unusable(reason: &str, paths: &[PathBuf]) -> Option<HealthFinding> {
    let (first, rest) = paths.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let what = format!("`{}`{more} could not be used: {reason}", first.display());
    let fix = if first.is_dir() {
        format!("chmod 700 {}", super::access::quoted(first))
    } else {
        "it was recompiled; if this happens again, look for what writes there or for a failing disk"
            .to_owned()
    };
    Some(HealthFinding::warning(Check::Code, what, fix))
}

/// Loads every plugin, compiling what is not compiled yet.
pub(super) fn plugins(reviewer: &mut Reviewer, descriptions: &[Description]) -> Vec<HealthFinding> {
    let mut findings = Vec::new();
    let mut count = 0;
    reviewer.plugins.compile_all(|progress| {
        count = progress.total;
        if let Some(Err(fault)) = progress.result {
            findings.push(unloadable(
                progress.name,
                &format!("{}: {}", fault.kind, fault.detail),
                descriptions,
            ));
        }
    });
    or_ok(findings, Check::Plugins, format!("all {count} load"))
}

/// Reports the problems that are visible without loading.
pub(super) fn described(descriptions: &[Description]) -> Vec<HealthFinding> {
    let broken = |description: &Description| {
        description
            .inspection
            .as_ref()
            .err()
            .map(|error| unloadable(&description.name, &error.to_string(), descriptions))
    };
    or_ok(
        descriptions.iter().filter_map(broken).collect(),
        Check::Plugins,
        format!("{} found", descriptions.len()),
    )
}

fn unloadable(name: &str, why: &str, descriptions: &[Description]) -> HealthFinding {
    let description = descriptions.iter().find(|description| description.name == name);
    let (file, fix) = match description.map(|description| &description.source) {
        Some(Source::File(path)) => {
            let fix = format!(
                "replace the file, or switch it off: `[plugins.{name}]` with `enabled = false`"
            );
            (format!(" (`{}`)", path.display()), fix)
        }
        _ => (
            String::new(),
            "its settings are in the configuration; if those are right, reinstall this program"
                .to_owned(),
        ),
    };
    let kind = |description: &Description| match &description.source {
        Source::Builtin { kind, .. } => Some(*kind),
        _ => description.inspection.as_ref().ok().map(|inspection| inspection.kind),
    };
    let meaning = description.map_or_else(String::new, |description| match description.on_fault {
        // A fault of wording must not cost the answer.
        _ if kind(description) == Some(Kind::Intervention) => {
            ": a fixed line replaces its words to the agent".to_owned()
        }
        _ if description.shadow => {
            ": it is in shadow mode, so actions are reviewed without it".to_owned()
        }
        OnFault::Block => ": each action is refused".to_owned(),
        OnFault::Ask => ": a person is asked about each action".to_owned(),
        OnFault::Warn => ": actions run without it".to_owned(),
    });
    HealthFinding::problem(
        Check::Plugins,
        format!("the plugin `{name}`{file} cannot be loaded: {why}{meaning}"),
        fix,
    )
}

/// Reports the plugins that are held for their failures.
pub(super) fn held_plugins(
    known: &Breakers,
    reviewer: &mut Reviewer,
    now: u64,
) -> Vec<HealthFinding> {
    let held = breakers::held_plugins(known, now);
    if held.is_empty() {
        return Vec::new();
    }
    let descriptions = reviewer.plugins.describe_all();
    let is_there =
        |held: &HeldPlugin| descriptions.iter().any(|description| held.is_of(description));
    let tell = |held: HeldPlugin| {
        let HeldPlugin { name, breaker, waits } = held;
        let failures = breaker.describe_failures();
        match waits {
            ReleaseCondition::Until(time) => HealthFinding::warning(
                Check::Plugins,
                format!(
                    "the plugin `{name}` is held until {} UTC, and a person is asked about each action: {failures}",
                    format_utc(time)
                ),
                format!(
                    "fix or replace its file, or wait: it is retried automatically, and at once \
                     after `portcullis plugin release {name}`"
                ),
            ),
            ReleaseCondition::ForAPerson => HealthFinding::problem(
                Check::Plugins,
                format!(
                    "the plugin `{name}` is in quarantine, and a person is asked about each action: {failures}"
                ),
                format!(
                    "fix or replace its file, run `portcullis plugin release {name}`, or switch it \
                     off: `[plugins.{name}]` with `enabled = false`"
                ),
            ),
        }
    };
    held.into_iter().filter(is_there).map(tell).collect()
}

/// Passes a known-bad action to the loaded plugins. Nothing of it is recorded.
pub(super) fn judgement(reviewer: &mut Reviewer, known: &Breakers, now: u64) -> HealthFinding {
    let client = portcullis_agents::DEFAULT;
    let event = client.command_event("portcullis-doctor", Path::new("/"), BAD);
    let wrong = |what: String| {
        HealthFinding::problem(
            Check::Judgement,
            what,
            "`portcullis review --command 'rm -rf ~'` shows what each plugin says; do not let an \
             agent work until it is refused",
        )
    };
    let event = match client.parse(event.to_string().as_bytes()) {
        Ok(event) => event,
        Err(error) => {
            return wrong(format!("a known-bad action could not be read: {}", error.problem));
        }
    };
    let held = breakers::engine_holds(known, now);
    let around = ReviewContext { held: &held, ..ReviewContext::default() };
    let reviewed = reviewer.review_event(&event, State::default(), now, &around, &|_| None);
    let review = reviewed.records.iter().find(|record| record.kind == RecordKind::Review);
    let decision = review.and_then(|record| record.decision.as_ref());
    // Held plugins are reported by a separate check.
    let faults = review
        .into_iter()
        .flat_map(|record| &record.faults)
        .filter(|fault| fault.kind != FaultKind::Held);
    let faults: Vec<String> = faults.map(ToString::to_string).collect();
    match decision.map(|decision| decision.verdict) {
        // First: a builtin plugin's fault blocks by itself, so a refusal would prove nothing.
        _ if !faults.is_empty() => wrong(format!(
            "a known-bad action could not be judged by all plugins: {}",
            faults.join("; ")
        )),
        Some(Verdict::Block) => HealthFinding::ok(
            Check::Judgement,
            format!("`{BAD}` is to be refused, say the loaded plugins"),
        ),
        Some(verdict) => {
            wrong(format!("the loaded plugins say `{verdict}` to a known-bad action, `{BAD}`"))
        }
        None => wrong("a known-bad action got no decision".to_owned()),
    }
}

//! The limits of a prompt: which of them are measured for the client on this system. A limit that
//! cannot be measured is not held, so it is said.

use super::finding::{Check, HealthFinding};
use super::settings::ClientFile;
use crate::process_tree::{self, PROCESSES};
use portcullis_agents::Agent;
use portcullis_core::limits::{LIMITS, LimitRow, LimitSource};
use portcullis_core::policy::LimitPolicy;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// A limit, and what prevents its measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitMeasurement {
    /// The configuration key.
    pub key: &'static str,
    /// True if it is measured, and therefore held.
    pub measured: bool,
    /// The place from which its use is known.
    pub source: &'static str,
    /// The reason that it is not measured; empty if it is.
    pub why: String,
}

/// Returns all limits with what prevents the measurement of each.
pub(super) fn list(agent: &dyn Agent, files: &[ClientFile]) -> Vec<LimitMeasurement> {
    let sources = Sources::look(agent, files, Path::new(PROCESSES));
    LIMITS.iter().map(|row| sources.measure(row)).collect()
}

/// Says which limits are measured, and which are not.
pub(super) fn check(
    agent: &dyn Agent,
    files: &[ClientFile],
    limits: Option<&LimitPolicy>,
) -> Vec<HealthFinding> {
    judge(&Sources::look(agent, files, Path::new(PROCESSES)), limits)
}

/// The obstacles to the sources that can be missing.
struct Sources {
    /// The reason that the client writes no transcript.
    transcript: Option<String>,
    /// The reason that no process can be seen.
    processes: Option<String>,
}

impl Sources {
    fn look(agent: &dyn Agent, files: &[ClientFile], processes: &Path) -> Self {
        let transcript = agent.hook_settings().transcript_switch().and_then(|switch| {
            let of_file = |file: &ClientFile| {
                let value = file.settings()?.get("env")?.get(switch)?;
                is_on(value).then(|| format!("`{}` sets `env.{switch}`", file.shown()))
            };
            let of_shell = || {
                let value = Value::String(std::env::var(switch).ok()?);
                is_on(&value).then(|| format!("the variable `{switch}` is set"))
            };
            let why = files.iter().find_map(of_file).or_else(of_shell)?;
            Some(format!("the client writes no transcript, since {why}"))
        });
        Self { transcript, processes: process_tree::find_obstacle(processes) }
    }

    fn obstacle(&self, source: LimitSource) -> Option<&String> {
        match source {
            LimitSource::Transcript => self.transcript.as_ref(),
            LimitSource::Processes => self.processes.as_ref(),
            LimitSource::Actions | LimitSource::Events | LimitSource::Results => None,
        }
    }

    fn measure(&self, row: &LimitRow) -> LimitMeasurement {
        let obstacle = self.obstacle(row.source);
        LimitMeasurement {
            key: row.key,
            measured: obstacle.is_none(),
            source: row.source.as_str(),
            why: obstacle.cloned().unwrap_or_default(),
        }
    }
}

/// Returns true if the value of a variable switches something on.
fn is_on(value: &Value) -> bool {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_ascii_lowercase);
    !matches!(text.as_str(), "" | "0" | "false" | "no" | "off" | "null")
}

fn judge(sources: &Sources, limits: Option<&LimitPolicy>) -> Vec<HealthFinding> {
    let name = |row: &LimitRow| format!("`{}`", row.key);
    let measured: Vec<String> =
        LIMITS.iter().filter(|row| sources.obstacle(row.source).is_none()).map(name).collect();
    let mut findings =
        vec![HealthFinding::ok(Check::Limits, format!("measured: {}", measured.join(", ")))];
    for source in [LimitSource::Transcript, LimitSource::Processes] {
        let Some(why) = sources.obstacle(source) else { continue };
        let rows: Vec<&LimitRow> = LIMITS.iter().filter(|row| row.source == source).collect();
        let keys: Vec<String> = rows.iter().map(|row| name(row)).collect();
        let what = format!("not measured, so not held: {}; {why}", keys.join(", "));
        let chosen = |row: &&LimitRow| {
            let of = |policy: &LimitPolicy| (row.configured)(policy);
            limits.is_some_and(|limits| of(limits) != of(&LimitPolicy::default()))
        };
        // Nobody relies on a limit that nobody has set.
        findings.push(if rows.iter().any(chosen) {
            HealthFinding::warning(Check::Limits, what, advise(source))
        } else {
            HealthFinding::note(Check::Limits, what, "")
        });
    }
    findings
}

const fn advise(source: LimitSource) -> &'static str {
    match source {
        LimitSource::Transcript => {
            "remove that variable, or start the agent with `portcullis run --tokens`, which counts the client's own account"
        }
        _ => "limit the agent's processes by means of the system, such as a container or `ulimit`",
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_said_and_not_claimed() {
        let all = ["file_operations", "memory_mb", "execution_time_seconds", "token_usage"];
        let set = LimitPolicy { token_usage: 10, ..LimitPolicy::default() };
        let why = |named: bool| named.then(|| "nobody knows".to_owned());
        for (transcript, processes, limits, measured, said) in [
            (false, false, Some(&set), &all[..], None),
            (true, false, Some(&set), &all[..3], Some((Level::Warning, "token_usage"))),
            (true, false, None, &all[..3], Some((Level::Note, "token_usage"))),
            (false, true, Some(&set), &[all[0], all[2]], Some((Level::Note, "memory_mb"))),
            (false, true, None, &[all[3]], Some((Level::Note, "limits.processes"))),
        ] {
            let sources = Sources { transcript: why(transcript), processes: why(processes) };
            let findings = judge(&sources, limits);
            let claimed = &findings.first().unwrap().what;
            for key in measured {
                assert!(claimed.contains(key), "{claimed}");
            }
            let missed = findings.get(1).map(|finding| (finding.level, finding.what.as_str()));
            assert_eq!(missed.map(|(level, _)| level), said.map(|(level, _)| level));
            for (what, key) in missed.iter().map(|(_, what)| what).zip(said.map(|(_, key)| key)) {
                assert!(what.contains(key) && what.contains("nobody knows"), "{what}");
                assert!(!claimed.contains(key), "{claimed}");
            }
        }
    }

    #[test]
    fn a_folder_without_processes_is_an_obstacle() {
        let none = process_tree::find_obstacle(Path::new("/nowhere"));
        assert!(none.is_some_and(|why| why.contains("`/nowhere`")));
    }
}

//! The limits of a prompt: which of them are measured for the client on this system. A limit that
//! cannot be measured is not held, so it is said.

use super::finding::{Check, HealthFinding};
use super::settings::ClientFile;
use crate::process_tree::{self, PROCESSES};
use portcullis_agents::Agent;
use portcullis_config::Config;
use portcullis_core::limits::{LIMITS, LimitRow, LimitSource};
use portcullis_core::policy::LimitPolicy;
use portcullis_engine::SettingValue;
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
pub(super) fn list(
    agent: &dyn Agent,
    files: &[ClientFile],
    config: Option<&Config>,
) -> Vec<LimitMeasurement> {
    let sources = Sources::look(agent, files, config, Path::new(PROCESSES));
    LIMITS.iter().map(|row| sources.measure(row)).collect()
}

/// Says which limits are measured, and which are not.
pub(super) fn check(
    agent: &dyn Agent,
    files: &[ClientFile],
    config: Option<&Config>,
) -> Vec<HealthFinding> {
    let limits = config.map(|config| &config.policy.limits);
    judge(&Sources::look(agent, files, config, Path::new(PROCESSES)), limits)
}

/// The reason that a limit is not held.
struct Obstacle {
    why: String,
    fix: &'static str,
}

impl Obstacle {
    const fn new(why: String, fix: &'static str) -> Self {
        Self { why, fix }
    }
}

/// The obstacles to the limits.
struct Sources {
    /// To the rule that holds the writes.
    rule: Option<Obstacle>,
    /// To the transcript, which says the tokens.
    transcript: Option<Obstacle>,
    /// To a look at the agent's processes.
    processes: Option<Obstacle>,
}

impl Sources {
    fn look(
        agent: &dyn Agent,
        files: &[ClientFile],
        config: Option<&Config>,
        processes: &Path,
    ) -> Self {
        let silent = || {
            let why = format!("{} tells its hooks no tokens", agent.display_name());
            Obstacle::new(why, "set `limits.execution_time_seconds` instead")
        };
        let switched = agent.hook_settings().transcript_switch().and_then(|switch| {
            let of_file = |file: &ClientFile| {
                let value = file.settings()?.get("env")?.get(switch)?;
                is_on(value).then(|| format!("`{}` sets `env.{switch}`", file.shown()))
            };
            let of_shell = || {
                let value = Value::String(std::env::var(switch).ok()?);
                is_on(&value).then(|| format!("the variable `{switch}` is set"))
            };
            let why = files.iter().find_map(of_file).or_else(of_shell)?;
            let why = format!("the client writes no transcript, since {why}");
            Some(Obstacle::new(
                why,
                "remove that variable, or start the agent with `portcullis run --tokens`, which \
                 counts the client's own account",
            ))
        });
        let transcript = if agent.token_reader().is_some() { switched } else { Some(silent()) };
        let rule = config.and_then(find_rule_obstacle);
        let rule = rule.map(|why| Obstacle::new(why, "let that rule apply, or remove the limit"));
        let processes = process_tree::find_obstacle(processes).map(|why| {
            Obstacle::new(
                why,
                "limit the agent's processes by means of the system, such as a container or `ulimit`",
            )
        });
        Self { rule, transcript, processes }
    }

    fn obstacle(&self, source: LimitSource) -> Option<&Obstacle> {
        match source {
            LimitSource::Actions => self.rule.as_ref(),
            LimitSource::Transcript => self.transcript.as_ref(),
            LimitSource::Processes => self.processes.as_ref(),
            LimitSource::Events | LimitSource::Results => None,
        }
    }

    fn measure(&self, row: &LimitRow) -> LimitMeasurement {
        let obstacle = self.obstacle(row.source);
        LimitMeasurement {
            key: row.key,
            measured: obstacle.is_none(),
            source: row.source.as_str(),
            why: obstacle.map(|obstacle| obstacle.why.clone()).unwrap_or_default(),
        }
    }
}

/// Returns the reason that the rule which holds the limit of writes does not apply.
fn find_rule_obstacle(config: &Config) -> Option<String> {
    let rule = LIMITS.iter().find(|row| row.ruled)?.rule;
    let rules = config.plugins.get("rules")?;
    let value = |name: &str| {
        rules.settings.iter().rev().find(|setting| setting.key == name).map(|found| &found.value)
    };
    let set = match value("builtin") {
        Some(SettingValue::Text(set)) if set != "all" => Some(set),
        _ => None,
    };
    let is_disabled = match value("disabled") {
        Some(SettingValue::Texts(names)) => names.iter().any(|name| name == rule),
        _ => false,
    };
    match (rules.enabled, set) {
        (Some(false), _) => Some("`plugins.rules.enabled` is false".into()),
        (_, Some(set)) => Some(format!("`rules.builtin` is `{set}`, without the rule `{rule}`")),
        _ if is_disabled => Some(format!("`rules.disabled` has `{rule}`")),
        _ => None,
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
    for source in [LimitSource::Actions, LimitSource::Transcript, LimitSource::Processes] {
        let Some(Obstacle { why, fix }) = sources.obstacle(source) else { continue };
        let rows: Vec<&LimitRow> = LIMITS.iter().filter(|row| row.source == source).collect();
        let keys: Vec<String> = rows.iter().map(|row| name(row)).collect();
        let state =
            if source == LimitSource::Actions { "not held" } else { "not measured, so not held" };
        let what = format!("{state}: {}; {why}", keys.join(", "));
        let chosen = |row: &&LimitRow| {
            let of = |policy: &LimitPolicy| (row.configured)(policy);
            limits.is_some_and(|limits| of(limits) != of(&LimitPolicy::default()))
        };
        // Nobody relies on a limit that nobody has set.
        findings.push(if rows.iter().any(chosen) {
            HealthFinding::warning(Check::Limits, what, *fix)
        } else {
            HealthFinding::note(Check::Limits, what, "")
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;
    use portcullis_config::paths::Paths;
    use portcullis_engine::Setting;

    #[test]
    fn what_cannot_be_measured_is_said_and_not_claimed() {
        let all = ["file_operations", "memory_mb", "execution_time_seconds", "token_usage"];
        let set = LimitPolicy { token_usage: 10, ..LimitPolicy::default() };
        let files = LimitPolicy { file_operations: 10, ..LimitPolicy::default() };
        let why = |named: bool| named.then(|| Obstacle::new("nobody knows".to_owned(), "ask"));
        let unruled =
            judge(&Sources { rule: why(true), transcript: None, processes: None }, Some(&files));
        let said = unruled.get(1).map(|finding| (finding.level, finding.what.as_str()));
        assert_eq!(
            said,
            Some((Level::Warning, "not held: `limits.file_operations`; nobody knows"))
        );
        assert!(unruled.first().is_some_and(|finding| !finding.what.contains("file_operations")));
        for (transcript, processes, limits, measured, said) in [
            (false, false, Some(&set), &all[..], None),
            (true, false, Some(&set), &all[..3], Some((Level::Warning, "token_usage"))),
            (true, false, None, &all[..3], Some((Level::Note, "token_usage"))),
            (false, true, Some(&set), &[all[0], all[2]], Some((Level::Note, "memory_mb"))),
            (false, true, None, &[all[3]], Some((Level::Note, "limits.processes"))),
        ] {
            let sources =
                Sources { rule: None, transcript: why(transcript), processes: why(processes) };
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
    fn a_client_whose_hooks_get_no_tokens_is_named() {
        for agent in portcullis_agents::ALL {
            let sources = Sources::look(*agent, &[], None, Path::new(PROCESSES));
            let said = sources.transcript.is_some_and(|found| found.why.contains("no tokens"));
            assert_eq!(said, agent.token_reader().is_none(), "{}", agent.name());
        }
    }

    #[test]
    fn a_rule_that_does_not_apply_holds_nothing() {
        let text = |text: &str| SettingValue::Text(text.into());
        let texts =
            |texts: &[&str]| SettingValue::Texts(texts.iter().map(|text| (*text).into()).collect());
        let places = Paths {
            person: "/home/p".into(),
            config: "/home/p/.config/portcullis".into(),
            state: "/home/p/.local/state/portcullis".into(),
            managed: "/etc/portcullis/config.toml".into(),
            project: None,
            environment: portcullis_agents::HookEnvironment::of_process(),
            handed: None,
        };
        for (settings, enabled, said) in [
            (vec![], None, None),
            (vec![("builtin", text("all"))], None, None),
            (vec![("builtin", text("essential"))], None, Some("`essential`")),
            (vec![("builtin", text("none"))], None, Some("`none`")),
            (vec![("disabled", texts(&["other"]))], None, None),
            (
                vec![("disabled", texts(&["other", "limit_file_operations"]))],
                None,
                Some("`rules.disabled`"),
            ),
            (vec![], Some(false), Some("`plugins.rules.enabled`")),
        ] {
            let mut config = Config::builtin_only(&places);
            let rules = config.plugins.entry("rules".into()).or_default();
            rules.enabled = enabled;
            rules.settings = settings
                .into_iter()
                .map(|(key, value)| Setting { key: key.into(), value })
                .collect();
            let why = find_rule_obstacle(&config);
            match said {
                Some(said) => {
                    assert!(why.as_ref().is_some_and(|why| why.contains(said)), "{why:?}")
                }
                None => assert_eq!(why, None),
            }
        }
    }

    #[test]
    fn a_folder_without_processes_is_an_obstacle() {
        let none = process_tree::find_obstacle(Path::new("/nowhere"));
        assert!(none.is_some_and(|why| why.contains("`/nowhere`")));
    }
}

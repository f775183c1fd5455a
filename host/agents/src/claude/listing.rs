//! Asks the installed client which hooks it has loaded and which problems it found in its settings
//! files, without any request to a model.
//!
//! The client starts a session for that, so `SessionStart` and `SessionEnd` hooks run once.

use super::handlers::{EVENTS, Invocation};
use super::registered;
use super::settings::Scope;
use crate::run;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The client's timeout. Its start takes half a second; its hooks may take more.
const LIMIT: Duration = Duration::from_secs(45);

const REQUESTS: [&str; 2] = ["get_hooks_listing", "get_settings"];

/// The client's answer.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The policies that disable hooks.
    pub policy: HookPolicy,
    /// The invalid entries of its settings files.
    pub errors: Vec<ListingProblem>,
    /// The settings in use, by source; without files that it dropped.
    sources: Vec<(String, Value)>,
}

/// The policies that disable hooks.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HookPolicy {
    /// True if the machine's settings disable all hooks.
    pub disabled_by_policy: bool,
    /// True if only the machine's hooks run.
    pub managed_only: bool,
    /// True if a settings file contains `disableAllHooks`; the machine's hooks run all the same.
    pub all_disabled: bool,
}

/// An entry of a settings file that the client could not use.
#[derive(Clone, Debug, Deserialize)]
pub struct ListingProblem {
    /// The file.
    #[serde(default)]
    pub file: String,
    /// The key, in the client's own notation.
    #[serde(default)]
    pub path: String,
    /// The client's message.
    #[serde(default)]
    pub message: String,
}

/// The reason why our handlers of a scope do not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// `disableAllHooks` in the machine's settings.
    ByPolicy,
    /// `disableAllHooks` in some other settings file.
    Disabled,
    /// `allowManagedHooksOnly`.
    ManagedOnly,
    /// The client did not load our handlers for these events.
    NotLoaded(Vec<&'static str>),
}

impl std::fmt::Display for DisabledReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ByPolicy => f.write_str("the machine's settings switch all hooks off (`disableAllHooks`)"),
            Self::Disabled => f.write_str("`disableAllHooks` in one of its settings files switches them off"),
            Self::ManagedOnly => {
                f.write_str("the machine's settings let only its own hooks run (`allowManagedHooksOnly`): install with --managed")
            }
            Self::NotLoaded(events) => write!(f, "it did not load them for {}", events.join(", ")),
        }
    }
}

/// Asks `client`, started in `folder`.
///
/// # Errors
/// Fails if it cannot be started, does not answer in time, or does not know the request.
pub fn query_listing(client: &Path, folder: &Path) -> Result<Listing> {
    let mut command = Command::new(client);
    command
        .args([
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ])
        .current_dir(folder);
    // Reading settings does not need the network.
    for off in [
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ] {
        command.env(off, "1");
    }
    let input: String = REQUESTS
        .iter()
        .map(|name| format!("{}\n", json!({ "type": "control_request", "request_id": name, "request": { "subtype": name } })))
        .collect();
    let said = run::run(command, input.as_bytes(), LIMIT)
        .with_context(|| format!("cannot ask `{}` for its hooks", client.display()))?;
    let answers: Vec<Value> =
        said.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [hooks, settings] = REQUESTS.map(|name| answer(&answers, name));
    let (Some(hooks), Some(settings)) = (hooks, settings) else {
        let why = said.stderr.lines().next().unwrap_or("it gave no reason").to_owned();
        bail!(
            "`{}` did not report which hooks it has loaded: {}",
            client.display(),
            portcullis_core::text::one_line(&why, 300)
        );
    };
    Ok(read(hooks, settings))
}

impl Listing {
    /// Returns the reason why our handlers of `scope` do not run as wanted; `None` if they do.
    #[must_use]
    pub fn off(&self, scope: Scope, wanted: &Invocation) -> Option<DisabledReason> {
        let managed = scope == Scope::Managed;
        if self.policy.disabled_by_policy {
            return Some(DisabledReason::ByPolicy);
        }
        if self.policy.managed_only && !managed {
            return Some(DisabledReason::ManagedOnly);
        }
        let found: Vec<_> = self
            .sources
            .iter()
            .filter(|(source, _)| source == scope.source())
            .flat_map(|(_, settings)| registered::find(settings, wanted))
            .collect();
        let missing: Vec<&str> =
            registered::missing(&found).iter().map(|listened| listened.event).collect();
        if !missing.is_empty() {
            return Some(DisabledReason::NotLoaded(missing));
        }
        (self.policy.all_disabled && !managed).then_some(DisabledReason::Disabled)
    }

    /// Returns the number of our events that are loaded from `scope`.
    #[must_use]
    pub fn loaded(&self, scope: Scope, wanted: &Invocation) -> usize {
        match self.off(scope, wanted) {
            Some(DisabledReason::NotLoaded(missing)) => EVENTS.len() - missing.len(),
            _ => EVENTS.len(),
        }
    }
}

fn answer<'a>(answers: &'a [Value], name: &str) -> Option<&'a Value> {
    let responses = answers.iter().filter_map(|answer| answer.get("response"));
    responses
        .filter(|response| response.get("request_id").and_then(Value::as_str) == Some(name))
        .find_map(|response| response.get("response"))
}

fn read(hooks: &Value, settings: &Value) -> Listing {
    let policy = hooks
        .get("policy")
        .and_then(|policy| HookPolicy::deserialize(policy).ok())
        .unwrap_or_default();
    let errors = settings.get("errors").and_then(Value::as_array).into_iter().flatten();
    let sources = settings.get("sources").and_then(Value::as_array).into_iter().flatten();
    Listing {
        policy,
        errors: errors.filter_map(|error| ListingProblem::deserialize(error).ok()).collect(),
        sources: sources
            .filter_map(|source| {
                Some((source.get("source")?.as_str()?.to_owned(), source.get("settings")?.clone()))
            })
            .collect(),
    }
}

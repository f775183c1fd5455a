//! Asks the installed client which hooks it has loaded and which problems it found in its settings
//! files, without any request to a model.
//!
//! The client starts a session for that, so `SessionStart` and `SessionEnd` hooks run once.

use super::handlers::{EVENTS, HOOKS};
use super::settings::source;
use crate::hook_form::HookForm;
use crate::invocation::Invocation;
use crate::listing::{DisabledReason, HookListing, ListingProblem};
use crate::run;
use crate::settings::SettingsScope;
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
pub(super) struct Listing {
    /// The policies that disable hooks.
    policy: HookPolicy,
    /// The invalid entries of its settings files.
    errors: Vec<ListingProblem>,
    /// The settings in use, by source; without files that it dropped.
    sources: Vec<(String, Value)>,
}

/// The policies that disable hooks.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookPolicy {
    /// True if the machine's settings disable all hooks.
    disabled_by_policy: bool,
    /// True if only the machine's hooks run.
    managed_only: bool,
    /// True if a settings file contains `disableAllHooks`; the machine's hooks run all the same.
    all_disabled: bool,
}

/// Asks `client`, started in `folder`.
///
/// # Errors
/// Fails if it cannot be started, does not answer in time, or does not know the request.
pub(super) fn query_listing(client: &Path, folder: &Path) -> Result<Listing> {
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
    let said = run::run_program(command, input.as_bytes(), LIMIT)
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

impl HookListing for Listing {
    fn problems(&self) -> &[ListingProblem] {
        &self.errors
    }

    fn disabled_reason(&self, scope: SettingsScope, wanted: &Invocation) -> Option<DisabledReason> {
        let managed = scope == SettingsScope::Managed;
        if self.policy.disabled_by_policy {
            return Some(DisabledReason::ByPolicy);
        }
        if self.policy.managed_only && !managed {
            return Some(DisabledReason::ManagedOnly);
        }
        let found: Vec<_> = self
            .sources
            .iter()
            .filter(|(source, _)| source == self::source(scope))
            .flat_map(|(_, settings)| HOOKS.find(settings, wanted))
            .collect();
        let missing: Vec<&str> =
            HOOKS.missing(&found).iter().map(|listened| listened.event).collect();
        if !missing.is_empty() {
            return Some(DisabledReason::NotLoaded(missing));
        }
        (self.policy.all_disabled && !managed).then_some(DisabledReason::Disabled)
    }

    fn count_loaded(&self, scope: SettingsScope, wanted: &Invocation) -> usize {
        match self.disabled_reason(scope, wanted) {
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

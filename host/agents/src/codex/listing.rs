//! Asks the installed client which hooks it loads and which of them a person has trusted, through
//! its server for editors. No session starts, and no hook runs.

use super::hooks::{EVENTS, HOOKS};
use crate::invocation::Invocation;
use crate::listing::{DisabledReason, HookListing, ListingProblem};
use crate::run;
use crate::settings::SettingsScope;
use anyhow::{Context, Result, bail};
use portcullis_core::text::one_line;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The timeout for the client's answer. It takes half a second.
const LIMIT: Duration = Duration::from_secs(45);
/// The id of our question.
const ID: u64 = 2;

/// The client's answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    hooks: Vec<ListedHook>,
    problems: Vec<ListingProblem>,
}

/// A hook as the client lists it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedHook {
    /// The key under which the client records trust in it.
    pub key: String,
    /// The event, such as `preToolUse`.
    event_name: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    matcher: Option<String>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    enabled: bool,
    /// The hash of its definition, which trust is bound to.
    pub current_hash: String,
    #[serde(default)]
    trust_status: String,
}

impl ListedHook {
    /// Returns true if it starts our hook as `wanted`.
    pub(super) fn is_ours(&self, wanted: &Invocation) -> bool {
        let listened = EVENTS.iter().find(|listened| self.is_for(listened.event));
        listened.is_some_and(|listened| self.command == wanted.shell_line(listened))
            && matches!(self.matcher.as_deref(), None | Some("" | "*" | ".*"))
    }

    fn runs(&self) -> bool {
        self.enabled && matches!(self.trust_status.as_str(), "trusted" | "managed")
    }

    fn is_for(&self, event: &str) -> bool {
        let mut letters = self.event_name.chars();
        letters.next().is_some_and(|first| {
            event.strip_prefix(first.to_ascii_uppercase()) == Some(letters.as_str())
        })
    }
}

/// Asks `client`, for a session in `folder`.
///
/// # Errors
/// Fails if it cannot be started, does not answer in time, or does not know the request.
pub(super) fn query_listing(client: &Path, folder: &Path) -> Result<Listing> {
    let mut command = Command::new(client);
    command.arg("app-server").current_dir(folder);
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"clientInfo": {"name": crate::PROGRAM, "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"jsonrpc": "2.0", "id": ID, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ];
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let said = run::ask_program(command, input.as_bytes(), LIMIT, |line| answer(line).is_some())
        .with_context(|| format!("cannot ask `{}` for its hooks", client.display()))?;
    let Some(answer) = said.lines().find_map(answer) else {
        bail!(
            "`{}` did not report which hooks it loads: {}",
            client.display(),
            one_line(said.lines().last().unwrap_or("it answered nothing"), 300)
        );
    };
    if let Some(error) = answer.get("error") {
        let why = error.get("message").and_then(Value::as_str).unwrap_or("it gave no reason");
        bail!("`{}` did not report which hooks it loads: {}", client.display(), one_line(why, 300));
    }
    Ok(read(&answer))
}

fn answer(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).ok()?;
    (value.get("id").and_then(Value::as_u64) == Some(ID)).then_some(value)
}

fn read(answer: &Value) -> Listing {
    let mut listing = Listing::default();
    let folders = answer.pointer("/result/data").and_then(Value::as_array);
    for folder in folders.into_iter().flatten() {
        let list = |name: &str| folder.get(name).and_then(Value::as_array).into_iter().flatten();
        listing.hooks.extend(list("hooks").filter_map(|hook| ListedHook::deserialize(hook).ok()));
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        listing.problems.extend(list("errors").map(|error| ListingProblem {
            file: text(error, "path"),
            path: String::new(),
            message: text(error, "message"),
        }));
    }
    listing
}

impl Listing {
    /// Returns our hooks of a scope.
    pub(super) fn ours<'a>(
        &'a self,
        scope: SettingsScope,
        wanted: &'a Invocation,
    ) -> impl Iterator<Item = &'a ListedHook> {
        let source = match scope {
            SettingsScope::User => "user",
            SettingsScope::Project | SettingsScope::Local => "project",
            SettingsScope::Managed => "system",
        };
        self.hooks.iter().filter(move |hook| hook.source == source && hook.is_ours(wanted))
    }

    fn missing(
        &self,
        scope: SettingsScope,
        wanted: &Invocation,
        counts: impl Fn(&ListedHook) -> bool,
    ) -> Vec<&'static str> {
        let is_there =
            |event: &str| self.ours(scope, wanted).any(|hook| hook.is_for(event) && counts(hook));
        HOOKS
            .events
            .iter()
            .map(|listened| listened.event)
            .filter(|event| !is_there(event))
            .collect()
    }
}

impl HookListing for Listing {
    fn problems(&self) -> &[ListingProblem] {
        &self.problems
    }

    fn disabled_reason(&self, scope: SettingsScope, wanted: &Invocation) -> Option<DisabledReason> {
        let missing = self.missing(scope, wanted, |_| true);
        if !missing.is_empty() {
            return Some(DisabledReason::NotLoaded(missing));
        }
        let idle = self.missing(scope, wanted, ListedHook::runs);
        (!idle.is_empty()).then_some(DisabledReason::Untrusted(idle))
    }

    fn count_loaded(&self, scope: SettingsScope, wanted: &Invocation) -> usize {
        EVENTS.len() - self.missing(scope, wanted, ListedHook::runs).len()
    }

    fn trust_entries(&self, scope: SettingsScope, wanted: &Invocation) -> Vec<(String, String)> {
        let ours = self.ours(scope, wanted);
        ours.map(|hook| (hook.key.clone(), hook.current_hash.clone())).collect()
    }
}

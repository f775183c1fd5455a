//! Asks the installed client for its resolved configuration, which lists the plugins that it loads.
//! No session starts, and no plugin runs. Whether a plugin could be loaded is not in it.

use super::hooks::{EVENTS, FILE};
use crate::invocation::Invocation;
use crate::listing::{DisabledReason, HookListing, ListingProblem};
use crate::run;
use crate::settings::SettingsScope;
use anyhow::{Context, Result};
use portcullis_core::text::one_line;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The timeout for the client's answer, which takes some seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// The ends of the folders of a project's settings.
const PROJECT_FOLDERS: &[&str] = &["/.opencode", "/.kilo"];

/// The plugins that the client loads.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Listing {
    #[serde(default, rename = "plugin_origins")]
    origins: Vec<PluginOrigin>,
}

/// A plugin with its address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PluginOrigin {
    spec: String,
}

/// Asks `client`, for a session in `folder`.
///
/// # Errors
/// Fails if it cannot be started, does not answer in time, or does not print its configuration.
pub(super) fn query_listing(client: &Path, folder: &Path) -> Result<Listing> {
    let mut command = Command::new(client);
    command.args(["debug", "config"]).current_dir(folder);
    // The client first installs the types for plugins. Where it cannot reach the registry, it would
    // try for more than a minute.
    command.env("npm_config_fetch_retries", "0");
    let said = run::run_program(command, b"", LIMIT)
        .with_context(|| format!("cannot ask `{}` for its plugins", client.display()))?;
    serde_json::from_str(&said.stdout).with_context(|| {
        format!(
            "`{} debug config` did not print the configuration: {}",
            client.display(),
            one_line(said.stderr.lines().last().unwrap_or("it answered nothing"), 300)
        )
    })
}

impl Listing {
    fn has_ours(&self, scope: SettingsScope) -> bool {
        let end = format!("/{FILE}");
        self.origins.iter().any(|origin| {
            let folder = origin.spec.strip_prefix("file://").and_then(|s| s.strip_suffix(&end));
            // The client calls a person's folder inside a repository local, so its scope says less.
            let of_project = |folder: &str| PROJECT_FOLDERS.iter().any(|own| folder.ends_with(own));
            folder.is_some_and(|folder| of_project(folder) == (scope != SettingsScope::User))
        })
    }
}

impl HookListing for Listing {
    fn problems(&self) -> &[ListingProblem] {
        &[]
    }

    fn disabled_reason(
        &self,
        scope: SettingsScope,
        _wanted: &Invocation,
    ) -> Option<DisabledReason> {
        let all = || EVENTS.iter().map(|listened| listened.event).collect();
        (!self.has_ours(scope)).then(|| DisabledReason::NotLoaded(all()))
    }

    fn count_loaded(&self, scope: SettingsScope, _wanted: &Invocation) -> usize {
        if self.has_ours(scope) { EVENTS.len() } else { 0 }
    }
}

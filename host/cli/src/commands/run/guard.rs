//! The command that the hooks of one run start.
//!
//! The hooks are added to those of an installation. The client runs identical handlers once, so the
//! installed handler is passed again if there is one.

use crate::error::{Context, Error, Result};
use portcullis_agents::hook_settings::HookSettings;
use portcullis_agents::{Agent, Invocation, file};
use portcullis_config::paths::{PathOverrides, Paths, own_program};
use serde_json::Value;
use std::path::Path;

/// Returns the command that the client starts for each event.
///
/// # Errors
/// Fails if this program cannot be found, or if its folders cannot be passed to the hooks.
pub fn hook_invocation(agent: &dyn Agent, places: &Paths) -> Result<Invocation> {
    if PathOverrides::held_arguments().iter().any(|argument| argument == "--managed-config") {
        return Err(Error::invalid("`run` cannot give --managed-config to the hooks")
            .with_hint("leave it out"));
    }
    let program = own_program().context("cannot determine where this program is")?;
    let pinned = Invocation {
        agent: agent.name(),
        program,
        pinned: Some((places.config.clone(), places.state.clone())),
    };
    let shared = Invocation { pinned: None, ..pinned.clone() };
    let current = std::env::current_dir().context("cannot determine the current folder")?;
    let hooks = agent.hook_settings();
    let person = Path::new(&places.person);
    let folders = hooks.layout().folders_in_environment(&places.environment, person, &current);
    let settings: Vec<Value> =
        folders.files().iter().filter_map(|(_, path)| settings(hooks, path)).collect();
    let installed = |wanted: &Invocation| {
        settings.iter().any(|settings| {
            hooks.hooks().missing(&hooks.find_handlers(settings, wanted)).is_empty()
        })
    };
    Ok(if installed(&shared) && !installed(&pinned) { shared } else { pinned })
}

/// Reads a settings file as the client does. A file that the client cannot read gives it no hooks.
fn settings(hooks: &dyn HookSettings, path: &Path) -> Option<Value> {
    let bytes = file::read_settings(path, hooks.most_bytes()).ok()?.bytes?;
    Some(hooks.read_document(&bytes).ok()?.value().clone())
}

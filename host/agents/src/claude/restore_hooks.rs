//! Restores our hooks after they were removed from a settings file during a session.
//!
//! A settings change that is held back from this session applies to the next one, which then runs
//! without our hooks and cannot report it. Only changes that disable our hooks are undone, and only
//! in a file that `install` wrote: all other changes stay. A person who wants to remove the hooks
//! has `uninstall`, which forgets the installation before it edits the file.

use super::handlers::HOOKS;
use super::validate::MOST_BYTES;
use crate::hook_form::HookForm;
use crate::invocation::Invocation;
use crate::json::JsonDocument;
use crate::{backup, file, has_our_name};
use anyhow::{Context, Result, anyhow};
use portcullis_store::Home;
use serde_json::json;
use std::path::{Path, PathBuf};

const OFF: &str = "disableAllHooks";

/// Makes `path` start our hooks again; returns the problem that it fixed, or `None` if there was no
/// problem or the file is not from our installation.
///
/// # Errors
/// Fails if the file cannot be read, parsed or written: until somebody fixes it, sessions run
/// without our hooks.
pub(super) fn restore_hooks(
    home: &Home,
    path: &Path,
    wanted: &Invocation,
) -> Result<Option<String>> {
    let Some(receipt) = backup::read_receipt(home, path)? else { return Ok(None) };
    // The hooks may have been installed with the other of our programs.
    let is_ours = |program: &PathBuf| has_our_name(&program.to_string_lossy());
    let installed = receipt.program.filter(is_ours);
    let wanted = &match installed {
        Some(program) => Invocation { program, ..wanted.clone() },
        None => wanted.clone(),
    };
    let found = file::read_settings(path, MOST_BYTES)?;
    let document = JsonDocument::parse_document(found.bytes.as_deref().unwrap_or_default())
        .map_err(|error| {
            anyhow!("`{}` is no longer valid JSON ({})", path.display(), error.what)
        })?;
    let gone = HOOKS.missing(&HOOKS.find(document.value(), wanted)).len();
    let off = document.value().get(OFF) == Some(&json!(true));
    if gone == 0 && !off {
        return Ok(None);
    }
    let mut edited = HOOKS.add(&document, wanted)?;
    if off {
        edited = edited
            .replace_value(&format!("/{OFF}"), &json!(false))
            .map_err(|error| anyhow!("`{OFF}` cannot be taken back: {}", error.what))?;
    }
    found
        .replace_content(&edited.bytes(), 0o600)
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    let what = [
        (gone > 0).then(|| format!("{gone} of our hooks were missing")),
        off.then(|| format!("`{OFF}` was set")),
    ];
    Ok(Some(what.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

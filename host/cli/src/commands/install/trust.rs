//! Trust of the client's own kind: a client that runs a hook only after a person has trusted it gets
//! the consent of the person who installs, and loses it with the hooks.

use super::report::InstallReport;
use super::{Site, remove_empty};
use crate::error::{Context, Error, Result};
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::{self, SettingsFile};
use portcullis_agents::settings::SettingsScope;
use portcullis_agents::trust::HookTrust;
use portcullis_config::clock::now_ms;
use portcullis_store::Home;
use serde_json::Value;
use std::path::Path;

/// The most bytes of the client's record.
const MOST_BYTES: u64 = 4 << 20;
/// The mode of a new file.
const MODE: u32 = 0o600;

/// Records the person's trust in our hooks of the site's scope. Does nothing for a client that asks
/// for none.
///
/// # Errors
/// Fails if the client does not say which hooks it knows, or its record cannot be read, extended or
/// written.
pub(super) fn record_trust(
    site: &Site,
    home: &Home,
    client: &Path,
    folder: &Path,
    report: &mut InstallReport,
) -> Result<()> {
    let Some(trust) = site.agent.trust() else { return Ok(()) };
    let listing = site.agent.query_listing(client, folder)?;
    let entries = listing.trust_entries(site.scope, &site.wanted);
    let found = read(site, trust)?;
    let text = text_of(&found)?;
    let after = trust.add_trust(&text, &entries).map_err(|error| unusable(&found, &error))?;
    if after == text {
        return Ok(());
    }
    let earlier = backup::read_receipt(home, &found.path)?.filter(|earlier| {
        found.bytes.as_deref().map(backup::hash_content).as_ref() == Some(&earlier.after)
    });
    let before = match &earlier {
        Some(earlier) => backup::read_before(home, earlier)?,
        None => found.bytes.clone(),
    };
    let receipt = BackupReceipt {
        file: found.path.clone(),
        before: before.as_deref().map(backup::hash_content),
        after: backup::hash_content(after.as_bytes()),
        folders: Vec::new(),
        kept: Vec::new(),
        at: now_ms(),
    };
    backup::save_backup(home, &receipt, before.as_deref())?;
    found.replace_content(after.as_bytes(), MODE)?;
    report.print_line(&format!(
        "{} runs a hook only after a person has trusted it: your trust in these is recorded in `{}`",
        site.agent.display_name(),
        found.path.display()
    ));
    Ok(())
}

/// Removes the trust in our hooks, before they are removed from `settings`.
///
/// # Errors
/// Fails if the client's record cannot be read, edited or written.
pub fn remove_trust(site: &Site, home: Option<&Home>, settings: &Value) -> Result<()> {
    let Some(trust) = site.agent.trust() else { return Ok(()) };
    let found = read(site, trust)?;
    let Some(bytes) = &found.bytes else { return Ok(()) };
    let receipt = home.map(|home| backup::read_receipt(home, &found.path)).transpose()?.flatten();
    let unchanged = receipt.as_ref().filter(|receipt| receipt.after == backup::hash_content(bytes));
    match (home, unchanged) {
        (Some(home), Some(receipt)) => match backup::read_before(home, receipt)? {
            Some(before) => drop(found.replace_content(&before, MODE)?),
            None => found.remove()?,
        },
        _ => {
            let file = site.folders.settings_file(site.scope);
            let handlers = site.agent.hook_settings().find_handlers(settings, &site.wanted);
            let keys: Vec<String> =
                handlers.iter().map(|handler| trust.key(&file, handler)).collect();
            let text = text_of(&found)?;
            let after =
                trust.remove_trust(&text, &keys).map_err(|error| unusable(&found, &error))?;
            if after != text {
                found.replace_content(after.as_bytes(), MODE)?;
            }
        }
    }
    if let (Some(home), Some(receipt)) = (home, &receipt) {
        remove_empty(&receipt.folders);
        backup::remove_backup(home, receipt)?;
    }
    Ok(())
}

/// Returns true if the person has to know, before they agree, that trust will be recorded.
pub(super) fn asks_for_trust(site: &Site) -> bool {
    site.agent.trust().is_some() && site.scope != SettingsScope::Managed
}

fn read(site: &Site, trust: &dyn HookTrust) -> Result<SettingsFile> {
    Ok(file::read_settings(&trust.file(&site.folders), MOST_BYTES)?)
}

fn text_of(found: &SettingsFile) -> Result<String> {
    String::from_utf8(found.bytes.clone().unwrap_or_default())
        .with_context(|| format!("`{}` is not text", found.path.display()))
}

fn unusable(found: &SettingsFile, error: &anyhow::Error) -> Error {
    Error::invalid(format!("`{}` cannot be edited: {error:#}", found.path.display()))
        .with_hint("fix it, or trust the hooks in the client itself")
}

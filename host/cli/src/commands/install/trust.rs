//! Trust of the client's own kind: a client that runs a hook only after a person has trusted it
//! gets the consent of the person who installs, and loses it with the hooks.

use super::Site;
use super::report::InstallReport;
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
    let Some(trust) = site.agent.trust().filter(|_| asks_for_trust(site)) else { return Ok(()) };
    let Some(listing) = site.agent.query_listing(client, folder)? else { return Ok(()) };
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
        program: None,
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

/// Removes the trust in our hooks of the site's scope, before they are removed from `settings`. If
/// nothing else has changed since the installation, the record is as it was before, byte for byte.
///
/// # Errors
/// Fails if the client's record cannot be read, edited or written.
pub fn remove_trust(
    site: &Site,
    home: Option<&Home>,
    settings: &Value,
    report: &mut InstallReport,
) -> Result<()> {
    let Some(trust) = site.agent.trust() else { return Ok(()) };
    let found = read(site, trust)?;
    if found.bytes.is_none() {
        return Ok(());
    }
    let file = site.folders.settings_file(site.scope);
    let real = file.canonicalize().unwrap_or_else(|_| file.clone());
    let handlers = site.agent.hook_settings().find_handlers(settings, &site.wanted);
    let keys: Vec<String> = handlers
        .iter()
        // The client may name the file by either path.
        .flat_map(|handler| [&file, &real].map(|file| trust.key(file, handler)))
        .collect();
    let text = text_of(&found)?;
    let after = trust.remove_trust(&text, &keys).map_err(|error| unusable(&found, &error))?;
    let (receipt, before) = match home.map(|home| earlier(home, &found)) {
        Some(Ok(earlier)) => earlier.unzip(),
        Some(Err(error)) => {
            report.print_warning(&format!("{error:#}"));
            (None, None)
        }
        None => (None, None),
    };
    // Another scope's trust is in the record too, if it is not otherwise as before.
    let before = before.filter(|before| {
        let text = before.as_deref().map_or("".into(), String::from_utf8_lossy);
        text.trim_end() == after.trim_end()
    });
    match &before {
        Some(Some(bytes)) => drop(found.replace_content(bytes, MODE)?),
        Some(None) => found.remove()?,
        None if after != text => drop(found.replace_content(after.as_bytes(), MODE)?),
        None => {}
    }
    if let (Some(home), Some(receipt), Some(_)) = (home, &receipt, &before) {
        backup::remove_backup(home, receipt)?;
    }
    Ok(())
}

/// Returns the receipt of an installation, and the record before it.
fn earlier(
    home: &Home,
    found: &SettingsFile,
) -> anyhow::Result<Option<(BackupReceipt, Option<Vec<u8>>)>> {
    let Some(receipt) = backup::read_receipt(home, &found.path)? else { return Ok(None) };
    let before = backup::read_before(home, &receipt)?;
    Ok(Some((receipt, before)))
}

/// Checks that the client's record can be extended, before anything is written.
///
/// # Errors
/// Fails if it cannot be read, or is not in the client's form.
pub(super) fn check_record(site: &Site) -> Result<()> {
    let Some(trust) = site.agent.trust().filter(|_| asks_for_trust(site)) else { return Ok(()) };
    let found = read(site, trust)?;
    let sample = [("sample".to_owned(), "sample".to_owned())];
    trust.add_trust(&text_of(&found)?, &sample).map(drop).map_err(|error| unusable(&found, &error))
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

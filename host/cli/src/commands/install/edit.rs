//! The files that an installation edits: planned before anything is written, then written with a
//! backup and a record, and taken back if the client does not load the hooks.

use super::report::InstallReport;
use super::{Site, append_record, remove_empty};
use crate::error::{Error, Result};
use portcullis_agents::backup::{self, BackupReceipt};
use portcullis_agents::file::{self, SettingsFile};
use portcullis_agents::json::JsonDocument;
use portcullis_config::clock::now_ms;
use portcullis_store::Home;
use serde_json::json;
use std::path::{Path, PathBuf};

/// A file of the client with the edit that an installation makes.
pub struct FileEdit {
    /// The file as it is.
    pub found: SettingsFile,
    /// Its settings.
    document: JsonDocument,
    /// Its settings with our hooks.
    pub edited: JsonDocument,
    /// Its bytes with our hooks.
    pub bytes: Vec<u8>,
}

impl FileEdit {
    /// Returns true if the file has to be written.
    pub fn changes(&self) -> bool {
        self.found.bytes.as_deref() != Some(self.bytes.as_slice())
    }
}

/// Reads the files of a site, and adds our hooks to each.
///
/// # Errors
/// Fails if a file cannot be read or extended, or has a mistake for which the client drops it.
pub fn plan_edits(
    site: &Site,
    only_managed: bool,
    report: &mut InstallReport,
) -> Result<Vec<FileEdit>> {
    let mut edits = Vec::new();
    for found in site.settings()? {
        let document = readable(site, &found, report)?;
        let edited = edited(&found, &document, site, only_managed)?;
        let bytes = site.agent.hook_settings().write_document(&edited);
        edits.push(FileEdit { found, document, edited, bytes });
    }
    Ok(edits)
}

/// Names files with a verb, for a message.
pub fn name_files(edits: &[&FileEdit]) -> String {
    let names: Vec<String> =
        edits.iter().map(|edit| format!("`{}`", edit.found.path.display())).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

/// Parses the file as a document that the client accepts as a whole.
fn readable(site: &Site, found: &SettingsFile, report: &mut InstallReport) -> Result<JsonDocument> {
    let hooks = site.agent.hook_settings();
    let parsed = hooks.read_document(found.bytes.as_deref().unwrap_or_default());
    let problems = match &parsed {
        Ok(document) => hooks.find_problems(document),
        Err(error) => vec![error.clone().into()],
    };
    match parsed {
        Ok(document) if problems.is_empty() => Ok(document),
        _ => {
            report.print_problems(&found.path, &problems);
            Err(Error::invalid(format!(
                "`{}` has {}; one is enough for the client to ignore the whole file, hooks included",
                found.path.display(),
                if problems.len() == 1 {
                    "a mistake".to_owned()
                } else {
                    format!("{} mistakes", problems.len())
                }
            ))
            .with_hint("fix what is named, then install"))
        }
    }
}

fn edited(
    found: &SettingsFile,
    document: &JsonDocument,
    site: &Site,
    only_managed: bool,
) -> Result<JsonDocument> {
    const ONLY: &str = "allowManagedHooksOnly";
    let edited = site.agent.hook_settings().add_handlers(&found.path, document, &site.wanted)?;
    let alone = match edited.value().get(ONLY) {
        _ if !only_managed => return Ok(edited),
        Some(value) if value == &json!(true) => return Ok(edited),
        Some(_) => edited.replace_value(&format!("/{ONLY}"), &json!(true)),
        None => edited.add_member("", ONLY, &json!(true)),
    };
    alone.map_err(|error| {
        Error::invalid(format!("`{ONLY}` cannot be set at {}: {}", error.place, error.what))
    })
}

/// Returns the folders that a file needs and that do not exist, the outermost first.
pub fn list_missing_folders(file: &SettingsFile) -> Vec<PathBuf> {
    let above = file.real.ancestors().skip(1);
    let missing = above.take_while(|above| above.symlink_metadata().is_err());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Backs up the file, writes it, and records the change.
///
/// # Errors
/// Fails if the backup or the file cannot be written.
pub fn write_edit(
    site: &Site,
    home: &Home,
    edit: &FileEdit,
    client: Option<&Path>,
    report: &mut InstallReport,
) -> Result<()> {
    let FileEdit { found, bytes, .. } = edit;
    let OriginalFile { before, kept, folders: earlier } = original(home, edit, site)?;
    let missing = list_missing_folders(found);
    let receipt = BackupReceipt {
        file: found.path.clone(),
        before: before.as_deref().map(backup::hash_content),
        after: backup::hash_content(bytes),
        // An earlier installation may have made the folders that are there now.
        folders: if missing.is_empty() { earlier } else { missing },
        kept,
        program: Some(site.wanted.program.clone()),
        at: now_ms(),
    };
    let copy = backup::save_backup(home, &receipt, before.as_deref())?;
    found.replace_content(bytes, site.scope.file_mode())?;
    if before.is_some() {
        report.print_line(&format!("the previous file is kept in `{}`", copy.display()));
    }
    if found.linked() {
        report.print_line(&format!(
            "`{}` is a link: `{}` was written",
            found.path.display(),
            found.real.display()
        ));
    }
    let version = client.map_or_else(
        || "a client that was not found".to_owned(),
        |client| client.display().to_string(),
    );
    append_record(
        home,
        "install",
        &format!(
            "hooks of `{}` written to `{}` for {version}",
            site.wanted.program.display(),
            found.path.display()
        ),
        report,
    );
    Ok(())
}

/// The state before the installation.
struct OriginalFile {
    /// The file's text, if it existed.
    before: Option<Vec<u8>>,
    /// Containers in it that were empty, and are kept.
    kept: Vec<String>,
    /// Folders that were created for it.
    folders: Vec<PathBuf>,
}

/// Returns the state that `uninstall` restores: an earlier installation's original if nothing else
/// has changed since, else the current file without the hooks.
fn original(home: &Home, edit: &FileEdit, site: &Site) -> Result<OriginalFile> {
    let FileEdit { found, document, .. } = edit;
    let earlier = backup::read_receipt(home, &found.path)?.filter(|earlier| {
        found.bytes.as_deref().map(backup::hash_content).as_ref() == Some(&earlier.after)
    });
    if let Some(earlier) = earlier {
        return Ok(OriginalFile {
            before: backup::read_before(home, &earlier)?,
            kept: earlier.kept,
            folders: earlier.folders,
        });
    }
    let hooks = site.agent.hook_settings();
    let kept = hooks.empty_containers(document.value());
    let without = hooks.remove_handlers(document, &site.wanted, &kept)?;
    let before = match (&found.bytes, without.value() == document.value()) {
        (Some(bytes), true) => Some(bytes.clone()),
        // Without our hooks nothing is left of such a file.
        (Some(_), false) if hooks.hooks().has_own_files() => None,
        (Some(_), false) => Some(hooks.write_document(&without)),
        (None, _) => None,
    };
    Ok(OriginalFile { before, kept, folders: Vec::new() })
}

/// Takes the edit of a file back.
///
/// # Errors
/// Fails if the file cannot be written or removed.
pub fn take_back(site: &Site, home: &Home, found: &SettingsFile) -> Result<()> {
    let Some(receipt) = backup::read_receipt(home, &found.path)? else { return Ok(()) };
    let written = file::read_settings(&found.path, site.agent.hook_settings().most_bytes())?;
    match &found.bytes {
        Some(bytes) => drop(written.replace_content(bytes, site.scope.file_mode())?),
        None => written.remove()?,
    }
    remove_empty(&receipt.folders);
    Ok(backup::remove_backup(home, &receipt)?)
}

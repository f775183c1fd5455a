//! `portcullis uninstall claude`: takes our hooks out of a settings file of the client. To the byte what was
//! there before where nothing else has changed since, else our handlers alone.

use super::install::report::Report;
use super::install::{ScopeArguments, Site, journal, remove_empty};
use crate::client::backup::{self, Receipt};
use crate::client::claude::settings::Scope;
use crate::client::claude::{edit, registered, validate};
use crate::client::file::Found;
use crate::client::json::Document;
use crate::config;
use crate::human;
use crate::places::Places;
use anyhow::{Context, Result, bail};
use portcullis_store::Home;
use serde_json::json;
use std::fs;

#[derive(clap::Args)]
pub struct Arguments {
    /// The agent
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crate::commands::hook::AGENTS))]
    agent: String,
    #[command(flatten)]
    scope: ScopeArguments,
    /// Remove the state too: journal, key, compiled code, backups
    #[arg(long)]
    purge: bool,
    /// Show what would change and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What becomes of a settings file.
enum After {
    /// It is given these bytes.
    Bytes(Vec<u8>),
    /// It is removed: it was not there before us.
    Gone,
    /// It holds nothing of ours.
    Same,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let scope = arguments.scope.scope();
    let site = Site::new(scope, None, !arguments.dry_run)?;
    let mut report = Report::new(arguments.json, scope, &site.folders.file(scope));
    let found = site.settings()?;
    // A look must not make a home.
    let home = site.places.state.join("key").exists().then(|| Home::open(&site.places.state)).transpose()?;
    let receipt = receipt(home.as_ref(), &found, &mut report);
    let after = after(&site, &found, home.as_ref(), receipt.as_ref(), &mut report)?;
    match &after {
        After::Bytes(bytes) => report.diff(&found, bytes),
        After::Gone => report.say(&format!("`{}` goes: it was not there before", found.path.display())),
        After::Same => report.say(&format!("`{}` holds no hooks of Portcullis", found.path.display())),
    }
    let unchanged = matches!(after, After::Same);
    if arguments.dry_run || (unchanged && !arguments.purge) {
        let outcome = if unchanged { "unchanged" } else { "dry_run" };
        return Ok(report.end(outcome, "nothing was written"));
    }
    human::confirm(&question(&site, &found, unchanged, arguments.purge))?;
    match &after {
        After::Bytes(bytes) => drop(found.replace(bytes, scope.mode())?),
        After::Gone => found.remove()?,
        After::Same => {}
    }
    if let (Some(home), Some(receipt)) = (&home, &receipt) {
        remove_empty(&receipt.folders);
        backup::forget(home, receipt)?;
    }
    if let Some(home) = &home {
        if arguments.purge {
            purge(&site.places, home)?;
        } else if !unchanged {
            journal(home, "uninstall", &format!("hooks taken out of `{}` by a person", found.path.display()), &mut report);
        }
    }
    report.say("a session that runs keeps the hooks that it began with");
    Ok(report.end("uninstalled", "uninstalled"))
}

fn question(site: &Site, found: &Found, unchanged: bool, purge: bool) -> String {
    let mut parts = Vec::new();
    if !unchanged {
        parts.push(format!("Portcullis will no longer review what Claude Code does by `{}`.", found.path.display()));
    }
    if purge {
        parts.push(format!("Journal, key, compiled code and backups in `{}` will be deleted.", site.places.state.display()));
    }
    parts.join("\n")
}

/// A receipt that cannot be used costs the exact text of before, not the uninstallation.
fn receipt(home: Option<&Home>, found: &Found, report: &mut Report) -> Option<Receipt> {
    match home.map(|home| backup::receipt(home, &found.path)).transpose() {
        Ok(receipt) => receipt.flatten(),
        Err(error) => {
            report.warn(&format!("{error:#}"));
            None
        }
    }
}

fn after(site: &Site, found: &Found, home: Option<&Home>, receipt: Option<&Receipt>, report: &mut Report) -> Result<After> {
    let Some(bytes) = &found.bytes else { return Ok(After::Same) };
    if let (Some(home), Some(receipt)) = (home, receipt.filter(|receipt| receipt.after == backup::digest(bytes))) {
        match backup::before(home, receipt) {
            Ok(Some(before)) => return Ok(After::Bytes(before)),
            Ok(None) => return Ok(After::Gone),
            Err(error) => report.warn(&format!("{error:#}")),
        }
    }
    let document = Document::parse(bytes)
        .map_err(|error| anyhow::Error::msg(validate::Problem::from(error)))
        .with_context(|| format!("`{}` cannot be edited", found.path.display()))?;
    let kept = receipt.map(|receipt| receipt.kept.clone()).unwrap_or_default();
    let mut without = edit::uninstall(&document, &site.wanted, &kept)?;
    if site.scope == Scope::Managed && without.value().get("allowManagedHooksOnly") == Some(&json!(true)) {
        // Ours alone stands in this file, and without our hooks it would only shut out everyone else's.
        without = without.remove("/allowManagedHooksOnly").map_err(|error| anyhow::anyhow!(error.what))?;
    }
    let mixed = registered::find(without.value(), &site.wanted);
    for handler in &mixed {
        report.warn(&format!("a command of your own at `{}` starts Portcullis: it was left alone", handler.pointer));
    }
    let ours_alone = receipt.is_some_and(|receipt| receipt.before.is_none()) || site.scope == Scope::Managed;
    Ok(match without.value() {
        value if value == &json!({}) && ours_alone => After::Gone,
        value if value == document.value() => After::Same,
        _ => After::Bytes(without.bytes()),
    })
}

/// Everything in the state folder, except a configuration that lies there too.
fn purge(places: &Places, home: &Home) -> Result<()> {
    let root = home.path();
    let failed = || format!("cannot remove the state in `{}`", root.display());
    let shared = places.config == places.state;
    for entry in fs::read_dir(root).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if shared && (entry.file_name() == config::FILE || entry.file_name() == "plugins") {
            continue;
        }
        let folder = entry.file_type().with_context(failed)?.is_dir();
        let removed = if folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        removed.with_context(|| format!("cannot remove `{}`", entry.path().display()))?;
    }
    if !shared && fs::remove_dir(root).is_err() {
        bail!("`{}` could not be removed", root.display());
    }
    Ok(())
}

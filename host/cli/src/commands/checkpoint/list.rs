//! `portcullis checkpoint list`: lists all checkpoints with their actions.

use crate::commands::audit;
use crate::error::{Context, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_checkpoint::{Cause, CheckpointSummary};
use portcullis_core::text::one_line;
use portcullis_review::checkpoints::listing::{self, ReportedAction, describe_action};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

pub fn run_list(arguments: &Arguments) -> Result<CommandExit> {
    let Some(vault) = super::vault()? else {
        if !arguments.json {
            paint::print_text(&format!("no checkpoints: {}\n", super::HOW_TAKEN));
        }
        return Ok(CommandExit::Success);
    };
    let listing = vault.list()?;
    let reported = listing
        .checkpoints
        .first()
        .map(|oldest| reported_actions(oldest.at))
        .transpose()?
        .unwrap_or_default();
    for listed in listing.checkpoints.iter().rev() {
        let reported = reported.get(listed.id.as_str());
        if arguments.json {
            paint::print_text(&format!("{}\n", as_json(listed, reported)));
        } else {
            paint::print_wrapped(&line(listed, reported), 2);
        }
    }
    if listing.checkpoints.is_empty() && !arguments.json {
        paint::print_text("no checkpoints\n");
    }
    for damaged in &listing.damaged {
        anstream::eprintln!("{}: {}", paint::bad("damaged"), one_line(&damaged.to_string(), 512));
    }
    for undo in &listing.unfinished {
        anstream::eprintln!(
            "{}: the restore `{undo}` did not end; the next restore completes it first",
            paint::warn("unfinished")
        );
    }
    Ok(CommandExit::Success)
}

/// Reads the journal's information about the actions since then, by checkpoint.
pub fn reported_actions(since: u64) -> Result<BTreeMap<String, ReportedAction>> {
    let read = listing::reported_actions(&audit::open_store()?, since);
    read.context("the journal cannot be read")
}

fn line(listed: &CheckpointSummary, reported: Option<&ReportedAction>) -> String {
    let what = describe_action(listed, reported);
    let session = reported
        .map(|reported| format!(" (session {})", one_line(&reported.session, 40)))
        .unwrap_or_default();
    let changed = listed.settled_at.map_or_else(|| "?".to_owned(), |_| listed.changes.to_string());
    let changed = format!("{changed:>5} changed");
    format!(
        "{}  {}  {}  {changed}  {what}{}\n",
        listed.id,
        paint::time(listed.at),
        describe_state(listed),
        paint::dim(session)
    )
}

/// Describes whether everything was saved, and whether the end of the action was seen.
pub fn describe_state(listed: &CheckpointSummary) -> String {
    let whole = if listed.complete { paint::good("complete  ") } else { paint::warn("incomplete") };
    let settled = if listed.settled_at.is_some() { "settled" } else { "open   " };
    format!("{whole} {settled}")
}

/// Formats a checkpoint as JSON.
pub fn as_json(listed: &CheckpointSummary, reported: Option<&ReportedAction>) -> Value {
    let restore_of = match &listed.cause {
        Cause::Restore(of) => Some(of.as_str()),
        Cause::Action => None,
    };
    json!({
        "id": listed.id.as_str(),
        "at": listed.at,
        "restore_of": restore_of,
        "session": reported.map(|reported| &reported.session),
        "review": reported.map(|reported| &reported.review),
        "action": reported.map(|reported| &reported.action),
        "folders": listed.roots.iter().map(|root| super::path_json(root)).collect::<Vec<_>>(),
        "whole_folders": listed.tree,
        "complete": listed.complete,
        "settled_at": listed.settled_at,
        "changes": listed.settled_at.map(|_| listed.changes),
    })
}

//! `portcullis checkpoint restore`: restores files to their state before an action.

use super::{absolute, diff, find, path};
use crate::commands::audit;
use crate::error::Result;
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_checkpoint::{
    CheckpointError, CheckpointSummary, Difference, PathStatus, Restore, Restored,
};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::counted;
use portcullis_review::checkpoints::undo_id;
use portcullis_review::reviewer::to_store;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The checkpoint's id or a prefix of it; `last` for the newest
    id: String,
    /// Restore only these paths and everything below them
    #[arg(long, value_name = "PATH", num_args = 1..)]
    only: Vec<PathBuf>,
    /// Overwrite later changes too; a copy of them is kept
    #[arg(long)]
    force: bool,
    /// Show what would be restored and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Creates arguments that restore a whole checkpoint, for a person who has already confirmed.
    pub fn of(id: &str, force: bool, dry_run: bool, json: bool) -> Self {
        Self { id: id.to_owned(), only: Vec::new(), force, dry_run, yes: true, json }
    }
}

/// The most paths that are shown to a person.
const MOST_SHOWN: usize = 50;

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.dry_run {
        interactive::refuse_agents()?;
    }
    let (vault, listed) = find(&arguments.id)?;
    let at = portcullis_config::clock::now();
    let only = arguments.only.iter().map(|path| absolute(path)).collect::<Result<_>>()?;
    let how =
        Restore { undo: undo_id(&listed.id, at)?, at, force: arguments.force, only, dry: true };
    // Skip the plan when not prompting: scanning a large tree is slow.
    if !arguments.yes || arguments.dry_run {
        let planned = match vault.restore(&listed.id, &how) {
            Err(CheckpointError::Refused { paths }) => return Ok(refused(arguments, &paths)),
            planned => planned?,
        };
        if arguments.dry_run || planned.restored.is_empty() {
            print_result(arguments, &listed, &planned);
            return Ok(CommandExit::Success);
        }
        if !arguments.json {
            plan(&listed, &planned);
        }
        interactive::confirm(&format!(
            "{} will be as before the action.",
            counted(planned.restored.len() as u64, "path")
        ))?;
    }
    let restored = match vault.restore(&listed.id, &Restore { dry: false, ..how }) {
        Err(CheckpointError::Refused { paths }) => return Ok(refused(arguments, &paths)),
        restored => restored?,
    };
    if restored.undo.is_none() {
        print_result(arguments, &listed, &restored);
        return Ok(CommandExit::Success);
    }
    let unrecorded = record(&listed, &restored, at).err();
    print_result(arguments, &listed, &restored);
    if let Some(error) = unrecorded {
        anstream::eprintln!("{}: this is not in the journal: {error:#}", paint::warn("warning"));
    }
    Ok(CommandExit::Success)
}

/// Prints what would be restored.
fn plan(listed: &CheckpointSummary, planned: &Restored) {
    let mut lines: Vec<String> = Vec::new();
    for restored in planned.restored.iter().take(MOST_SHOWN) {
        let one = planned.planned.iter().find(|one| one.path == *restored);
        let since = one
            .filter(|one| one.standing != PathStatus::AsLeft)
            .map(|one| format!("  ({})", one.standing))
            .unwrap_or_default();
        lines.push(format!(
            "  {:8} {}{}\n",
            one.map_or("changed", diff::describe_change),
            path(restored),
            paint::warn(since)
        ));
    }
    let more = planned.restored.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        lines.push(format!("  and {more} more\n"));
    }
    paint::print(&format!("Since the checkpoint {} these were:\n{}", listed.id, lines.concat()));
}

/// Reports the conflicts; nothing was changed.
fn refused(arguments: &Arguments, paths: &[Difference]) -> CommandExit {
    if arguments.json {
        let paths: Vec<Value> = paths
            .iter()
            .map(|one| json!({ "path": one.path, "standing": one.standing.to_string() }))
            .collect();
        paint::print(&format!("{}\n", json!({ "outcome": "refused", "refused": paths })));
        return CommandExit::Failure;
    }
    for one in paths.iter().take(MOST_SHOWN) {
        paint::print(&format!("  {}: {}\n", path(&one.path), one.standing));
    }
    let fix = "look with `portcullis checkpoint diff`, put the others back with `--only`, or overwrite these with `--force`";
    anstream::eprintln!(
        "{}: {} changed since the agent's action, so nothing was restored: {fix}",
        paint::bad("refused"),
        counted(paths.len() as u64, "path")
    );
    CommandExit::Failure
}

fn print_result(arguments: &Arguments, listed: &CheckpointSummary, restored: &Restored) {
    let undo = restored.undo.as_ref().map(|(id, _)| id.as_str());
    if arguments.json {
        let not_kept: Vec<Value> = restored
            .not_kept
            .iter()
            .map(|one| json!({ "path": one.path, "why": one.why.to_string() }))
            .collect();
        let document = json!({
            "outcome": if arguments.dry_run { "planned" } else { "restored" },
            "checkpoint": listed.id.as_str(),
            "restored": restored.restored,
            "already": restored.already.len(),
            "stays": restored.stays,
            "not_kept": not_kept,
            "left_alone": restored.left_alone,
            "undo": undo,
        });
        return paint::print(&format!("{document}\n"));
    }
    let count = restored.restored.len() as u64;
    let done = match (arguments.dry_run, count) {
        (true, _) => "would be put back",
        (false, 1) => "was put back",
        (false, _) => "were put back",
    };
    paint::print(&format!(
        "{} {done}; {} already as before\n",
        counted(count, "path"),
        restored.already.len()
    ));
    if arguments.dry_run {
        restored
            .restored
            .iter()
            .take(MOST_SHOWN)
            .for_each(|one| paint::print(&format!("  {}\n", path(one))));
    }
    let named = |what: &str, paths: Vec<String>| {
        for one in paths.iter().take(MOST_SHOWN) {
            paint::print(&format!("  {}: {one}\n", paint::warn(what)));
        }
    };
    named(
        "not kept",
        restored.not_kept.iter().map(|one| format!("{} ({})", path(&one.path), one.why)).collect(),
    );
    named(
        "stays, since others put something into it",
        restored.stays.iter().map(|one| path(one)).collect(),
    );
    named(
        "left as it is, since it changed meanwhile",
        restored.left_alone.iter().map(|one| path(one)).collect(),
    );
    if let Some(undo) = undo {
        paint::print(&format!("To undo this: portcullis checkpoint restore {undo}\n"));
    }
}

/// Records a restore in the journal.
fn record(listed: &CheckpointSummary, restored: &Restored, at: u64) -> Result<()> {
    let paths = counted(restored.restored.len() as u64, "path");
    let summary = format!("a person put {paths} back to the state at the checkpoint {}", listed.id);
    let mut record = Record::apart(
        RecordKind::Configuration,
        "checkpoint-restore",
        &summary,
        at,
        listed.id.as_str(),
    );
    record.details.insert("checkpoint".into(), listed.id.as_str().into());
    if let Some((undo, _)) = &restored.undo {
        record.details.insert("undo".into(), undo.as_str().into());
    }
    audit::open()?.append(vec![to_store(&record)])?;
    Ok(())
}

//! `portcullis checkpoint restore`: restores files to their state before an action. `portcullis
//! undo` restores through it too.

use super::{absolute, find, path, path_json};
use crate::commands::audit;
use crate::error::Result;
use crate::exit::CommandExit;
use crate::spelling::spell_command;
use crate::{interactive, paint};
use portcullis_checkpoint::{
    Cause, CheckpointSummary, Difference, Id, LeftOut, PathStatus, Restored, Vault,
};
use portcullis_core::text::count_noun;
use portcullis_review::checkpoints::restoring::{
    RequestedRestore, RestoreOutcome, Undone, describe_change, restore_record,
};
use portcullis_review::decisions::AT_A_TERMINAL;
use portcullis_review::stored_records::to_store;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The checkpoint's id or a prefix of it; `last` for the newest
    id: String,
    #[command(flatten)]
    options: Options,
}

/// The options of each command that restores files.
#[derive(clap::Args)]
pub struct Options {
    /// Restore only these paths and everything below them
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub only: Vec<PathBuf>,
    /// Overwrite later changes too; a copy of them is kept
    #[arg(long)]
    force: bool,
    /// Show what would be restored and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// Creates arguments that restore a whole checkpoint, for a person who has already confirmed.
    pub fn for_checkpoint(id: &str, force: bool, dry_run: bool, json: bool) -> Self {
        let options = Options { only: Vec::new(), force, dry_run, yes: true, json };
        Self { id: id.to_owned(), options }
    }
}

/// The most paths that are shown to a person.
const MOST_SHOWN: usize = 50;

pub fn run_restore(arguments: &Arguments) -> Result<CommandExit> {
    if !arguments.options.dry_run {
        interactive::refuse_agents()?;
    }
    let (vault, first) = find(&arguments.id)?;
    restore_files(&vault, &Undone { first, also: Vec::new() }, &arguments.options)
}

/// Restores the files to their state before some actions, after the person confirms.
///
/// # Errors
/// Fails if the vault or its contents cannot be read, if the person does not confirm, or if the
/// system refuses.
pub fn restore_files(vault: &Vault, undone: &Undone, arguments: &Options) -> Result<CommandExit> {
    let listed = &undone.first;
    let at = portcullis_config::clock::now_ms();
    let only = arguments.only.iter().map(|path| absolute(path)).collect::<Result<_>>()?;
    let restore = RequestedRestore::new(vault, undone, only, arguments.force, at)?;
    // Skip the plan when not prompting: scanning a large tree is slow.
    if !arguments.yes || arguments.dry_run {
        let planned = match restore.plan()? {
            RestoreOutcome::Refused(paths) => return Ok(refused(arguments, &paths)),
            RestoreOutcome::PutBack(planned) => planned,
        };
        if arguments.dry_run || planned.restored.is_empty() {
            print_result(arguments, undone, &planned);
            return Ok(CommandExit::Success);
        }
        if !arguments.json {
            plan(listed, &planned);
        }
        interactive::confirm_action(&format!(
            "{} will be as before the action.",
            count_noun(planned.restored.len() as u64, "path")
        ))?;
    }
    let restored = match restore.carry_out()? {
        RestoreOutcome::Refused(paths) => return Ok(refused(arguments, &paths)),
        RestoreOutcome::PutBack(restored) => restored,
    };
    if restored.undo.is_none() {
        print_result(arguments, undone, &restored);
        return Ok(CommandExit::Success);
    }
    let unrecorded = record(listed, &restored, at).err();
    print_result(arguments, undone, &restored);
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
            one.map_or("changed", describe_change),
            path(restored),
            paint::warn(since)
        ));
    }
    let more = planned.restored.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        lines.push(format!("  and {more} more\n"));
    }
    paint::print_text(&format!(
        "Since the checkpoint {} these were:\n{}",
        listed.id,
        lines.concat()
    ));
}

/// Reports the conflicts; nothing was changed.
fn refused(arguments: &Options, paths: &[Difference]) -> CommandExit {
    if arguments.json {
        let paths: Vec<Value> = paths
            .iter()
            .map(
                |one| json!({ "path": path_json(&one.path), "standing": one.standing.to_string() }),
            )
            .collect();
        paint::print_text(&format!("{}\n", json!({ "outcome": "refused", "refused": paths })));
        return CommandExit::Failure;
    }
    for one in paths.iter().take(MOST_SHOWN) {
        paint::print_text(&format!("  {}: {}\n", path(&one.path), one.standing));
    }
    let diff = spell_command("checkpoint diff");
    let fix = format!(
        "look with `{diff}`, put the others back with `--only`, or overwrite these with `--force`"
    );
    anstream::eprintln!(
        "{}: {} changed since the agent's action, so nothing was restored: {fix}",
        paint::bad("refused"),
        count_noun(paths.len() as u64, "path")
    );
    CommandExit::Failure
}

fn print_result(arguments: &Options, undone: &Undone, restored: &Restored) {
    let listed = &undone.first;
    let undo = restored.undo.as_ref().map(|(id, _)| id.as_str());
    let missing: Vec<(&PathBuf, String)> = restored.not_restored().collect();
    let unseen = &restored.not_covered;
    if arguments.json {
        let left_outs = |all: &[LeftOut]| -> Vec<Value> {
            all.iter()
                .map(|one| json!({ "path": path_json(&one.path), "why": one.why.to_string() }))
                .collect()
        };
        let paths =
            |all: &[PathBuf]| -> Vec<Value> { all.iter().map(|one| path_json(one)).collect() };
        let missing: Vec<Value> = missing
            .iter()
            .map(|(path, why)| json!({ "path": path_json(path), "why": why }))
            .collect();
        let document = json!({
            "outcome": if arguments.dry_run { "planned" } else { "restored" },
            "checkpoint": listed.id.as_str(),
            "also": undone.also.iter().map(Id::as_str).collect::<Vec<_>>(),
            "whole_folders": listed.tree,
            "restored": paths(&restored.restored),
            "already": restored.already.len(),
            "stays": paths(&restored.stays),
            "not_kept": left_outs(&restored.not_kept),
            "left_alone": paths(&restored.left_alone),
            "not_restored": missing,
            "not_covered": left_outs(&unseen.first),
            "not_covered_total": unseen.total(),
            "undo": undo,
        });
        return paint::print_text(&format!("{document}\n"));
    }
    let count = restored.restored.len() as u64;
    let done = match (arguments.dry_run, count) {
        (true, _) => "would be put back",
        (false, 1) => "was put back",
        (false, _) => "were put back",
    };
    paint::print_text(&format!(
        "{} {done}; {} already as before\n",
        count_noun(count, "path"),
        restored.already.len()
    ));
    if arguments.dry_run {
        restored
            .restored
            .iter()
            .take(MOST_SHOWN)
            .for_each(|one| paint::print_text(&format!("  {}\n", path(one))));
    }
    print_paths("not restored", missing.len() as u64, &missing);
    let unlooked: Vec<(&PathBuf, String)> =
        unseen.first.iter().map(|one| (&one.path, one.why.to_string())).collect();
    print_paths("not covered, so what changed there stays", unseen.total(), &unlooked);
    if !listed.tree && undone.also.is_empty() && matches!(listed.cause, Cause::Action) {
        paint::print_text("Only paths that the action names were kept.\n");
    }
    if let Some(undo) = undo {
        let command = spell_command(&format!("checkpoint restore {undo}"));
        paint::print_text(&format!("To undo this: {command}\n"));
    }
}

/// Prints paths with the reason that each was not restored.
fn print_paths(what: &str, total: u64, paths: &[(&PathBuf, String)]) {
    if total == 0 {
        return;
    }
    paint::print_text(&format!("{}: {}\n", paint::warn(what), count_noun(total, "path")));
    for (one, why) in paths.iter().take(MOST_SHOWN) {
        paint::print_text(&format!("  {}: {why}\n", path(one)));
    }
    let more = total.saturating_sub(paths.len().min(MOST_SHOWN) as u64);
    if more > 0 {
        paint::print_text(&format!("  and {more} more\n"));
    }
}

/// Records a restore in the journal.
fn record(listed: &CheckpointSummary, restored: &Restored, at: u64) -> Result<()> {
    let record = restore_record(listed, restored, AT_A_TERMINAL, at);
    audit::open_store()?.append_records(vec![to_store(&record)])?;
    Ok(())
}

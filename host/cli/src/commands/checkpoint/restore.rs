//! `portcullis checkpoint restore`: puts back what files held before an action.

use super::{absolute, diff, find, path};
use crate::checkpoints::undo_id;
use crate::commands::{audit, hook};
use crate::runtime::to_store;
use crate::{human, paint};
use anyhow::Result;
use portcullis_checkpoint::{CheckpointError, Difference, Listed, Restore, Restored, Standing};
use portcullis_core::record::{Record, RecordKind};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// The checkpoint's id or the beginning of one; `last` for the newest
    id: String,
    /// Put back only these paths and what is below them
    #[arg(long, value_name = "PATH", num_args = 1..)]
    only: Vec<PathBuf>,
    /// Overwrite what was changed since, too; what is overwritten is kept
    #[arg(long)]
    force: bool,
    /// Only say what would be put back
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The whole of a checkpoint, for a person who was asked already.
    pub fn of(id: &str, force: bool, dry_run: bool, json: bool) -> Self {
        Self { id: id.to_owned(), only: Vec::new(), force, dry_run, yes: true, json }
    }
}

/// So many paths are shown to a person.
const MOST_SHOWN: usize = 50;

pub fn run(arguments: &Arguments) -> Result<u8> {
    if !arguments.dry_run {
        human::refuse_agents()?;
    }
    let (vault, listed) = find(&arguments.id)?;
    let at = hook::now();
    let only = arguments.only.iter().map(|path| absolute(path)).collect::<Result<_>>()?;
    let how = Restore { undo: undo_id(&listed.id, at)?, at, force: arguments.force, only, dry: true };
    // Who is not asked needs no plan first, and each look at a large tree takes its time.
    if !arguments.yes || arguments.dry_run {
        let planned = match vault.restore(&listed.id, &how) {
            Err(CheckpointError::Refused { paths }) => return Ok(refused(arguments, &paths)),
            planned => planned?,
        };
        if arguments.dry_run || planned.restored.is_empty() {
            tell(arguments, &listed, &planned);
            return Ok(0);
        }
        if !arguments.json {
            plan(&listed, &planned);
        }
        human::confirm(&format!("{} paths will be as they were before the action.", planned.restored.len()))?;
    }
    let restored = match vault.restore(&listed.id, &Restore { dry: false, ..how }) {
        Err(CheckpointError::Refused { paths }) => return Ok(refused(arguments, &paths)),
        restored => restored?,
    };
    if restored.undo.is_none() {
        tell(arguments, &listed, &restored);
        return Ok(0);
    }
    let unrecorded = record(&listed, &restored, at).err();
    tell(arguments, &listed, &restored);
    if let Some(error) = unrecorded {
        anstream::eprintln!("{}: the journal does not tell of this: {error:#}", paint::warn("warning"));
    }
    Ok(0)
}

/// What would be put back.
fn plan(listed: &Listed, planned: &Restored) {
    let mut lines: Vec<String> = Vec::new();
    for restored in planned.restored.iter().take(MOST_SHOWN) {
        let one = planned.planned.iter().find(|one| one.path == *restored);
        let since = one.filter(|one| one.standing != Standing::AsLeft).map(|one| format!("  ({})", one.standing)).unwrap_or_default();
        lines.push(format!("  {:8} {}{}\n", one.map_or("changed", diff::how), path(restored), paint::warn(since)));
    }
    let more = planned.restored.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        lines.push(format!("  and {more} more\n"));
    }
    paint::print(&format!("Since the checkpoint {} these were:\n{}", listed.id, lines.concat()));
}

/// Nothing was changed; says what stands in the way.
fn refused(arguments: &Arguments, paths: &[Difference]) -> u8 {
    if arguments.json {
        let paths: Vec<Value> = paths.iter().map(|one| json!({ "path": one.path, "standing": one.standing.to_string() })).collect();
        paint::print(&format!("{}\n", json!({ "outcome": "refused", "refused": paths })));
        return 1;
    }
    for one in paths.iter().take(MOST_SHOWN) {
        paint::print(&format!("  {}: {}\n", path(&one.path), one.standing));
    }
    let mend = "look with `portcullis checkpoint diff`, put the others back with `--only`, or overwrite these with `--force`";
    anstream::eprintln!("{}: {} paths are not as the agent left them, so nothing was changed: {mend}", paint::bad("refused"), paths.len());
    1
}

fn tell(arguments: &Arguments, listed: &Listed, restored: &Restored) {
    let undo = restored.undo.as_ref().map(|(id, _)| id.as_str());
    if arguments.json {
        let not_kept: Vec<Value> = restored.not_kept.iter().map(|one| json!({ "path": one.path, "why": one.why.to_string() })).collect();
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
    let done = if arguments.dry_run { "would be put back" } else { "were put back" };
    paint::print(&format!("{} paths {done}; {} were as before already\n", restored.restored.len(), restored.already.len()));
    if arguments.dry_run {
        restored.restored.iter().take(MOST_SHOWN).for_each(|one| paint::print(&format!("  {}\n", path(one))));
    }
    let named = |what: &str, paths: Vec<String>| {
        for one in paths.iter().take(MOST_SHOWN) {
            paint::print(&format!("  {}: {one}\n", paint::warn(what)));
        }
    };
    named("not kept", restored.not_kept.iter().map(|one| format!("{} ({})", path(&one.path), one.why)).collect());
    named("stays, since others put something into it", restored.stays.iter().map(|one| path(one)).collect());
    named("left as it is, since it changed meanwhile", restored.left_alone.iter().map(|one| path(one)).collect());
    if let Some(undo) = undo {
        paint::print(&format!("To undo this: portcullis checkpoint restore {undo}\n"));
    }
}

/// A restore stands in the journal too.
fn record(listed: &Listed, restored: &Restored, at: u64) -> Result<()> {
    let summary = format!("a person put {} paths back as they were at the checkpoint {}", restored.restored.len(), listed.id);
    let mut record = Record::apart(RecordKind::Configuration, "checkpoint-restore", &summary, at, listed.id.as_str());
    record.details.insert("checkpoint".into(), listed.id.as_str().into());
    if let Some((undo, _)) = &restored.undo {
        record.details.insert("undo".into(), undo.as_str().into());
    }
    audit::open()?.append(vec![to_store(&record)])?;
    Ok(())
}

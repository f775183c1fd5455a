//! `portcullis undo`: undoes the last action of a project that changed files, or everything since
//! the person's last request.
//!
//! It chooses the checkpoints and leaves the restore to `checkpoint restore`. An action whose
//! changes are undone already is skipped.

use super::audit;
use super::checkpoint::list::reported_actions;
use super::checkpoint::restore::{Options, restore_files};
use super::checkpoint::{HOW_TAKEN, absolute, vault};
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_checkpoint::{
    Cause, CheckpointError, CheckpointSummary, RestoreOptions, Restored, Vault,
};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::checkpoints::listing::{ReportedAction, describe_action};
use portcullis_review::checkpoints::restoring::Undone;
use portcullis_review::checkpoints::undo_id;
use portcullis_store::{Filter, StoredRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The folders that mark the top of a project.
const MARKS: [&str; 2] = [".git", ".portcullis"];

#[derive(clap::Args)]
pub struct Arguments {
    /// Undo everything since your last request, not only the last action
    #[arg(long)]
    prompt: bool,
    #[command(flatten)]
    options: Options,
}

/// The actions of a project that may have changed files.
struct ProjectActions {
    /// All checkpoints, oldest first.
    all: Vec<CheckpointSummary>,
    /// The journal's information about actions, by checkpoint.
    reported: BTreeMap<String, ReportedAction>,
    /// The project.
    project: PathBuf,
}

/// A person's request.
struct Request {
    session: String,
    at: u64,
    text: String,
}

pub fn run_undo(arguments: &Arguments) -> Result<CommandExit> {
    let options = &arguments.options;
    if !options.dry_run {
        interactive::refuse_agents()?;
    }
    let project = find_project(&std::env::current_dir()?)?;
    let nothing = |why: &str| {
        let project = one_line(&project.to_string_lossy(), 240);
        Error::not_found(format!("there is nothing to undo in `{project}`: {why}"))
            .with_hint(HOW_TAKEN)
    };
    let Some(vault) = vault()? else { return Err(nothing("no action was kept yet")) };
    let actions = ProjectActions::read(&vault, project.clone())?;
    let undone = if arguments.prompt {
        let request = actions.find_request()?;
        let request = request.ok_or_else(|| nothing("no request of yours is in the journal"))?;
        let undone = actions.since_request(&request);
        if let (Some(undone), false) = (&undone, options.json) {
            let count = count_noun(undone.also.len() as u64 + 1, "action");
            let (at, text) = (paint::time(request.at), one_line(&request.text, 120));
            paint::print_text(&format!("{count} since your request of {at} UTC: {text}\n"));
        }
        undone.ok_or_else(|| nothing("no action changed files since your last request"))?
    } else {
        let only = options.only.iter().map(|path| absolute(path)).collect::<Result<Vec<_>>>()?;
        let undone = actions.find_last(&vault, &only)?;
        let undone = undone.ok_or_else(|| nothing("no action changed files"))?;
        if !options.json {
            let reported = actions.reported.get(undone.first.id.as_str());
            let action = describe_action(&undone.first, reported);
            paint::print_text(&format!("{} UTC  {action}\n", paint::time(undone.first.at)));
        }
        undone
    };
    restore_files(&vault, &undone, options)
}

/// Returns the nearest folder above that is marked as a project, or the folder itself.
fn find_project(folder: &Path) -> Result<PathBuf> {
    let folder = folder.canonicalize()?;
    let marked =
        folder.ancestors().find(|above| MARKS.iter().any(|mark| above.join(mark).exists()));
    Ok(marked.map_or_else(|| folder.clone(), Path::to_path_buf))
}

impl ProjectActions {
    fn read(vault: &Vault, project: PathBuf) -> Result<Self> {
        let all = vault.list()?.checkpoints;
        let oldest = all.first().map(|oldest| oldest.at);
        let reported = oldest.map(reported_actions).transpose()?.unwrap_or_default();
        Ok(Self { all, reported, project })
    }

    /// Returns the project's actions that may have changed files, newest first.
    fn newest_first(&self) -> impl Iterator<Item = &CheckpointSummary> {
        self.all.iter().rev().filter(|one| {
            one.cause == Cause::Action
                // An action that has not ended can have changed files that nobody counted yet.
                && (one.settled_at.is_none() || one.changes > 0)
                && self.is_here(one)
        })
    }

    /// Returns true if an action ran in the project, or if its checkpoint covers the project.
    fn is_here(&self, one: &CheckpointSummary) -> bool {
        let cwd = self.reported.get(one.id.as_str()).and_then(|reported| reported.cwd.as_ref());
        let cwd = cwd.map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.clone()));
        cwd.is_some_and(|cwd| cwd.starts_with(&self.project))
            || one.roots.iter().any(|root| {
                root.starts_with(&self.project) || (one.tree && self.project.starts_with(root))
            })
    }

    /// Returns the newest action of which anything is still to be undone.
    fn find_last(&self, vault: &Vault, only: &[PathBuf]) -> Result<Option<Undone>> {
        let mut lost = None;
        for one in self.newest_first() {
            let undone = || Undone { first: one.clone(), also: Vec::new() };
            // A path that went back already has an earlier state since, which is to stay.
            let back = self.restored_since(vault, one)?;
            match plan(vault, one, only) {
                Ok(planned) if planned.restored.iter().any(|path| !back.contains(path)) => {
                    return Ok(Some(undone()));
                }
                // An action whose files were not kept is named only if no other can be undone.
                Ok(planned) if planned.not_kept.iter().any(|one| !back.contains(&one.path)) => {
                    lost.get_or_insert_with(undone);
                }
                Err(CheckpointError::Refused { paths })
                    if paths.iter().any(|one| !back.contains(&one.path)) =>
                {
                    return Ok(Some(undone()));
                }
                Ok(_) | Err(CheckpointError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(lost)
    }

    /// Returns the paths that restores brought back to a state from before this action.
    fn restored_since(&self, vault: &Vault, one: &CheckpointSummary) -> Result<BTreeSet<PathBuf>> {
        let mut paths = BTreeSet::new();
        for restore in self.restores_of(one).filter(|restore| !self.is_undone(restore)) {
            let changes = vault.show_checkpoint(&restore.id)?.changes;
            paths.extend(changes.into_iter().map(|change| change.path));
        }
        Ok(paths)
    }

    /// Returns true if a restore was undone by another one.
    fn is_undone(&self, restore: &CheckpointSummary) -> bool {
        self.restores_of(restore).any(|other| {
            other.cause == Cause::Restore(restore.id.clone()) && !self.is_undone(other)
        })
    }

    /// Returns the later restores of a checkpoint or of one before it, as far as those were of
    /// actions.
    fn restores_of(&self, one: &CheckpointSummary) -> impl Iterator<Item = &CheckpointSummary> {
        let (id, at) = (one.id.clone(), one.at);
        self.all.iter().filter(move |restore| match &restore.cause {
            Cause::Restore(of) if restore.at > at => {
                let of = self.all.iter().find(|other| other.id == *of);
                of.is_some_and(|of| of.id == id || of.cause == Cause::Action && of.at <= at)
            }
            _ => false,
        })
    }

    /// Returns the newest request in the sessions of the project's actions.
    fn find_request(&self) -> Result<Option<Request>> {
        let sessions: BTreeSet<&str> = self
            .newest_first()
            .filter_map(|one| Some(self.reported.get(one.id.as_str())?.session.as_str()))
            .collect();
        let store = audit::open_store()?;
        let mut newest: Option<Request> = None;
        for session in sessions {
            let filter = Filter {
                session: Some(session.to_owned()),
                kind: Some(RecordKind::Session.as_str().into()),
                newest_first: true,
                ..Filter::default()
            };
            let each = |stored: StoredRecord| match request_of(&stored) {
                Some(request) => {
                    if newest.as_ref().is_none_or(|known| known.at < request.at) {
                        newest = Some(request);
                    }
                    // The newest of a session comes first.
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            };
            store.query_records(&filter, each).context("the journal cannot be read")?;
        }
        Ok(newest)
    }

    /// Returns the actions of the request's session since then.
    fn since_request(&self, request: &Request) -> Option<Undone> {
        let mut since: Vec<&CheckpointSummary> = self
            .newest_first()
            .filter(|one| {
                let reported = self.reported.get(one.id.as_str());
                one.at >= request.at
                    && reported.is_some_and(|reported| reported.session == request.session)
            })
            .collect();
        let first = since.pop()?.clone();
        Some(Undone { first, also: since.into_iter().map(|one| one.id.clone()).collect() })
    }
}

/// Returns the request that a record is about; a notice of the client is none.
fn request_of(stored: &StoredRecord) -> Option<Request> {
    let record: Record = serde_json::from_str(&stored.record.document).ok()?;
    let stated = record.details.get("goal").and_then(serde_json::Value::as_bool) == Some(true);
    stated.then_some(Request { session: record.session, at: record.at, text: record.summary })
}

/// Plans the restore of one action without overwriting what was changed since.
fn plan(
    vault: &Vault,
    one: &CheckpointSummary,
    only: &[PathBuf],
) -> Result<Restored, CheckpointError> {
    let how = RestoreOptions {
        undo: undo_id(&one.id, one.at)?,
        at: one.at,
        force: false,
        only: only.to_vec(),
        also: Vec::new(),
        dry: true,
    };
    vault.restore_checkpoint(&one.id, &how)
}

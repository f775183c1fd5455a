//! Going back to a checkpoint: lists a session's checkpoints, and restores files without a person
//! when an intervention rolls back.

use super::CheckpointWriter;
use portcullis_checkpoint::{
    Cause, CheckpointError, CheckpointSummary, Difference, Id, RestoreOptions,
};
use portcullis_core::record::{Record, RecordKind, RecordedLeftOut, RecordedRestore};
use portcullis_core::text::one_line;
use portcullis_core::undo::SessionCheckpoint;
use portcullis_store::{Durability, Filter, Store, StoreError, StoredRecord};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The most checkpoints of a session that are listed.
const MOST: usize = 32;
/// The most restored paths that are named.
const MOST_NAMED: usize = 5;

/// Returns an id for the checkpoint that undoes a restore.
///
/// # Errors
/// Never fails in practice: a digest is a valid id.
pub fn undo_id(of: &Id, at: u64) -> Result<Id, CheckpointError> {
    let digest =
        blake3::hash(format!("undo\0{of}\0{at}\0{}", std::process::id()).as_bytes()).to_hex();
    Ok(Id::new(format!("undo-{}", digest.chars().take(16).collect::<String>()))?)
}

/// Passes each review with a checkpoint to `each`, together with the checkpoint's id.
///
/// # Errors
/// Fails if the journal cannot be read.
pub fn each_review(
    store: &Store,
    filter: Filter,
    mut each: impl FnMut(String, Record) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let filter = Filter { kind: Some(RecordKind::Review.as_str().into()), ..filter };
    store.query_records(&filter, |stored: StoredRecord| {
        let document = &stored.record.document;
        // Most records have no checkpoint, and parsing one costs more than searching for the word.
        let record = document
            .contains("\"checkpoint\":")
            .then(|| serde_json::from_str::<Record>(document).ok())
            .flatten();
        match record.and_then(|record| Some((record.checkpoint.as_ref()?.id.clone()?, record))) {
            Some((id, record)) => each(id, record),
            None => ControlFlow::Continue(()),
        }
    })
}

impl CheckpointWriter<'_> {
    /// Returns the session's usable checkpoints, newest first; an empty list if they cannot be
    /// determined.
    pub(super) fn of_session(&self) -> Vec<SessionCheckpoint> {
        let Ok(listing) = self.vault().and_then(|vault| vault.list()) else { return Vec::new() };
        let usable = |listed: &&CheckpointSummary| {
            listed.complete && listed.settled_at.is_some() && listed.cause == Cause::Action
        };
        let usable: BTreeMap<String, u64> = listing
            .checkpoints
            .iter()
            .filter(usable)
            .map(|one| (one.id.to_string(), one.at))
            .collect();
        let Some(oldest) = usable.values().min() else { return Vec::new() };
        let filter = Filter {
            session: Some(self.event.session.clone()),
            since: Some(*oldest),
            newest_first: true,
            ..Filter::default()
        };
        let mut found = Vec::new();
        let each = |id: String, record: Record| {
            if let (Some(at), Some(step)) = (usable.get(&id), record.step) {
                found.push(SessionCheckpoint { id, step, at: *at });
            }
            if found.len() < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        // On a read error, the checkpoints found so far are used.
        let _read = Store::open_database(self.home, Durability::Process)
            .and_then(|store| each_review(&store, filter, each));
        found
    }

    /// Restores the files that still have the content that the agent left: all of them, or none.
    pub(super) fn go_back(&self, checkpoint: &str) -> RecordedRestore {
        if self.files.are_of_another() {
            return failed(&left_to_a_person(checkpoint));
        }
        let id = Id::new(checkpoint).map_err(CheckpointError::from);
        let restored = id.and_then(|id| {
            let how = RestoreOptions {
                undo: undo_id(&id, self.now)?,
                at: self.now,
                force: false,
                only: Vec::new(),
                also: Vec::new(),
                dry: false,
            };
            self.vault()?.restore_checkpoint(&id, &how)
        });
        match restored {
            Ok(restored) => RecordedRestore {
                undo: restored.undo.as_ref().map(|(id, _)| id.to_string()),
                paths: restored.restored.len() as u64,
                first: restored
                    .restored
                    .iter()
                    .take(MOST_NAMED)
                    .map(|path| one_line(&path.to_string_lossy(), 512))
                    .collect(),
                not_restored: restored.not_restored().count() as u64,
                first_not_restored: restored
                    .not_restored()
                    .take(MOST_NAMED)
                    .map(|(path, why)| RecordedLeftOut {
                        path: one_line(&path.to_string_lossy(), 512),
                        why,
                    })
                    .collect(),
                ..RecordedRestore::default()
            },
            Err(CheckpointError::Refused { paths }) => failed(&refused(&paths, checkpoint)),
            Err(error) => failed(&error.to_string()),
        }
    }
}

/// Describes a restore that is a person's. A service that could have hooks write files would have
/// the rights of all of its users.
fn left_to_a_person(checkpoint: &str) -> String {
    format!(
        "behind a boundary, only an administrator restores files: `portcullis checkpoint restore \
         {checkpoint}`"
    )
}

fn failed(why: &str) -> RecordedRestore {
    RecordedRestore { problem: Some(one_line(why, 1024)), ..RecordedRestore::default() }
}

fn refused(paths: &[Difference], checkpoint: &str) -> String {
    let named = |one: &Difference| {
        format!("`{}` ({})", one_line(&one.path.to_string_lossy(), 240), one.standing)
    };
    let named: Vec<String> = paths.iter().take(MOST_NAMED).map(named).collect();
    let more = paths.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "not as the agent left them: {}{more}; look with `portcullis checkpoint diff {checkpoint}`",
        named.join(", ")
    )
}

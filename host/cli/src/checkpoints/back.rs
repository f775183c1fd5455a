//! Back to a checkpoint: which ones a session has, and putting files back without a person, where an intervention
//! goes back by itself.

use super::Keeper;
use portcullis_checkpoint::{Cause, CheckpointError, Difference, Id, Listed, Restore};
use portcullis_core::record::{Record, RecordKind, RecordedRestore};
use portcullis_core::text::one_line;
use portcullis_core::undo::Kept;
use portcullis_store::{Durability, Filter, Store, StoreError, Stored};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// So many checkpoints of a session are looked for.
const MOST: usize = 32;
/// So many paths that were put back are named.
const MOST_NAMED: usize = 5;

/// An id for the checkpoint that undoes a restore.
///
/// # Errors
/// None that can be reached: a digest makes an id.
pub fn undo_id(of: &Id, at: u64) -> Result<Id, CheckpointError> {
    let digest = blake3::hash(format!("undo\0{of}\0{at}\0{}", std::process::id()).as_bytes()).to_hex();
    Id::new(format!("undo-{}", digest.chars().take(16).collect::<String>()))
}

/// Hands each review that tells of a checkpoint to `each`, with the checkpoint's id.
///
/// # Errors
/// The journal cannot be read.
pub fn reviews(store: &Store, filter: Filter, mut each: impl FnMut(String, Record) -> ControlFlow<()>) -> Result<(), StoreError> {
    let filter = Filter { kind: Some(RecordKind::Review.as_str().into()), ..filter };
    store.query(&filter, |stored: Stored| {
        let document = &stored.record.document;
        // Most records have none, and reading one costs more than looking for the word.
        let record = document.contains("\"checkpoint\":").then(|| serde_json::from_str::<Record>(document).ok()).flatten();
        match record.and_then(|record| Some((record.checkpoint.as_ref()?.id.clone()?, record))) {
            Some((id, record)) => each(id, record),
            None => ControlFlow::Continue(()),
        }
    })
}

impl Keeper<'_> {
    /// The session's checkpoints that can be used, newest first; none where that cannot be told.
    pub(super) fn of_session(&self) -> Vec<Kept> {
        let Ok(listing) = self.vault().and_then(|vault| vault.list()) else { return Vec::new() };
        let usable = |listed: &&Listed| listed.complete && listed.settled_at.is_some() && listed.cause == Cause::Action;
        let usable: BTreeMap<String, u64> = listing.checkpoints.iter().filter(usable).map(|one| (one.id.to_string(), one.at)).collect();
        let Some(oldest) = usable.values().min() else { return Vec::new() };
        let filter = Filter { session: Some(self.event.session.clone()), since: Some(*oldest), newest_first: true, ..Filter::default() };
        let mut found = Vec::new();
        let each = |id: String, record: Record| {
            if let (Some(at), Some(step)) = (usable.get(&id), record.step) {
                found.push(Kept { id, step, at: *at });
            }
            if found.len() < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        // What was found before the journal could be read no further is there.
        let _read = Store::open(self.home, Durability::Process).and_then(|store| reviews(&store, filter, each));
        found
    }

    /// Puts back what still holds what the agent left: everything, or nothing.
    pub(super) fn go_back(&self, checkpoint: &str) -> RecordedRestore {
        let restored = Id::new(checkpoint).and_then(|id| {
            let how = Restore { undo: undo_id(&id, self.now)?, at: self.now, force: false, only: Vec::new(), dry: false };
            self.vault()?.restore(&id, &how)
        });
        match restored {
            Ok(restored) => RecordedRestore {
                undo: restored.undo.as_ref().map(|(id, _)| id.to_string()),
                paths: restored.restored.len() as u64,
                first: restored.restored.iter().take(MOST_NAMED).map(|path| one_line(&path.to_string_lossy(), 512)).collect(),
                problem: None,
            },
            Err(CheckpointError::Refused { paths }) => failed(&refused(&paths, checkpoint)),
            Err(error) => failed(&error.to_string()),
        }
    }
}

fn failed(why: &str) -> RecordedRestore {
    RecordedRestore { problem: Some(one_line(why, 1024)), ..RecordedRestore::default() }
}

fn refused(paths: &[Difference], checkpoint: &str) -> String {
    let named = |one: &Difference| format!("`{}` ({})", one_line(&one.path.to_string_lossy(), 240), one.standing);
    let named: Vec<String> = paths.iter().take(MOST_NAMED).map(named).collect();
    let more = paths.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not as the agent left them: {}{more}; look with `portcullis checkpoint diff {checkpoint}`", named.join(", "))
}

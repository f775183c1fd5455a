//! A restore that a person asks for, in a terminal or on the service's page: what it would put back,
//! and putting it back. [`super::CheckpointWriter`] restores without a person.

use super::undo_id;
use portcullis_checkpoint::{
    ChangeKind, CheckpointError, CheckpointSummary, Difference, Id, PathChange, RestoreOptions,
    Restored, Vault,
};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::count_noun;
use std::path::PathBuf;

/// The actions that a restore undoes.
#[derive(Clone, Debug)]
pub struct Undone {
    /// The oldest of them: its earlier state is restored.
    pub first: CheckpointSummary,
    /// Later ones whose folders are restored too.
    pub also: Vec<Id>,
}

/// A restore that a person asks for.
pub struct RequestedRestore<'v> {
    vault: &'v Vault,
    first: &'v Id,
    options: RestoreOptions,
}

/// The result of a restore, or of planning one.
#[derive(Debug)]
pub enum RestoreOutcome {
    /// These paths were changed since the action, so nothing is put back.
    Refused(Vec<Difference>),
    /// What is put back.
    PutBack(Box<Restored>),
}

impl<'v> RequestedRestore<'v> {
    /// Prepares a restore. Later changes are overwritten only with `force`; without paths in
    /// `only`, everything is put back.
    ///
    /// # Errors
    /// Never fails in practice: a digest is a valid id.
    pub fn new(
        vault: &'v Vault,
        undone: &'v Undone,
        only: Vec<PathBuf>,
        force: bool,
        at: u64,
    ) -> Result<Self, CheckpointError> {
        let undo = undo_id(&undone.first.id, at)?;
        let also = undone.also.clone();
        let options = RestoreOptions { undo, at, force, only, also, dry: true };
        Ok(Self { vault, first: &undone.first.id, options })
    }

    /// Returns what would be put back, and changes nothing.
    ///
    /// # Errors
    /// Fails if the vault or its contents cannot be read.
    pub fn plan(&self) -> Result<RestoreOutcome, CheckpointError> {
        self.restore(&self.options)
    }

    /// Puts the files back: all of them, or none.
    ///
    /// # Errors
    /// Fails if the vault or its contents cannot be read, or if the system refuses.
    pub fn carry_out(&self) -> Result<RestoreOutcome, CheckpointError> {
        self.restore(&RestoreOptions { dry: false, ..self.options.clone() })
    }

    fn restore(&self, options: &RestoreOptions) -> Result<RestoreOutcome, CheckpointError> {
        match self.vault.restore_checkpoint(self.first, options) {
            Err(CheckpointError::Refused { paths }) => Ok(RestoreOutcome::Refused(paths)),
            restored => Ok(RestoreOutcome::PutBack(Box::new(restored?))),
        }
    }
}

/// Returns the journal's record of a restore; `by` names the person, and how that is known.
#[must_use]
pub fn restore_record(
    listed: &CheckpointSummary,
    restored: &Restored,
    by: &str,
    at: u64,
) -> Record {
    let paths = count_noun(restored.restored.len() as u64, "path");
    let summary = format!("a person put {paths} back to the state at the checkpoint {}", listed.id);
    let kind = RecordKind::Configuration;
    let seed = listed.id.as_str();
    let mut record = Record::outside_session(kind, "checkpoint-restore", &summary, at, seed);
    record.details.insert("checkpoint".into(), listed.id.as_str().into());
    record.details.insert("by".into(), by.into());
    if let Some((undo, _)) = &restored.undo {
        record.details.insert("undo".into(), undo.as_str().into());
    }
    record
}

/// Returns a digest of a plan: a person who confirmed one plan has not confirmed another.
#[must_use]
pub fn digest_plan(planned: &Restored) -> String {
    let mut hasher = blake3::Hasher::new();
    for one in &planned.planned {
        let states = format!("{:?}\0{:?}\0{:?}\0", one.wanted, one.now, one.standing);
        hasher.update(one.path.as_os_str().as_encoded_bytes());
        hasher.update(b"\0");
        hasher.update(states.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Describes the change from the state to be restored to the current one, in one word.
#[must_use]
pub fn describe_change(one: &Difference) -> &'static str {
    let (before, after) = (one.wanted.clone(), one.now.clone());
    change_word(PathChange { path: one.path.clone(), before, after }.kind())
}

/// Describes the change of a path in one word.
#[must_use]
pub const fn change_word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Made => "made",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Changed => "changed",
        ChangeKind::Mode => "mode",
        ChangeKind::Kind => "replaced",
    }
}

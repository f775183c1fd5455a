//! Files saved before an action, so that it can be undone.
//!
//! This module says what to save and what follows if something could not be saved; the command line
//! does the saving. The record keeps the result, so a replay needs no disk.

use crate::action::{Facts, Timestamp};
use crate::recorded_undo::{RecordedCheckpoint, RecordedRestore};
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// The consequence if an action destroys or overwrites something that could not be saved.
    OnFailure {
        /// Nothing, except a note in its record.
        Ignore => "ignore",
        /// It runs with a warning.
        Warn => "warn",
        /// A person is asked.
        Ask => "ask",
    }
}

/// An action that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct PendingAction<'a> {
    /// The facts known about it; those of its rewritten form, if that one runs.
    pub facts: &'a Facts,
    /// Its review's id.
    pub review: &'a str,
    /// The client's id of the call.
    pub call: Option<&'a str>,
    /// The action in one line, masked.
    pub summary: &'a str,
    /// The placeholders in its facts.
    pub masked: &'a [String],
    /// The session's folders.
    pub roots: &'a [String],
}

/// A checkpoint of a session that files can be restored from: nothing is missing, and its action is
/// over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCheckpoint {
    /// Its id.
    pub id: String,
    /// The step before which it was taken.
    pub step: u64,
    /// The time.
    pub at: Timestamp,
}

/// Saves files, and restores them.
pub trait Undo {
    /// Saves the files that an action may change, only once even if its review is repeated. Returns
    /// none if it changes nothing, or nothing is to be saved. Its texts are not masked.
    fn keep(&self, action: &PendingAction<'_>) -> Option<RecordedCheckpoint>;

    /// Returns the session's checkpoints, newest first. Called only if an answer to an issue may
    /// return to one.
    fn kept(&self) -> Vec<SessionCheckpoint> {
        Vec::new()
    }

    /// Restores files that still have the content that the agent left, only once even if the review
    /// is repeated: all of them or none. Its texts are not masked.
    fn restore(&self, checkpoint: &str) -> RecordedRestore {
        RecordedRestore {
            problem: Some(format!("nothing is kept here as `{checkpoint}`")),
            ..RecordedRestore::default()
        }
    }
}

/// Saves nothing: for dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoUndo;

impl Undo for NoUndo {
    fn keep(&self, _: &PendingAction<'_>) -> Option<RecordedCheckpoint> {
        None
    }
}

/// The checkpoint of the original run: for a replay.
#[derive(Clone, Copy, Debug)]
pub struct RecordedUndo<'a>(pub Option<&'a RecordedCheckpoint>);

impl Undo for RecordedUndo<'_> {
    fn keep(&self, _: &PendingAction<'_>) -> Option<RecordedCheckpoint> {
        self.0.cloned()
    }
}

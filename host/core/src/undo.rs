//! What is kept of files before an action, so that it can be undone.
//!
//! This module says what there is to keep and what it means that something could not be kept; the command line
//! does the keeping. What came of it stands in the record, so a replay needs no disk.

use crate::action::{Facts, Timestamp};
use crate::record::{RecordedCheckpoint, RecordedRestore};
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// What follows where an action destroys or overwrites what could not be kept.
    OnFailure {
        /// Nothing: its record says so.
        Ignore => "ignore",
        /// It runs with a warning.
        Warn => "warn",
        /// A person is asked.
        Ask => "ask",
    }
}

/// An action that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Coming<'a> {
    /// What is known of it: of its rewritten form, where that runs.
    pub facts: &'a Facts,
    /// Its review.
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

/// A checkpoint of a session that files can go back to: nothing is missing, and its action is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub id: String,
    /// The step before which it was taken.
    pub step: u64,
    /// When.
    pub at: Timestamp,
}

/// Keeps files, and puts them back.
pub trait Undo {
    /// Keeps what an action may change, once however often its review is done; none where it changes nothing, or
    /// nothing is to be kept. Its texts are not masked.
    fn keep(&self, action: &Coming<'_>) -> Option<RecordedCheckpoint>;

    /// The session's checkpoints, newest first. Asked for only where an answer to an issue may go back to one.
    fn kept(&self) -> Vec<Kept> {
        Vec::new()
    }

    /// Puts files back that still hold what the agent left, once however often the review is done: all of them or
    /// none. Its texts are not masked.
    fn restore(&self, checkpoint: &str) -> RecordedRestore {
        RecordedRestore { problem: Some(format!("nothing is kept here as `{checkpoint}`")), ..RecordedRestore::default() }
    }
}

/// Keeps nothing: for what is only tried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingKept;

impl Undo for NothingKept {
    fn keep(&self, _: &Coming<'_>) -> Option<RecordedCheckpoint> {
        None
    }
}

/// What was kept then: for a replay.
#[derive(Clone, Copy, Debug)]
pub struct KeptThen<'a>(pub Option<&'a RecordedCheckpoint>);

impl Undo for KeptThen<'_> {
    fn keep(&self, _: &Coming<'_>) -> Option<RecordedCheckpoint> {
        self.0.cloned()
    }
}

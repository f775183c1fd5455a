//! Checking the journal from its first record, or from where retention left it, to its anchor.
//!
//! See `chain` for what a journal that verifies proves, and what it does not.

use crate::chain::{self, Anchored, Columns, Hash, Head, SealedStart, Start};
use crate::error::StoreError;
use crate::seal::Keys;
use crate::store::Store;
use crate::{grants, outbox};
use rusqlite::{Connection, Row};
use std::fmt;
use std::path::Path;

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Records checked.
    pub checked: u64,
    /// Records that start and anchor promise.
    pub total: u64,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// How many records hold, from the first that retention left.
    pub records: u64,
    /// Where retention left the journal to begin; none if it has all its records.
    pub pruned: Option<Start>,
    /// The first position at which something is wrong, and what; none when all holds.
    pub first_bad: Option<(u64, Flaw)>,
    /// Position and hash of the last record that holds: what to keep elsewhere.
    pub head: (u64, Hash),
    /// What is wrong beside the journal, with exceptions and work that waits; none when all holds.
    pub beside: Option<String>,
}

impl Verification {
    /// Nothing is wrong.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.first_bad.is_none() && self.beside.is_none()
    }
}

/// What is wrong at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no record at this position, though later ones exist.
    Missing,
    /// The record does not follow the one before it.
    Unlinked,
    /// The document is not the one that was hashed.
    DocumentChanged,
    /// Another column is not what was sealed, or the record was made without the key.
    ColumnsChanged,
    /// The anchor promises this record and there is none: the end was cut off.
    CutOff,
    /// The record stands after the journal's anchor: it was not committed by us.
    AfterAnchor,
    /// The anchor names another hash for the last record.
    AnchorMoved,
    /// The anchor is missing or was made without the key, so the end may be cut off.
    AnchorForged,
    /// What says that retention removed the records before was made without the key.
    StartForged,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the record is missing",
            Self::Unlinked => "the record does not follow the one before it",
            Self::DocumentChanged => "the document is not the one that was hashed",
            Self::ColumnsChanged => "the record's columns were changed, or it was made without the key",
            Self::CutOff => "the record is missing: the end of the journal was cut off",
            Self::AfterAnchor => "the record stands after the journal's anchor",
            Self::AnchorMoved => "the anchor names another hash",
            Self::AnchorForged => "the anchor is missing or was made without the key",
            Self::StartForged => "what says that the records before were pruned was made without the key",
        })
    }
}

impl Store {
    /// Checks every record, and the anchor, in one view of the journal; `progress` is called now and
    /// then. Other processes may go on writing.
    ///
    /// # Errors
    /// The database cannot be read, or its indexes do not match its records.
    pub fn verify(&mut self, mut progress: impl FnMut(Progress)) -> Result<Verification, StoreError> {
        let (path, keys) = (&self.path, &self.keys);
        let named = |error: rusqlite::Error| StoreError::database(path, &error);
        let view = self.connection.transaction().map_err(named)?;
        let anchor = Anchored::read(&view).map_err(named)?;
        let start = SealedStart::read(&view).map_err(named)?;
        let forged = start.as_ref().is_some_and(|start| !start.holds(keys));
        let pruned = start.map(|sealed| sealed.start);
        let begin = pruned.map_or(Head::EMPTY, |start| Head { sequence: start.sequence, hash: start.hash, grants: None });
        let total = anchor.as_ref().map_or(0, |anchor| anchor.head.sequence).saturating_sub(begin.sequence);
        let progress = |checked| progress(Progress { checked, total });
        let (head, flaw) = if forged {
            (begin, Some((begin.sequence, Flaw::StartForged)))
        } else {
            follow(&view, begin, keys, progress).map_err(named)?
        };
        let first_bad = flaw.or_else(|| match &anchor {
            None => Some((head.sequence, Flaw::AnchorForged)),
            Some(anchor) => end(&head, &anchor.head, anchor.holds(keys)),
        });
        check_indexes(&view, path, first_bad.is_some())?;
        let beside = check_beside(&view, keys, path)?;
        Ok(Verification { records: head.sequence - begin.sequence, pruned, first_bad, head: (head.sequence, head.hash), beside })
    }
}

/// Looks at what is sealed row by row.
fn check_beside(view: &Connection, keys: &Keys, path: &Path) -> Result<Option<String>, StoreError> {
    match grants::all(view, keys, path).and_then(|_| outbox::check(view, keys, path)) {
        Ok(()) => Ok(None),
        Err(error @ (StoreError::ForgedGrants { .. } | StoreError::ForgedWork { .. })) => Ok(Some(error.to_string())),
        // An anchor that does not hold is told of as the journal's.
        Err(StoreError::Tampered { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

const EVERY: u64 = 256;

/// Follows the chain as far as it holds.
fn follow(view: &Connection, begin: Head, keys: &Keys, mut progress: impl FnMut(u64)) -> rusqlite::Result<(Head, Option<(u64, Flaw)>)> {
    let mut head = begin;
    let mut statement = view.prepare(&format!("{COLUMNS} ORDER BY sequence"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let expected = head.sequence.saturating_add(1);
        match check(row, expected, &head.hash, keys)? {
            Ok(hash) => head = Head { sequence: expected, hash, grants: None },
            Err((position, flaw)) => return Ok((head, Some((position, flaw)))),
        }
        let checked = expected.saturating_sub(begin.sequence);
        if checked.is_multiple_of(EVERY) {
            progress(checked);
        }
    }
    progress(head.sequence.saturating_sub(begin.sequence));
    Ok((head, None))
}

pub(crate) type Checked = Result<Hash, (u64, Flaw)>;

/// What [`check`] takes.
pub(crate) const COLUMNS: &str = "SELECT sequence, at, step, id, kind, session, agent, call_id, subject, verdict, document, previous, hash, seal \
     FROM journal";

/// Reads columns as bytes: a forged one may hold anything.
pub(crate) fn check(row: &Row<'_>, expected: u64, previous: &Hash, keys: &Keys) -> rusqlite::Result<Checked> {
    let sequence: i64 = row.get(0)?;
    if u64::try_from(sequence) != Ok(expected) {
        let before = u64::try_from(sequence).unwrap_or(0) < expected;
        return Ok(Err(if before { (0, Flaw::Unlinked) } else { (expected, Flaw::Missing) }));
    }
    let bytes = |column: usize| -> rusqlite::Result<Option<&[u8]>> { Ok(row.get_ref(column)?.as_bytes_or_null()?) };
    if bytes(11)? != Some(previous.as_slice()) {
        return Ok(Err((expected, Flaw::Unlinked)));
    }
    let hash = chain::hash(previous, expected, bytes(10)?.unwrap_or_default());
    if bytes(12)? != Some(hash.as_slice()) {
        return Ok(Err((expected, Flaw::DocumentChanged)));
    }
    let texts = [bytes(3)?, bytes(4)?, bytes(5)?, bytes(6)?, bytes(7)?, bytes(8)?, bytes(9)?];
    let seal = Columns { at: row.get(1)?, step: row.get(2)?, texts }.seal(&hash, keys);
    if bytes(13)? != Some(seal.as_slice()) {
        return Ok(Err((expected, Flaw::ColumnsChanged)));
    }
    Ok(Ok(hash))
}

/// Compares the end of the chain with the anchor.
fn end(head: &Head, anchor: &Head, genuine: bool) -> Option<(u64, Flaw)> {
    if !genuine {
        Some((head.sequence, Flaw::AnchorForged))
    } else if anchor.sequence > head.sequence {
        Some((head.sequence.saturating_add(1), Flaw::CutOff))
    } else if anchor.sequence < head.sequence {
        Some((anchor.sequence.saturating_add(1), Flaw::AfterAnchor))
    } else {
        (anchor.hash != head.hash).then_some((head.sequence, Flaw::AnchorMoved))
    }
}

/// Look-ups go through the indexes: one that misses a record hides it.
fn check_indexes(view: &Connection, path: &Path, flawed: bool) -> Result<(), StoreError> {
    if flawed {
        return Ok(());
    }
    let verdict: String =
        view.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(|error| StoreError::database(path, &error))?;
    if verdict == "ok" { Ok(()) } else { Err(StoreError::corrupt(path, verdict.replace(['\n', '\r'], " "))) }
}

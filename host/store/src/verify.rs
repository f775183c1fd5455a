//! Verifies the journal from its first record, or from the start that retention left, to its
//! anchor.
//!
//! See `chain` for the guarantees of a journal that verifies, and their limits.

use crate::chain::{Columns, Head, JournalStart, SealedStart, StoredAnchor};
use crate::error::StoreError;
use crate::format::FORMAT;
use crate::hash::{Hash, hash_encrypted, hash_record};
use crate::seal::Keys;
use crate::store::Store;
use crate::{breakers, exceptions, exports, mark, sessions, work};
use portcullis_encryption::{DataKeys, KeyId};
use rusqlite::{Connection, Row};
use std::fmt;
use std::path::Path;

/// The progress of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Records checked.
    pub checked: u64,
    /// Records that exist according to start and anchor.
    pub total: u64,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The number of valid records, from the first that retention left.
    pub records: u64,
    /// The start that retention left; none if the journal has all its records.
    pub pruned: Option<JournalStart>,
    /// The first position with a flaw, and the flaw; none if all are valid.
    pub first_bad: Option<(u64, Flaw)>,
    /// Position and hash of the last valid record, to be kept elsewhere.
    pub head: (u64, Hash),
    /// The problem outside the journal, with exceptions or queued work; none if all are valid.
    pub beside: Option<String>,
    /// The reason that what is outside the journal could not be checked: it takes the keys of the
    /// encrypted texts. None if it was checked.
    pub unchecked: Option<String>,
    /// The problem with the states of sessions; none if all are valid.
    pub states: Option<String>,
    /// The reason that this is not the home's own journal, such as being an older copy; none if it
    /// is.
    pub replaced: Option<String>,
}

impl Verification {
    /// Returns true if no problem was found.
    #[must_use]
    pub const fn is_intact(&self) -> bool {
        self.first_bad.is_none()
            && self.beside.is_none()
            && self.states.is_none()
            && self.replaced.is_none()
    }
}

/// The flaw at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No record has this position, though later ones exist.
    Missing,
    /// The record does not follow the one before it.
    Unlinked,
    /// The document is not the one that was hashed.
    DocumentChanged,
    /// Another column differs from the sealed value, or the record was made without the key.
    ColumnsChanged,
    /// The anchor covers this record and it is missing: the end was cut off.
    CutOff,
    /// The record comes after the journal's anchor: no genuine commit wrote it.
    AfterAnchor,
    /// The anchor names another hash for the last record.
    AnchorMoved,
    /// The anchor is missing or was made without the key, so the end may be cut off.
    AnchorForged,
    /// The start that retention recorded was made without the key.
    StartForged,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the record is missing",
            Self::Unlinked => "the record does not follow the one before it",
            Self::DocumentChanged => "the document is not the one that was hashed",
            Self::ColumnsChanged => {
                "the record's columns were changed, or it was made without the key"
            }
            Self::CutOff => "the record is missing: the end of the journal was cut off",
            Self::AfterAnchor => "the record comes after the journal's anchor",
            Self::AnchorMoved => "the anchor names another hash",
            Self::AnchorForged => "the anchor is missing or was made without the key",
            Self::StartForged => "the mark of the pruned records was made without the key",
        })
    }
}

impl Store {
    /// Checks every record, and the anchor, in one view of the journal; `progress` is called now
    /// and then. Other processes may continue to write.
    ///
    /// # Errors
    /// Fails if the database cannot be read, or its indexes do not match its records.
    pub fn verify_chain(
        &mut self,
        mut progress: impl FnMut(CheckProgress),
    ) -> Result<Verification, StoreError> {
        let (path, keys) = (&self.path, &self.keys);
        let named = |error: rusqlite::Error| StoreError::database(path, &error);
        let view = self.connection.transaction().map_err(named)?;
        let anchor = StoredAnchor::read(&view).map_err(named)?;
        let start = SealedStart::read(&view).map_err(named)?;
        let forged = start.as_ref().is_some_and(|start| !start.holds(keys));
        let pruned = start.map(|sealed| sealed.start);
        let begin = pruned.map_or(Head::EMPTY, |start| Head {
            sequence: start.sequence,
            hash: start.hash,
            ..Head::EMPTY
        });
        let total =
            anchor.as_ref().map_or(0, |anchor| anchor.head.sequence).saturating_sub(begin.sequence);
        let progress = |checked| progress(CheckProgress { checked, total });
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
        let genuine = anchor.as_ref().is_some_and(|anchor| anchor.holds(keys));
        // The states are checked against the anchor, so without a genuine one there is nothing to
        // compare.
        let states = if genuine { check_states(&view, keys, path)? } else { None };
        let beside = check_beside(&view, keys, path)?;
        let known = anchor
            .as_ref()
            .map(|anchor| mark::find_contradiction(self.mark, &view, &anchor.head, FORMAT));
        let replaced = known.transpose().map_err(named)?.flatten().map(str::to_owned);
        Ok(Verification {
            records: head.sequence - begin.sequence,
            pruned,
            first_bad,
            head: (head.sequence, head.hash),
            beside: beside.problem,
            unchecked: beside.unchecked,
            states,
            replaced,
        })
    }
}

fn check_states(view: &Connection, keys: &Keys, path: &Path) -> Result<Option<String>, StoreError> {
    match sessions::check(view, keys, path) {
        Ok(()) => Ok(None),
        Err(error @ (StoreError::ForgedState { .. } | StoreError::Tampered { .. })) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// The result of checking the data that is sealed row by row.
#[derive(Default)]
struct BesideCheck {
    problem: Option<String>,
    unchecked: Option<String>,
}

/// Checks the data that is sealed row by row.
fn check_beside(view: &Connection, keys: &Keys, path: &Path) -> Result<BesideCheck, StoreError> {
    let mut found = BesideCheck::default();
    for checked in [
        exceptions::all_exceptions(view, keys, path).map(drop),
        work::check(view, keys, path),
        exports::all_cursors(view, keys, path).map(drop),
        breakers::all_breakers(view, keys, path).map(drop),
    ] {
        match checked {
            Ok(()) => {}
            Err(
                error @ (StoreError::ForgedExceptions { .. }
                | StoreError::ForgedWork { .. }
                | StoreError::ForgedBreaker { .. }
                | StoreError::ForgedExport { .. }),
            ) => {
                found.problem.get_or_insert(error.to_string());
            }
            // An invalid anchor is reported as a problem of the journal.
            Err(StoreError::Tampered { .. }) => {}
            Err(StoreError::Unreadable { reason, .. }) => {
                found.unchecked.get_or_insert(reason);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

const EVERY: u64 = 256;

/// Follows the chain as far as it is valid.
fn follow(
    view: &Connection,
    begin: Head,
    keys: &Keys,
    mut progress: impl FnMut(u64),
) -> rusqlite::Result<(Head, Option<(u64, Flaw)>)> {
    let mut head = begin;
    let mut statement = view.prepare(&format!("{COLUMNS} ORDER BY sequence"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let expected = head.sequence.saturating_add(1);
        match check(row, expected, &head.hash, keys)? {
            Ok(hash) => head = Head { sequence: expected, hash, ..Head::EMPTY },
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

/// The columns that [`check`] reads.
pub(crate) const COLUMNS: &str = "SELECT sequence, at, step, id, kind, session, agent, call_id, \
     subject, verdict, document, previous, hash, seal, key, commitment, erased_at, sealed \
     FROM journal";

/// Checks a row. Reads columns as bytes, since a forged one may hold anything.
pub(crate) fn check(
    row: &Row<'_>,
    expected: u64,
    previous: &Hash,
    keys: &Keys,
) -> rusqlite::Result<Checked> {
    let sequence: i64 = row.get(0)?;
    if u64::try_from(sequence) != Ok(expected) {
        let before = u64::try_from(sequence).unwrap_or(0) < expected;
        return Ok(Err(if before { (0, Flaw::Unlinked) } else { (expected, Flaw::Missing) }));
    }
    let bytes = |column: usize| -> rusqlite::Result<Option<&[u8]>> {
        Ok(row.get_ref(column)?.as_bytes_or_null()?)
    };
    if bytes(11)? != Some(previous.as_slice()) {
        return Ok(Err((expected, Flaw::Unlinked)));
    }
    let Some(hash) = hash_row(row, expected, previous)? else {
        return Ok(Err((expected, Flaw::DocumentChanged)));
    };
    if bytes(12)? != Some(hash.as_slice()) {
        return Ok(Err((expected, Flaw::DocumentChanged)));
    }
    let texts = [bytes(3)?, bytes(4)?, bytes(5)?, bytes(6)?, bytes(7)?, bytes(8)?, bytes(9)?];
    let erased = match row.get::<_, Option<i64>>(16)? {
        Some(at) => Some((at, bytes(10)?.unwrap_or_default())),
        None => None,
    };
    let columns = Columns { at: row.get(1)?, step: row.get(2)?, texts, erased };
    let seal = columns.seal(&hash, keys);
    if bytes(13)? != Some(seal.as_slice()) {
        return Ok(Err((expected, Flaw::ColumnsChanged)));
    }
    Ok(Ok(hash))
}

/// Returns the hash of a row from what is stored of its document; none if that has no valid form.
fn hash_row(row: &Row<'_>, sequence: u64, previous: &Hash) -> rusqlite::Result<Option<Hash>> {
    let bytes = |column: usize| -> rusqlite::Result<Option<&[u8]>> {
        Ok(row.get_ref(column)?.as_bytes_or_null()?)
    };
    let document = bytes(10)?.unwrap_or_default();
    let (key, erased_at): (Option<i64>, Option<i64>) = (row.get(14)?, row.get(16)?);
    let (commitment, sealed) = (bytes(15)?, bytes(17)?);
    let stored = match (commitment, sealed, erased_at) {
        (None, None, None) if key.is_none() => {
            return Ok(Some(hash_record(previous, sequence, document, None)));
        }
        // Retention finds by the number which keys are still needed.
        (Some(_), Some(sealed), None) if DataKeys::key_of(sealed).map(KeyId::to_number) == key => {
            Some(Hash::from(blake3::hash(sealed)))
        }
        (Some(_), Some(stored), Some(_)) if key.is_none() => Hash::try_from(stored).ok(),
        // Its document was plain, so only its hash is left.
        (None, None, Some(_)) if key.is_none() => return row.get(12).map(Some),
        _ => None,
    };
    let commitment = commitment.and_then(|commitment| Hash::try_from(commitment).ok());
    let parts = commitment.zip(stored).filter(|_| document.is_empty() || erased_at.is_some());
    Ok(parts.map(|(commitment, stored)| hash_encrypted(previous, sequence, &commitment, &stored)))
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

/// Checks the indexes. Look-ups use them: one that misses a record hides it.
fn check_indexes(view: &Connection, path: &Path, flawed: bool) -> Result<(), StoreError> {
    if flawed {
        return Ok(());
    }
    let verdict: String = view
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| StoreError::database(path, &error))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(StoreError::corrupt(path, verdict.replace(['\n', '\r'], " ")))
    }
}

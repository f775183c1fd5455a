//! The home's mark: outside the database, it records that a journal exists, its format, and the
//! newest record known to be on disk.
//!
//! If the mark exists but the journal is missing, the journal was removed; if the journal ends
//! before the mark's record, or holds another one at that position, it was replaced. The mark is
//! updated with each checkpoint, when the journal is durable: a power cut may lose the newest
//! commits, and must not look like tampering.
//!
//! It is sealed with the home's key. It does not detect that older copies of both the journal and
//! the mark were restored together: that takes an [`crate::Anchor`] kept elsewhere.

use crate::chain::{Head, SealedStart};
use crate::error::StoreError;
use crate::hash::{GENESIS, Hash, to_hex};
use crate::home::{Home, MARK_FILE};
use crate::seal::{Keys, Seal};
use portcullis_fs::{Links, ReadError, Replacement, read_file};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

const MOST_BYTES: u64 = 4096;

/// A home's knowledge of its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The format that it was brought to.
    pub(crate) format: i64,
    /// The newest record that is known to be on disk; 0 for none.
    pub(crate) sequence: u64,
    /// Its hash.
    pub(crate) hash: Hash,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkFile {
    format: i64,
    sequence: u64,
    hash: String,
    code: String,
}

/// The state of the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkState {
    /// It exists.
    Mark(Mark),
    /// It was removed, although a journal with records exists.
    Gone,
    /// It was not written with the home's key.
    Forged,
}

impl Mark {
    /// Creates the mark of a new journal.
    pub(crate) const fn of(format: i64) -> Self {
        Self { format, sequence: 0, hash: GENESIS }
    }

    fn sealed(&self, keys: &Keys) -> Seal {
        Seal::new(&keys.mark)
            .raw(&self.format.to_be_bytes())
            .raw(&self.sequence.to_be_bytes())
            .raw(&self.hash)
    }

    /// Reads the home's mark; `None` if it has none.
    pub(crate) fn read(root: &Path, keys: &Keys) -> Result<Option<MarkState>, StoreError> {
        let path = root.join(MARK_FILE);
        let text = match read_file(&path, MOST_BYTES, Links::Refuse) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(ReadError::Io(error)) => return Err(StoreError::io("read", &path, error)),
            // A link, a folder or a larger file is nothing that this home wrote.
            Err(_) => return Ok(Some(MarkState::Forged)),
        };
        Ok(Some(Self::parse(&text, keys).map_or(MarkState::Forged, MarkState::Mark)))
    }

    fn parse(text: &[u8], keys: &Keys) -> Option<Self> {
        let MarkFile { format, sequence, hash, code } = serde_json::from_slice(text).ok()?;
        let mark = Self { format, sequence, hash: *blake3::Hash::from_hex(hash).ok()?.as_bytes() };
        mark.sealed(keys).is(blake3::Hash::from_hex(code).ok()?.as_bytes()).then_some(mark)
    }

    /// Returns true if its record is older than that of another one.
    pub(crate) const fn is_before(&self, other: &Self) -> bool {
        self.sequence < other.sequence
    }

    /// Writes it, replacing an earlier one. The home's lock must be held.
    pub(crate) fn write(&self, root: &Path, keys: &Keys) -> Result<(), StoreError> {
        let path = root.join(MARK_FILE);
        let code = to_hex(&self.sealed(keys).finish());
        let written = MarkFile {
            format: self.format,
            sequence: self.sequence,
            hash: to_hex(&self.hash),
            code,
        };
        let replacement = Replacement::new(&path, 0o600).under_lock();
        let write = |file: &mut dyn io::Write| -> io::Result<()> {
            serde_json::to_writer(&mut *file, &written)?;
            file.write_all(b"\n")
        };
        replacement.write_with(write).map_err(|error| StoreError::io("create", &path, error))
    }

    /// Removes it. The home's lock must be held.
    pub(crate) fn remove(root: &Path) -> Result<(), StoreError> {
        let path = root.join(MARK_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    fn contradiction(
        &self,
        connection: &Connection,
        head: &Head,
        format: i64,
    ) -> rusqlite::Result<Option<&'static str>> {
        if format < self.format {
            return Ok(Some("its format is older than the one this home migrated it to"));
        }
        if head.sequence < self.sequence {
            return Ok(Some(OLDER));
        }
        if self.sequence == 0 {
            return Ok(None);
        }
        let sequence = i64::try_from(self.sequence).unwrap_or(i64::MAX);
        let found = connection
            .prepare_cached("SELECT hash FROM journal WHERE sequence = ?1")?
            .query_row([sequence], |row| row.get::<_, Vec<u8>>(0));
        Ok(match found.optional()? {
            Some(found) if found == self.hash => None,
            Some(_) => Some("it holds another record where this home knows one: it was replaced"),
            None => {
                let pruned = SealedStart::read(connection)?
                    .is_some_and(|sealed| sealed.start.sequence >= self.sequence);
                (!pruned)
                    .then_some("it lacks a record that this home knows: it was replaced or cut")
            }
        })
    }
}

const OLDER: &str =
    "it ends before a record that this home knows: it was replaced by an older copy";

/// Returns the reason that a journal with that head is not the home's own; none if it is.
pub(crate) fn find_contradiction(
    found: MarkState,
    connection: &Connection,
    head: &Head,
    format: i64,
) -> rusqlite::Result<Option<&'static str>> {
    match found {
        MarkState::Mark(mark) => mark.contradiction(connection, head, format),
        MarkState::Gone => Ok(Some("its mark `journal.mark` is gone")),
        MarkState::Forged => Ok(Some("its mark `journal.mark` does not match the home's key")),
    }
}

/// Returns the home's mark, and writes it first when a journal that is still empty is first opened.
pub(crate) fn ensure_mark(
    home: &Home,
    keys: &Keys,
    format: i64,
    connection: &Connection,
) -> Result<MarkState, StoreError> {
    let root = home.path();
    match Mark::read(root, keys)? {
        Some(MarkState::Mark(mark)) if mark.format < format => {}
        Some(found) => return Ok(found),
        None => {}
    }
    let _lock = home.lock()?;
    // The journal's creator may have written its mark by now.
    let mark = match Mark::read(root, keys)? {
        Some(MarkState::Mark(mark)) if mark.format < format => Mark { format, ..mark },
        Some(found) => return Ok(found),
        None if is_empty(connection, &home.journal())? => Mark::of(format),
        None => return Ok(MarkState::Gone),
    };
    mark.write(root, keys)?;
    Ok(MarkState::Mark(mark))
}

/// Returns true if nothing was ever committed: its creator was killed, or is about to write the
/// mark.
fn is_empty(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM journal) AND NOT EXISTS (SELECT 1 FROM start) AND \
         NOT EXISTS (SELECT 1 FROM heads) \
               AND EXISTS (SELECT 1 FROM anchor WHERE sequence = 0)";
    connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(|error| StoreError::database(path, &error))
}

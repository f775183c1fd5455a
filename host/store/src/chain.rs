//! The journal's chain: what each record's hash and seal cover, and the anchor at its end.
//!
//! - `hash` = BLAKE3(`portcullis journal v1` || previous hash || sequence as 8 bytes, big end first ||
//!   document). Anybody can recompute it from an export; the first record's previous hash is 32 zeros.
//! - `seal` = the hash and every other column, under a key derived from the home's. It ties the columns,
//!   which the hash leaves out, to the document.
//! - the anchor holds sequence and hash of the newest record, and a digest of the live exceptions where
//!   there are any, under another derived key, and moves in the same transaction.
//! - the start holds sequence, hash and times of the newest record that retention removed, under a third
//!   key. From there the chain goes on.
//!
//! What this proves: without the key nobody can change, remove, swap or insert a record, or cut the end
//! or the beginning off, and have it verify. What it does not prove: the same user can read the key, so
//! whoever acts as that user can write a new chain; and putting back an older copy of the whole database
//! looks like the past. Against both, keep [`crate::Anchor`]s somewhere else and compare.

use crate::error::StoreError;
use crate::record::NewRecord;
use crate::seal::{Keys, Seal};
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// What stands before the first record.
pub(crate) const GENESIS: Hash = [0; 32];

const DOMAIN: &[u8] = b"portcullis journal v1";

/// The newest record, as the anchor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    /// The digest of the live exceptions; none when there are none, as before there were any.
    pub(crate) grants: Option<Hash>,
}

impl Head {
    /// The head of an empty journal.
    pub(crate) const EMPTY: Self = Self { sequence: 0, hash: GENESIS, grants: None };

    pub(crate) fn mac(&self, keys: &Keys) -> Hash {
        self.sealed(keys).finish()
    }

    fn sealed(&self, keys: &Keys) -> Seal {
        let seal = Seal::new(&keys.anchor).raw(&self.sequence.to_be_bytes()).raw(&self.hash);
        match &self.grants {
            Some(digest) => seal.raw(digest),
            None => seal,
        }
    }
}

/// The anchor and its code as they stand in the database, unchecked.
pub(crate) struct Anchored {
    pub(crate) head: Head,
    mac: Vec<u8>,
}

impl Anchored {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        connection.query_row("SELECT sequence, hash, mac, grants FROM anchor", [], Self::from_row).optional()
    }

    /// The same from a database that knew no exceptions.
    pub(crate) fn read_format_1(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        connection.query_row("SELECT sequence, hash, mac, x'' FROM anchor", [], Self::from_row).optional()
    }

    /// From `sequence, hash, mac, grants`. A digest of another length is none that a code covers.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let grants: Vec<u8> = row.get(3)?;
        let grants = if grants.is_empty() { None } else { Some(Hash::try_from(grants).unwrap_or_default()) };
        Ok(Self { head: Head { sequence: row.get(0)?, hash: row.get(1)?, grants }, mac: row.get(2)? })
    }

    pub(crate) fn holds(&self, keys: &Keys) -> bool {
        self.head.sealed(keys).is(&self.mac)
    }

    /// The head of an anchor that was made with the key.
    pub(crate) fn genuine(anchored: Option<Self>, keys: &Keys, path: &Path) -> Result<Head, StoreError> {
        match anchored {
            Some(anchored) if anchored.holds(keys) => Ok(anchored.head),
            Some(_) => Err(StoreError::tampered(path, "its anchor does not match the home's key")),
            None => Err(StoreError::tampered(path, "its anchor is missing")),
        }
    }
}

/// Where the journal begins after retention: the newest record that was removed. Since positions have no
/// gaps, as many records as its position says were removed in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its position.
    pub sequence: u64,
    /// Its hash, on which the next record is built.
    pub hash: Hash,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// When it was removed.
    pub pruned_at: u64,
}

/// A start and its code as they stand in the database, unchecked.
pub(crate) struct SealedStart {
    pub(crate) start: Start,
    mac: Vec<u8>,
}

impl SealedStart {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let read = |row: &Row<'_>| {
            let start = Start { sequence: row.get(0)?, hash: row.get(1)?, at: row.get(2)?, pruned_at: row.get(3)? };
            Ok(Self { start, mac: row.get(4)? })
        };
        connection.query_row("SELECT sequence, hash, at, pruned_at, mac FROM start", [], read).optional()
    }

    pub(crate) fn holds(&self, keys: &Keys) -> bool {
        self.start.sealed(keys).is(&self.mac)
    }

    pub(crate) fn genuine(self, keys: &Keys, path: &Path) -> Result<Start, StoreError> {
        if self.holds(keys) { Ok(self.start) } else { Err(StoreError::tampered(path, "its start does not match the home's key")) }
    }
}

impl Start {
    pub(crate) fn mac(&self, keys: &Keys) -> Hash {
        self.sealed(keys).finish()
    }

    fn sealed(&self, keys: &Keys) -> Seal {
        let numbers = [self.sequence, self.at, self.pruned_at];
        numbers.iter().fold(Seal::new(&keys.start).raw(&self.hash), |seal, number| seal.raw(&number.to_be_bytes()))
    }
}

/// The hash of a record.
pub(crate) fn hash(previous: &Hash, sequence: u64, document: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(DOMAIN).update(previous).update(&sequence.to_be_bytes()).update(document);
    hasher.finalize().into()
}

/// A record's columns other than its document, as bytes: what a seal covers beside the hash.
pub(crate) struct Columns<'a> {
    pub(crate) at: Option<i64>,
    pub(crate) step: Option<i64>,
    /// id, kind, session, agent, call id, subject, verdict.
    pub(crate) texts: [Option<&'a [u8]>; 7],
}

impl<'a> Columns<'a> {
    pub(crate) fn of(record: &'a NewRecord, session: Option<&'a str>, agent: Option<&'a str>, at: i64, step: Option<i64>) -> Self {
        let texts = [
            Some(record.id.as_str()),
            Some(record.kind.as_str()),
            session,
            agent,
            record.call_id.as_deref(),
            Some(record.subject.as_str()),
            record.verdict.as_deref(),
        ];
        Self { at: Some(at), step, texts: texts.map(|text| text.map(str::as_bytes)) }
    }

    pub(crate) fn seal(&self, hash: &Hash, keys: &Keys) -> Hash {
        let seal = Seal::new(&keys.seal).raw(hash).number(self.at).number(self.step);
        self.texts.iter().fold(seal, |seal, text| seal.bytes(*text)).finish()
    }
}

/// A hash as 64 hex digits.
#[must_use]
pub fn hex(hash: &Hash) -> String {
    blake3::Hash::from(*hash).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sets_of_columns_have_one_seal() {
        let keys = Keys { seal: [1; 32], anchor: [2; 32], start: [3; 32], grant: [4; 32], work: [5; 32], breaker: [6; 32] };
        let with = |at, step, first: Option<&'static str>, second: Option<&'static str>| {
            let mut texts = [None; 7];
            (texts[0], texts[1]) = (first.map(str::as_bytes), second.map(str::as_bytes));
            Columns { at, step, texts }.seal(&GENESIS, &keys)
        };
        let seals = [
            with(None, None, None, None),
            with(Some(0), None, None, None),
            with(None, Some(0), None, None),
            with(None, None, Some(""), None),
            with(None, None, None, Some("")),
            with(None, None, Some("ab"), Some("c")),
            with(None, None, Some("a"), Some("bc")),
            with(None, None, Some("abc"), None),
            with(None, None, Some("a\u{1}b"), Some("c")),
            with(None, None, Some("a"), Some("b\u{1}c")),
        ];
        let different: std::collections::HashSet<_> = seals.iter().collect();
        assert_eq!(different.len(), seals.len());
    }
}

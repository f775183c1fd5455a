//! The journal's chain: the data that each record's hash and seal cover, and the anchor at its end.
//!
//! - `hash` = BLAKE3(`portcullis journal v2` || previous hash || sequence as 8 bytes, big end first
//!   || commitment || BLAKE3(ciphertext)), with commitment = BLAKE3(document, keyed with the record's
//!   salt). Anybody can recompute it: from the database, which holds commitment and ciphertext, without
//!   any key, and from an export, which holds document, salt and the ciphertext's hash. The first
//!   record's previous hash is 32 zeros. A record that is stored as plain text has the hash BLAKE3(`portcullis
//!   journal v1` || previous hash || sequence || document).
//! - an erased record keeps its commitment and the ciphertext's hash, so the chain holds without the
//!   document, and nobody can guess the document without the salt. One that was plain keeps its hash,
//!   which the next record and the seal cover.
//! - `seal` = the hash and every other column, under a key derived from the home's. It ties the
//!   columns, which the hash leaves out, to the document.
//! - the anchor holds sequence and hash of the newest record, a digest of the live exceptions if
//!   there are any, and digests of the sessions' states, under another derived key, and moves in
//!   the same transaction.
//! - the start holds sequence, hash and times of the newest record that retention removed, under a
//!   third key. The chain continues from there.
//!
//! A verified chain proves that nobody without the key changed, removed, swapped or inserted a
//! record, or cut the end or the beginning off. It does not protect against the same user, who can
//! read the key and so write a new chain, or against restoring an older copy of the whole home,
//! which looks like the past (an older copy of the database alone does not: see `mark`). Against
//! both, keep [`crate::Anchor`]s somewhere else and compare.

use crate::buckets::Buckets;
use crate::error::StoreError;
use crate::hash::{GENESIS, Hash};
use crate::record::NewRecord;
use crate::seal::{Keys, Seal};
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;

/// The newest record, as the anchor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
    /// The digest of the live exceptions; none if no exception is live, as in formats without them.
    pub(crate) grants: Option<Hash>,
    /// The digest of the sessions' states; none if no state exists, as in formats that did not seal
    /// them.
    pub(crate) sessions: Option<Hash>,
}

impl Head {
    /// The head of an empty journal.
    pub(crate) const EMPTY: Self =
        Self { sequence: 0, hash: GENESIS, grants: None, sessions: None };

    pub(crate) fn mac(&self, keys: &Keys) -> Hash {
        self.sealed(keys).finish()
    }

    fn sealed(&self, keys: &Keys) -> Seal {
        let seal = Seal::new(&keys.anchor).raw(&self.sequence.to_be_bytes()).raw(&self.hash);
        let seal = self.grants.iter().fold(seal, |seal, digest| seal.raw(digest));
        // The word keeps one of the two optional digests from passing for the other.
        self.sessions.iter().fold(seal, |seal, digest| seal.raw(b"sessions").raw(digest))
    }
}

/// The anchor and its code as stored in the database, unchecked.
pub(crate) struct StoredAnchor {
    pub(crate) head: Head,
    pub(crate) buckets: Buckets,
    code: Vec<u8>,
}

impl StoredAnchor {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT sequence, hash, code, grants, sessions FROM anchor";
        connection.prepare_cached(sql)?.query_row([], Self::from_row).optional()
    }

    /// Reads the same from a database of an older format.
    pub(crate) fn read_older(
        connection: &Connection,
        format: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let grants = if format == 1 { "x''" } else { "grants" };
        connection
            .query_row(
                &format!("SELECT sequence, hash, mac, {grants}, x'' FROM anchor"),
                [],
                Self::from_row,
            )
            .optional()
    }

    /// Reads `sequence, hash, code, grants, sessions`. A digest of the wrong length is treated as
    /// absent, so the code cannot cover it.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let grants: Vec<u8> = row.get(3)?;
        let grants =
            if grants.is_empty() { None } else { Some(Hash::try_from(grants).unwrap_or_default()) };
        let buckets = Buckets::of(row.get(4)?);
        let head =
            Head { sequence: row.get(0)?, hash: row.get(1)?, grants, sessions: buckets.hash() };
        Ok(Self { head, buckets, code: row.get(2)? })
    }

    pub(crate) fn holds(&self, keys: &Keys) -> bool {
        self.head.sealed(keys).is(&self.code)
    }

    /// Returns the head of an anchor that was made with the key.
    pub(crate) fn genuine(
        anchored: Option<Self>,
        keys: &Keys,
        path: &Path,
    ) -> Result<Head, StoreError> {
        match anchored {
            Some(anchored) if anchored.holds(keys) => Ok(anchored.head),
            Some(_) => Err(StoreError::tampered(path, "its anchor does not match the home's key")),
            None => Err(StoreError::tampered(path, "its anchor is missing")),
        }
    }
}

/// The beginning of the journal after retention: the newest record that was removed. Since
/// positions have no gaps, its position is also the number of removed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalStart {
    /// Its position.
    pub sequence: u64,
    /// Its hash, on which the next record is built.
    pub hash: Hash,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// The time of its removal.
    pub pruned_at: u64,
}

/// A start and its code as stored in the database, unchecked.
pub(crate) struct SealedStart {
    pub(crate) start: JournalStart,
    mac: Vec<u8>,
}

impl SealedStart {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        let read = |row: &Row<'_>| {
            let start = JournalStart {
                sequence: row.get(0)?,
                hash: row.get(1)?,
                at: row.get(2)?,
                pruned_at: row.get(3)?,
            };
            Ok(Self { start, mac: row.get(4)? })
        };
        let sql = "SELECT sequence, hash, at, pruned_at, mac FROM start";
        connection.prepare_cached(sql)?.query_row([], read).optional()
    }

    pub(crate) fn holds(&self, keys: &Keys) -> bool {
        self.start.sealed(keys).is(&self.mac)
    }

    pub(crate) fn genuine(self, keys: &Keys, path: &Path) -> Result<JournalStart, StoreError> {
        if self.holds(keys) {
            Ok(self.start)
        } else {
            Err(StoreError::tampered(path, "its start does not match the home's key"))
        }
    }
}

impl JournalStart {
    pub(crate) fn mac(&self, keys: &Keys) -> Hash {
        self.sealed(keys).finish()
    }

    fn sealed(&self, keys: &Keys) -> Seal {
        let numbers = [self.sequence, self.at, self.pruned_at];
        numbers.iter().fold(Seal::new(&keys.start).raw(&self.hash), |seal, number| {
            seal.raw(&number.to_be_bytes())
        })
    }
}

/// A record's columns other than its document, as bytes: the part that a seal covers in addition to
/// the hash.
pub(crate) struct Columns<'a> {
    pub(crate) at: Option<i64>,
    pub(crate) step: Option<i64>,
    /// id, kind, session, agent, call id, subject, verdict.
    pub(crate) texts: [Option<&'a [u8]>; 7],
    /// When its document was erased, and the one that took its place, which no hash covers.
    pub(crate) erased: Option<(i64, &'a [u8])>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(
        record: &'a NewRecord,
        session: Option<&'a str>,
        agent: Option<&'a str>,
        at: i64,
        step: Option<i64>,
    ) -> Self {
        let texts = [
            Some(record.id.as_str()),
            Some(record.kind.as_str()),
            session,
            agent,
            record.call_id.as_deref(),
            Some(record.subject.as_str()),
            record.verdict.as_deref(),
        ];
        Self { at: Some(at), step, texts: texts.map(|text| text.map(str::as_bytes)), erased: None }
    }

    pub(crate) fn seal(&self, hash: &Hash, keys: &Keys) -> Hash {
        let seal = Seal::new(&keys.seal).raw(hash).number(self.at).number(self.step);
        let seal = self.texts.iter().fold(seal, |seal, text| seal.bytes(*text));
        let erased = self.erased.iter();
        let add = |seal: Seal, (at, document): &(i64, &[u8])| {
            seal.raw(b"erased").number(Some(*at)).bytes(Some(document))
        };
        erased.fold(seal, add).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    #[test]
    fn no_two_sets_of_columns_have_one_seal() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::of(&Home::open_root(folder.path().join("home")).unwrap());
        let with = |at, step, first: Option<&'static str>, second: Option<&'static str>| {
            let mut texts = [None; 7];
            (texts[0], texts[1]) = (first.map(str::as_bytes), second.map(str::as_bytes));
            Columns { at, step, texts, erased: None }.seal(&GENESIS, &keys)
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
            Columns { at: None, step: None, texts: [None; 7], erased: Some((0, b"")) }
                .seal(&GENESIS, &keys),
        ];
        let different: std::collections::HashSet<_> = seals.iter().collect();
        assert_eq!(different.len(), seals.len());
    }
}

//! Anchors: heads of the journal for keeping elsewhere, and a later comparison with them.
//!
//! Nothing inside the home can show that all of it was replaced by an older copy, or rewritten by
//! somebody who has the key. A line kept in a place where that person cannot write can.

use crate::chain::{SealedStart, StoredAnchor};
use crate::error::StoreError;
use crate::hash::{GENESIS, Hash, to_hex};
use crate::store::Store;
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The journal's newest record at some time. Its text is one line of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The position of the newest record; 0 for an empty journal.
    pub sequence: u64,
    /// Its hash, as 64 hex digits in the text.
    #[serde(with = "digits")]
    pub hash: Hash,
    /// The time when it was the newest, in milliseconds since 1970.
    pub at: u64,
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Anchor {
    type Err = StoreError;

    fn from_str(line: &str) -> Result<Self, StoreError> {
        serde_json::from_str(line)
            .map_err(|error| StoreError::BadAnchor { reason: error.to_string() })
    }
}

/// The result of comparing an anchor with the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnchorStatus {
    /// The journal holds that record with that hash.
    Holds,
    /// Retention has removed the record since, so nothing can be said.
    Pruned,
    /// The journal holds another record at that position: it was replaced or rewritten.
    Replaced,
    /// The journal ends before it, or lacks the record: it was rolled back or cut.
    Missing,
}

impl AnchorStatus {
    /// Returns true if the journal is not the one that the anchor was taken from, or has lost
    /// records since.
    #[must_use]
    pub const fn contradicts_journal(self) -> bool {
        matches!(self, Self::Replaced | Self::Missing)
    }
}

impl fmt::Display for AnchorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "the journal holds the record",
            Self::Pruned => "retention has removed the record since",
            Self::Replaced => {
                "the journal holds another record there: it was replaced or rewritten"
            }
            Self::Missing => "the journal lacks the record: it was rolled back or cut",
        })
    }
}

impl Store {
    /// Returns the journal's head, for keeping elsewhere.
    ///
    /// # Errors
    /// Fails if the journal's anchor was changed from outside, or the database cannot be read.
    pub fn head_anchor(&self, now: u64) -> Result<Anchor, StoreError> {
        let anchored = StoredAnchor::read(&self.connection).map_err(|error| self.named(&error))?;
        let head = StoredAnchor::genuine(anchored, &self.keys, &self.path)?;
        Ok(Anchor { sequence: head.sequence, hash: head.hash, at: now })
    }

    /// Compares anchors that were kept elsewhere with the journal, and returns each with its
    /// result. It trusts the records' stored hashes: [`Store::verify_chain`] checks that they match
    /// the records.
    ///
    /// # Errors
    /// Fails if the journal's start was changed from outside, or the database cannot be read.
    pub fn check_anchors(
        &mut self,
        anchors: &[Anchor],
    ) -> Result<Vec<(Anchor, AnchorStatus)>, StoreError> {
        let (path, keys) = (&self.path, &self.keys);
        let named = |error: rusqlite::Error| StoreError::database(path, &error);
        let view = self.connection.transaction().map_err(named)?;
        let start = SealedStart::read(&view)
            .map_err(named)?
            .map(|sealed| sealed.genuine(keys, path))
            .transpose()?;
        let start = start.map_or((0, GENESIS), |start| (start.sequence, start.hash));
        let mut hash =
            view.prepare("SELECT hash FROM journal WHERE sequence = ?1").map_err(named)?;
        let mut compare = |anchor: &Anchor| -> rusqlite::Result<AnchorStatus> {
            if anchor.sequence < start.0 {
                return Ok(AnchorStatus::Pruned);
            }
            let sequence = i64::try_from(anchor.sequence).unwrap_or(i64::MAX);
            let found: Option<Vec<u8>> = if anchor.sequence == start.0 {
                Some(start.1.to_vec())
            } else {
                hash.query_row([sequence], |row| row.get(0)).optional()?
            };
            Ok(match found {
                None => AnchorStatus::Missing,
                Some(found) if found == anchor.hash => AnchorStatus::Holds,
                Some(_) => AnchorStatus::Replaced,
            })
        };
        anchors
            .iter()
            .map(|anchor| compare(anchor).map(|standing| (*anchor, standing)))
            .collect::<rusqlite::Result<_>>()
            .map_err(named)
    }
}

/// Serialises hashes as hex digits.
mod digits {
    use super::{Hash, to_hex};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(hash: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        blake3::Hash::from_hex(&text)
            .map(Into::into)
            .map_err(|_| D::Error::custom("a hash has 64 hex digits"))
    }
}

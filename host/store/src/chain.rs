//! The journal's chain: what each record's hash and seal cover, and the anchor at its end.
//!
//! - `hash` = BLAKE3(`portcullis journal v1` || previous hash || sequence as 8 bytes, big end first ||
//!   document). Anybody can recompute it from an export; the first record's previous hash is 32 zeros.
//! - `seal` = the hash and every other column, under a key derived from the home's. It ties the columns,
//!   which the hash leaves out, to the document.
//! - the anchor holds sequence and hash of the newest record, under another derived key, and moves in
//!   the same transaction.
//!
//! What this proves: without the key nobody can change, remove, swap or insert a record, or cut the end
//! off, and have it verify. What it does not prove: the same user can read the key, so whoever acts as
//! that user can write a new chain; and putting back an older copy of the whole database looks like
//! the past. Against both, keep [`crate::Verification::head`] somewhere else and compare.

use crate::record::NewRecord;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// What stands before the first record.
pub(crate) const GENESIS: Hash = [0; 32];

const DOMAIN: &[u8] = b"portcullis journal v1";

/// The keys that the chain uses, derived from the home's.
pub(crate) struct Keys {
    pub(crate) seal: Hash,
    pub(crate) anchor: Hash,
}

/// The newest record, as the anchor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
}

impl Head {
    /// The head of an empty journal.
    pub(crate) const EMPTY: Self = Self { sequence: 0, hash: GENESIS };

    pub(crate) fn mac(&self, keys: &Keys) -> Hash {
        let mut hasher = blake3::Hasher::new_keyed(&keys.anchor);
        hasher.update(&self.sequence.to_be_bytes()).update(&self.hash);
        hasher.finalize().into()
    }

    /// Compares in constant time.
    pub(crate) fn holds(&self, mac: &Hash, keys: &Keys) -> bool {
        blake3::Hash::from(self.mac(keys)) == blake3::Hash::from(*mac)
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

    /// Each part goes in with its presence and length, so that no two sets of columns look alike.
    pub(crate) fn seal(&self, hash: &Hash, keys: &Keys) -> Hash {
        let mut hasher = blake3::Hasher::new_keyed(&keys.seal);
        hasher.update(hash);
        for number in [self.at, self.step] {
            hasher.update(&[u8::from(number.is_some())]).update(&number.unwrap_or(0).to_be_bytes());
        }
        for text in self.texts {
            let bytes = text.unwrap_or_default();
            hasher.update(&[u8::from(text.is_some())]).update(&(bytes.len() as u64).to_be_bytes()).update(bytes);
        }
        hasher.finalize().into()
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
        let keys = Keys { seal: [1; 32], anchor: [2; 32] };
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

//! Keyed codes over rows: nobody can make one without the home's key.
//!
//! A code proves that a row was written with the key, not that it is the newest such row: see
//! `grants` for the protection of single-use rows against being restored.

use crate::hash::Hash;
use crate::home::Home;
use portcullis_encryption::DataKeys;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};
use std::ops::Range;

/// The purpose of the anchor's key.
const ANCHOR: &str = "portcullis 2026 journal anchor";

/// The keys that the journal uses, derived from the home's.
pub(crate) struct Keys {
    pub(crate) seal: Hash,
    pub(crate) anchor: Hash,
    pub(crate) start: Hash,
    pub(crate) grant: Hash,
    pub(crate) work: Hash,
    pub(crate) breaker: Hash,
    pub(crate) approval: Hash,
    pub(crate) state: Hash,
    pub(crate) session: Hash,
    pub(crate) mark: Hash,
    pub(crate) export: Hash,
    /// The keys of encrypted texts.
    pub(crate) data: DataKeys,
}

impl Keys {
    pub(crate) fn of(home: &Home) -> Self {
        Self {
            seal: home.derive_key("portcullis 2026 journal record seal"),
            anchor: home.derive_key(ANCHOR),
            start: home.derive_key("portcullis 2026 journal start"),
            grant: home.derive_key("portcullis 2026 grant seal"),
            work: home.derive_key("portcullis 2026 work seal"),
            breaker: home.derive_key("portcullis 2026 breaker seal"),
            approval: home.derive_key("portcullis 2026 approval seal"),
            state: home.derive_key("portcullis 2026 state seal"),
            session: home.derive_key("portcullis 2026 session seal"),
            mark: home.derive_key("portcullis 2026 journal mark"),
            export: home.derive_key("portcullis 2026 export cursor seal"),
            data: home.data_keys().clone(),
        }
    }

    /// Returns true if they are a home's: all of them derive from its one key, so one tells.
    pub(crate) fn are_of(&self, home: &Home) -> bool {
        self.anchor == home.derive_key(ANCHOR)
    }
}

/// Reads these columns of a row, whatever their types are. A text that is none fits no seal.
pub(crate) fn read_values(row: &Row<'_>, columns: Range<usize>) -> rusqlite::Result<Vec<Value>> {
    let read = |column| match row.get_ref(column)? {
        ValueRef::Text(text) => Ok(Value::Text(String::from_utf8_lossy(text).into_owned())),
        _ => row.get(column),
    };
    columns.map(read).collect()
}

/// A code under construction. Each part is added with its presence and length, so that no two rows
/// give the same input.
pub(crate) struct Seal(blake3::Hasher);

impl Seal {
    pub(crate) fn new(key: &Hash) -> Self {
        Self(blake3::Hasher::new_keyed(key))
    }

    /// Adds bytes of a constant length.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(mut self, number: Option<i64>) -> Self {
        self.0.update(&[u8::from(number.is_some())]).update(&number.unwrap_or(0).to_be_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: Option<&[u8]>) -> Self {
        let present = bytes.is_some();
        let bytes = bytes.unwrap_or_default();
        self.0
            .update(&[u8::from(present)])
            .update(&(bytes.len() as u64).to_be_bytes())
            .update(bytes);
        self
    }

    /// Adds the values of a row, each with its type.
    pub(crate) fn over<'v>(key: &Hash, values: impl IntoIterator<Item = ValueRef<'v>>) -> Self {
        values.into_iter().fold(Self::new(key), |seal, value| match value {
            ValueRef::Null => seal.raw(b"n"),
            ValueRef::Integer(number) => seal.raw(b"i").number(Some(number)),
            ValueRef::Real(number) => seal.raw(b"r").raw(&number.to_be_bytes()),
            ValueRef::Text(text) => seal.raw(b"t").bytes(Some(text)),
            ValueRef::Blob(bytes) => seal.raw(b"b").bytes(Some(bytes)),
        })
    }

    pub(crate) fn finish(&self) -> Hash {
        self.0.finalize().into()
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, code: &[u8]) -> bool {
        Hash::try_from(code).is_ok_and(|code| self.0.finalize() == blake3::Hash::from(code))
    }
}

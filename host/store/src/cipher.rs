//! Encryption of what the database holds, each text bound to its row.
//!
//! What stays plain, and why:
//!
//! | what | reason |
//! |---|---|
//! | a record's number, id, time, kind, session, agent, step, call, subject (tool or event) and verdict | look-ups use them |
//! | a record's hashes, seal, commitment, and the number of its key | the chain is verified without keys, and retention finds the keys that are due |
//! | ids, sessions, times and states of waiting rows, the digest of an action that waits | look-ups use them; a digest names an action without telling it |
//! | names of plugins, counts, cursors of exports | they tell of the host, not of the agent's work |
//!
//! Rows that an earlier version wrote stay plain until retention removes them. Each row is sealed or
//! chained besides, so nobody without the home's key can put a plain one in the place of another.

use crate::error::StoreError;
use crate::hash::{Hash, RecordProof, commit};
use crate::seal::Keys;
use portcullis_encryption::{DataKeys, DataKind, EncryptionError, KeyId, decode_text, encode_text};
use rusqlite::types::Value;
use std::io;
use std::path::Path;

/// The tables whose rows hold encrypted texts, as the texts are bound to them.
pub(crate) const RECORDS: &str = "records";
pub(crate) const STATES: &str = "states";
pub(crate) const GRANTS: &str = "grants";
pub(crate) const APPROVALS: &str = "approvals";
pub(crate) const REASONS: &str = "reasons";
pub(crate) const WORK: &str = "work";
pub(crate) const WORK_ERRORS: &str = "work errors";
pub(crate) const BREAKERS: &str = "breakers";

const SALT: usize = 32;

/// A record's document as it is stored.
pub(crate) struct SealedDocument {
    pub(crate) key: KeyId,
    pub(crate) commitment: Hash,
    pub(crate) bytes: Vec<u8>,
    pub(crate) proof: RecordProof,
}

impl Keys {
    /// Encrypts the document of a record; `None` if new texts stay plain.
    pub(crate) fn seal_document(
        &self,
        id: &str,
        at: u64,
        document: &str,
    ) -> Result<Option<SealedDocument>, EncryptionError> {
        let salt: Hash = random_salt()?;
        let plain = [salt.as_slice(), document.as_bytes()].concat();
        let sealed = self.data.encrypt(DataKind::Journal, at, &[RECORDS, id], &plain)?;
        Ok(sealed.and_then(|bytes| {
            let proof = RecordProof { salt, stored: blake3::hash(&bytes).into() };
            let commitment = commit(&salt, document.as_bytes());
            Some(SealedDocument { key: DataKeys::key_of(&bytes)?, commitment, bytes, proof })
        }))
    }

    /// Decrypts the document of a record, with what leads from it to the record's hash.
    pub(crate) fn open_document(
        &self,
        id: &str,
        bytes: Vec<u8>,
    ) -> Result<(String, RecordProof), EncryptionError> {
        let stored = blake3::hash(&bytes).into();
        let (document, salt) = self.open_salted(id, bytes)?;
        Ok((document, RecordProof { salt, stored }))
    }

    /// Decrypts the document of a record for somebody who does not need its proof.
    pub(crate) fn read_document(
        &self,
        id: &str,
        bytes: Vec<u8>,
    ) -> Result<String, EncryptionError> {
        self.open_salted(id, bytes).map(|(document, _)| document)
    }

    fn open_salted(&self, id: &str, bytes: Vec<u8>) -> Result<(String, Hash), EncryptionError> {
        let mut plain = self.data.decrypt(DataKind::Journal, &[RECORDS, id], bytes)?;
        let salt = plain.first_chunk::<SALT>().copied().ok_or(EncryptionError::Changed)?;
        plain.drain(..SALT);
        let document = String::from_utf8(plain).map_err(|_| EncryptionError::Changed)?;
        Ok((document, salt))
    }

    /// Encrypts the text of a row for a column of text.
    pub(crate) fn seal_text(
        &self,
        at: u64,
        place: &[&str],
        text: &str,
    ) -> rusqlite::Result<String> {
        // Nothing is told by nothing, and work that recurs has no text.
        if text.is_empty() {
            return Ok(String::new());
        }
        let sealed = self.data.encrypt(DataKind::Journal, at, place, text.as_bytes());
        let sealed = sealed.map_err(carry_error)?;
        Ok(sealed.map_or_else(|| text.to_owned(), |bytes| encode_text(&bytes)))
    }

    /// Decrypts the text of a row; `None` if it is not what was encrypted for it.
    pub(crate) fn open_text(
        &self,
        place: &[&str],
        text: String,
    ) -> rusqlite::Result<Option<String>> {
        let Some(sealed) = decode_text(&text) else { return Ok(Some(text)) };
        if DataKeys::key_of(&sealed).is_none() {
            return Ok(None);
        }
        match self.data.decrypt(DataKind::Journal, place, sealed) {
            Ok(plain) => Ok(String::from_utf8(plain).ok()),
            // No key of a row is destroyed or forgotten as long as the row is there, so such a row was not
            // written here.
            Err(
                EncryptionError::Changed
                | EncryptionError::KeyMissing { .. }
                | EncryptionError::MasterUnknown { .. },
            ) => Ok(None),
            Err(error) => Err(carry_error(error)),
        }
    }

    /// Decrypts the text of one of the values of a row; false if it is not what was encrypted for it.
    pub(crate) fn open_value(
        &self,
        place: &[&str],
        value: Option<&mut Value>,
    ) -> rusqlite::Result<bool> {
        let Some(Value::Text(text)) = value else { return Ok(true) };
        let opened = self.open_text(place, std::mem::take(text))?;
        let is_opened = opened.is_some();
        *text = opened.unwrap_or_default();
        Ok(is_opened)
    }

    /// Encrypts a state.
    pub(crate) fn seal_state(
        &self,
        at: u64,
        place: &[&str],
        state: Vec<u8>,
    ) -> rusqlite::Result<Vec<u8>> {
        let sealed = self.data.encrypt(DataKind::Journal, at, place, &state);
        sealed.map(|sealed| sealed.unwrap_or(state)).map_err(carry_error)
    }

    /// Decrypts a state.
    pub(crate) fn open_state(&self, place: &[&str], state: Vec<u8>) -> rusqlite::Result<Vec<u8>> {
        self.data.decrypt(DataKind::Journal, place, state).map_err(carry_error)
    }
}

/// Returns the key that a column of text names; `None` if it is plain.
pub(crate) fn key_of_text(text: &str) -> Option<KeyId> {
    decode_text(text).as_deref().and_then(DataKeys::key_of)
}

fn random_salt() -> Result<Hash, EncryptionError> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|error| EncryptionError::NoRandom(error.to_string()))?;
    Ok(salt)
}

/// Lets an error through where a row is read; [`StoreError::database`] takes it out again.
pub(crate) fn carry_error(error: EncryptionError) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

impl StoreError {
    pub(crate) fn unreadable(path: &Path, error: &EncryptionError) -> Self {
        match error {
            EncryptionError::Io { path, source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                Self::Full { path: path.clone() }
            }
            _ => Self::Unreadable { path: path.to_owned(), reason: error.to_string() },
        }
    }
}

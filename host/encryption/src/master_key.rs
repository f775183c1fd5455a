//! The master key, and how it wraps the keys of days.

use crate::error::EncryptionError;
use crate::master_id::MasterId;
use chacha20poly1305::aead::{Aead, AeadInOut, KeyInit, Payload};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use data_encoding::HEXLOWER;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use zeroize::Zeroizing;

pub(crate) const KEY_BYTES: usize = 32;
pub(crate) const NONCE_BYTES: usize = 24;
pub(crate) const TAG_BYTES: usize = 16;

/// A master key. It is cleared from memory when it is dropped.
pub struct MasterKey(Zeroizing<[u8; KEY_BYTES]>);

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id())
    }
}

impl MasterKey {
    /// Makes a new one.
    ///
    /// # Errors
    /// Fails if the system gives no random numbers.
    pub fn generate() -> Result<Self, EncryptionError> {
        Ok(Self(Zeroizing::new(random_bytes()?)))
    }

    /// Parses one from its line of 64 hex digits; `None` for any other text.
    #[must_use]
    pub fn parse(line: &SecretString) -> Option<Self> {
        let bytes = Zeroizing::new(HEXLOWER.decode(line.expose_secret().as_bytes()).ok()?);
        Self::of_bytes(&bytes)
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        <[u8; KEY_BYTES]>::try_from(bytes).ok().map(|key| Self(Zeroizing::new(key)))
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Returns it as a line of 64 hex digits.
    #[must_use]
    pub fn to_line(&self) -> SecretString {
        SecretString::from(HEXLOWER.encode(self.0.as_slice()))
    }

    /// Returns its name.
    #[must_use]
    pub fn id(&self) -> MasterId {
        let digest = blake3::derive_key("portcullis 2026 master key id", self.0.as_slice());
        MasterId(HEXLOWER.encode(digest.get(..8).unwrap_or_default()))
    }
}

/// Encrypts bytes for a place; returns the nonce and the ciphertext behind it.
pub(crate) fn seal_bytes(
    key: &[u8; KEY_BYTES],
    place: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>, EncryptionError> {
    let nonce: [u8; NONCE_BYTES] = random_bytes()?;
    let sealed = XChaCha20Poly1305::new(key.into())
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: place })
        .map_err(|_| EncryptionError::Changed)?;
    Ok([nonce.as_slice(), &sealed].concat())
}

/// Returns the bytes that were encrypted for that place; `None` if they were not, or not with that key.
pub(crate) fn open_bytes(
    key: &[u8; KEY_BYTES],
    place: &[u8],
    sealed: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    XChaCha20Poly1305::new(key.into())
        .decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place })
        .ok()
        .map(Zeroizing::new)
}

/// Like [`seal_bytes`], behind a header. The text can be long: it is copied once.
pub(crate) fn seal_behind(
    header: &[u8],
    key: &[u8; KEY_BYTES],
    place: &[u8],
    plain: &[u8],
) -> Result<Vec<u8>, EncryptionError> {
    let nonce: [u8; NONCE_BYTES] = random_bytes()?;
    let before = header.len() + NONCE_BYTES;
    let mut bytes = Vec::with_capacity(before + plain.len() + TAG_BYTES);
    [header, &nonce, plain].into_iter().for_each(|part| bytes.extend_from_slice(part));
    let text = bytes.get_mut(before..).unwrap_or_default();
    let tag = XChaCha20Poly1305::new(key.into())
        .encrypt_inout_detached(&XNonce::from(nonce), place, text.into())
        .map_err(|_| EncryptionError::Changed)?;
    bytes.extend_from_slice(&tag);
    Ok(bytes)
}

/// Like [`open_bytes`], for the bytes behind a header. They can be many: they are decrypted where they
/// are, and not cleared from memory.
pub(crate) fn open_behind(
    header: usize,
    key: &[u8; KEY_BYTES],
    place: &[u8],
    mut bytes: Vec<u8>,
) -> Option<Vec<u8>> {
    let (nonce, sealed) = bytes.get_mut(header..)?.split_first_chunk_mut::<NONCE_BYTES>()?;
    let (text, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>()?;
    let length = text.len();
    XChaCha20Poly1305::new(key.into())
        .decrypt_inout_detached(&XNonce::from(*nonce), place, text.into(), &Tag::from(*tag))
        .ok()?;
    bytes.drain(..header + NONCE_BYTES);
    bytes.truncate(length);
    Some(bytes)
}

pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], EncryptionError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| EncryptionError::NoRandom(error.to_string()))?;
    Ok(bytes)
}

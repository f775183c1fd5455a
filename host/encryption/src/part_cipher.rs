//! Large files: encrypted in parts, with a key of their own that their header holds.

use crate::data_keys::DataKeys;
use crate::error::EncryptionError;
use crate::key_id::DataKind;
use crate::master_key::{KEY_BYTES, NONCE_BYTES, TAG_BYTES, random_bytes};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use std::fmt;
use zeroize::Zeroizing;

/// The rest of a nonce: the number of the part and the mark of the last one.
const PLACE_BYTES: usize = 4 + 1;

/// The cipher of one file. Its key is random; the file's header holds it, encrypted with the key of a
/// day, so that the file cannot be read once that one is destroyed.
pub struct PartCipher(Zeroizing<[u8; KEY_BYTES]>);

impl fmt::Debug for PartCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartCipher")
    }
}

/// A text in parts, from the first to the last. It is the construction STREAM (Hoang, Reyhanitabar,
/// Rogaway and Vizár, 2015): a part that is missing, moved, repeated or of another text does not
/// decrypt, and neither does a text without its last part.
pub struct PartStream {
    cipher: XChaCha20Poly1305,
    id: [u8; Self::ID_BYTES],
    next: u32,
    purpose: &'static [u8],
}

impl fmt::Debug for PartStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartStream").field("next", &self.next).finish_non_exhaustive()
    }
}

impl DataKeys {
    /// Makes the cipher of a new file, and the header that the file has to hold; `None` if new texts
    /// stay plain. `at` is a time in milliseconds since 1970, `place` the file's own.
    ///
    /// # Errors
    /// Fails like [`DataKeys::encrypt`].
    pub fn make_cipher(
        &self,
        kind: DataKind,
        at: u64,
        place: &[&str],
    ) -> Result<Option<(PartCipher, Vec<u8>)>, EncryptionError> {
        let cipher = PartCipher(Zeroizing::new(random_bytes()?));
        let header = self.wrap_cipher(&cipher, kind, at, place)?;
        Ok(header.map(|header| (cipher, header)))
    }

    /// Returns another header for a file, with the key of another day; `None` if new texts stay plain.
    ///
    /// # Errors
    /// Fails like [`DataKeys::encrypt`].
    pub fn wrap_cipher(
        &self,
        cipher: &PartCipher,
        kind: DataKind,
        at: u64,
        place: &[&str],
    ) -> Result<Option<Vec<u8>>, EncryptionError> {
        self.encrypt(kind, at, place, cipher.0.as_slice())
    }

    /// Returns the cipher that a file's header holds.
    ///
    /// # Errors
    /// Fails like [`DataKeys::decrypt`], and with [`EncryptionError::Changed`] for a plain header.
    pub fn open_cipher(
        &self,
        kind: DataKind,
        place: &[&str],
        header: &[u8],
    ) -> Result<PartCipher, EncryptionError> {
        // A plain header would bring a key of its writer's choice.
        Self::key_of(header).ok_or(EncryptionError::Changed)?;
        let key = Zeroizing::new(self.decrypt(kind, place, header.to_vec())?);
        let key = <[u8; KEY_BYTES]>::try_from(key.as_slice());
        key.map(|key| PartCipher(Zeroizing::new(key))).map_err(|_| EncryptionError::Changed)
    }
}

impl PartCipher {
    /// The bytes of a header.
    pub const HEADER_BYTES: usize = 12 + NONCE_BYTES + KEY_BYTES + PartStream::TAG_BYTES;

    /// Begins a text. Only texts of the same purpose can be taken for each other, and only as a whole.
    ///
    /// # Errors
    /// Fails if the system gives no random numbers.
    pub fn begin_stream(&self, purpose: &'static [u8]) -> Result<PartStream, EncryptionError> {
        Ok(self.open_stream(random_bytes()?, purpose))
    }

    /// Begins to read the text of an id.
    #[must_use]
    pub fn open_stream(
        &self,
        id: [u8; PartStream::ID_BYTES],
        purpose: &'static [u8],
    ) -> PartStream {
        PartStream { cipher: XChaCha20Poly1305::new((&*self.0).into()), id, next: 0, purpose }
    }
}

impl PartStream {
    /// The bytes of an id.
    pub const ID_BYTES: usize = NONCE_BYTES - PLACE_BYTES;
    /// The bytes that a part's tag adds.
    pub const TAG_BYTES: usize = TAG_BYTES;

    /// Returns the id, which is random and which the reader needs.
    #[must_use]
    pub const fn id(&self) -> &[u8; Self::ID_BYTES] {
        &self.id
    }

    /// Encrypts the next part in its place, and returns its tag.
    ///
    /// # Errors
    /// Fails if the text is too long: it has at most 2^32 - 1 parts.
    pub fn encrypt_part(
        &mut self,
        part: &mut [u8],
        is_last: bool,
    ) -> Result<[u8; Self::TAG_BYTES], EncryptionError> {
        let nonce = self.take_nonce(is_last)?;
        let tag = self.cipher.encrypt_inout_detached(&nonce, self.purpose, part.into());
        tag.map(Into::into).map_err(|_| EncryptionError::Changed)
    }

    /// Decrypts the next part in its place.
    ///
    /// # Errors
    /// Fails with [`EncryptionError::Changed`] if it is not the next part of this text. What is in
    /// `part` then has no meaning.
    pub fn decrypt_part(
        &mut self,
        part: &mut [u8],
        tag: &[u8; Self::TAG_BYTES],
        is_last: bool,
    ) -> Result<(), EncryptionError> {
        let nonce = self.take_nonce(is_last)?;
        self.cipher
            .decrypt_inout_detached(&nonce, self.purpose, part.into(), &Tag::from(*tag))
            .map_err(|_| EncryptionError::Changed)
    }

    fn take_nonce(&mut self, is_last: bool) -> Result<XNonce, EncryptionError> {
        let number = self.next;
        self.next = number.checked_add(1).ok_or(EncryptionError::Changed)?;
        let mut nonce = [0; NONCE_BYTES];
        let (id, place) = nonce.split_at_mut(Self::ID_BYTES);
        let (at, last) = place.split_at_mut(PLACE_BYTES - 1);
        id.copy_from_slice(&self.id);
        at.copy_from_slice(&number.to_be_bytes());
        last.fill(u8::from(is_last));
        Ok(nonce.into())
    }
}

//! The hash of a record, which covers the record before it.

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// The previous hash of the first record.
pub(crate) const GENESIS: Hash = [0; 32];

const DOMAIN: &[u8] = b"portcullis journal v1";

/// Returns the hash of a record: what ties it to the one before it, its place and its document.
/// Anybody can recompute it.
#[must_use]
pub fn hash_record(previous: &Hash, sequence: u64, document: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(DOMAIN).update(previous).update(&sequence.to_be_bytes()).update(document);
    hasher.finalize().into()
}

/// Formats a hash as 64 hex digits.
#[must_use]
pub fn to_hex(hash: &Hash) -> String {
    blake3::Hash::from(*hash).to_hex().to_string()
}

//! The hash of a record, which covers the record before it.

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// The previous hash of the first record.
pub(crate) const GENESIS: Hash = [0; 32];

const PLAIN: &[u8] = b"portcullis journal v1";
const ENCRYPTED: &[u8] = b"portcullis journal v2";

/// What leads from the document of an encrypted record to its hash. It is public: it tells nothing
/// of the document to somebody who does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordProof {
    /// Random bytes that keep a document from being guessed by its commitment.
    pub salt: Hash,
    /// The hash of the ciphertext that the journal holds.
    pub stored: Hash,
}

impl RecordProof {
    /// Returns the commitment to a document, which the journal holds beside the ciphertext.
    #[must_use]
    pub fn commit_to(&self, document: &[u8]) -> Hash {
        commit(&self.salt, document)
    }
}

/// Returns the hash of a record: what ties it to the one before it, its place and its document.
/// Anybody can recompute it. A record that the journal holds encrypted has a proof.
#[must_use]
pub fn hash_record(
    previous: &Hash,
    sequence: u64,
    document: &[u8],
    proof: Option<&RecordProof>,
) -> Hash {
    match proof {
        Some(proof) => {
            hash_encrypted(previous, sequence, &proof.commit_to(document), &proof.stored)
        }
        None => {
            let mut hasher = blake3::Hasher::new();
            hasher.update(PLAIN).update(previous).update(&sequence.to_be_bytes()).update(document);
            hasher.finalize().into()
        }
    }
}

/// Returns the hash of an encrypted record from what the journal holds of it.
pub(crate) fn hash_encrypted(
    previous: &Hash,
    sequence: u64,
    commitment: &Hash,
    stored: &Hash,
) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(ENCRYPTED).update(previous).update(&sequence.to_be_bytes());
    hasher.update(commitment).update(stored);
    hasher.finalize().into()
}

pub(crate) fn commit(salt: &Hash, document: &[u8]) -> Hash {
    blake3::keyed_hash(salt, document).into()
}

/// Formats a hash as 64 hex digits.
#[must_use]
pub fn to_hex(hash: &Hash) -> String {
    blake3::Hash::from(*hash).to_hex().to_string()
}

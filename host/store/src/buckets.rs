//! The digests of the sessions' rows, bucket by bucket, which the anchor covers.

use crate::hash::Hash;

/// The number of buckets that sessions are divided into.
pub(crate) const BUCKETS: usize = 64;
/// The length of a digest. Somebody without the key can search for a second preimage only among
/// seals of earlier rows.
pub(crate) const DIGEST: usize = 16;

/// The digests of all buckets; none if there are no sessions.
#[derive(Clone, Default)]
pub(crate) struct Buckets(Vec<u8>);

impl Buckets {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that the anchor stores.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the hash that the anchor's code covers.
    pub(crate) fn hash(&self) -> Option<Hash> {
        (!self.0.is_empty()).then(|| blake3::hash(&self.0).into())
    }

    /// Returns the digest of a bucket.
    pub(crate) fn get(&self, bucket: usize) -> &[u8] {
        self.0.get(bucket * DIGEST..(bucket + 1) * DIGEST).unwrap_or(&EMPTY)
    }

    /// Sets the digest of a bucket.
    pub(crate) fn set(&mut self, bucket: usize, digest: [u8; DIGEST]) {
        self.0.resize(BUCKETS * DIGEST, 0);
        if let Some(place) = self.0.get_mut(bucket * DIGEST..(bucket + 1) * DIGEST) {
            place.copy_from_slice(&digest);
        }
        // Without sessions the anchor is the same as in formats that did not seal them.
        if self.0.iter().all(|byte| *byte == 0) {
            self.0.clear();
        }
    }
}

/// The digest of a bucket without rows.
pub(crate) const EMPTY: [u8; DIGEST] = [0; DIGEST];

/// Returns the bucket of a session.
pub(crate) fn bucket_of(session: &str) -> usize {
    usize::from(blake3::hash(session.as_bytes()).as_bytes()[0]) % BUCKETS
}

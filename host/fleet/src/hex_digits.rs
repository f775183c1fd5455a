//! Hashes in messages and files: 64 hex digits.

use portcullis_store::{Hash, to_hex};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(hash: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_hex(hash))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
    let text = String::deserialize(deserializer)?;
    blake3::Hash::from_hex(&text)
        .map(Into::into)
        .map_err(|_| D::Error::custom("a hash has 64 hex digits"))
}

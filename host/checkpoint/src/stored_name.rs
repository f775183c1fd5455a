//! The names of packs and snapshots.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// The name of a pack or a snapshot. In a plain vault it is a digest of what the file holds; in an
/// encrypted one it is random, so that nobody can guess what is in a file and try its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct StoredName(pub(crate) [u8; 32]);

impl StoredName {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Makes a name that no other file has.
    pub(crate) fn random() -> io::Result<Self> {
        random_bytes().map(Self)
    }

    /// Returns the name that [`StoredName`] is displayed as.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return None;
        }
        let mut name = Self([0; 32]);
        for (byte, pair) in name.0.iter_mut().zip(pairs) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for StoredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns bytes that nobody can guess.
pub(crate) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

//! The facts about a plugin that each process would otherwise have to find out again.

use super::Stamp;
use crate::inspect::Inspection;
use serde::{Deserialize, Serialize};

/// The cached metadata of a plugin with its settings.
#[derive(Clone, Debug)]
pub(crate) struct CachedMetadata {
    pub(crate) facts: CachedFacts,
    /// The answer of `prepare`; none as long as the plugin was inspected only.
    pub(crate) prepared: Option<Vec<u8>>,
}

/// The part of the metadata that is encoded as a structure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CachedFacts {
    pub(crate) inspection: Inspection,
    /// The plugin's own file, if it was loaded from one.
    pub(crate) source: Option<Stamp>,
    /// The file of compiled code whose signature was checked.
    pub(crate) code: Option<Stamp>,
    /// It prepared itself.
    pub(crate) is_prepared: bool,
}

impl CachedMetadata {
    /// Encodes the metadata: the length of the facts, the facts, the answer of `prepare`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let facts = postcard::to_allocvec(&self.facts).unwrap_or_default();
        let length = u32::try_from(facts.len()).unwrap_or_default();
        let prepared = self.prepared.as_deref().unwrap_or_default();
        [&length.to_le_bytes(), facts.as_slice(), prepared].concat()
    }

    /// Decodes metadata; none if the bytes are not from this version of the program.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (facts, prepared) = rest.split_at_checked(length)?;
        let (facts, rest) = postcard::take_from_bytes::<CachedFacts>(facts).ok()?;
        let prepared = facts.is_prepared.then(|| prepared.to_vec());
        rest.is_empty().then_some(Self { facts, prepared })
    }
}

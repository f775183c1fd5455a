//! The names of master keys.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a master key: 16 hex digits that follow from the key and tell nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MasterId(pub(crate) String);

impl MasterId {
    /// Returns its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MasterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

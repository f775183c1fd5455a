//! The ids of checkpoints.

use serde::{Deserialize, Serialize};
use std::fmt;

const LONGEST: usize = 128;

/// The id of the call that a checkpoint belongs to. It names files, so it is 1 to 128 of the
/// characters `A-Z a-z 0-9 - _ .` and does not begin with a point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id(String);

/// A name that cannot be the id of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot name a checkpoint: use 1 to 128 of A-Z a-z 0-9 - _ . and do not begin with a \
     point", .0.escape_debug())]
pub struct InvalidId(String);

impl Id {
    /// Checks the name and returns it as an id.
    ///
    /// # Errors
    /// Fails if it is empty, too long, begins with a point or has another character.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidId> {
        let name = name.into();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty()
            || name.len() > LONGEST
            || name.starts_with('.')
            || !name.bytes().all(fits)
        {
            return Err(InvalidId(name));
        }
        Ok(Self(name))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Id {
    type Error = InvalidId;
    fn try_from(name: String) -> Result<Self, InvalidId> {
        Self::new(name)
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

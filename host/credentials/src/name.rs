//! Names of credentials.

use crate::failure::CredentialFailure;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most characters of a name.
const MOST: usize = 64;

/// The name of a credential: 1 to 64 of `a-z`, `0-9`, `.`, `_` and `-`, beginning with a letter or a
/// digit. It is also the name of a file, so it can lead nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CredentialName(String);

impl CredentialName {
    /// Returns the name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CredentialName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CredentialName {
    type Err = CredentialFailure;

    fn from_str(text: &str) -> Result<Self, CredentialFailure> {
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        let begins_well = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        if text.len() <= MOST && begins_well && text.bytes().all(plain) {
            return Ok(Self(text.to_owned()));
        }
        // The text may be a secret that somebody put in the wrong place, so it is not repeated.
        Err(CredentialFailure::new(
            "that is not the name of a credential",
            format!(
                "use 1 to {MOST} of `a-z`, `0-9`, `.`, `_` and `-`, beginning with a letter or a \
                 digit"
            ),
        ))
    }
}

impl TryFrom<String> for CredentialName {
    type Error = CredentialFailure;

    fn try_from(text: String) -> Result<Self, CredentialFailure> {
        text.parse()
    }
}

impl From<CredentialName> for String {
    fn from(name: CredentialName) -> Self {
        name.0
    }
}

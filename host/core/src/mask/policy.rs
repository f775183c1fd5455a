//! The values that are masked besides secrets.

use super::secret::SecretKind;

/// The values that are masked in addition to secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskPolicy {
    /// Kinds of personal data.
    pub kinds: Vec<SecretKind>,
    /// The kinds among them whose placeholders are the same for every value, so that nobody can tell
    /// that two records are about one person.
    pub unlinked: Vec<SecretKind>,
    /// Regular expressions of further values.
    pub patterns: Vec<String>,
}

//! A value in a settings file that the client does not accept.

use crate::json::{JsonPosition, NotJson};
use std::fmt;

/// A value that the client does not accept.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SettingsProblem {
    /// The value, as a JSON pointer; empty for the whole file.
    pub pointer: String,
    /// Its position.
    #[serde(flatten)]
    pub place: JsonPosition,
    /// The problem.
    pub what: String,
    /// The fix.
    pub fix: String,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer =
            if self.pointer.is_empty() { String::new() } else { format!(" (`{}`)", self.pointer) };
        write!(f, "{}{pointer}: {}; {}", self.place, self.what, self.fix)
    }
}

impl From<NotJson> for SettingsProblem {
    fn from(error: NotJson) -> Self {
        let fix = error.expected.to_owned();
        Self { pointer: String::new(), place: error.place, what: error.what, fix }
    }
}

//! Mistakes: each says what is wrong and what to write in its place.

use std::fmt;

/// A mistake in a text that is looked at by itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mistake {
    /// The mistake, with the text that it is about in backticks.
    pub what: String,
    /// The fix, as an instruction.
    pub fix: String,
}

impl Mistake {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// A mistake with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The file, as it was given.
    pub file: String,
    /// The line, counted from 1; 0 for a mistake of the whole file.
    pub line: usize,
    /// The kind of the part of the file: `entry`, `block`, `form`, `variable`, `option`, `setting`.
    pub kind: &'static str,
    /// The part's name; empty for a mistake outside all parts.
    pub name: String,
    /// The mistake and its fix.
    pub mistake: Mistake,
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.file)?;
        if self.line > 0 {
            write!(to, ":{}", self.line)?;
        }
        if !self.name.is_empty() {
            write!(to, ": {} `{}`", self.kind, self.name)?;
        }
        write!(to, ": {}: {}", self.mistake.what, self.mistake.fix)
    }
}

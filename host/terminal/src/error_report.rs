//! The form in which both programs print an error: for a person, or as one line of JSON.

use crate::paint;
use serde_json::json;

/// An error as it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReport<'a> {
    /// The kind that a script can act on (host/docs/errors.md).
    pub kind: &'a str,
    /// The error itself, in one line.
    pub message: &'a str,
    /// The reasons, the nearest first.
    pub causes: &'a [String],
    /// Ways to go on, each in one line.
    pub hints: &'a [String],
    /// The exit code of the program that ends with this error.
    pub exit: u8,
}

impl ErrorReport<'_> {
    /// Formats the error for a person, with each hint in a line of its own, or as one line of JSON.
    #[must_use]
    pub fn to_text(&self, as_json: bool) -> String {
        if as_json {
            let Self { kind, message, causes, hints, exit } = self;
            let error = json!({
                "kind": kind,
                "message": message,
                "causes": causes,
                "hints": hints,
                "exit": exit,
            });
            return format!("{}\n", json!({ "error": error }));
        }
        let causes: String = self.causes.iter().map(|cause| format!(": {cause}")).collect();
        let error = format!("{}: {}{causes}\n", paint::bad("error"), self.message);
        let line = |text, hint| format!("{text}{}: {hint}\n", paint::good("hint"));
        self.hints.iter().fold(error, line)
    }
}

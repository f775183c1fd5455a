//! The form in which all programs print an error: for a person, or as one line of JSON.

use crate::paint;
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use serde_json::json;
use std::io;

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

/// Formats an error of a program whose errors have no type of their own, with its causes, its hint
/// and the exit code 1.
#[must_use]
pub fn error_text(error: &anyhow::Error, kind: &str, as_json: bool) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Many types show their cause in their own message.
        if texts.last().is_none_or(|last| !last.contains(&cause)) {
            texts.push(cause);
        }
    }
    let (message, causes) =
        texts.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let hints: Vec<String> = error
        .downcast_ref::<HintedFailure>()
        .map(|hinted| hinted.hint.clone())
        .into_iter()
        .collect();
    ErrorReport { kind, message, causes, hints: &hints, exit: 1 }.to_text(as_json)
}

/// Returns the kind of the first cause that has one: a failure that callers tell apart, or one of
/// the operating system.
#[must_use]
pub fn error_kind(error: &anyhow::Error) -> Option<&'static str> {
    let known = |failure: &KnownFailure| match failure {
        KnownFailure::NotFound(_) => "not-found",
        KnownFailure::Untrusted(_) => "refused",
        KnownFailure::Forged(_) => "integrity",
    };
    // The chain shows a failure that was added as a context as its text alone.
    error.downcast_ref().map(known).or_else(|| {
        error.chain().find_map(|cause| {
            cause.downcast_ref().map(known).or_else(|| {
                match cause.downcast_ref::<io::Error>()?.kind() {
                    io::ErrorKind::NotFound => Some("not-found"),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidData => Some("invalid"),
                    _ => Some("io"),
                }
            })
        })
    })
}

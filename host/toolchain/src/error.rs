//! The form of a command's error, with the hint and the kind that `portcullis` gives its own errors
//! (host/docs/errors.md).

use anyhow::Error;
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_terminal::error_report::ErrorReport;
use std::io;

/// Formats an error for a person, or as one line of JSON.
pub fn error_text(error: &Error, as_json: bool) -> String {
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
    ErrorReport { kind: kind(error), message, causes, hints: &hints, exit: 1 }.to_text(as_json)
}

fn kind(error: &Error) -> &'static str {
    let known = error.chain().find_map(|cause| {
        let failure = cause.downcast_ref::<KnownFailure>().map(|failure| match failure {
            KnownFailure::NotFound(_) => "not-found",
            KnownFailure::Untrusted(_) => "refused",
            KnownFailure::Forged(_) => "integrity",
        });
        failure.or_else(|| match cause.downcast_ref::<io::Error>()?.kind() {
            io::ErrorKind::NotFound => Some("not-found"),
            io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidData => Some("invalid"),
            _ => Some("io"),
        })
    });
    known.unwrap_or("invalid")
}

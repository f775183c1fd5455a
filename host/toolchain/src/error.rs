//! The form of a command's error, with the hint and the kind that `portcullis` gives its own errors
//! (host/docs/errors.md).

use anyhow::Error;
use portcullis_terminal::error_report;

/// Formats an error for a person, or as one line of JSON.
pub fn error_text(error: &Error, as_json: bool) -> String {
    let kind = error_report::error_kind(error).unwrap_or("invalid");
    error_report::error_text(error, kind, as_json)
}

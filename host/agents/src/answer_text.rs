//! Texts in answers, within the bounds that all clients take.

use portcullis_core::text::cut_text;
use serde_json::Value;

/// The most bytes of one text in an answer. Some clients move longer ones into a file.
pub(crate) const MAX_TEXT: usize = 8 * 1024;
/// The most bytes of a result that is shown in place of the tool's own.
pub(crate) const MAX_RESULT: usize = 64 * 1024;

/// Returns texts as one.
pub(crate) fn join_texts(texts: &[String]) -> Value {
    cut_text(&texts.join("\n"), MAX_TEXT).into()
}

/// Returns the reason of a refusal. Some clients take a refusal without a reason for none.
pub(crate) fn refusal_reason(reason: &str) -> String {
    match cut_text(reason.trim(), MAX_TEXT) {
        reason if reason.is_empty() => "Portcullis refuses this action.".to_owned(),
        reason => reason,
    }
}

/// Returns what the agent sees in place of a result, with notes, where an answer has no other place
/// for them. It is never blank: the agent would see the result that it must not see.
pub(crate) fn replace_result(mut shown: String, notes: &[String]) -> String {
    for note in notes {
        shown.push_str("\n\n");
        shown.push_str(note);
    }
    if shown.trim().is_empty() { "(no output)".to_owned() } else { shown }
}

//! Reads a hook's answer to `preToolUse` as Copilot CLI would, measured with 1.0.102: any exit code
//! but 0 refuses the tool, and what it cannot read with code 0 lets it run.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// Reads the exit code (`None` after a signal) and standard output; the client shows no standard
/// error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, _stderr: &str) -> HookReply {
    let read = match HookReply::read_object(stdout) {
        Ok(document) => read_document(&document),
        Err(unread) => unread,
    };
    match (code, read) {
        (Some(0), read) => read,
        (_, HookReply::Refused(reason)) => HookReply::Refused(reason),
        (Some(code), _) => HookReply::Refused(format!("the hook ended with code {code}")),
        (None, _) => HookReply::Refused("a signal ended the hook".to_owned()),
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    match (text("permissionDecision"), document.get("modifiedArgs")) {
        ("deny", _) => {
            let reason = Some(text("permissionDecisionReason")).filter(|reason| !reason.is_empty());
            HookReply::Refused(reason.unwrap_or("No reason provided").to_owned())
        }
        ("ask", _) => HookReply::Asked,
        (_, Some(Value::Object(_))) => HookReply::Rewritten,
        _ => HookReply::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copilot::wire::render_reply;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};

    fn read(code: Option<i32>, stdout: &str, stderr: &str) -> &'static str {
        interpret_answer(code, stdout, stderr).name()
    }

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        for (code, stdout, expected) in [
            (Some(0), r#"{"permissionDecision":"deny"}"#, "refused"),
            (Some(1), r#"{"permissionDecision":"allow"}"#, "refused"),
            (Some(2), r#"{"permissionDecision":"deny"}"#, "refused"),
            (Some(2), "", "refused"),
            (Some(127), "", "refused"),
            (None, "", "refused"),
            (Some(0), r#"{"permissionDecision":"ask"}"#, "asked"),
            (Some(0), r#"{"permissionDecision":"nope"}"#, "nothing"),
            (Some(0), r#"{"permissionDecision":5}"#, "nothing"),
            (Some(0), r#"{"decision":"block"}"#, "nothing"),
            (Some(0), r#"{"modifiedArgs":{}}"#, "rewritten"),
            (Some(0), r#"{"updatedInput":{}}"#, "nothing"),
            (Some(0), "{}", "nothing"),
            (Some(0), "", "unread"),
            (Some(0), "denied", "unread"),
            (Some(0), r#"{"permissionDecision":"#, "unread"),
        ] {
            assert_eq!(read(code, stdout, "no"), expected, "{code:?} {stdout}");
        }
    }

    /// Each ruling is an answer that the client takes.
    #[test]
    fn our_answers_are_taken() {
        check_rulings("preToolUse", ["rewritten", "asked"], render_reply, |answer, expected| {
            let WrittenAnswer { code, stdout, .. } = answer;
            assert_eq!(read(*code, stdout, ""), expected, "{stdout}");
            if expected == "refused" {
                // Each of the two ways is enough.
                assert_eq!(read(Some(0), stdout, ""), expected, "{stdout}");
                assert_eq!(read(*code, "", ""), expected);
            }
        });
    }
}

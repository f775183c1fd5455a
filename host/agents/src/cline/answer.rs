//! Reads a hook's answer to `PreToolUse` as Cline CLI would, measured with 3.0.65: exit code and
//! standard error mean nothing, and only `true` in `cancel` refuses.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// The beginning of a line with an answer among other text.
const CONTROL: &str = "HOOK_CONTROL\t";

/// Reads the exit code (`None` after a signal) and standard output.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str) -> HookReply {
    if code.is_none() {
        return HookReply::Failed("a signal ended it".to_owned());
    }
    let line = stdout.lines().rev().find_map(|line| line.strip_prefix(CONTROL));
    match HookReply::read_object(line.unwrap_or(stdout)) {
        Ok(document) => read_document(&document),
        Err(unread) => unread,
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    if document.get("cancel") == Some(&Value::Bool(true)) {
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        let reason = text("errorMessage").or_else(|| text("contextModification"));
        return HookReply::Refused(reason.unwrap_or_default().to_owned());
    }
    if document.contains_key("overrideInput") { HookReply::Rewritten } else { HookReply::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cline::wire::render_reply;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};

    fn read(code: Option<i32>, stdout: &str) -> &'static str {
        interpret_answer(code, stdout).name()
    }

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        for (code, stdout, expected) in [
            (Some(0), r#"{"cancel":true,"errorMessage":"no"}"#, "refused"),
            (Some(2), r#"{"cancel":true}"#, "refused"),
            (Some(0), r#"{"cancel":"true"}"#, "nothing"),
            (Some(0), r#"{"cancel":false}"#, "nothing"),
            (Some(0), r#"{"review":true}"#, "nothing"),
            (Some(0), r#"{"overrideInput":{}}"#, "rewritten"),
            (Some(0), r#"{"cancel":true,"overrideInput":{}}"#, "refused"),
            (Some(0), r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#, "nothing"),
            (Some(0), "text\nHOOK_CONTROL\t{\"cancel\":true}\nmore", "refused"),
            (Some(0), "text\n{\"cancel\":true}", "unread"),
            (Some(0), r#"{"cancel":true}{"cancel":true}"#, "unread"),
            (Some(2), "", "unread"),
            (Some(127), "", "unread"),
            (None, "", "failed"),
        ] {
            assert_eq!(read(code, stdout), expected, "{code:?} {stdout}");
        }
    }

    /// Each ruling is an answer that the client takes; one that it cannot express becomes stricter.
    #[test]
    fn our_answers_are_taken() {
        check_rulings("tool_call", ["rewritten", "refused"], render_reply, |answer, expected| {
            let WrittenAnswer { code, stdout, .. } = answer;
            assert_eq!(read(*code, stdout), expected, "{stdout}");
        });
    }
}

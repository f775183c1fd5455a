//! Reads an answer as our plugin does: everything but a complete one refuses the call.

use crate::hook_reply::HookReply;
use portcullis_core::text::one_line;
use serde_json::Value;

/// Reads the exit code (`None` after a signal) and standard output.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str) -> HookReply {
    let answer: Value = serde_json::from_str(stdout).unwrap_or_default();
    let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    match (code, text("decision")) {
        (Some(0), "allow") => HookReply::Nothing,
        (Some(0), "modify") => HookReply::Rewritten,
        (Some(2), "deny") => HookReply::Refused(text("reason").to_owned()),
        (None, _) => HookReply::Failed("a signal ended it".to_owned()),
        (Some(0), _) => {
            HookReply::Failed(format!("its answer cannot be read: `{}`", one_line(stdout, 80)))
        }
        (Some(code), _) => HookReply::Failed(format!("it ended with code {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};
    use crate::opencode::wire::render_reply;

    fn read(code: Option<i32>, stdout: &str) -> &'static str {
        interpret_answer(code, stdout).name()
    }

    #[test]
    fn everything_but_a_complete_answer_refuses() {
        for (code, stdout, expected) in [
            (Some(0), r#"{"decision":"allow"}"#, "nothing"),
            (Some(0), r#"{"decision":"modify","input":{}}"#, "rewritten"),
            (Some(2), r#"{"decision":"deny","reason":"no"}"#, "refused"),
            (Some(0), r#"{"decision":"deny","reason":"no"}"#, "failed"),
            (Some(2), r#"{"decision":"allow"}"#, "failed"),
            (Some(0), r#"{"decision":"ask"}"#, "failed"),
            (Some(0), r#"{"decision":"allow"} more"#, "failed"),
            (Some(0), "{}", "failed"),
            (Some(0), "", "failed"),
            (Some(1), r#"{"decision":"allow"}"#, "failed"),
            (None, r#"{"decision":"allow"}"#, "failed"),
        ] {
            assert_eq!(read(code, stdout), expected, "{code:?} {stdout}");
        }
    }

    /// Each ruling is an answer that the plugin takes; one that it cannot express becomes stricter.
    #[test]
    fn our_answers_are_taken() {
        check_rulings(
            "PreToolUse",
            ["rewritten", "refused"],
            |event, reply| render_reply(event, reply, "a client"),
            |answer, expected| {
                let WrittenAnswer { code, stdout, .. } = answer;
                assert_eq!(read(*code, stdout), expected, "{stdout}");
            },
        );
    }
}

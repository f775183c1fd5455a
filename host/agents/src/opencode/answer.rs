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

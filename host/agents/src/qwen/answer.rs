//! Reads a hook's answer to `PreToolUse` as Qwen Code would, measured with 0.24.4: another input is
//! ignored, and exit code 2 counts with its standard error only.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// Reads the exit code (`None` after a signal), standard output and standard error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
    let stderr = stderr.trim();
    let read = || match HookReply::read_object(stdout) {
        Ok(document) => read_document(&document),
        Err(unread) => unread,
    };
    match code {
        Some(0) => read(),
        Some(2) if !stderr.is_empty() => HookReply::Refused(stderr.to_owned()),
        Some(2) => HookReply::Failed("it ended with code 2 and gave no reason".to_owned()),
        Some(1) => match read() {
            HookReply::Refused(reason) => HookReply::Refused(reason),
            _ => HookReply::Failed("it ended with code 1".to_owned()),
        },
        Some(code) => HookReply::Failed(format!("it ended with code {code}")),
        None => HookReply::Failed("a signal ended it".to_owned()),
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    let specific = document.get("hookSpecificOutput").and_then(Value::as_object);
    let text = |object: Option<&Map<String, Value>>, name: &str| {
        let text = object.and_then(|object| object.get(name)).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let given = |reasons: [String; 2]| {
        let given = reasons.into_iter().find(|reason| !reason.is_empty());
        HookReply::Refused(given.unwrap_or_else(|| "No reason provided".to_owned()))
    };
    if document.get("continue") == Some(&Value::Bool(false)) {
        return given([text(Some(document), "stopReason"), text(Some(document), "reason")]);
    }
    let reasons = [text(specific, "permissionDecisionReason"), text(Some(document), "reason")];
    // The event's own decision wins over the general one.
    match text(specific, "permissionDecision").as_str() {
        "deny" => return given(reasons),
        "ask" => return HookReply::Asked,
        "allow" => return HookReply::Nothing,
        _ => {}
    }
    match text(Some(document), "decision").as_str() {
        "deny" | "block" => given(reasons),
        "ask" => HookReply::Asked,
        _ => HookReply::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};
    use crate::qwen::wire::render_reply;
    use portcullis_core::event::Disposition;
    use serde_json::json;

    fn read(code: Option<i32>, stdout: &str, stderr: &str) -> &'static str {
        interpret_answer(code, stdout, stderr).name()
    }

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        let own = |decision: &str| {
            json!({"hookSpecificOutput": {"permissionDecision": decision}}).to_string()
        };
        let rewrite = json!({"hookSpecificOutput": {"updatedInput": {}}}).to_string();
        for (code, stdout, stderr, expected) in [
            (Some(0), own("deny").as_str(), "", "refused"),
            (Some(1), &own("deny"), "", "refused"),
            (Some(2), &own("deny"), "no", "refused"),
            (Some(2), &own("deny"), "", "failed"),
            (Some(0), r#"{"decision":"block"}"#, "", "refused"),
            (Some(0), r#"{"continue":false}"#, "", "refused"),
            (Some(0), &own("ask"), "", "asked"),
            (Some(0), &own("allow"), "", "nothing"),
            (Some(0), &own("nope"), "", "nothing"),
            (Some(0), &rewrite, "", "nothing"),
            (Some(0), "{}", "", "nothing"),
            (Some(1), "{}", "no", "failed"),
            (Some(2), "", "no", "refused"),
            (Some(2), "", "", "failed"),
            (Some(3), "", "no", "failed"),
            (Some(127), "", "sh: not found", "failed"),
            (Some(0), "", "", "unread"),
            (Some(0), "text", "", "unread"),
            (None, "", "", "failed"),
        ] {
            assert_eq!(read(code, stdout, stderr), expected, "{code:?} {stdout} {stderr}");
        }
    }

    /// Each ruling is an answer that the client takes; one that it cannot express becomes stricter.
    #[test]
    fn our_answers_are_taken() {
        check_rulings("PreToolUse", ["refused", "refused"], render_reply, |answer, expected| {
            let WrittenAnswer { ruling, code, stdout, .. } = answer;
            assert_eq!(read(*code, stdout, ""), expected, "{stdout}");
            if let Disposition::Rewrite(_) = ruling {
                assert!(stdout.contains("mv a b"), "{stdout}");
            }
        });
    }
}

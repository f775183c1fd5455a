//! Reads a hook's answer to `PreToolUse` as Claude Code would, measured with 2.1.329: which answers
//! it treats as a refusal, as a failure that `onFailure` decides, or as silence, after which the
//! tool runs.

use crate::hook_reply::HookReply;
use serde_json::{Deserializer, Value};

/// Reads the exit code (`None` after a signal), standard output and standard error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
    let said = document(stdout);
    // A refusal in the text counts with any exit code.
    if let Ok(Some(HookReply::Refused(reason))) = said {
        return HookReply::Refused(reason);
    }
    match (code, said) {
        (Some(2), _) => HookReply::Refused(stderr.trim().to_owned()),
        (None, _) => HookReply::Failed("a signal ended it".to_owned()),
        (Some(0), Ok(Some(answer))) => answer,
        (Some(0), Ok(None)) => HookReply::unread(""),
        (Some(0), Err(unreadable)) => unreadable,
        (Some(code), _) => HookReply::Failed(format!("it ended with code {code}")),
    }
}

/// Returns the decision in the text; `None` if there is no text.
fn document(stdout: &str) -> Result<Option<HookReply>, HookReply> {
    let text = stdout.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let documents: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    match documents.as_deref() {
        Ok([document @ Value::Object(_)]) => decision(document).map(Some),
        Ok([_, _, ..]) => {
            Err(HookReply::Failed("it answered more than one JSON document".to_owned()))
        }
        _ => Err(HookReply::unread(text)),
    }
}

fn decision(document: &Value) -> Result<HookReply, HookReply> {
    let Some(specific) = document.get("hookSpecificOutput") else { return Ok(HookReply::Nothing) };
    if specific.get("hookEventName").and_then(Value::as_str) != Some("PreToolUse") {
        return Err(HookReply::Failed("its answer names another event".to_owned()));
    }
    let reason =
        specific.get("permissionDecisionReason").and_then(Value::as_str).unwrap_or_default();
    match specific.get("permissionDecision").map(Value::as_str) {
        Some(Some("deny")) => Ok(HookReply::Refused(reason.to_owned())),
        Some(Some("ask" | "defer")) => Ok(HookReply::Asked),
        Some(Some("allow")) | None if specific.get("updatedInput").is_some() => {
            Ok(HookReply::Rewritten)
        }
        Some(Some("allow")) | None => Ok(HookReply::Nothing),
        Some(_) => {
            Err(HookReply::Failed("it decided something that the client does not know".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        let refused = || HookReply::Refused("no".into());
        let kind = |answer: &HookReply| std::mem::discriminant(answer);
        let failed = HookReply::Failed(String::new());
        let unread = HookReply::Unread(String::new());
        for (code, stdout, stderr, expected) in [
            (Some(0), DENY, "", refused()),
            (Some(1), DENY, "", refused()),
            (Some(2), DENY, "other", refused()),
            (Some(2), "", "no", refused()),
            (Some(2), "text", "no", refused()),
            (Some(0), &DENY.replace("deny", "ask"), "", HookReply::Asked),
            (Some(0), &DENY.replace("deny", "allow"), "", HookReply::Nothing),
            (Some(0), "{}", "", HookReply::Nothing),
            (
                Some(0),
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{}}}"#,
                "",
                HookReply::Rewritten,
            ),
        ] {
            assert_eq!(interpret_answer(code, stdout, stderr), expected, "{code:?} {stdout}");
        }
        for (code, stdout, expected) in [
            (None, "", &failed),
            (None, "{}", &failed),
            (Some(1), "", &failed),
            (Some(127), "{}", &failed),
            (Some(0), "{}{}", &failed),
            (Some(0), &DENY.replace("PreToolUse", "PostToolUse"), &failed),
            (Some(0), &DENY.replace("deny", "block"), &failed),
            (Some(0), r#"{"hookSpecificOutput":{}}"#, &failed),
            (Some(0), "", &unread),
            (Some(0), "ok", &unread),
            (Some(0), "[1]", &unread),
            (Some(0), &DENY[..40], &unread),
            (Some(0), &format!("text {DENY}"), &unread),
            (Some(0), &format!("{DENY} text"), &unread),
        ] {
            assert_eq!(
                kind(&interpret_answer(code, stdout, "")),
                kind(expected),
                "{code:?} {stdout}"
            );
        }
    }
}

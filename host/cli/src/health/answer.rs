//! Reads a hook's answer to `PreToolUse` as Claude Code would, measured with 2.1.329: what it takes for a
//! refusal, for a failure that `onFailure` decides, and for silence, after which the tool runs.

use serde_json::{Deserializer, Value};

/// What the client makes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The tool does not run; the reason.
    Refused(String),
    /// A person decides.
    Asked,
    /// The tool runs with another input.
    Rewritten,
    /// No objection.
    Nothing,
    /// The hook failed: `onFailure` decides, and without it the tool runs.
    Failed(String),
    /// Nothing that the client can read: the tool runs whatever `onFailure` says.
    Unread(String),
}

/// Reads exit code (none for a signal), standard output and standard error.
pub fn read(code: Option<i32>, stdout: &str, stderr: &str) -> Answer {
    let said = document(stdout);
    if let Ok(Some(Answer::Refused(reason))) = said {
        return Answer::Refused(reason);
    }
    match (code, said) {
        (Some(2), _) => Answer::Refused(stderr.trim().to_owned()),
        (None, _) => Answer::Failed("a signal ended it".to_owned()),
        (Some(0), Ok(Some(answer))) => answer,
        (Some(0), Ok(None)) => Answer::Unread("it answered nothing".to_owned()),
        (Some(0), Err(unreadable)) => unreadable,
        (Some(code), _) => Answer::Failed(format!("it ended with code {code}")),
    }
}

/// What the text decides; none when there is no text.
fn document(stdout: &str) -> Result<Option<Answer>, Answer> {
    let text = stdout.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let documents: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    match documents.as_deref() {
        Ok([document @ Value::Object(_)]) => decision(document).map(Some),
        Ok([_, _, ..]) => Err(Answer::Failed("it answered more than one JSON document".to_owned())),
        _ => Err(Answer::Unread(format!("its answer is no JSON object: `{}`", portcullis_core::text::one_line(text, 80)))),
    }
}

fn decision(document: &Value) -> Result<Answer, Answer> {
    let Some(specific) = document.get("hookSpecificOutput") else { return Ok(Answer::Nothing) };
    if specific.get("hookEventName").and_then(Value::as_str) != Some("PreToolUse") {
        return Err(Answer::Failed("its answer names another event".to_owned()));
    }
    let reason = specific.get("permissionDecisionReason").and_then(Value::as_str).unwrap_or_default();
    match specific.get("permissionDecision").map(Value::as_str) {
        Some(Some("deny")) => Ok(Answer::Refused(reason.to_owned())),
        Some(Some("ask" | "defer")) => Ok(Answer::Asked),
        Some(Some("allow")) | None if specific.get("updatedInput").is_some() => Ok(Answer::Rewritten),
        Some(Some("allow")) | None => Ok(Answer::Nothing),
        Some(_) => Err(Answer::Failed("it decided something that the client does not know".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        let refused = || Answer::Refused("no".into());
        let kind = |answer: &Answer| std::mem::discriminant(answer);
        let failed = Answer::Failed(String::new());
        let unread = Answer::Unread(String::new());
        for (code, stdout, stderr, expected) in [
            (Some(0), DENY, "", refused()),
            (Some(1), DENY, "", refused()),
            (Some(2), DENY, "other", refused()),
            (Some(2), "", "no", refused()),
            (Some(2), "text", "no", refused()),
            (Some(0), &DENY.replace("deny", "ask"), "", Answer::Asked),
            (Some(0), &DENY.replace("deny", "allow"), "", Answer::Nothing),
            (Some(0), "{}", "", Answer::Nothing),
            (Some(0), r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{}}}"#, "", Answer::Rewritten),
        ] {
            assert_eq!(read(code, stdout, stderr), expected, "{code:?} {stdout}");
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
            assert_eq!(kind(&read(code, stdout, "")), kind(expected), "{code:?} {stdout}");
        }
    }
}

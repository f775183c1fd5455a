//! Reads a hook's answer to `BeforeTool` as Gemini CLI would, measured with 0.61.0: JSON counts
//! whatever the exit code is, and other text refuses the tool if the code is above 1.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// Reads the exit code (`None` after a signal), standard output and standard error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
    // Standard error is read only if there is no standard output.
    let text = match stdout.trim() {
        "" => stderr.trim(),
        text => text,
    };
    let fails = match code {
        Some(0) => None,
        Some(code) => Some(format!("it ended with code {code}")),
        None => Some("a signal ended it".to_owned()),
    };
    match (serde_json::from_str::<Value>(text), code) {
        (Ok(Value::Object(document)), _) => match (read_document(&document), fails) {
            (HookReply::Nothing, Some(how)) => HookReply::Failed(how),
            (read, _) => read,
        },
        (Err(_), Some(code)) if code > 1 && !text.is_empty() => HookReply::Refused(text.to_owned()),
        _ => fails.map_or_else(|| HookReply::unread(text), HookReply::Failed),
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    let reason = || {
        let reasons = [text("stopReason"), text("reason"), "No reason provided"];
        reasons.into_iter().find(|reason| !reason.is_empty()).unwrap_or_default().to_owned()
    };
    if document.get("continue") == Some(&Value::Bool(false)) {
        return HookReply::Refused(reason());
    }
    match text("decision") {
        "deny" | "block" => return HookReply::Refused(reason()),
        "ask" => return HookReply::Asked,
        _ => {}
    }
    let specific = document.get("hookSpecificOutput");
    match specific.and_then(|specific| specific.get("tool_input")) {
        Some(Value::Object(_)) => HookReply::Rewritten,
        _ => HookReply::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::wire::render_reply;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};
    use serde_json::json;

    fn read(code: Option<i32>, stdout: &str, stderr: &str) -> &'static str {
        interpret_answer(code, stdout, stderr).name()
    }

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        let deny = json!({"decision": "deny", "reason": "no"}).to_string();
        let foreign = json!({"hookSpecificOutput": {"permissionDecision": "deny"}}).to_string();
        let rewrite = json!({"hookSpecificOutput": {"tool_input": {}}}).to_string();
        for (code, stdout, stderr, expected) in [
            (Some(0), deny.as_str(), "", "refused"),
            (Some(1), &deny, "", "refused"),
            (Some(2), &deny, "no", "refused"),
            (Some(0), r#"{"decision":"block"}"#, "", "refused"),
            (Some(0), r#"{"continue":false}"#, "", "refused"),
            (Some(0), r#"{"decision":"ask"}"#, "", "asked"),
            (Some(0), &rewrite, "", "rewritten"),
            (Some(0), "{}", "", "nothing"),
            (Some(0), &foreign, "", "nothing"),
            (Some(1), "{}", "", "failed"),
            (Some(2), "", "no", "refused"),
            (Some(127), "", "sh: not found", "refused"),
            (Some(2), "{\"decision\":", "no", "refused"),
            (Some(2), "", "", "failed"),
            (Some(1), "", "no", "failed"),
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
        check_rulings("BeforeTool", ["rewritten", "refused"], render_reply, |answer, expected| {
            let WrittenAnswer { code, stdout, stderr, .. } = answer;
            assert_eq!(read(*code, stdout, stderr), expected, "{stdout}");
            if expected == "refused" {
                // Each of the two ways is enough.
                assert_eq!(read(Some(0), stdout, ""), expected, "{stdout}");
                assert_eq!(read(Some(2), "", stderr), expected, "{stderr}");
            }
        });
    }
}

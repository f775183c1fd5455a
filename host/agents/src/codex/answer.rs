//! Reads a hook's answer to `PreToolUse` as Codex CLI would, measured with 0.169.0: everything that
//! it does not take for a refusal or a rewrite lets the tool run.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// The parts of an answer, and those of its `hookSpecificOutput`. Any other part voids the answer.
const PARTS: &[&str] =
    &["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", SPECIFIC];
const SPECIFIC: &str = "hookSpecificOutput";
const SPECIFIC_PARTS: &[&str] = &[
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
];
/// Parts that the client does not take before a tool.
const REFUSED_PARTS: &[&str] = &["stopReason", "suppressOutput"];

/// Reads the exit code (`None` after a signal), standard output and standard error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
    let stderr = stderr.trim();
    match code {
        Some(0) => match HookReply::read_object(stdout) {
            Ok(document) => read_document(&document),
            Err(unread) => unread,
        },
        Some(2) if !stderr.is_empty() => HookReply::Refused(stderr.to_owned()),
        Some(2) => HookReply::Failed("it ended with code 2 and gave no reason".to_owned()),
        Some(code) => HookReply::Failed(format!("it ended with code {code}")),
        None => HookReply::Failed("a signal ended it".to_owned()),
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    let specific = document.get(SPECIFIC).and_then(Value::as_object);
    let unknown = document
        .keys()
        .find(|name| !PARTS.contains(&name.as_str()))
        .or_else(|| specific?.keys().find(|name| !SPECIFIC_PARTS.contains(&name.as_str())));
    if let Some(unknown) = unknown {
        return HookReply::Failed(format!("its answer has a part `{unknown}`"));
    }
    let stops = document.get("continue") == Some(&Value::Bool(false));
    if stops || REFUSED_PARTS.iter().any(|name| document.contains_key(*name)) {
        return HookReply::Failed("its answer would end the turn, which voids it".to_owned());
    }
    let Some(specific) = specific else { return HookReply::Nothing };
    if specific.get("hookEventName").and_then(Value::as_str) != Some("PreToolUse") {
        return HookReply::Failed("its answer names another event".to_owned());
    }
    let text = |name: &str| specific.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    match (text("permissionDecision"), specific.get("updatedInput")) {
        ("deny", None) if !text("permissionDecisionReason").is_empty() => {
            HookReply::Refused(text("permissionDecisionReason").to_owned())
        }
        ("deny", _) => HookReply::Failed("it refused without a reason".to_owned()),
        ("allow", Some(_)) => HookReply::Rewritten,
        ("", None) => HookReply::Nothing,
        _ => HookReply::Failed("it decided something that the client does not take".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codex::wire::render_reply;
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};
    use serde_json::json;

    fn read(code: Option<i32>, stdout: &str, stderr: &str) -> &'static str {
        interpret_answer(code, stdout, stderr).name()
    }

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        let pre = |parts: Value| {
            let mut specific = json!({"hookEventName": "PreToolUse"});
            for (name, value) in parts.as_object().unwrap() {
                specific[name] = value.clone();
            }
            json!({"hookSpecificOutput": specific})
        };
        let deny = pre(json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}));
        let with = |name: &str, value: Value| {
            let mut answer = deny.clone();
            answer[name] = value;
            answer.to_string()
        };
        for (code, stdout, stderr, expected) in [
            (Some(0), deny.to_string(), "", "refused"),
            (Some(0), pre(json!({"permissionDecision": "deny"})).to_string(), "", "failed"),
            (Some(0), pre(json!({"permissionDecision": "ask"})).to_string(), "", "failed"),
            (Some(0), pre(json!({"permissionDecision": "allow"})).to_string(), "", "failed"),
            (
                Some(0),
                pre(json!({"permissionDecision": "allow", "updatedInput": {}})).to_string(),
                "",
                "rewritten",
            ),
            (Some(0), pre(json!({"updatedInput": {}})).to_string(), "", "failed"),
            (Some(0), pre(json!({"additionalContext": "x"})).to_string(), "", "nothing"),
            (Some(0), with("systemMessage", json!("x")), "", "refused"),
            (Some(0), with("terminalSequence", json!("x")), "", "failed"),
            (Some(0), with("continue", json!(false)), "", "failed"),
            (Some(0), with("stopReason", json!("x")), "", "failed"),
            (Some(0), "{}".into(), "", "nothing"),
            (Some(0), String::new(), "", "unread"),
            (Some(0), "text".into(), "", "unread"),
            (Some(0), format!("text {deny}"), "", "unread"),
            (Some(1), deny.to_string(), "", "failed"),
            (Some(2), deny.to_string(), "no", "refused"),
            (Some(2), String::new(), "no", "refused"),
            (Some(2), deny.to_string(), "", "failed"),
            (None, String::new(), "", "failed"),
        ] {
            assert_eq!(read(code, &stdout, stderr), expected, "{code:?} {stdout}");
        }
    }

    /// Each ruling is an answer that the client takes; one that it cannot express becomes stricter.
    #[test]
    fn our_answers_are_taken() {
        check_rulings("PreToolUse", ["rewritten", "refused"], render_reply, |answer, expected| {
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

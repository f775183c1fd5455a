//! Reads a hook's answer to `preToolUse` as Cursor would, by its published types: code 2 refuses, and
//! so does an answer that is not of the form. Any other failure is decided by `failClosed`.

use crate::hook_reply::HookReply;
use serde_json::{Map, Value};

/// Reads the exit code (`None` after a signal), standard output and standard error.
pub(super) fn interpret_answer(code: Option<i32>, stdout: &str, stderr: &str) -> HookReply {
    match code {
        Some(0) if stdout.trim().is_empty() => HookReply::Failed("it answered nothing".to_owned()),
        Some(0) => match HookReply::read_object(stdout) {
            Ok(document) => read_document(&document),
            Err(_) => HookReply::Refused("the hook's answer cannot be read".to_owned()),
        },
        // The client does not read JSON with this code: it shows the text.
        Some(2) => {
            let said = [stderr.trim(), stdout.trim()].into_iter().find(|text| !text.is_empty());
            HookReply::Refused(said.unwrap_or("the hook ended with code 2").to_owned())
        }
        Some(code) => HookReply::Failed(format!("the hook ended with code {code}")),
        None => HookReply::Failed("a signal ended the hook".to_owned()),
    }
}

fn read_document(document: &Map<String, Value>) -> HookReply {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    match (document.get("permission"), document.get("updated_input")) {
        (Some(Value::String(permission)), _) if permission == "deny" => {
            let reason = Some(text("user_message")).filter(|reason| !reason.is_empty());
            HookReply::Refused(reason.unwrap_or("no reason was given").to_owned())
        }
        // `ask` is taken and not enforced before a tool of every kind.
        (Some(Value::String(permission)), None) if permission == "ask" => HookReply::Nothing,
        (None | Some(Value::String(_)), Some(Value::Object(_))) => HookReply::Rewritten,
        (None, None) => HookReply::Nothing,
        (Some(Value::String(permission)), None) if permission == "allow" => HookReply::Nothing,
        _ => HookReply::Refused("the hook's answer has a part of another type".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::wire::{GATE, render_reply};
    use crate::hook_reply::checks::{WrittenAnswer, check_rulings};

    #[test]
    fn answers_are_read_as_the_client_reads_them() {
        for (code, stdout, expected) in [
            (Some(0), r#"{"permission":"deny","user_message":"no"}"#, "refused"),
            (Some(0), r#"{"permission":"deny"}"#, "refused"),
            (Some(0), r#"{"permission":5}"#, "refused"),
            (Some(0), r#"{"permission":"perhaps"}"#, "refused"),
            (Some(0), "denied", "refused"),
            (Some(0), r#"{"permission":"#, "refused"),
            (Some(0), r#"{"permission":"ask"}"#, "nothing"),
            (Some(0), r#"{"permission":"allow"}"#, "nothing"),
            (Some(0), "{}", "nothing"),
            (Some(0), "", "failed"),
            (Some(0), r#"{"permission":"allow","updated_input":{}}"#, "rewritten"),
            (Some(0), r#"{"permission":"allow","updated_input":1}"#, "refused"),
            (Some(1), r#"{"permission":"deny"}"#, "failed"),
            (Some(2), "", "refused"),
            (Some(2), r#"{"permission":"allow"}"#, "refused"),
            (Some(127), "", "failed"),
            (None, "", "failed"),
        ] {
            assert_eq!(interpret_answer(code, stdout, "").name(), expected, "{code:?} {stdout}");
        }
    }

    /// Each ruling is an answer that the client takes.
    #[test]
    fn our_answers_are_taken() {
        check_rulings(GATE, ["rewritten", "refused"], render_reply, |answer, expected| {
            let WrittenAnswer { code, stdout, stderr, .. } = answer;
            assert_eq!(interpret_answer(*code, stdout, stderr).name(), expected, "{stdout}");
        });
    }
}

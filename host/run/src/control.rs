//! The host's side of a client's control protocol, as far as permission requests go.
//!
//! `-p --input-format stream-json --output-format stream-json --permission-prompt-tool
//! stdio` reads its prompt as a line. It asks for permission with a line
//! ([`Line::Control`](crate::Line::Control)) if its own rules, or a hook that answers `ask`, leave
//! the decision to a person. It waits for the answer: a question that nobody answers, or that was
//! too long to be read, holds the call back. An answer that is an error refuses it.

use serde_json::{Value, json};

/// The arguments that make the client speak the protocol.
pub const CONTROL_ARGUMENTS: [&str; 7] = [
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
];

/// A question of the client: may this call run?
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The request's id.
    request: String,
    /// The tool.
    pub tool: String,
    /// The complete input of the call.
    pub input: Value,
    /// The call's id, as the hooks see it.
    pub call: String,
    /// The reason for asking a person, if the client gives it: a hook's reason.
    pub reason: Option<String>,
}

impl Question {
    /// Reads a line of the control protocol; `None` if it does not ask for permission.
    pub fn parse_question(line: &Value) -> Option<Self> {
        let request =
            line.get("request").filter(|_| text(line, "type") == Some("control_request"))?;
        (text(request, "subtype")? == "can_use_tool").then_some(())?;
        Some(Self {
            request: text(line, "request_id")?.to_owned(),
            tool: text(request, "tool_name")?.to_owned(),
            input: request.get("input").cloned().unwrap_or_default(),
            call: text(request, "tool_use_id").unwrap_or_default().to_owned(),
            reason: text(request, "decision_reason").map(str::to_owned),
        })
    }

    /// Returns the line that lets this one call run, unchanged.
    pub fn allow(&self) -> String {
        answer(&self.request, &json!({"behavior": "allow", "updatedInput": self.input}))
    }

    /// Returns the line that refuses it and gives the model the reason; with `interrupt` the turn
    /// ends too.
    pub fn deny_message(&self, message: &str, interrupt: bool) -> String {
        answer(
            &self.request,
            &json!({"behavior": "deny", "message": message, "interrupt": interrupt}),
        )
    }
}

/// Returns the lines that begin a session: the protocol's own, and the prompt.
pub fn begin_message(text: &str) -> String {
    format!("{}{}", request_message("begin", "initialize"), prompt_message(text))
}

/// Returns the line of a request without parameters, such as `initialize` or `get_hooks_listing`.
/// [`parse_response`] finds the answer by the same id.
pub fn request_message(id: &str, subtype: &str) -> String {
    format!(
        "{}\n",
        json!({"type": "control_request", "request_id": id, "request": {"subtype": subtype}})
    )
}

/// Returns the line with the person's prompt.
pub fn prompt_message(text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    let user = json!({"type": "user", "session_id": "", "parent_tool_use_id": null, "message": {"role": "user", "content": content}});
    format!("{user}\n")
}

/// Reads a line's answer to the request of that id: its content, or the client's error; `None` if
/// it is not an answer to it.
pub fn parse_response(line: &Value, id: &str) -> Option<Result<Value, String>> {
    let response =
        line.get("response").filter(|_| text(line, "type") == Some("control_response"))?;
    (text(response, "request_id")? == id).then(|| match text(response, "subtype") {
        Some("success") => Ok(response.get("response").cloned().unwrap_or_default()),
        _ => Err(text(response, "error").unwrap_or("it gave no reason").to_owned()),
    })
}

/// Returns the line that refuses any other request of the client, which would wait for an answer
/// otherwise; `None` if the line is not a request, or is a [`Question`].
pub fn refuse_message(line: &Value) -> Option<String> {
    let request =
        text(line, "request_id").filter(|_| text(line, "type") == Some("control_request"))?;
    Question::parse_question(line).is_none().then(|| {
        let response = json!({"subtype": "error", "request_id": request, "error": "this host \
             answers questions of permission only"});
        format!("{}\n", json!({"type": "control_response", "response": response}))
    })
}

fn answer(request: &str, response: &Value) -> String {
    let response = json!({"subtype": "success", "request_id": request, "response": response});
    format!("{}\n", json!({"type": "control_response", "response": response}))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::{Question, begin_message, parse_response, refuse_message};
    use serde_json::{Value, json};

    fn asked() -> Value {
        json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash",
            "input": {"command": "ls"}, "decision_reason": "looks risky", "tool_use_id": "t"}})
    }

    #[test]
    fn a_question_is_answered_by_its_id() {
        let question = Question::parse_question(&asked()).unwrap();
        assert_eq!(
            (question.tool.as_str(), question.call.as_str(), question.reason.as_deref()),
            ("Bash", "t", Some("looks risky"))
        );
        let rows = [
            (question.allow(), json!({"behavior": "allow", "updatedInput": {"command": "ls"}})),
            (
                question.deny_message("no\nway", true),
                json!({"behavior": "deny", "message": "no\nway", "interrupt": true}),
            ),
        ];
        for (line, response) in rows {
            let line = line.strip_suffix('\n').unwrap();
            assert!(!line.contains('\n'), "one line: {line}");
            let said: Value = serde_json::from_str(line).unwrap();
            let expected = json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r", "response": response}});
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn other_requests_are_refused_or_left() {
        let rows = [
            (asked(), None),
            (
                json!({"type": "control_request", "request_id": "r", "request": {"subtype": "hook_callback"}}),
                Some("r"),
            ),
            (json!({"type": "control_request", "request_id": "r"}), Some("r")),
            (
                json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool"}}),
                Some("r"),
            ),
            (json!({"type": "control_response", "response": {"request_id": "r"}}), None),
            (json!({"type": "user"}), None),
        ];
        for (line, refused) in rows {
            let said =
                refuse_message(&line).map(|said| serde_json::from_str::<Value>(&said).unwrap());
            assert_eq!(
                said.as_ref().and_then(|said| said["response"]["request_id"].as_str()),
                refused,
                "{line}"
            );
            assert!(said.is_none_or(|said| said["response"]["subtype"] == "error"), "{line}");
        }
    }

    #[test]
    fn an_answer_is_found_by_the_id_of_its_request() {
        let said = |body: Value| json!({"type": "control_response", "response": body});
        let rows = [
            (
                said(json!({"subtype": "success", "request_id": "h", "response": {"hooks": []}})),
                Some(Ok(json!({"hooks": []}))),
            ),
            (said(json!({"subtype": "success", "request_id": "h"})), Some(Ok(Value::Null))),
            (
                said(json!({"subtype": "error", "request_id": "h", "error": "no such thing"})),
                Some(Err("no such thing".to_owned())),
            ),
            (said(json!({"request_id": "h"})), Some(Err("it gave no reason".to_owned()))),
            (said(json!({"subtype": "success", "request_id": "other"})), None),
            (asked(), None),
        ];
        for (line, expected) in rows {
            assert_eq!(parse_response(&line, "h"), expected, "{line}");
        }
        assert_eq!(begin_message("a\nb").lines().count(), 2, "a prompt of two lines is one line");
    }
}

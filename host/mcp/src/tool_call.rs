//! Calls of tools and their results.

use crate::message::{Message, check_names};
use serde_json::{Map, Value};

/// The method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// The names of the parameters of a call, in both generations of the protocol.
const NAMES: &[&str] = &["name", "arguments", "_meta", "task", "inputResponses", "requestState"];
/// The argument under which the review sees a person's answers to the server's questions. A tool
/// has no argument of this name.
pub(crate) const ANSWERS: &str = "mcp/inputResponses";
/// The parameter that holds these answers.
const INPUT_RESPONSES: &str = "inputResponses";
/// The name beside the arguments under which a client says its version of the protocol, since the
/// generation without `initialize`.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The most bytes of a tool's name.
const MOST_NAME: usize = 128;

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Its number among the calls of this gateway, from 1.
    pub number: u64,
    /// The tool's name as its server knows it.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The metadata of the request.
    pub meta: Map<String, Value>,
    /// The answers of the person to questions of the server, if this call repeats one.
    pub answers: Option<Value>,
}

impl ToolCall {
    /// Reads the parameters of a call.
    ///
    /// # Errors
    /// Fails if the parameters could be read in different ways, or lack a name.
    pub fn from_message(message: &Message) -> Result<Self, String> {
        let Some(Value::Object(params)) = message.object.get("params") else {
            return Err("`params` of `tools/call` has to be an object".into());
        };
        check_names(params, NAMES, "`params` of `tools/call`")?;
        let name = match params.get("name") {
            Some(Value::String(name)) if (1..=MOST_NAME).contains(&name.len()) => name.clone(),
            Some(Value::String(_)) => {
                return Err(format!("`name` of a tool has to have 1 to {MOST_NAME} bytes"));
            }
            _ => return Err("`tools/call` needs `name`, a text".into()),
        };
        let object = |key: &str| match params.get(key) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            Some(_) => Err(format!("`{key}` of `tools/call` has to be an object")),
        };
        let arguments = object("arguments")?;
        if arguments.contains_key(ANSWERS) {
            return Err(format!("no tool may have an argument `{ANSWERS}`"));
        }
        Ok(Self {
            number: 0,
            name,
            arguments,
            meta: object("_meta")?,
            answers: params.get(INPUT_RESPONSES).cloned(),
        })
    }

    /// Returns what the review sees: the arguments, with the person's answers beside them.
    #[must_use]
    pub fn reviewed_input(&self) -> Map<String, Value> {
        let mut input = self.arguments.clone();
        if let Some(answers) = &self.answers {
            input.insert(ANSWERS.into(), answers.clone());
        }
        input
    }

    /// Returns true if the client speaks the generation of the protocol in which a result says its
    /// type.
    pub(crate) fn wants_typed_results(&self) -> bool {
        self.meta.contains_key(VERSION)
    }
}

/// Returns a call with other arguments, and with other answers if it has some. `input` has the form
/// of [`ToolCall::reviewed_input`].
pub(crate) fn replace_input(mut message: Message, mut input: Map<String, Value>) -> Message {
    let answers = input.shift_remove(ANSWERS);
    if let Some(Value::Object(params)) = message.object.get_mut("params") {
        params.insert("arguments".into(), Value::Object(input));
        match answers {
            Some(answers) => params.insert(INPUT_RESPONSES.into(), answers),
            None => params.shift_remove(INPUT_RESPONSES),
        };
    }
    let line = crate::reply::to_line(&Value::Object(message.object.clone()));
    Message { bytes: line, ..message }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// True if the call failed, by the tool's own word or with an error of the protocol.
    pub failed: bool,
    /// The result, or the error, as the server wrote it.
    pub value: Value,
    /// The call's duration in milliseconds.
    pub duration_ms: u32,
}

impl ToolResult {
    /// Returns its texts: those of its blocks, of embedded resources, and its structured content as
    /// JSON.
    #[must_use]
    pub fn text(&self) -> String {
        let mut texts = Vec::new();
        for block in self.value.get("content").and_then(Value::as_array).into_iter().flatten() {
            let nested = block.get("resource").and_then(|resource| resource.get("text"));
            let text = block.get("text").or(nested).and_then(Value::as_str);
            match text {
                Some(text) => texts.push(text.to_owned()),
                None => texts.push(without_data(block).to_string()),
            }
        }
        if let Some(structured) = self.value.get("structuredContent") {
            texts.push(structured.to_string());
        }
        if texts.is_empty() {
            texts.push(self.value.to_string());
        }
        texts.join("\n")
    }
}

/// Returns a block without the bytes of a picture, a sound or a file.
fn without_data(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(object) = block.as_object_mut() {
        object.shift_remove("data");
        if let Some(Value::Object(resource)) = object.get_mut("resource") {
            resource.shift_remove("blob");
        }
    }
    block
}

/// Returns a tool's name as clients pass it to their hooks: `mcp__SERVER__TOOL`.
#[must_use]
pub fn tool_name(server: &str, tool: &str) -> String {
    let plain = |text: &str| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
        text.chars().map(plain).collect()
    };
    format!("mcp__{}__{}", plain(server), plain(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(params: &str) -> Result<ToolCall, String> {
        let text = format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#);
        ToolCall::from_message(&Message::parse(text.into_bytes()).unwrap())
    }

    #[test]
    fn calls_have_a_name_and_arguments() {
        let read = call(r#"{"name":"a","arguments":{"x":1},"_meta":{"progressToken":2}}"#).unwrap();
        assert_eq!((read.name.as_str(), read.arguments.len(), read.meta.len()), ("a", 1, 1));
        assert_eq!(call(r#"{"name":"a"}"#).unwrap().arguments, Map::new());
        let again = call(r#"{"name":"a","inputResponses":{"q":{"action":"accept"}}}"#).unwrap();
        assert!(again.reviewed_input().contains_key(ANSWERS));
        for (params, part) in [
            ("[]", "has to be an object"),
            ("{}", "needs `name`"),
            (r#"{"name":""}"#, "1 to 128"),
            (r#"{"name":1}"#, "needs `name`"),
            (r#"{"name":"a","arguments":[1]}"#, "`arguments`"),
            (r#"{"name":"a","Arguments":{"x":1}}"#, "`Arguments`"),
            (r#"{"name":"a","NAME":"b"}"#, "`NAME`"),
            (r#"{"name":"a","_meta":1}"#, "`_meta`"),
            (r#"{"name":"a","arguments":{"mcp/inputResponses":1}}"#, "mcp/inputResponses"),
        ] {
            let error = call(params).unwrap_err();
            assert!(error.contains(part), "{params}: {error}");
        }
    }

    #[test]
    fn other_arguments_replace_the_first_ones_only() {
        let text = r#"{"id":1,"method":"tools/call","params":{"_meta":{},"name":"a","arguments":{"x":1},"inputResponses":{"q":1}}}"#;
        let message = Message::parse(text.as_bytes().to_vec()).unwrap();
        let mut input = ToolCall::from_message(&message).unwrap().reviewed_input();
        input.insert("x".into(), 2.into());
        let line = String::from_utf8(replace_input(message, input).bytes).unwrap();
        assert_eq!(line, format!("{}\n", text.replace("\"x\":1", "\"x\":2")));
    }

    #[test]
    fn a_result_shows_all_of_its_texts() {
        let value = serde_json::json!({
            "content": [
                { "type": "text", "text": "one" },
                { "type": "resource", "resource": { "uri": "u:1", "text": "two" } },
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            ],
            "structuredContent": { "three": 3 },
        });
        let text = ToolResult { failed: false, value, duration_ms: 1 }.text();
        for part in ["one", "two", "image/png", "{\"three\":3}"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("AAAA"));
        assert_eq!(tool_name("my server", "a.b"), "mcp__my_server__a_b");
    }
}

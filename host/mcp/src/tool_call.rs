//! Calls of tools and their results; reads of resources and prompts are calls too.

mod result_text;

pub(crate) use result_text::check_members;

use crate::message::{RpcMessage, check_names};
use serde_json::{Map, Value};

/// The method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// The method that reads a resource.
pub(crate) const READ: &str = "resources/read";
/// The method that fetches a prompt.
pub(crate) const PROMPT: &str = "prompts/get";

/// The names of the parameters of a call, in both generations of the protocol.
const TOOL_NAMES: &[&str] =
    &["name", "arguments", "_meta", "task", "inputResponses", "requestState"];
const RESOURCE_NAMES: &[&str] = &["uri", "_meta", "inputResponses", "requestState"];
const PROMPT_NAMES: &[&str] = &["name", "arguments", "_meta", "inputResponses", "requestState"];
/// The names under which reads of resources and prompts are reviewed.
const READ_TOOL: &str = "read_resource";
const PROMPT_TOOL: &str = "get_prompt";
/// The argument under which the review sees a person's answers to the server's questions. A tool
/// has no argument of this name.
pub(crate) const ANSWERS: &str = "mcp/inputResponses";
/// The parameter that holds these answers.
const INPUT_RESPONSES: &str = "inputResponses";
/// The name beside the arguments under which a client says its version of the protocol, since the
/// generation without `initialize`.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The most bytes of a tool's name, and of a prompt's.
const MOST_NAME: usize = 128;
/// The most bytes of a resource's address.
const MOST_URI: usize = 8 * 1024;

/// The kinds of requests that are reviewed before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A call of a tool.
    Tool,
    /// A read of a resource.
    Resource,
    /// A prompt of the server, filled in.
    Prompt,
}

impl CallKind {
    /// Returns the kind of a request.
    pub(crate) fn of_method(method: &str) -> Option<Self> {
        match method {
            CALL => Some(Self::Tool),
            READ => Some(Self::Resource),
            PROMPT => Some(Self::Prompt),
            _ => None,
        }
    }

    /// Returns the method of such requests.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tool => CALL,
            Self::Resource => READ,
            Self::Prompt => PROMPT,
        }
    }

    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Tool => TOOL_NAMES,
            Self::Resource => RESOURCE_NAMES,
            Self::Prompt => PROMPT_NAMES,
        }
    }
}

/// One call of a tool, or one of the requests that are reviewed like it.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayCall {
    /// Its number among the calls of this gateway, from 1.
    pub number: u64,
    /// Its kind.
    pub kind: CallKind,
    /// The tool's name as its server knows it; `read_resource` or `get_prompt` for the others.
    pub name: String,
    /// The arguments: a resource's `uri`, or a prompt's `name` and `arguments`.
    pub arguments: Map<String, Value>,
    /// The metadata of the request.
    pub meta: Map<String, Value>,
    /// The answers of the person to questions of the server, if this call repeats one.
    pub answers: Option<Value>,
}

impl GatewayCall {
    /// Reads the parameters of a call.
    ///
    /// # Errors
    /// Fails if the parameters could be read in different ways, or lack a name.
    pub fn from_message(message: &RpcMessage, kind: CallKind) -> Result<Self, String> {
        let method = kind.method();
        let Some(Value::Object(params)) = message.object.get("params") else {
            return Err(format!("`params` of `{method}` has to be an object"));
        };
        check_names(params, kind.names(), &format!("`params` of `{method}`"))?;
        let text = |key: &str, most: usize| match params.get(key) {
            Some(Value::String(text)) if (1..=most).contains(&text.len()) => Ok(text.clone()),
            Some(Value::String(_)) => {
                Err(format!("`{key}` of `{method}` has to have 1 to {most} bytes"))
            }
            _ => Err(format!("`{method}` needs `{key}`, a text")),
        };
        let object = |key: &str| match params.get(key) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object.clone()),
            Some(_) => Err(format!("`{key}` of `{method}` has to be an object")),
        };
        let (name, arguments) = match kind {
            CallKind::Tool => (text("name", MOST_NAME)?, object("arguments")?),
            CallKind::Resource => {
                let uri = text("uri", MOST_URI)?;
                check_uri(&uri)?;
                let uri = ("uri".to_owned(), Value::String(uri));
                (READ_TOOL.into(), Map::from_iter([uri]))
            }
            CallKind::Prompt => {
                let name = ("name".to_owned(), Value::String(text("name", MOST_NAME)?));
                let arguments = ("arguments".to_owned(), Value::Object(object("arguments")?));
                (PROMPT_TOOL.into(), Map::from_iter([name, arguments]))
            }
        };
        if arguments.contains_key(ANSWERS) {
            return Err(format!("no tool may have an argument `{ANSWERS}`"));
        }
        let answers = params.get(INPUT_RESPONSES).cloned();
        Ok(Self { number: 0, kind, name, arguments, meta: object("_meta")?, answers })
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

/// Refuses an address that readers of addresses take for another one: they drop tabs and line ends,
/// take a backslash for a slash, and cut blanks off.
fn check_uri(uri: &str) -> Result<(), String> {
    let is_odd = |c: char| c.is_control() || c == '\\';
    if uri.contains(is_odd) || uri.trim() != uri {
        return Err(format!(
            "`uri` of `{READ}` has a control character, a backslash or blanks around it, so some \
             servers would read another address"
        ));
    }
    Ok(())
}

/// Returns a call with other arguments, and with other answers if it has some. `input` has the form
/// of [`GatewayCall::reviewed_input`].
pub(crate) fn replace_input(
    mut message: RpcMessage,
    kind: CallKind,
    mut input: Map<String, Value>,
) -> RpcMessage {
    let answers = input.shift_remove(ANSWERS);
    if let Some(Value::Object(params)) = message.object.get_mut("params") {
        match kind {
            CallKind::Tool => drop(params.insert("arguments".into(), Value::Object(input))),
            CallKind::Resource | CallKind::Prompt => params.extend(input),
        }
        match answers {
            Some(answers) => params.insert(INPUT_RESPONSES.into(), answers),
            None => params.shift_remove(INPUT_RESPONSES),
        };
    }
    let line = crate::reply::to_line(&Value::Object(message.object.clone()));
    RpcMessage { bytes: line, ..message }
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
    /// Returns its texts: those of its blocks, of its messages, of resources, its structured
    /// content as JSON, and those of all other members. A text never hides another one, since a
    /// client may show either.
    #[must_use]
    pub fn text(&self) -> String {
        result_text::read_texts(&self.value)
    }
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

    fn call_of(kind: CallKind, params: &str) -> Result<GatewayCall, String> {
        let text = format!(r#"{{"id":1,"method":"{}","params":{params}}}"#, kind.method());
        GatewayCall::from_message(&RpcMessage::parse(text.into_bytes()).unwrap(), kind)
    }

    fn call(params: &str) -> Result<GatewayCall, String> {
        call_of(CallKind::Tool, params)
    }

    #[test]
    fn resources_and_prompts_are_calls() {
        let read = call_of(CallKind::Resource, r#"{"uri":"file:///a","_meta":{}}"#).unwrap();
        assert_eq!(
            (read.name.as_str(), &read.arguments["uri"]),
            ("read_resource", &"file:///a".into())
        );
        let prompt = call_of(CallKind::Prompt, r#"{"name":"p","arguments":{"a":"b"}}"#).unwrap();
        assert_eq!(Value::Object(prompt.arguments)["arguments"]["a"], "b");
        for (kind, params) in [
            (CallKind::Resource, "{}"),
            (CallKind::Resource, r#"{"uri":["file:///a"]}"#),
            (CallKind::Resource, r#"{"uri":""}"#),
            (CallKind::Resource, r#"{"uri":"file:///home/me/.s\tsh/id_rsa"}"#),
            (CallKind::Resource, r#"{"uri":"file:///home/me/.s\nsh/id_rsa"}"#),
            (CallKind::Resource, r#"{"uri":"file:///home/me\\.ssh/id_rsa"}"#),
            (CallKind::Resource, r#"{"uri":" file:///home/me/a"}"#),
            (CallKind::Resource, r#"{"uri":"file:///home/me/a "}"#),
            (CallKind::Resource, r#"{"uri":"file:///a","URI":"file:///b"}"#),
            (CallKind::Prompt, r#"{"name":"p","arguments":["a"]}"#),
            (CallKind::Prompt, r#"{"arguments":{}}"#),
        ] {
            assert!(call_of(kind, params).is_err(), "{params}");
        }
        let text = r#"{"id":1,"method":"resources/read","params":{"uri":"file:///a"}}"#;
        let message = RpcMessage::parse(text.as_bytes().to_vec()).unwrap();
        let input = Map::from_iter([("uri".to_owned(), Value::from("file:///b"))]);
        let line = replace_input(message, CallKind::Resource, input).bytes;
        assert_eq!(String::from_utf8(line).unwrap(), format!("{}\n", text.replace("/a", "/b")));
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
        let message = RpcMessage::parse(text.as_bytes().to_vec()).unwrap();
        let mut input =
            GatewayCall::from_message(&message, CallKind::Tool).unwrap().reviewed_input();
        input.insert("x".into(), 2.into());
        let line = String::from_utf8(replace_input(message, CallKind::Tool, input).bytes).unwrap();
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
            "contents": [{ "uri": "u:2", "text": "four" }, { "uri": "u:3", "blob": "AAAA" }],
            "messages": [{ "role": "user", "content": { "type": "text", "text": "five" } }],
            "description": "six",
            "structuredContent": { "three": 3 },
        });
        let text = ToolResult { failed: false, value, duration_ms: 1 }.text();
        for part in ["one", "two", "image/png", "{\"three\":3}", "four", "u:3", "five", "six"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("AAAA"));
        assert_eq!(tool_name("my server", "a.b"), "mcp__my_server__a_b");
    }
}

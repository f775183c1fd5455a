//! One message, read so strictly that every reader reads the same.
//!
//! JSON readers differ: of a repeated name some take the first value and some the last, some ignore
//! the case of names, some end a line at a carriage return. A message on which they would differ is
//! refused.

use crate::id_scanner::IdScanner;
use crate::request_id::RequestId;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// The most bytes of one message, its line's end included: 16 MiB.
pub const MAX_MESSAGE: usize = 16 << 20;

/// The most values of a message, names included: each takes a hundred times its two bytes in
/// memory.
const MAX_VALUES: usize = 500_000;

/// The names at the top of a message.
const NAMES: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];

/// The kinds of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Something that the other side answers.
    Request {
        /// Its id.
        id: RequestId,
        /// Its method.
        method: String,
    },
    /// Something that nobody answers.
    Notification {
        /// Its method.
        method: String,
    },
    /// An answer.
    Response {
        /// The request's id; `None` in an error about a message without a readable id.
        id: Option<RequestId>,
    },
}

/// A message with its original bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcMessage {
    /// Its kind.
    pub kind: MessageKind,
    /// Its content.
    pub object: Map<String, Value>,
    /// The line that it came in, with its end.
    pub bytes: Vec<u8>,
}

/// The reason why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct MessageError {
    /// The problem, in one line.
    pub problem: String,
    /// True if it is not JSON at all.
    pub is_syntax: bool,
    /// The message's id, if it has exactly one.
    pub id: Option<RequestId>,
}

impl RpcMessage {
    /// Reads a line.
    ///
    /// # Errors
    /// Fails if it is not a message, or one that readers could read in different ways.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, MessageError> {
        let fail = |is_syntax: bool, problem: String| MessageError {
            problem,
            is_syntax,
            id: IdScanner::scan(&bytes),
        };
        let value = parse_strictly(&bytes).map_err(|problem| fail(true, problem))?;
        let object = match value {
            Value::Object(object) => object,
            Value::Array(_) => {
                let problem = "batches of messages are not supported: send each alone";
                return Err(MessageError { id: None, ..fail(false, problem.into()) });
            }
            _ => return Err(fail(false, "a message has to be a JSON object".into())),
        };
        let kind = kind(&object).map_err(|problem| fail(false, problem))?;
        Ok(Self { kind, object, bytes })
    }

    /// Returns the parameters, if they are an object.
    #[must_use]
    pub fn params(&self) -> Option<&Map<String, Value>> {
        self.object.get("params").and_then(Value::as_object)
    }
}

fn kind(object: &Map<String, Value>) -> Result<MessageKind, String> {
    check_names(object, NAMES, "a message")?;
    let id = object.get("id").map(RequestId::from_value);
    let has = |name: &str| object.contains_key(name);
    let answers = has("result") || has("error");
    if has("result") && has("error") {
        // Only one of them would be reviewed, and a client may read the other.
        return Err("an answer has either `result` or `error`".into());
    }
    match (object.get("method"), id) {
        (Some(_), _) if answers => {
            Err("a message has either `method` or `result` and `error`".into())
        }
        (Some(Value::String(method)), Some(Some(id))) => {
            Ok(MessageKind::Request { id, method: method.clone() })
        }
        (Some(Value::String(_)), Some(None)) => {
            Err("`id` of a request has to be a text or a whole number below 2^53".into())
        }
        (Some(Value::String(method)), None) => {
            Ok(MessageKind::Notification { method: method.clone() })
        }
        (Some(_), _) => Err("`method` has to be a text".into()),
        (None, _) if !answers => Err("a message needs `method`, or `result` or `error`".into()),
        (None, id) => {
            let id = id.flatten();
            if id.is_none() && has("result") {
                return Err("a result needs the `id` of its request".into());
            }
            Ok(MessageKind::Response { id })
        }
    }
}

/// Refuses names that a reader which ignores their case would take for one of `known`.
pub(crate) fn check_names(
    object: &Map<String, Value>,
    known: &[&str],
    place: &str,
) -> Result<(), String> {
    let like = |name: &str| known.iter().find(|known| fold_case(name) == fold_case(known));
    let other = object.keys().filter(|name| !known.contains(&name.as_str()));
    for name in other {
        if let Some(known) = like(name) {
            return Err(format!(
                "{place} has the name `{}`, which some readers take for `{known}`",
                name.escape_debug()
            ));
        }
    }
    Ok(())
}

/// Returns a text as readers that ignore case compare it; the long s and the sign of the unit
/// kelvin count as letters for some of them.
pub(crate) fn fold_case(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

fn parse_strictly(bytes: &[u8]) -> Result<Value, String> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.contains(&b'\r') {
        return Err("a carriage return inside a message ends a line for some readers".into());
    }
    let text = std::str::from_utf8(line).map_err(|_| "the message is not UTF-8".to_owned())?;
    let count = Cell::new(0);
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = StrictValue(&count).deserialize(&mut reader);
    value
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| format!("the message is not valid JSON: {error}"))
}

/// Reads a value and refuses repeated names and too many values.
#[derive(Clone, Copy)]
struct StrictValue<'c>(&'c Cell<usize>);

impl StrictValue<'_> {
    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.set(self.0.get() + 1);
        if self.0.get() > MAX_VALUES {
            return Err(E::custom(format!("it has more than {MAX_VALUES} values")));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.count()?;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is too large"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.count()?;
            let value = members.next_value_seed(self)?;
            if object.contains_key(&name) {
                let shown: String = name.chars().take(64).collect();
                let problem = format!("the name `{}` is repeated", shown.escape_debug());
                return Err(A::Error::custom(problem));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RpcMessage, MessageError> {
        RpcMessage::parse(text.as_bytes().to_vec())
    }

    #[test]
    fn messages_have_one_meaning() {
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
            "{\"id\":\"a\",\"method\":\"tools\\/call\",\"params\":{}}\r\n",
            "{\"method\":\"notifications/initialized\"}",
            "{\"id\":1,\"result\":{}}",
            "{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}",
        ] {
            let message = parse(text).unwrap();
            assert_eq!(message.bytes, text.as_bytes());
        }
    }

    #[test]
    fn messages_with_two_meanings_are_refused() {
        for (text, part) in [
            (r#"{"method":"ping","method":"tools/call","id":1}"#, "`method` is repeated"),
            (r#"{"method":"ping","m\u0065thod":"tools/call","id":1}"#, "`method` is repeated"),
            (r#"{"id":1,"method":"x","params":{"a":{"b":1,"b":2}}}"#, "`b` is repeated"),
            (r#"{"id":1,"method":"ping","Method":"tools/call"}"#, "`Method`"),
            ("{\"id\":1,\"method\":\"ping\",\"param\u{17f}\":{}}", "`params`"),
            ("{\"id\":1,\r\"method\":\"ping\"}\n", "carriage return"),
            ("\u{feff}{\"id\":1,\"method\":\"ping\"}", "not valid JSON"),
            (r#"[{"id":1,"method":"tools/call"}]"#, "batches"),
            (r#"{"id":1.0,"method":"ping"}"#, "`id`"),
            (r#"{"id":9007199254740993,"method":"ping"}"#, "`id`"),
            (r#"{"id":null,"method":"tools/call"}"#, "`id`"),
            (r#"{"id":[1],"method":"tools/call"}"#, "`id`"),
            (r#"{"id":1,"method":["tools/call"]}"#, "`method`"),
            (r#"{"id":1,"method":"tools/call","result":{}}"#, "either"),
            (r#"{"id":1,"result":{},"error":{"code":1,"message":"x"}}"#, "either `result` or"),
            (r#"{"id":1,"error":null,"result":{}}"#, "either `result` or"),
            (r#"{"id":1}"#, "needs"),
            (r#"{"result":{}}"#, "needs the `id`"),
            (r#"{"id":1,"method":"x"} {"id":2,"method":"tools/call"}"#, "not valid JSON"),
            (r#"{"id":1,"method":"\ud800"}"#, "not valid JSON"),
            (r#"{"id":1,"method":"x","params":{"a":1e999}}"#, "not valid JSON"),
            ("7", "object"),
            ("", "not valid JSON"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.problem.contains(part), "{text}: {error}");
        }
        assert!(RpcMessage::parse(b"{\"id\":1,\"method\":\"\xff\"}".to_vec()).is_err());
        let deep = format!(r#"{{"id":1,"method":"x","params":{}"#, "[".repeat(100_000));
        assert!(parse(&deep).is_err());
        let many = format!(r#"{{"id":1,"method":"x","params":[{}0]}}"#, "0,".repeat(MAX_VALUES));
        let error = parse(&many).unwrap_err();
        assert!(error.problem.contains("values"), "{error}");
        assert_eq!(error.id, Some(RequestId::Number(1)));
    }
}

//! Arguments of calls that a tool's schema wants to see in a header too, since version 2026-07-28.

use data_encoding::BASE64;
use serde_json::{Map, Value};

/// The name in a schema that asks for a header.
const ANNOTATION: &str = "x-mcp-header";
/// The start of the headers' names.
const PREFIX: &str = "Mcp-Param-";
/// The members of a schema that hold values and no schemas.
const VALUES: &[&str] = &["const", "default", "enum", "examples"];
/// The most headers of one tool.
const MOST_HEADERS: usize = 64;
/// The deepest nesting of a schema.
const MOST_DEPTH: usize = 64;

/// An argument that is sent in a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MirroredArgument {
    /// The header's name.
    header: String,
    /// The names that lead to the argument.
    path: Vec<String>,
}

impl MirroredArgument {
    /// Finds those of a tool in a server's list.
    ///
    /// # Errors
    /// Fails with the reason if the schema asks for one that must not be: such a tool is left out.
    pub(crate) fn of_tool(tool: &Value) -> Result<Vec<Self>, String> {
        let mut found = Vec::new();
        if let Some(schema) = tool.get("inputSchema") {
            collect(schema, &mut Vec::new(), true, 0, &mut found)?;
        }
        for (number, argument) in found.iter().enumerate() {
            let before = found.iter().take(number);
            if before.into_iter().any(|other| other.header.eq_ignore_ascii_case(&argument.header)) {
                return Err(format!(
                    "two of its parameters ask for the header `{}`",
                    argument.header
                ));
            }
        }
        Ok(found)
    }

    /// Returns the header for a call; `None` if the call does not have the argument.
    pub(crate) fn header(&self, arguments: &Map<String, Value>) -> Option<(&str, String)> {
        let (first, rest) = self.path.split_first()?;
        let found = rest.iter().try_fold(arguments.get(first)?, |value, name| value.get(name))?;
        let text = match found {
            Value::String(text) => text.clone(),
            Value::Bool(_) => found.to_string(),
            Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
            _ => return None,
        };
        Some((&self.header, encode_header(&text)))
    }
}

/// Returns a text as the value of a header: in base64 if a header could not have it as it is.
pub(crate) fn encode_header(text: &str) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain { text.into() } else { format!("=?base64?{}?=", BASE64.encode(text.as_bytes())) }
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    is_reachable: bool,
    depth: usize,
    found: &mut Vec<MirroredArgument>,
) -> Result<(), String> {
    if depth > MOST_DEPTH || found.len() > MOST_HEADERS {
        return Err("its schema is too deep, or asks for too many headers".into());
    }
    match schema {
        Value::Array(items) => {
            items.iter().try_for_each(|item| collect(item, path, false, depth + 1, found))
        }
        Value::Object(object) => {
            if let Some(name) = object.get(ANNOTATION) {
                let header = check_annotation(name, object, is_reachable && !path.is_empty())?;
                found.push(MirroredArgument { header, path: path.clone() });
            }
            for (key, value) in object {
                match value {
                    Value::Object(properties) if key == "properties" => {
                        for (name, property) in properties {
                            path.push(name.clone());
                            collect(property, path, is_reachable, depth + 1, found)?;
                            path.pop();
                        }
                    }
                    _ if VALUES.contains(&key.as_str()) => {}
                    value => collect(value, path, false, depth + 1, found)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_annotation(
    name: &Value,
    schema: &Map<String, Value>,
    is_reachable: bool,
) -> Result<String, String> {
    let token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    let name = name.as_str().filter(|name| !name.is_empty() && name.bytes().all(token));
    let Some(name) = name else {
        return Err(format!("`{ANNOTATION}` in its schema is not the name of a header"));
    };
    let kind = schema.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("integer" | "string" | "boolean")) {
        return Err(format!("the header `{name}` is for a parameter that is not a simple value"));
    }
    if !is_reachable {
        return Err(format!("the header `{name}` is for a parameter without a fixed place"));
    }
    Ok(format!("{PREFIX}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(properties: Value) -> Value {
        json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } })
    }

    #[test]
    fn arguments_are_mirrored_from_their_place() {
        let tool = tool(json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "in": { "type": "object", "properties": { "n": { "type": "integer", "x-mcp-header": "N" } } },
            "x-mcp-header": { "type": "string", "default": { "x-mcp-header": 1 } },
        }));
        let mirrored = MirroredArgument::of_tool(&tool).unwrap();
        let headers = |arguments: Value| -> Vec<(String, String)> {
            let arguments = arguments.as_object().unwrap();
            let header = |argument: &MirroredArgument| {
                argument.header(arguments).map(|(n, v)| (n.to_owned(), v))
            };
            mirrored.iter().filter_map(header).collect()
        };
        let pair = |name: &str, value: &str| (format!("Mcp-Param-{name}"), value.to_owned());
        assert_eq!(
            headers(json!({ "region": "us-west1", "in": { "n": 4 } })),
            [pair("Region", "us-west1"), pair("N", "4")]
        );
        assert_eq!(headers(json!({ "region": null, "in": {} })), []);
        assert_eq!(headers(json!({ "region": "ä" })), [pair("Region", "=?base64?w6Q=?=")]);
        for text in [" padded ", "a\r\nHost: x", "=?base64?x?="] {
            let value = encode_header(text);
            assert!(value.starts_with("=?base64?") && !value.contains(['\r', '\n']), "{value}");
        }
    }

    #[test]
    fn tools_that_ask_for_headers_in_a_wrong_way_are_found() {
        for properties in [
            json!({ "a": { "type": "string", "x-mcp-header": "" } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A\r\nHost: x" } }),
            json!({ "a": { "type": "string", "x-mcp-header": 1 } }),
            json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
            json!({ "a": { "x-mcp-header": "A" } }),
            json!({ "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } }),
            json!({ "a": { "anyOf": [{ "type": "string", "x-mcp-header": "A" }] } }),
            json!({ "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } }),
        ] {
            let tool = tool(properties);
            assert!(MirroredArgument::of_tool(&tool).is_err(), "{tool}");
        }
    }
}

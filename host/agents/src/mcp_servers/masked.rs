//! Documents as they are shown: without the credentials of servers.

use super::McpServer;
use super::secret_arguments::find_secret_words;
use crate::json::{JsonDocument, escape_name};
use serde_json::Value;

/// The parts of an entry that are credentials, or hold some.
const MASKED: &[&str] = &["headers", "env", "url", "httpUrl", "serverUrl"];
/// The text in place of a credential.
const MASK: &str = "...";

/// Returns a document with a mask in place of the addresses, headers and variables of servers, and
/// of those of their arguments that may be credentials;
/// `None` if one of them could stay.
///
/// They are found by their place: a text may be written in several ways.
#[must_use]
pub fn mask_servers(document: &JsonDocument, servers: &[McpServer]) -> Option<JsonDocument> {
    // The place of a repeated name is only one of them, and a comment can hold an old credential.
    if !document.repeated().is_empty() || document.has_comment("") {
        return None;
    }
    let mut masked = document.clone();
    for server in servers {
        for name in MASKED {
            let place = format!("{}/{name}", server.pointer);
            let places = match server.entry.get(*name) {
                None => continue,
                Some(Value::Object(members)) => {
                    let place = |member: &String| format!("{place}/{}", escape_name(member));
                    members.keys().map(place).collect()
                }
                Some(_) => vec![place],
            };
            for place in places {
                masked = masked.replace_value(&place, &MASK.into()).ok()?;
            }
        }
        for place in secret_arguments(server) {
            masked = masked.replace_value(&place, &MASK.into()).ok()?;
        }
    }
    Some(masked)
}

/// Returns the places of a server's arguments that may be credentials. Arguments of an odd form are
/// all hidden.
fn secret_arguments(server: &McpServer) -> Vec<String> {
    let place = format!("{}/args", server.pointer);
    let Some(arguments) = server.entry.get("args") else { return Vec::new() };
    let words: Option<Vec<&str>> =
        arguments.as_array().and_then(|words| words.iter().map(Value::as_str).collect());
    match words {
        Some(words) => {
            let found = find_secret_words(&words).into_iter();
            found.map(|index| format!("{place}/{index}")).collect()
        }
        None => vec![place],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_servers::find_servers;

    fn masked(text: &str) -> Option<String> {
        let document = JsonDocument::parse_document(text.as_bytes()).unwrap();
        let servers = find_servers(&document, &["/mcpServers"]);
        let masked = mask_servers(&document, &servers)?;
        Some(String::from_utf8(masked.bytes()).unwrap())
    }

    #[test]
    fn a_document_with_a_comment_is_not_shown() {
        use crate::json::JsonSyntax;
        for text in ["{/* API_KEY=abc */}", "{\"mcpServers\":{}} // abc", "// abc\n{}"] {
            let read = |syntax| JsonDocument::parse_syntax(text.as_bytes(), syntax);
            assert!(read(JsonSyntax::Strict).is_err(), "{text}");
            let document = read(JsonSyntax::WithComments).unwrap();
            assert_eq!(mask_servers(&document, &[]).map(|shown| shown.bytes()), None, "{text}");
        }
    }

    #[test]
    fn credentials_of_servers_are_masked_by_their_place() {
        assert_eq!(
            masked(
                r#"{"mcpServers":{"a/b":{"url":"https://x/?k=s","headers":{"X\u002dA":"\u0073","c/d":"s"},"env":{"K":"s","N":1}}},"url":"u"}"#
            )
            .unwrap(),
            r#"{"mcpServers":{"a/b":{"url":"...","headers":{"X\u002dA":"...","c/d":"..."},"env":{"K":"...","N":"..."}}},"url":"u"}"#
        );
        assert_eq!(
            masked(
                r#"{"mcpServers":{"a":{"command":"x","args":["-y","--token","s","k=v"]},"b":{"args":["-y",{"s":1}]}}}"#
            )
            .unwrap(),
            r#"{"mcpServers":{"a":{"command":"x","args":["-y","--token","...","k=v"]},"b":{"args":"..."}}}"#
        );
        let plain = r#"{"mcpServers":{"a":{"command":"x","args":["y"]},"b":3}}"#;
        assert_eq!(masked(plain).unwrap(), plain);
        assert_eq!(masked(r#"{"mcpServers":{"a":{"url":"s","url":"t"}}}"#), None);
    }
}

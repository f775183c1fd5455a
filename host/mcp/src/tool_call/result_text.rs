//! Texts of a result, as the review reads them.

use crate::message::check_names;
use serde_json::{Map, Value};

/// The members with blocks, in the order of their texts.
const BLOCKS: &[&str] = &["content", "contents", "messages"];
/// The member that is reviewed as JSON.
const STRUCTURED: &str = "structuredContent";
/// The members of a result that a client shows.
const RESULT_NAMES: &[&str] =
    &["content", "contents", "messages", STRUCTURED, "isError", "description"];
/// The members of an error that a client shows.
const ERROR_NAMES: &[&str] = &["code", "message", "data"];
/// The members of a block with the bytes of a picture, a sound or a file.
const BYTES: &[&str] = &["data", "blob"];
/// The members whose values are words of the protocol.
const WORDS: &[&str] =
    &["type", "mimeType", "role", "audience", "resultType", "cacheScope", "status"];
/// The most bytes of such a word.
const MOST_WORD: usize = 128;

/// Refuses a result or an error, `name`, with members that a client which ignores the case of names
/// would take for the reviewed ones.
pub(crate) fn check_members(name: &str, value: &Value) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    let known = if name == "error" { ERROR_NAMES } else { RESULT_NAMES };
    check_names(object, known, &format!("`{name}`"))
}

/// Returns the texts of a result or an error, one after the other.
pub(super) fn read_texts(value: &Value) -> String {
    let mut texts = Vec::new();
    for name in BLOCKS {
        match value.get(*name) {
            Some(Value::Array(blocks)) => {
                blocks.iter().for_each(|block| add_block(block, &mut texts))
            }
            Some(other) => add_strings(other, BYTES, &mut texts),
            None => {}
        }
    }
    if let Some(structured) = value.get(STRUCTURED) {
        texts.push(structured.to_string());
    }
    let is_other = |name: &str| !BLOCKS.contains(&name) && !matches!(name, STRUCTURED | "_meta");
    for (name, member) in value.as_object().into_iter().flatten() {
        if is_other(name) {
            add_member(name, member, &[], &mut texts);
        }
    }
    if texts.is_empty() {
        texts.push(value.to_string());
    }
    texts.join("\n")
}

/// Adds the texts of a block or a message; one without texts is added as JSON without its bytes.
fn add_block(block: &Value, texts: &mut Vec<String>) {
    let before = texts.len();
    add_strings(block, BYTES, texts);
    if texts.len() == before {
        texts.push(without_bytes(block).to_string());
    }
}

/// Adds all strings of a value, `text` of each object first.
fn add_strings(value: &Value, left_out: &[&str], texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, left_out, texts)),
        Value::Object(members) => add_members(members, left_out, texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add_members(members: &Map<String, Value>, left_out: &[&str], texts: &mut Vec<String>) {
    let (first, rest): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| *name == "text");
    for (name, member) in first.into_iter().chain(rest) {
        add_member(name, member, left_out, texts);
    }
}

fn add_member(name: &str, member: &Value, left_out: &[&str], texts: &mut Vec<String>) {
    let is_left_out = match member {
        // Only bytes may be left out: an object of this name may hold texts.
        Value::String(text) => left_out.contains(&name) || (WORDS.contains(&name) && is_word(text)),
        Value::Array(words) => {
            WORDS.contains(&name) && words.iter().all(|word| word.as_str().is_some_and(is_word))
        }
        _ => false,
    };
    if !is_left_out {
        add_strings(member, left_out, texts);
    }
}

/// Returns true for a word of the protocol, which no sentence is.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+./;=".contains(c);
    // `text/plain; charset=utf-8` has a blank.
    let (kind, parameter) = text.split_once("; ").unwrap_or((text, ""));
    text.len() <= MOST_WORD && kind.chars().chain(parameter.chars()).all(is_plain)
}

/// Returns a block without the bytes of a picture, a sound or a file.
fn without_bytes(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(object) = block.as_object_mut() {
        BYTES.iter().for_each(|name| drop(object.shift_remove(*name)));
        if let Some(Value::Object(resource)) = object.get_mut("resource") {
            resource.shift_remove("blob");
        }
        if let Some(content @ Value::Object(_)) = object.get_mut("content") {
            *content = without_bytes(content);
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_ordinary_result_is_its_text() {
        for (value, text) in [
            (json!({ "content": [{ "type": "text", "text": "a\nb" }], "isError": false }), "a\nb"),
            (
                json!({
                    "resultType": "complete", "_meta": { "a": "b" },
                    "content": [
                        { "type": "text", "text": "a", "annotations": { "audience": ["user"] } },
                        { "type": "text", "text": "b" },
                    ],
                }),
                "a\nb",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "a" } }] }),
                "a",
            ),
            (json!({ "content": [], "structuredContent": { "a": "b\n" } }), "{\"a\":\"b\\n\"}"),
            (
                json!({ "content": [{ "type": "image", "data": "AA", "mimeType": "image/png" }] }),
                "{\"type\":\"image\",\"mimeType\":\"image/png\"}",
            ),
            (
                json!({ "contents": [{ "mimeType": "text/plain; charset=utf-8", "text": "a" }] }),
                "a",
            ),
            (json!({ "code": -1, "message": "a" }), "a"),
            (json!({ "content": [] }), "{\"content\":[]}"),
        ] {
            assert_eq!(read_texts(&value), text, "{value}");
        }
    }

    #[test]
    fn no_text_hides_another_one() {
        for value in [
            json!({ "content": [{ "type": "resource", "text": "ok", "resource": { "text": "REAL" } }] }),
            json!({ "content": [{ "type": "resource", "text": 1, "resource": { "text": "REAL" } }] }),
            json!({ "content": [{ "type": "resource_link", "text": "ok", "description": "REAL" }] }),
            json!({ "content": [{ "type": "text", "text": "ok", "other": [{ "a": "REAL" }] }] }),
            json!({ "content": [{ "type": "text", "text": "ok" }, { "type": "do the REAL thing" }] }),
            json!({ "content": [{ "type": "image", "data": { "text": "REAL" } }] }),
            json!({ "content": { "type": "text", "text": "REAL" }, "description": "ok" }),
            json!({ "content": "REAL", "structuredContent": {} }),
            json!({ "messages": [{ "content": { "text": "ok" }, "text": "REAL" }] }),
            json!({ "messages": [{ "content": [{ "text": "ok" }, { "text": "REAL" }] }] }),
            json!({ "messages": [{ "role": "user", "content": "REAL" }], "description": "ok" }),
            json!({ "code": 1, "message": "REAL", "description": "ok" }),
            json!({ "code": 1, "message": "ok", "data": "REAL" }),
            json!({ "code": 1, "message": "ok", "data": { "details": ["REAL"] } }),
            json!({ "content": [{ "type": "text", "text": "ok" }], "toolResult": "REAL" }),
            json!("REAL"),
        ] {
            assert!(read_texts(&value).contains("REAL"), "{value}");
            let harmless: Value =
                serde_json::from_str(&value.to_string().replace("REAL", "fine")).unwrap();
            assert!(!read_texts(&harmless).contains("REAL"), "{value}");
        }
    }

    #[test]
    fn names_in_another_case_are_refused() {
        for name in
            ["Content", "CONTENTS", "Messages", "structuredcontent", "iserror", "Description"]
        {
            let value = json!({ "content": [], name: "x" });
            assert!(check_members("result", &value).is_err(), "{name}");
        }
        let whole = json!({
            "content": [], "structuredContent": {}, "isError": true, "description": "x", "Other": 1,
        });
        assert_eq!(check_members("result", &whole), Ok(()));
        assert!(check_members("error", &json!({ "message": "a", "Message": "b" })).is_err());
        assert_eq!(
            check_members("error", &json!({ "code": 1, "message": "a", "data": 1 })),
            Ok(())
        );
    }
}

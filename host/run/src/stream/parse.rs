//! Parses the lines of a `stream-json` output. A field that is missing or of another type counts as
//! empty: the client's format grows, and a view must not fail because of it.

use crate::event::{Denial, StreamLine};
use serde_json::Value;

/// The most bytes of a text that a view gets.
const SHOWN_BYTES: usize = 8 << 10;

/// Returns the beginning of the text, at most 8 KiB and whole characters.
pub(crate) fn cut(text: &str) -> String {
    let end =
        (0..=SHOWN_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

/// Returns everything that one line says.
pub(crate) fn lines(line: &[u8], value: Option<Value>) -> Vec<StreamLine> {
    let Some(value) = value.filter(Value::is_object) else {
        return vec![StreamLine::Words(cut(&String::from_utf8_lossy(line)))];
    };
    let kind = text(&value, "type");
    match kind.as_str() {
        "assistant" => {
            blocks(&value).iter().filter_map(|block| said(block, nested(&value))).collect()
        }
        "user" => blocks(&value).iter().filter_map(done).collect(),
        "system" => vec![system(&value)],
        "result" => vec![result(&value)],
        "control_request" | "control_response" | "control_cancel_request" => {
            vec![StreamLine::Control(value)]
        }
        _ => vec![StreamLine::Other(kind)],
    }
}

fn said(block: &Value, nested: bool) -> Option<StreamLine> {
    match text(block, "type").as_str() {
        "text" => Some(StreamLine::Text { text: text(block, "text"), nested }),
        "tool_use" => Some(StreamLine::Tool {
            id: text(block, "id"),
            name: text(block, "name"),
            input: cut(&block.get("input").map(Value::to_string).unwrap_or_default()),
            nested,
        }),
        _ => None,
    }
}

fn done(block: &Value) -> Option<StreamLine> {
    (text(block, "type") == "tool_result").then(|| StreamLine::Done {
        id: text(block, "tool_use_id"),
        failed: flag(block, "is_error"),
        text: match block.get("content") {
            Some(Value::String(text)) => cut(text),
            Some(Value::Array(parts)) => {
                cut(&parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join("\n"))
            }
            _ => String::new(),
        },
    })
}

fn system(value: &Value) -> StreamLine {
    match text(value, "subtype").as_str() {
        "init" => StreamLine::Session {
            id: text(value, "session_id"),
            model: text(value, "model"),
            mode: text(value, "permissionMode"),
        },
        "informational" => StreamLine::Notice(text(value, "content")),
        other => StreamLine::Other(cut(&format!("system/{other}"))),
    }
}

fn result(value: &Value) -> StreamLine {
    let denials = value.get("permission_denials").and_then(Value::as_array);
    StreamLine::Result {
        failed: flag(value, "is_error"),
        reason: text(value, "terminal_reason"),
        // The answer to the prompt: a caller that prints it needs all of it.
        text: value.get("result").and_then(Value::as_str).unwrap_or_default().to_owned(),
        denials: denials
            .into_iter()
            .flatten()
            .map(|denial| Denial {
                id: text(denial, "tool_use_id"),
                name: text(denial, "tool_name"),
            })
            .collect(),
    }
}

fn blocks(value: &Value) -> &[Value] {
    value
        .get("message")
        .and_then(|message| message.get("content"))
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn nested(value: &Value) -> bool {
    value.get("parent_tool_use_id").is_some_and(Value::is_string)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).map(cut).unwrap_or_default()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_BYTES, cut, lines};
    use crate::event::{Denial, StreamLine};

    fn read(line: &str) -> Vec<StreamLine> {
        lines(line.as_bytes(), serde_json::from_str(line).ok())
    }

    #[test]
    fn each_line_says_what_it_says() {
        let text = |text: &str, nested| StreamLine::Text { text: text.to_owned(), nested };
        let rows = [
            (
                r#"{"type":"system","subtype":"init","session_id":"s","model":"m","permissionMode":"default"}"#,
                vec![StreamLine::Session {
                    id: "s".to_owned(),
                    model: "m".to_owned(),
                    mode: "default".to_owned(),
                }],
            ),
            (
                r#"{"type":"system","subtype":"informational","content":"PreToolUse:Bash says: no"}"#,
                vec![StreamLine::Notice("PreToolUse:Bash says: no".to_owned())],
            ),
            (
                r#"{"type":"system","subtype":"hook_started"}"#,
                vec![StreamLine::Other("system/hook_started".to_owned())],
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}"#,
                vec![
                    text("I look", false),
                    StreamLine::Tool {
                        id: "t".to_owned(),
                        name: "Bash".to_owned(),
                        input: r#"{"command":"ls"}"#.to_owned(),
                        nested: false,
                    },
                ],
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]},"parent_tool_use_id":"p"}"#,
                vec![text("x", true)],
            ),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no"},{"type":"tool_result","tool_use_id":"u","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}}"#,
                vec![
                    StreamLine::Done { id: "t".to_owned(), failed: true, text: "no".to_owned() },
                    StreamLine::Done { id: "u".to_owned(), failed: false, text: "a\nb".to_owned() },
                ],
            ),
            (
                r#"{"type":"result","is_error":false,"terminal_reason":"completed","result":"done","permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{}}]}"#,
                vec![StreamLine::Result {
                    failed: false,
                    reason: "completed".to_owned(),
                    text: "done".to_owned(),
                    denials: vec![Denial { id: "t".to_owned(), name: "Bash".to_owned() }],
                }],
            ),
            (
                r#"{"type":"control_request","request_id":"1"}"#,
                vec![StreamLine::Control(
                    serde_json::json!({"type": "control_request", "request_id": "1"}),
                )],
            ),
            (r#"{"type":"assistant","message":7}"#, vec![]),
            (r#"{"type":7}"#, vec![StreamLine::Other(String::new())]),
            ("[1]", vec![StreamLine::Words("[1]".to_owned())]),
            ("plain words", vec![StreamLine::Words("plain words".to_owned())]),
        ];
        for (line, expected) in rows {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let long = "\u{e4}".repeat(SHOWN_BYTES);
        assert_eq!(cut(&format!("x{long}")).len(), SHOWN_BYTES - 1);
        let last = serde_json::json!({"type": "result", "result": long}).to_string();
        assert!(
            matches!(&read(&last)[..], [StreamLine::Result { text, .. }] if *text == long),
            "the last words are whole"
        );
        assert_eq!(cut("short"), "short");
    }
}

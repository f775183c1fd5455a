//! A message as the JSON that Slack accepts at an incoming webhook, and many other services too.
//!
//! Slack shows the blocks; others, Mattermost among them, show only `text` and interpret it as
//! their own markup. So the blocks are plain text, and `text` is in a code block, in which neither
//! markup nor mentions are interpreted. In both, `&`, `<` and `>` are escaped, since Slack writes
//! links and mentions with them, and `@` is replaced by its full-width form: no text of an agent
//! can mention anybody.

use crate::message::Notification;
use serde_json::{Value, json};

/// Slack's limits, in characters, counted after escaping.
const HEADER: usize = 150;
const SECTION: usize = 3000;

pub(crate) fn render(message: &Notification) -> Value {
    let plain = |text: &str, limit: usize| {
        json!({
            "type": "plain_text",
            "text": escaped(text, limit),
            "emoji": false,
        })
    };
    let paragraphs = message.paragraphs();
    let mut blocks = vec![json!({ "type": "header", "text": plain(&message.headline(), HEADER) })];
    blocks.extend(
        paragraphs.iter().map(|text| json!({ "type": "section", "text": plain(text, SECTION) })),
    );
    // A backtick could end the code block.
    let text = format!("{}\n\n{}", message.headline(), paragraphs.join("\n\n")).replace('`', "'");
    json!({ "text": format!("```\n{}\n```", escaped(&text, 4 * SECTION)), "blocks": blocks })
}

/// Escapes a text and cuts it at a whole character, so that no escape is split.
fn escaped(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for c in text.chars() {
        let mut own = [0; 4];
        let written: &str = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '@' => "\u{ff20}",
            c => c.encode_utf8(&mut own),
        };
        length += written.chars().count();
        if length >= limit {
            out.push('\u{2026}');
            break;
        }
        out.push_str(written);
    }
    out
}

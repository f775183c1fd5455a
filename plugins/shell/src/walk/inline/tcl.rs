//! Tcl's orders: the programs that they start, and the files that they open.

use super::super::expand::Field;
use super::super::feed::Feed;
use super::super::{Setting, Walker};
use crate::types::EffectKind;

/// The maximum number of orders that are looked at.
const ORDERS: usize = 1024;

impl Walker<'_> {
    /// Follows the programs that Tcl starts. A program's words are the rest of its line, and a
    /// brace or a bracket around them is Tcl's own.
    pub(super) fn tcl(&mut self, field: &Field, command: Option<u32>, setting: &Setting) -> Feed {
        let mut text = field.text.clone();
        for home in ["$env(HOME)", "$::env(HOME)", "[file home]"] {
            text = text.replace(home, "~");
        }
        let text = joined_paths(&text);
        let orders: Vec<&str> =
            text.split(['\n', ';', '[', ']', '{', '}']).map(str::trim).take(ORDERS).collect();
        let connects = orders.iter().any(|order| order.starts_with("socket "));
        if connects && text.contains("exec") {
            self.out.form("remote-shell", command);
            self.plain(EffectKind::UnseenCode, "", false, command, setting);
        }
        for order in &orders {
            let words = ["exec ", "spawn ", "system ", "open \"|", "open |"];
            let program = words.iter().find_map(|word| order.strip_prefix(word));
            let removed = order.strip_prefix("file delete ");
            let moved = ["file rename ", "file copy "].iter().find_map(|o| order.strip_prefix(o));
            let nested = if let Some(text) = program {
                let text = text.trim_start_matches("-ignorestderr ").trim_start_matches("-- ");
                text.trim_end_matches('"').to_owned()
            } else if let Some(words) = removed {
                format!("rm -r {}", words.replace("-force", "-f"))
            } else if let Some(words) = moved {
                let verb = if order.starts_with("file copy") { "cp -r" } else { "mv" };
                format!("{verb} {}", words.replace("-force", "-f"))
            } else {
                self.tcl_file(order, field, command, setting);
                continue;
            };
            self.nested(&Field { text: nested, ..field.clone() }, "code", setting);
        }
        Feed::default()
    }

    fn tcl_file(&mut self, order: &str, field: &Field, command: Option<u32>, setting: &Setting) {
        let mut words = order.split_whitespace().map(|word| word.trim_matches('"'));
        let (first, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let known = !name.contains('$');
        let text = super::at_home(name, self.home);
        let text = if known { text } else { super::unknown_text() };
        let word = Field { text, known, ..field.clone() };
        match first {
            "open" if !name.is_empty() => {
                let writes = words.next().is_some_and(|mode| mode.contains(['w', 'a', '+']));
                if writes {
                    self.writes_in_code(&word, command, setting);
                } else {
                    self.file(EffectKind::FileRead, &word, false, command, setting);
                }
            }
            "source" if !name.is_empty() => {
                self.file(EffectKind::FileRead, &word, false, command, setting);
            }
            "socket" if !name.starts_with('-') => self.network(&word, command, setting),
            _ => {}
        }
    }
}

/// Writes `[file join a b]` as `a/b`.
fn joined_paths(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut left = text;
    while let Some((before, rest)) = left.split_once("[file join ") {
        let Some((parts, after)) = rest.split_once(']') else { break };
        whole.push_str(before);
        whole.push_str(&parts.split_whitespace().collect::<Vec<_>>().join("/"));
        left = after;
    }
    whole + left
}

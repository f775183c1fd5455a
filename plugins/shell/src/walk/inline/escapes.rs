//! Languages that only compute, but for a few orders that go to a shell: `dc` and `m4`.

use super::super::expand::Field;
use super::super::feed::Feed;
use super::super::{Setting, Walker};

/// The maximum number of orders that are followed.
const ORDERS: usize = 256;

impl Walker<'_> {
    /// Follows the orders of such a text that go to a shell.
    pub(super) fn escapes(&mut self, language: &str, field: &Field, setting: &Setting) -> Feed {
        let orders: Vec<String> = if language == "dc" {
            let after = |line: &str| line.split_once('!').map(|(_, rest)| rest.to_owned());
            // `!<x`, `!>x` and `!=x` compare numbers in dc; any other `!` goes to a shell.
            let compares = |text: &String| text.starts_with(['<', '>', '=']);
            field.text.lines().filter_map(after).filter(|text| !compares(text)).collect()
        } else {
            // The word is the end of `esyscmd` as well.
            let pieces = field.text.split("syscmd").skip(1);
            pieces.filter_map(|piece| piece.trim_start().strip_prefix('(')).map(argument).collect()
        };
        for text in orders.into_iter().take(ORDERS) {
            self.nested(&Field { text, ..field.clone() }, "code", setting);
        }
        Feed::default()
    }
}

/// Returns the text up to the bracket that closes it, without the quotes of `m4`.
fn argument(rest: &str) -> String {
    let mut depth = 1;
    let mut end = rest.len();
    for (at, c) in rest.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            end = at;
            break;
        }
    }
    let text = rest.get(..end).unwrap_or(rest);
    text.trim().trim_matches(['`', '[', ']', '\'']).to_owned()
}

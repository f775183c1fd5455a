//! Differences of texts, line by line.
//!
//! Lines keep their signs: colour never carries meaning alone.

use crate::Html;
use portcullis_core::text::{list_lines, one_line};
use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// The most lines that are shown.
const MOST_LINES: usize = 300;
/// The most bytes of a line that are shown.
const MOST_LINE: usize = 400;
/// The most bytes of a printed difference that are shown: more than an approval keeps.
const MOST_PRINTED: usize = 256 << 10;
/// The time after which a shorter difference is no longer looked for.
const PATIENCE: Duration = Duration::from_millis(200);

/// Draws a difference as `diff -u` prints it, whole: somebody decides about it.
#[must_use]
pub fn draw_printed_diff(diff: &str) -> Html {
    let mut html = Html::from_template("<pre class=\"diff\">", &[]);
    for line in list_lines(diff, MOST_PRINTED).lines() {
        let template = match line.chars().next() {
            Some('-') => "<del>{}</del>\n",
            Some('+') => "<ins>{}</ins>\n",
            Some(' ') => "{}\n",
            _ => "<b>{}</b>\n",
        };
        html.put_template(template, &[&line]);
    }
    html.put_template("</pre>", &[]);
    html
}

/// Draws the difference of two texts, each line escaped and cut.
#[must_use]
pub fn draw_diff(before: &str, after: &str) -> Html {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let mut html = Html::from_template("<pre class=\"diff\">", &[]);
    let mut shown = 0;
    'hunks: for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        html.put_template("<b>{}</b>\n", &[&hunk.header()]);
        for change in hunk.iter_changes() {
            if shown == MOST_LINES {
                html.put_template("<b>only the first {} lines are shown</b>\n", &[&MOST_LINES]);
                break 'hunks;
            }
            shown += 1;
            let line = one_line(change.value().trim_end_matches(['\r', '\n']), MOST_LINE);
            let template = match change.tag() {
                ChangeTag::Delete => "<del>-{}</del>\n",
                ChangeTag::Insert => "<ins>+{}</ins>\n",
                ChangeTag::Equal => " {}\n",
            };
            html.put_template(template, &[&line]);
        }
    }
    html.put_template("</pre>", &[]);
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_signs_and_stay_text() {
        for (before, after, expected) in [
            ("a\n", "a\n", "<pre class=\"diff\"></pre>"),
            (
                "a\nb\n",
                "a\n<b>\n",
                "<pre class=\"diff\"><b>@@ -1,2 +1,2 @@</b>\n a\n<del>-b</del>\n\
                 <ins>+&lt;b&gt;</ins>\n</pre>",
            ),
            (
                "",
                "\u{202e}x\n",
                "<pre class=\"diff\"><b>@@ -0,0 +1 @@</b>\n<ins>+\\u{202e}x</ins>\n</pre>",
            ),
        ] {
            assert_eq!(draw_diff(before, after).as_str(), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_printed_one_is_whole_and_stays_text() {
        let drawn = draw_printed_diff("@@ -1,2 +1,2 @@\n a\n-b\n+<b>\n\\ No newline\n");
        let expected = "<pre class=\"diff\"><b>@@ -1,2 +1,2 @@</b>\n a\n<del>-b</del>\n\
                        <ins>+&lt;b&gt;</ins>\n<b>\\ No newline</b>\n</pre>";
        assert_eq!(drawn.as_str(), expected);
        let long = (0..1000).map(|at| format!("+{at}\n")).collect::<String>();
        assert!(draw_printed_diff(&long).as_str().contains("<ins>+999</ins>"));
    }

    #[test]
    fn a_long_one_is_cut() {
        let lines = |word: &str| (0..1000).map(|at| format!("{word}{at}\n")).collect::<String>();
        let drawn = draw_diff(&lines("a"), &lines("b"));
        assert!(drawn.as_str().contains("only the first 300 lines are shown"));
        assert!(drawn.as_str().lines().count() < MOST_LINES + 10);
        let wide = draw_diff("", &"x".repeat(100_000));
        assert!(wide.as_str().len() < 1000);
    }
}

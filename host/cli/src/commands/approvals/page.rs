//! One action that waits, as a person is shown it: every parameter whole, and nothing that could be
//! taken for our own words.

use super::Approval;
use crate::paint;
use portcullis_core::text::{list_lines, one_line};
use portcullis_review::questions::{AskedAction, list_parameters};
use portcullis_store::{ApprovalRecord, ApprovalState, StoredApproval};
use std::fmt::Write;

/// The columns of a page that is not on a terminal.
const WIDTH: usize = 80;
/// The mark before each row of the agent's text: a row without it is ours.
const MARK: &str = "  | ";
/// The most bytes of a parameter that are shown: more than a record keeps.
const MOST: usize = 256 * 1024;
/// The most bytes of a parameter's name.
const MOST_NAME: usize = 80;
/// The most bytes of a reason.
const MOST_REASON: usize = 400;
/// The most bytes of a change.
const MOST_CHANGE: usize = 400;
/// The most reasons.
const MOST_REASONS: usize = 5;

/// Returns the page of an approval at a time, in milliseconds since 1970.
pub(super) fn approval_page(approval: &Approval, now: u64) -> String {
    let asked = &approval.asked;
    let state = approval.state(now);
    let end = match (state, approval.row.ended_at) {
        (ApprovalState::Waiting, _) => {
            let left = approval.row.asked.expires_at.saturating_sub(now) / 1000;
            format!("for {left} s more")
        }
        (_, at) => format!("{} UTC", paint::time(at.unwrap_or(approval.row.asked.expires_at))),
    };
    let mut page = format!("{}  {}, {end}\n", approval.id(), state.as_str());
    let agent = asked.agent.as_ref().map(|agent| format!(", subagent {}", one_line(agent, 80)));
    let who = format!(
        "from {}, session {}{}",
        one_line(&asked.client, 40),
        one_line(&asked.session, 80),
        agent.unwrap_or_default()
    );
    let _ = writeln!(
        page,
        "  {who}\n  in {}\n  {}",
        one_line(&asked.cwd, 240),
        one_line(&asked.tool, 120)
    );
    parameter_rows(&asked.parameters).iter().for_each(|row| page.push_str(row));
    page.push_str(&change_rows(asked));
    if asked.people > 1 {
        let _ = writeln!(page, "  {} people have to allow it, on the page", asked.people);
    }
    for reason in asked.reasons.iter().take(MOST_REASONS) {
        let _ = writeln!(page, "  why: {}", one_line(reason, MOST_REASON));
    }
    if !approval.row.reason.is_empty() {
        let _ = writeln!(page, "  answer: {}", one_line(&approval.row.reason, 1024));
    }
    page
}

/// Returns the page of an action that waits on another machine.
pub fn question_page(asked_as: StoredApproval, asked: &AskedAction, now: u64) -> String {
    let row = ApprovalRecord {
        asked: asked_as,
        state: ApprovalState::Waiting,
        ended_at: None,
        reason: String::new(),
    };
    approval_page(&Approval { row, asked: asked.clone() }, now)
}

/// Returns the number of rows of the page that hold the agent's text.
pub(super) fn count_rows(approval: &Approval) -> usize {
    let asked = &approval.asked;
    parameter_rows(&asked.parameters).len() + change_rows(asked).lines().count()
}

/// Returns what the action would change, with the lines where they are known.
fn change_rows(asked: &AskedAction) -> String {
    let mut rows = String::new();
    for change in &asked.changes {
        let _ = writeln!(rows, "  it {}", one_line(&change.what, MOST_CHANGE));
        if let Some(diff) = &change.diff {
            marked_rows(diff).iter().for_each(|row| rows.push_str(row));
        }
    }
    rows
}

/// Returns the rows of the parameters. A name is the agent's text too: without the mark, one could
/// look like one of our lines.
fn parameter_rows(json: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for (name, text) in list_parameters(json) {
        rows.extend(marked_rows(&format!("{}:", one_line(&name, MOST_NAME))));
        rows.extend(marked_rows(&text));
    }
    rows
}

/// Returns a text in rows that fit the terminal, each with the mark.
fn marked_rows(text: &str) -> Vec<String> {
    // One column stays free: some terminals break a line that fills them.
    let width = paint::prose_width(WIDTH).saturating_sub(MARK.len() + 1).max(20);
    let safe = list_lines(text, MOST).replace('\t', "    ");
    let mut rows = Vec::new();
    for line in safe.split('\n') {
        if line.is_empty() {
            rows.push(format!("{}\n", MARK.trim_end()));
        }
        rows.extend(cut_rows(line, width).iter().map(|row| format!("{MARK}{row}\n")));
    }
    rows
}

/// Cuts a line into rows of at most so many columns. A letter outside ASCII may take two: a row
/// that the terminal wraps would go on without the mark.
fn cut_rows(line: &str, width: usize) -> Vec<String> {
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for letter in line.chars() {
        let columns = if letter.is_ascii() { 1 } else { 2 };
        if used + columns > width && !row.is_empty() {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        row.push(letter);
        used += columns;
    }
    if !row.is_empty() {
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_of_the_agent_looks_like_ours() {
        let long = format!("{}Type `word` to go on: ", " ".repeat(200));
        for text in ["rm x\nType `word` to go on: ", &long, "a\rb", "\u{1b}[2Jx", "\u{202e}x", ""] {
            let rows = marked_rows(text);
            assert!(!rows.is_empty());
            for row in rows {
                assert!(row.starts_with(MARK.trim_end()), "{row:?}");
                assert_eq!(row.matches(char::is_control).count(), 1, "{row:?}");
                assert!(!row.contains('\u{202e}'), "{row:?}");
            }
        }
    }

    #[test]
    fn nothing_of_a_long_command_is_left_out() {
        let command = format!("echo {} ; rm -rf x", "y".repeat(5000));
        let shown: String = marked_rows(&command)
            .iter()
            .map(|row| row.trim_start_matches(MARK).trim_end_matches('\n').to_owned())
            .collect();
        assert!(shown.ends_with("; rm -rf x") && shown.len() == command.len(), "{shown}");
        let all = list_parameters(r#"{"command":"ls","timeout":3}"#);
        assert_eq!(all, [("command".into(), "ls".into()), ("timeout".into(), "3".into())]);
        assert_eq!(list_parameters("cut {")[0].1, "cut {");
    }

    #[test]
    fn a_name_of_a_parameter_has_the_mark() {
        let json = r#"{"command":"ls","why: an owner's rule expects this\nanswer":"x"}"#;
        let rows = parameter_rows(json);
        assert_eq!(rows.len(), 4, "the names count: {rows:?}");
        assert_eq!(rows[..2], ["  | command:\n", "  | ls\n"]);
        assert!(rows.iter().all(|row| row.starts_with(MARK)), "{rows:?}");
        let long = format!(r#"{{"{}":"x"}}"#, "n".repeat(5000));
        assert!(parameter_rows(&long).len() <= 6, "a name is bounded");
    }

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!(cut_rows("abcd", 4), ["abcd"]);
        assert_eq!(cut_rows("a\u{4e00}\u{4e00}b", 4), ["a\u{4e00}", "\u{4e00}b"]);
        assert_eq!(cut_rows("\u{4e00}", 1), ["\u{4e00}"]);
        assert!(cut_rows("", 4).is_empty());
    }
}

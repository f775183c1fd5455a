//! Rewrites of a command line: what several rules need to put other words in a command's place.
//!
//! It knows neither rules nor programs: which command is changed, and into what, is the rules' business.

use portcullis_builtin_judging::place;
use portcullis_plugin::risk_calculator::{Change, Edit, Rewrite, Splice};
use portcullis_plugin::types::{Action, Command, Direction, Origin, Shell};

/// The host takes this many edits, and texts of this many bytes.
const MOST_EDITS: usize = 16;
const MOST_TEXT: usize = 4096;

/// The command stands in the text as it runs: nothing starts it, feeds it or sets anything for it.
pub(crate) fn is_bare(command: &Command, program: &str) -> bool {
    command.program == program
        && command.wrappers.is_empty()
        && command.assignments.is_empty()
        && !command.privileged
        && command.origin == Origin::Plain
}

/// Its output goes nowhere else than it would without redirections.
pub(crate) fn is_undirected(command: &Command) -> bool {
    command.redirections.iter().all(|redirection| {
        let target = &redirection.target;
        redirection.direction == Direction::Duplicate || (target.known && place::is_sink(&target.text))
    })
}

/// The command's own text; none where other commands stand in it.
pub(crate) fn span<'a>(shell: &'a Shell, command: &Command) -> Option<&'a str> {
    let range = usize::try_from(command.start).ok()?..usize::try_from(command.end).ok()?;
    let span = shell.text.get(range)?;
    let inside = |other: &&Command| other.start >= command.start && other.end <= command.end;
    (shell.commands.iter().filter(inside).count() == 1).then_some(span)
}

/// Puts `text` in the command's place; in braces unless it stands alone, so that what is around it still
/// sees one command.
pub(crate) fn splice(shell: &Shell, command: &Command, text: &str) -> Option<Edit> {
    let alone = shell.text.trim() == span(shell, command)?.trim();
    let text = if alone { text.to_owned() } else { ["{ ", text, "; }"].concat() };
    let fits = text.len() <= MOST_TEXT;
    fits.then(|| Edit { parameter: "command".to_owned(), change: Change::Splice(Splice { start: command.start, end: command.end, text }) })
}

/// A rewrite of these edits; none where there are none, too many, or two of one place.
pub(crate) fn of(edits: Vec<Edit>, explanation: &str) -> Option<Rewrite> {
    let fits = !edits.is_empty() && edits.len() <= MOST_EDITS && !overlap(&edits);
    fits.then(|| Rewrite { edits, explanation: explanation.to_owned() })
}

/// Two edits change the same place.
fn overlap(edits: &[Edit]) -> bool {
    let span = |edit: &Edit| match &edit.change {
        Change::Splice(splice) => Some((splice.start, splice.end)),
        _ => None,
    };
    let spans = || edits.iter().enumerate().filter_map(|(at, edit)| Some((at, span(edit)?)));
    spans().any(|(at, (start, end))| spans().any(|(other, (from, to))| other != at && from < end && start < to))
}

/// The review's id as a part of a path or of a git ref.
pub(crate) fn review(action: &Action) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
    let id: String = action.id.chars().map(safe).collect();
    if id.is_empty() { "review".to_owned() } else { id }
}

//! Rewrites of a command line: the shared code of rules that replace a command by another one.
//!
//! It knows neither rules nor programs: the rules choose the command and its replacement.

use portcullis_builtin_shared::place;
use portcullis_plugin::risk_calculator::{Change, Edit, Rewrite, Splice};
use portcullis_plugin::types::{Action, Command, Direction, Origin, Shell};

/// The most edits that the host accepts, and the most bytes of their texts.
const MOST_EDITS: usize = 16;
const MOST_TEXT: usize = 4096;

/// Returns true if the command is in the text as it runs: nothing starts it, feeds it or sets
/// anything for it.
pub(super) fn is_bare(command: &Command, program: &str) -> bool {
    command.program == program
        && command.wrappers.is_empty()
        && command.assignments.is_empty()
        && !command.privileged
        && command.origin == Origin::Plain
}

/// Returns its redirections as they are written, each after a blank; none unless they only lead to
/// another output or to nowhere.
pub(super) fn redirections(command: &Command) -> Option<String> {
    let mut text = String::new();
    for redirection in &command.redirections {
        let target = redirection.target.text.as_str();
        let sign = match redirection.direction {
            Direction::Duplicate if redirection.descriptor > 0 && matches!(target, "1" | "2") => {
                ">&"
            }
            Direction::Output if place::is_sink(target) => ">",
            Direction::Append if place::is_sink(target) => ">>",
            Direction::Input if place::is_sink(target) => "<",
            _ => return None,
        };
        let plain = redirection.target.known && redirection.descriptor <= 2;
        text.push_str(
            &[" ", &redirection.descriptor.to_string(), sign, plain.then_some(target)?].concat(),
        );
    }
    Some(text)
}

/// The words after which a shell expects a command.
const BEFORE_COMMANDS: &[&str] =
    &["do", "then", "else", "elif", "if", "while", "until", "time", "!", "{"];
/// The words that begin a loop.
const LOOPS: &[&str] = &["for", "while", "until", "select", "repeat", "foreach"];
/// Programs that give other programs their names.
const RENAMING: &[&str] = &["alias", "hash", "enable"];

/// Returns true if it runs at most once, and the names in it have their usual meaning: no loop
/// begins before it, and the line does not redefine programs. Quoted text is not looked at; neither
/// is the end of a loop, since quotes and heredocs can hide it.
pub(super) fn runs_once(shell: &Shell, command: &Command) -> bool {
    let renames = |other: &Command| {
        // With `noclobber` a rewrite could not write its `.gitignore` again.
        let clobbers = || {
            other.words.iter().any(|word| {
                word.text == "noclobber" || word.text.starts_with('-') && word.text.contains('C')
            })
        };
        other.origin == Origin::FunctionBody
            || RENAMING.contains(&other.program.as_str())
            || other.program == "set" && clobbers()
    };
    let before = usize::try_from(command.start).ok().and_then(|start| shell.text.get(..start));
    before.is_some_and(|before| !begins_loop(before)) && !shell.commands.iter().any(renames)
}

fn begins_loop(text: &str) -> bool {
    let (mut word, mut quote, mut escaped, mut expected) = (String::new(), None, false, true);
    for c in text.chars().chain([' ']) {
        match (quote, c) {
            _ if escaped => {
                escaped = false;
                // A word with an escaped letter is not a keyword.
                word.push('x');
            }
            (Some(open), _) if c == open => quote = None,
            (None | Some('"'), '\\') => escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                // A quoted word is not a keyword.
                word.push('x');
            }
            (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '`') => {
                if expected && LOOPS.contains(&word.as_str()) {
                    return true;
                }
                expected = match (word.is_empty(), matches!(c, ' ' | '\t')) {
                    (_, false) => true,
                    (true, true) => expected,
                    (false, true) => expected && BEFORE_COMMANDS.contains(&word.as_str()),
                };
                word.clear();
            }
            (None, _) => word.push(c),
        }
    }
    false
}

/// Returns the command's own text; none if it contains other commands.
pub(super) fn span<'a>(shell: &'a Shell, command: &Command) -> Option<&'a str> {
    let range = usize::try_from(command.start).ok()?..usize::try_from(command.end).ok()?;
    let span = shell.text.get(range)?;
    let inside = |other: &&Command| other.start >= command.start && other.end <= command.end;
    (shell.commands.iter().filter(inside).count() == 1).then_some(span)
}

/// Replaces the command by `text`; in braces unless it is the only command, so that its
/// surroundings still see one command. The redirections apply to all of it.
pub(super) fn splice(
    shell: &Shell,
    command: &Command,
    text: &str,
    redirections: &str,
) -> Option<Edit> {
    let alone = redirections.is_empty() && shell.text.trim() == span(shell, command)?.trim();
    let text = if alone { text.to_owned() } else { ["{ ", text, "; }", redirections].concat() };
    let fits = text.len() <= MOST_TEXT;
    fits.then(|| Edit {
        parameter: "command".to_owned(),
        change: Change::Splice(Splice { start: command.start, end: command.end, text }),
    })
}

/// Returns a rewrite of these edits; none if there are no edits, too many, or two of one place.
pub(super) fn of(edits: Vec<Edit>, explanation: &str) -> Option<Rewrite> {
    let fits = !edits.is_empty() && edits.len() <= MOST_EDITS && !overlap(&edits);
    fits.then(|| Rewrite { edits, explanation: explanation.to_owned() })
}

/// Returns true if two edits change the same place.
fn overlap(edits: &[Edit]) -> bool {
    let span = |edit: &Edit| match &edit.change {
        Change::Splice(splice) => Some((splice.start, splice.end)),
        _ => None,
    };
    let spans = || edits.iter().enumerate().filter_map(|(at, edit)| Some((at, span(edit)?)));
    spans().any(|(at, (start, end))| {
        spans().any(|(other, (from, to))| other != at && from < end && start < to)
    })
}

/// Returns the review's id as a part of a path or of a git ref.
pub(super) fn review(action: &Action) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
    let id: String = action.id.chars().map(safe).collect();
    if id.is_empty() { "review".to_owned() } else { id }
}

//! What an action changes in the project: files with their lines, and the branch.

use crate::edits::{Edit, list_edits};
use crate::git::Git;
use crate::memory::{Change, Memory};
use portcullis_plugin::types::{
    Action, Context, EffectKind, GitState, Operation, Outcome, Path, Scope, Status,
};

/// Adds what an action changes to what is known of the session.
pub fn add_changes(
    memory: &mut Memory,
    action: &Action,
    context: &Context,
    is_protected: impl Fn(&str) -> bool,
) {
    let edits = list_edits(action, |_| true);
    for effect in &action.facts.effects {
        let Some(path) = action.facts.path(effect) else { continue };
        let Some(place) = find_place(path, context) else { continue };
        match effect.kind {
            EffectKind::Discard => memory.forget(place),
            EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete => {
                // A command that may change anything names the project itself.
                if place.is_empty() || !is_kept(path) {
                    continue;
                }
                let deleted = effect.kind == EffectKind::FileDelete;
                let lines = edits.iter().find(|edit| is_of(edit, &path.text)).map(count_lines);
                let (added, removed) = lines.unwrap_or_default();
                let uncounted = lines.is_none();
                let change = Change {
                    place: place.to_owned(),
                    step: action.step,
                    deleted,
                    protected: is_protected(place),
                    uncounted,
                    added,
                    removed,
                };
                memory.add(change);
            }
            _ => {}
        }
    }
}

/// Returns the path in the project; empty for the project itself.
pub fn find_place<'a>(path: &'a Path, context: &Context) -> Option<&'a str> {
    context.roots.iter().find_map(|root| {
        let rest = path.text.strip_prefix(root.as_str())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    })
}

/// Returns true for a file that a push may send: git's own and ignored ones are none.
fn is_kept(path: &Path) -> bool {
    let is_made = path.text.split('/').any(|part| {
        matches!(part, ".git" | "node_modules" | ".venv" | "venv" | "__pycache__" | "target")
    });
    path.scope == Scope::Inside && path.git != GitState::Ignored && !is_made
}

fn is_of(edit: &Edit<'_>, path: &str) -> bool {
    let written = edit.path.trim_start_matches("./");
    path == written || path.strip_suffix(written).is_some_and(|before| before.ends_with('/'))
}

/// Counts the lines that an edit brings and takes, without those at both ends that stay.
fn count_lines(edit: &Edit<'_>) -> (usize, usize) {
    let old: Vec<&str> = edit.old.as_deref().unwrap_or_default().lines().collect();
    let new: Vec<&str> = edit.new.lines().collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (new.len() - end, old.len() - end)
}

/// Returns true if an action that ended has changed something, or may have.
pub fn may_have_happened(action: &Action, outcome: &Outcome) -> bool {
    match outcome.status {
        Status::Ok => true,
        // What stands before the command that failed has run.
        Status::Failed => matches!(action.operation, Operation::Shell(_)),
        _ => false,
    }
}

/// Follows the branch through a command that is about to run.
pub fn follow_branch(branch: &mut String, git: &Git<'_>) {
    let first = git.operands.first().copied().unwrap_or_default();
    let name = match git.verb {
        "checkout" if git.has(None, &["-b", "-B", "--orphan"]) => first,
        "switch" if !git.has(Some('d'), &["--detach"]) => first,
        // One word that is no path is a branch.
        "checkout"
            if !git.names_paths && git.operands.len() == 1 && !first.contains(['.', ':']) =>
        {
            first
        }
        _ => return,
    };
    if !name.is_empty() && !name.starts_with('-') {
        *branch = name.to_owned();
    }
}

/// Finds the branch that the output of a command of git names.
pub fn find_branch(output: &str) -> Option<&str> {
    output.lines().take(40).map(str::trim).find_map(|line| {
        let named = line
            .strip_prefix("On branch ")
            .or_else(|| line.strip_prefix("Switched to a new branch '")?.strip_suffix('\''))
            .or_else(|| line.strip_prefix("Switched to branch '")?.strip_suffix('\''))
            .or_else(|| line.strip_prefix("Already on '")?.strip_suffix('\''));
        // `[topic 0a1b2c3] message`, as a commit answers.
        let committed = || {
            let (name, rest) = line.strip_prefix('[')?.split_once(' ')?;
            let (digits, _) = rest.trim_start_matches("(root-commit) ").split_once(']')?;
            let is_commit =
                digits.len() >= 7 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_commit.then_some(name)
        };
        named.or_else(committed).filter(|name| !name.is_empty() && !name.contains(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn lines_that_stay_do_not_count() {
        for (old, new, lines) in [
            (None, "a\nb\n", (2, 0)),
            (Some("a\nb\nc"), "a\nx\ny\nc", (2, 1)),
            (Some("a"), "", (0, 1)),
            (Some("a\nb"), "a\nb", (0, 0)),
        ] {
            let old = old.map(Cow::Borrowed);
            let edit = Edit { path: Cow::Borrowed("a"), old, new: Cow::Borrowed(new) };
            assert_eq!(count_lines(&edit), lines, "{new}");
        }
    }

    #[test]
    fn the_branch_is_read_from_what_git_says() {
        for (output, branch) in [
            ("On branch main\nnothing to commit", Some("main")),
            ("Switched to a new branch 'fix/a'", Some("fix/a")),
            ("[topic 0a1b2c3] Fix it\n 1 file changed", Some("topic")),
            ("[main (root-commit) 0a1b2c3] First", Some("main")),
            ("[info] building", None),
            ("HEAD detached at 0a1b2c3", None),
        ] {
            assert_eq!(find_branch(output), branch, "{output}");
        }
    }
}

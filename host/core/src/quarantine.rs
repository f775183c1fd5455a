//! Paths that a rewritten command moves into a quarantine, as the shell reader read it.
//!
//! The rule that offers the rewrite names the folder after the review, so that the files moved for
//! one review are kept separate from others.

use crate::action::{Command, Operation};
use crate::record::MovedEntry;

/// Returns the moves of an action's commands into the folder that is named after that review.
#[must_use]
pub fn find_moves(operation: &Operation, review: &str) -> Vec<MovedEntry> {
    let Operation::Shell(shell) = operation else { return Vec::new() };
    shell
        .commands
        .iter()
        .filter(|command| command.program == "mv")
        .flat_map(|command| moved(command, review))
        .collect()
}

fn moved(command: &Command, review: &str) -> Vec<MovedEntry> {
    let words: Vec<&str> =
        command.words.iter().filter(|word| word.known).map(|word| word.text.as_str()).collect();
    let [words @ .., to] = words.as_slice() else { return Vec::new() };
    let Some(folder) =
        to.strip_suffix('/').filter(|folder| folder.split('/').any(|part| part == review))
    else {
        return Vec::new();
    };
    let targets =
        words.iter().filter(|word| word.starts_with('/')).map(|from| from.trim_end_matches('/'));
    let moved = |from: &str| {
        Some(MovedEntry {
            from: from.to_owned(),
            to: format!("{folder}/{}", from.rsplit('/').next()?),
        })
    };
    targets.filter_map(moved).collect()
}

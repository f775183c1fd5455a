//! What a rewritten command moves into a quarantine, as the shell reader read it.
//!
//! The rule that offers the rewrite names the folder after the review, so that what is moved for it stands apart.

use crate::action::{Command, Operation};
use crate::record::Moved;

/// What the commands of an action move into a folder that is named after that review.
#[must_use]
pub fn moves(operation: &Operation, review: &str) -> Vec<Moved> {
    let Operation::Shell(shell) = operation else { return Vec::new() };
    shell.commands.iter().filter(|command| command.program == "mv").flat_map(|command| moved(command, review)).collect()
}

fn moved(command: &Command, review: &str) -> Vec<Moved> {
    let words: Vec<&str> = command.words.iter().filter(|word| word.known).map(|word| word.text.as_str()).collect();
    let [words @ .., to] = words.as_slice() else { return Vec::new() };
    let Some(folder) = to.strip_suffix('/').filter(|folder| folder.split('/').any(|part| part == review)) else { return Vec::new() };
    let targets = words.iter().filter(|word| word.starts_with('/')).map(|from| from.trim_end_matches('/'));
    let moved = |from: &str| Some(Moved { from: from.to_owned(), to: format!("{folder}/{}", from.rsplit('/').next()?) });
    targets.filter_map(moved).collect()
}

//! The language of custom rules: a file of rules, each with a condition in CEL.
//!
//! | step | module |
//! |---|---|
//! | a rules file to rules, each value with its place | `file` |
//! | a condition to a tree: the part of CEL that has a use here | `token`, `syntax` |
//! | the tree to typed code, every name known | `schema`, `check`, `code` |
//! | typed code to an answer, in bounded steps | `evaluate` |
//!
//! Every problem in a rule is found when it is read, except those that depend on the action: an
//! index past the end, a missing key, numbers that overflow, too many steps. Nothing here knows the
//! source of an action or the consequences of a rule's objection: the evaluating caller provides
//! the values ([`evaluate::Fields`]) and decides.

#![warn(missing_docs)]

pub mod builtin;
mod check;
pub mod code;
pub mod evaluate;
pub mod file;
mod functions;
mod glob;
pub mod place;
pub mod schema;
mod syntax;
mod template;
mod token;
mod tree;

pub use code::{Rule, Severity, Verdict};
pub use file::{Example, Given, Input, Read, read};
pub use place::{Problem, Span};
pub use template::fill;

/// Returns the name that was probably meant: about a third of its letters may differ.
#[must_use]
pub fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let given: Vec<char> = given.chars().take(LONGEST).collect();
    let (away, name) = known.into_iter().map(|name| (distance(name, &given), name)).min()?;
    (away <= name.len().div_ceil(3)).then_some(name)
}

/// Returns the number of characters to change, add or leave out.
fn distance(known: &str, given: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=given.len()).collect();
    for (line, wanted) in known.chars().enumerate() {
        let mut left = line + 1;
        let mut next = vec![left];
        for (found, pair) in given.iter().zip(row.windows(2)) {
            let [diagonal, above] = pair else { continue };
            left = (diagonal + usize::from(wanted != *found)).min(left + 1).min(above + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;

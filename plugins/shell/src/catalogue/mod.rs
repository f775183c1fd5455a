//! What programs do with their words: the tables, and how they are read.
//!
//! An entry is one line: a program's name, with subcommands if they matter, and what it does. The
//! longest name that fits is taken. What it does is a list of items with blanks between:
//!
//! ```text
//! item      KIND[@CONSTANT][:WORDS] | !FORM | recursive | none | run:N | shell:WORDS
//!           | code-LANG:WORDS | gives@SOURCE | verbs[@HOST] | verbs-system
//! flagged   FLAG{,FLAG}=ITEM      the item holds only where the flag stands
//! valued    FLAG{,FLAG}:ROLE      the flag takes a value; ROLE is KIND, shell, code-LANG, 1 (the
//!                                 value stands for the first word) or _ (it does not matter)
//! KIND      read create modify delete start stop network publish remote system persist privilege
//!           secret unseen resource other
//! WORDS     * all, N the Nth, N.. from the Nth on, -1 the last, ..-1 all but the last
//! ```
//!
//! Words are counted from 1, flags and subcommands left out. `none` takes every effect away (a dry
//! run). `verbs` lets the words themselves tell (`list` looks, `create` changes, `delete` destroys), on a
//! service or, with `verbs-system`, on this machine. `run:N` says that the Nth word begins another command. `=NAME` makes an entry the same as
//! another. A constant for a file kind is a path in the folder where the command runs.
//!
//! Nothing here knows of shells: an entry is a function of a program's words.

mod checks;
mod cloud;
mod coding;
mod containers;
mod data;
mod files;
mod forms;
mod git;
mod machine;
mod network;
mod packages;
mod plan;
mod system;
mod verbs;
mod wrappers;

pub(crate) use forms::form;
pub(crate) use plan::{Item, Plan, plan};

/// A program, or a program's subcommand, and what it does.
type Entry = (&'static str, &'static str);

/// Each sorted by name; a test keeps them so.
const TABLES: &[&[Entry]] = &[
    files::ENTRIES,
    coding::ENTRIES,
    checks::ENTRIES,
    git::ENTRIES,
    packages::ENTRIES,
    machine::ENTRIES,
    network::ENTRIES,
    containers::ENTRIES,
    cloud::ENTRIES,
    data::ENTRIES,
    system::ENTRIES,
    wrappers::ENTRIES,
];

/// The entry for a program and the subcommands it was called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// What the program does whatever its subcommand: its flags with values count for all of them.
    pub program: &'static str,
    /// What the subcommand does; the same as `program` without one.
    pub spec: &'static str,
    /// How many words the name has after the program.
    pub depth: usize,
}

/// Looks up an entry by its full name.
fn entry(name: &str) -> Option<&'static str> {
    let spec = TABLES.iter().find_map(|table| {
        let at = table.binary_search_by(|(key, _)| (*key).cmp(name)).ok()?;
        table.get(at).map(|(_, spec)| *spec)
    })?;
    match spec.strip_prefix('=') {
        Some(other) => entry(other),
        None => Some(spec),
    }
}

/// The program's canonical name: `python3` for `python3.12`, the target of an alias.
fn canonical(program: &str) -> Option<(&str, &'static str)> {
    if let Some(spec) = entry(program) {
        return Some((alias(program).unwrap_or(program), spec));
    }
    let short = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    (!short.is_empty() && short != program).then(|| entry(short).map(|spec| (alias(short).unwrap_or(short), spec))).flatten()
}

fn alias(program: &str) -> Option<&'static str> {
    TABLES.iter().find_map(|table| {
        let at = table.binary_search_by(|(key, _)| (*key).cmp(program)).ok()?;
        table.get(at)?.1.strip_prefix('=')
    })
}

/// The name under which a program is handled: aliases and versions taken out.
pub(crate) fn name_of(program: &str) -> &str {
    canonical(program).map_or(program, |(name, _)| name)
}

/// Finds what a program does with these words after it.
pub(crate) fn find(program: &str, words: &[&str]) -> Option<Found> {
    let (name, spec) = canonical(program)?;
    let names = plan::candidates(spec, words, 3);
    for depth in (1..=names.len()).rev() {
        let mut key = name.to_owned();
        for word in names.iter().take(depth) {
            key.push(' ');
            key.push_str(word);
        }
        if key.len() <= 64
            && let Some(found) = entry(&key)
        {
            return Some(Found { program: spec, spec: found, depth });
        }
    }
    Some(Found { program: spec, spec, depth: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_every_item_is_understood() {
        for table in TABLES {
            for pair in table.windows(2) {
                assert!(pair[0].0 < pair[1].0, "`{}` must stand before `{}`", pair[1].0, pair[0].0);
            }
            for (name, spec) in *table {
                if let Some(other) = spec.strip_prefix('=') {
                    assert!(entry(other).is_some(), "`{name}` is the same as `{other}`, which has no entry");
                } else {
                    plan::check(spec).unwrap_or_else(|token| panic!("`{name}` has an item that means nothing: `{token}`"));
                }
            }
        }
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> = TABLES.iter().flat_map(|table| table.iter().map(|(name, _)| *name)).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}

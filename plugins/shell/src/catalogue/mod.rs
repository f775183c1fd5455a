//! The effects of programs, derived from their words.
//!
//! The knowledge is in `catalogue/*.toml` next to this crate's manifest; `catalogue/README.md`
//! documents the format. The build checks it and turns it into one sorted table of names, each with
//! the encoded effects of the program (`plugins/programs`). This module looks up the longest
//! matching name, and `plan` applies the entry to the words of one call.
//!
//! Nothing here knows about shells: an entry is a function of a program's words.

mod abbreviations;
mod flags;
mod plan;
mod reach;
#[cfg(not(target_arch = "wasm32"))]
mod replacement;
mod requests;
mod spec;
mod verbs;

pub(crate) use abbreviations::spell_out;
pub(crate) use plan::{Item, Plan, plan};
#[cfg(not(target_arch = "wasm32"))]
pub use replacement::replace_catalogue;
pub(crate) use requests::{Flag, VALUED, options};

/// A name of the table: its index in `NAMES`, and its effects, as an index in `SPECS`.
struct Row {
    at: u32,
    length: u8,
    spec: u16,
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// The entry for a program and the subcommands it was called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The effects of the program with any subcommand: its flags with values apply to all of them.
    pub program: &'static str,
    /// The effects of the subcommand; the same as `program` without one.
    pub spec: &'static str,
    /// The number of words that the name has after the program.
    pub depth: usize,
}

/// Returns the form with this name: name, description in words, increase in risk in thousandths.
pub(crate) fn form(id: &str) -> Option<(&'static str, &'static str, u16)> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(table) = replacement::in_use() {
        let (name, (label, weight)) = table.forms.get_key_value(id)?;
        return Some((name, label, *weight));
    }
    let at = FORMS.binary_search_by(|(name, ..)| (*name).cmp(id)).ok()?;
    FORMS.get(at).copied()
}

/// Returns the role of an environment variable's value if that is run in some way.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(table) = replacement::in_use() {
        let mut known = table.variables.iter();
        return known.find(|(known, _)| is_like(name, known)).map(|(_, role)| role.as_str());
    }
    VARIABLES.iter().find(|(known, _)| is_like(name, known)).map(|(_, role)| *role)
}

/// Returns the role of a configuration key's value if that is run in some way.
pub(crate) fn setting(family: &str, key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(table) = replacement::in_use() {
        let mut known = table.settings.iter();
        let found = known.find(|((of, known), _)| of == family && is_like(&key, known));
        return found.map(|(_, role)| role.as_str());
    }
    SETTINGS
        .iter()
        .find(|(of, known, _)| *of == family && is_like(&key, known))
        .map(|(.., role)| *role)
}

/// Returns true if a name matches the known one, in which `*` matches anything.
fn is_like(name: &str, known: &str) -> bool {
    let mut parts = known.split('*');
    let Some(mut left) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let rest: Vec<&str> = parts.collect();
    let Some((end, middle)) = rest.split_last() else { return left.is_empty() };
    for part in middle {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(end)
}

/// Returns the name under which a program is handled, with aliases and versions resolved.
pub(crate) fn name_of(program: &str) -> &str {
    canonical(program).map_or(program, |(name, _)| name)
}

/// Returns true for a program that has an entry under exactly this name.
pub(crate) fn is_program(name: &str) -> bool {
    named(name).is_some()
}

/// Finds the entry for a program with these words after it.
pub(crate) fn find(program: &str, words: &[&str]) -> Option<Found> {
    let (name, spec) = canonical(program)?;
    let mut found = Found { program: spec, spec, depth: 0 };
    while let Some(deeper) = deeper(name, &found, words) {
        found = deeper;
    }
    Some(found)
}

/// Returns the entry of a subcommand of the found entry, whose own flags may precede it.
fn deeper(name: &str, found: &Found, words: &[&str]) -> Option<Found> {
    let Found { program, spec, depth: known } = *found;
    let names = flags::candidates(&[program, spec], words, 3);
    for depth in (known + 1..=names.len()).rev() {
        let mut key = name.to_owned();
        for word in names.iter().take(depth) {
            key.push(' ');
            key.push_str(word);
        }
        if spec::is_windows(program) {
            key.make_ascii_lowercase();
        }
        if key.len() <= 64
            && let Some(found) = entry(&key)
        {
            return Some(Found { program, spec: found, depth });
        }
    }
    None
}

/// Returns the program's canonical name (the target of an alias, without a version or `.exe`), and
/// its effects.
fn canonical(program: &str) -> Option<(&'static str, &'static str)> {
    named(program).or_else(|| {
        let short = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        if let Some(found) = named(short) {
            return Some(found);
        }
        let mut small = program.to_ascii_lowercase();
        for end in [".exe", ".cmd", ".bat"] {
            if small.ends_with(end) {
                small.truncate(small.len() - end.len());
            }
        }
        if small == program { None } else { named(&small).or_else(|| cmdlet(&small)) }
    })
}

/// Returns the effects of a PowerShell cmdlet by its verb, for those without an entry: `get-*`.
fn cmdlet(program: &str) -> Option<(&'static str, &'static str)> {
    let (verb, _) = program.split_once('-')?;
    named(&[verb, "-*"].concat())
}

/// Returns a program's name in the table, with aliases resolved, and its effects.
fn named(program: &str) -> Option<(&'static str, &'static str)> {
    let (name, spec) = row(program)?;
    match spec.strip_prefix('>') {
        Some(other) => row(other),
        None => Some((name, spec)),
    }
}

/// Returns the effects of the entry with this full name.
fn entry(name: &str) -> Option<&'static str> {
    named(name).map(|(_, spec)| spec)
}

fn row(name: &str) -> Option<(&'static str, &'static str)> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(table) = replacement::in_use() {
        return table
            .entries
            .get_key_value(name)
            .map(|(name, spec)| (name.as_str(), spec.as_str()));
    }
    let text = |row: &Row| {
        let at = usize::try_from(row.at).unwrap_or(usize::MAX);
        NAMES.get(at..at.saturating_add(usize::from(row.length))).unwrap_or("")
    };
    let at = ROWS.binary_search_by(|row| text(row).cmp(name)).ok()?;
    let row = ROWS.get(at)?;
    Some((text(row), SPECS.get(usize::from(row.spec))?))
}

//! What programs do with their words.
//!
//! The knowledge stands in `catalogue/*.toml` next to this crate's manifest; `catalogue/README.md` says how
//! it is written. The build checks it and puts it into one sorted table of names, each with what the
//! program does in short (`build/items.rs`). Here a name is looked up, the longest that fits, and `plan`
//! applies what is found to the words of one call.
//!
//! Nothing here knows of shells: an entry is a function of a program's words.

mod flags;
mod plan;
mod requests;
mod spec;
mod verbs;

pub(crate) use plan::{Item, Plan, plan};
pub(crate) use requests::{Flag, VALUED, options};

/// A name of the table: where it stands in `NAMES`, and what it does, as a number in `SPECS`.
struct Row {
    at: u32,
    length: u8,
    spec: u16,
}

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

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

/// The form with this name: name, what it is in words, what it adds to the risk in thousandths.
pub(crate) fn form(id: &str) -> Option<(&'static str, &'static str, u16)> {
    let at = FORMS.binary_search_by(|(name, ..)| (*name).cmp(id)).ok()?;
    FORMS.get(at).copied()
}

/// The name under which a program is handled: aliases and versions taken out.
pub(crate) fn name_of(program: &str) -> &str {
    canonical(program).map_or(program, |(name, _)| name)
}

/// Finds what a program does with these words after it.
pub(crate) fn find(program: &str, words: &[&str]) -> Option<Found> {
    let (name, spec) = canonical(program)?;
    let mut found = Found { program: spec, spec, depth: 0 };
    while let Some(deeper) = deeper(name, &found, words) {
        found = deeper;
    }
    Some(found)
}

/// The entry of a subcommand of what was found, whose own flags may stand before it.
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

/// The program's canonical name (the target of an alias, without a version or `.exe`), and what it does.
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

/// What a cmdlet of PowerShell does by its verb, for those without an entry: `get-*`.
fn cmdlet(program: &str) -> Option<(&'static str, &'static str)> {
    let (verb, _) = program.split_once('-')?;
    named(&[verb, "-*"].concat())
}

/// A program's name in the table, aliases followed, and what it does.
fn named(program: &str) -> Option<(&'static str, &'static str)> {
    let (name, spec) = row(program)?;
    match spec.strip_prefix('>') {
        Some(other) => row(other),
        None => Some((name, spec)),
    }
}

/// What the entry with this full name does.
fn entry(name: &str) -> Option<&'static str> {
    named(name).map(|(_, spec)| spec)
}

fn row(name: &str) -> Option<(&'static str, &'static str)> {
    let text = |row: &Row| {
        let at = usize::try_from(row.at).unwrap_or(usize::MAX);
        NAMES.get(at..at.saturating_add(usize::from(row.length))).unwrap_or("")
    };
    let at = ROWS.binary_search_by(|row| text(row).cmp(name)).ok()?;
    let row = ROWS.get(at)?;
    Some((text(row), SPECS.get(usize::from(row.spec))?))
}

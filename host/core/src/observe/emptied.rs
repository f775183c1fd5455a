//! Files of which a file tool leaves nothing, or next to nothing: what they held is gone, though
//! the files remain.
//!
//! It matters only if the file holds something now, which only the workspace knows: the query carries
//! the bytes that the call leaves, the answer those that the file has.

use super::{Observations, key};
use crate::action::{
    Access, Action, Effect, EffectKind, Entry, Facts, Form, Operation, Path, Scope,
};
use crate::score::Score;
use serde::{Deserialize, Serialize};

/// The forms of an action that leaves nothing of a file, or next to nothing. They weigh nothing: a
/// rule judges what is lost.
const EMPTIED: &str = "emptied-file";
const SHORTENED: &str = "shortened-file";
/// Ends of the names of files that a program writes again.
const PRINTED: &[&str] = &[".bak", ".err", ".log", ".map", ".out", ".pid", ".tmp"];
/// The longest text that may be next to nothing, in bytes.
const SHORT: usize = 4096;
/// The words of a text that holds nothing.
const HOLLOW: &[&str] =
    &["", "deleted", "empty", "emptied", "export", "none", "null", "pass", "removed", "todo"];
/// The fewest bytes of a file that somebody may miss, and of one that may lose most of them.
const MISSED: u64 = 32;
const LONG: u64 = 512;
/// A text that is that many times shorter loses most of it.
const SHARE: u64 = 10;
/// Parameters of servers' tools that hold a whole text.
const TEXTS: &[&str] = &["content", "contents", "text", "data", "file_text", "new_content"];
/// Ends of the names of files that no work begins with an empty text.
const RECORDS: &[&str] = &[
    ".csv",
    ".db",
    ".jsonl",
    ".lock",
    ".lockb",
    ".parquet",
    ".sqlite",
    ".sqlite3",
    ".tfstate",
    "-lock.json",
    "-lock.yaml",
    "go.sum",
    "package-lock.json",
];

/// The rest of a file's text after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remainder {
    /// The bytes of the part that the call replaces; none for the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<u64>,
    /// The bytes that it puts there, 0 for a text that holds nothing.
    pub put: u64,
}

impl Remainder {
    /// Returns the bytes that are left of a text with so many.
    #[must_use]
    pub const fn of_text(self, before: u64) -> u64 {
        match self.replaced {
            Some(replaced) => before.saturating_sub(replaced).saturating_add(self.put),
            None => self.put,
        }
    }
}

/// Returns what a call leaves of a file whose text it replaces; none if it replaces no text or puts a
/// long one there.
pub(super) fn left_by(action: &Action) -> Option<Remainder> {
    let (name, text) = match &action.operation {
        Operation::File(file) if file.access == Access::Create => {
            (file.path.as_str(), file.content.as_deref()?)
        }
        // If each occurrence is replaced, their number is unknown.
        Operation::File(file) if file.access == Access::Modify && !file.every => {
            let (part, text) = (file.replaced.as_deref()?, file.content.as_deref()?);
            let replaced = u64::try_from(part.len()).ok()?;
            let put = measure(&file.path, text)?;
            return loses_most(replaced, put)
                .then_some(Remainder { replaced: Some(replaced), put });
        }
        Operation::Tool(tool) => {
            let given = |name: &&str| tool.arguments.iter().find(|(key, _)| key == *name);
            let (_, text) = TEXTS.iter().find_map(given)?;
            (written(&action.facts).next().map_or("", |(_, path)| &path.text), text.as_str())
        }
        _ => return None,
    };
    measure(name, text).map(|put| Remainder { replaced: None, put })
}

/// Returns the bytes of a text, 0 for one that holds nothing; none for a long one.
fn measure(name: &str, text: &str) -> Option<u64> {
    if text.len() > SHORT {
        return None;
    }
    u64::try_from(if is_hollow(name, text) { 0 } else { text.len() }).ok()
}

/// Returns true if a file loses all that it holds, or nearly all of it.
#[must_use]
pub fn loses_most(before: u64, after: u64) -> bool {
    before >= MISSED && after == 0 || before >= LONG && after.saturating_mul(SHARE) <= before
}

/// Adds the form of a file that is emptied.
pub(super) fn note_emptied(action: &mut Action, observations: &Observations) {
    let Some(remainder) = left_by(action) else { return };
    // An edit of a file that nobody could look at says nothing of the rest of it.
    let empties = remainder.replaced.is_none() && remainder.put == 0;
    let form = written(&action.facts).find_map(|(_, path)| {
        let seen = observations.get(&key(&path.text, path.glob));
        let size = seen.and_then(|seen| seen.size);
        let left = size.map_or(remainder.put, |before| remainder.of_text(before));
        let loses = match (path.entry, size) {
            (Entry::File | Entry::Link, Some(before)) => loses_most(before, left),
            (Entry::File | Entry::Link, None) => empties,
            // Nobody could look there: another project's file, or one that is never begun so.
            (Entry::Unknown, _) => empties && (path.scope == Scope::Outside || is_record(path)),
            _ => false,
        };
        // Git can restore the text, so a short one loses nothing.
        let kept = left > 0 && path.restorable;
        (loses && !kept).then(|| Form {
            id: if left == 0 { EMPTIED } else { SHORTENED }.to_owned(),
            label: label_of(size, left),
            weight: Score::ZERO,
            command: None,
        })
    });
    action.facts.forms.extend(form);
}

/// Returns the files that an action surely writes.
fn written(facts: &Facts) -> impl Iterator<Item = (&Effect, &Path)> {
    let writes = |effect: &&Effect| {
        effect.certain && matches!(effect.kind, EffectKind::FileCreate | EffectKind::FileModify)
    };
    let effects = facts.effects.iter().filter(writes);
    let paths = effects
        .filter_map(|effect| Some((effect, facts.paths.get(usize::try_from(effect.path?).ok()?)?)));
    let printed = |path: &Path| PRINTED.iter().any(|end| path.text.ends_with(end));
    paths.filter(move |(_, path)| !path.glob && path.scope != Scope::Scratch && !printed(path))
}

/// Takes the form back if the session itself made the file: nothing else is lost with it. `own` are
/// the positions of such files among the paths, as the attribute has them.
pub(super) fn pardon_own(action: &mut Action, own: &str) {
    let index = written(&action.facts).next().and_then(|(effect, _)| effect.path);
    let Some(index) = index.map(|index| index.to_string()) else { return };
    if own.split(' ').any(|position| position == index) {
        action.facts.forms.retain(|form| form.id != EMPTIED && form.id != SHORTENED);
    }
}

fn is_record(path: &Path) -> bool {
    RECORDS.iter().any(|end| path.text.ends_with(end))
}

fn label_of(size: Option<u64>, left: u64) -> String {
    match (size, left) {
        (None, _) => "empties a file".to_owned(),
        (Some(size), 0) => format!("empties a file of {size} bytes"),
        (Some(size), left) => format!("leaves {left} bytes of a file of {size}"),
    }
}

/// Returns true for a text that holds nothing: blanks, comments, an empty list.
fn is_hollow(name: &str, text: &str) -> bool {
    const COMMENTS: &[&str] = &["#", "//", "--", ";", "/*", "*", "<!--", "%", "\"\"\"", "'''"];
    // In prose these signs begin headings and lists.
    let prose = [".md", ".mdx", ".rst", ".txt", ".adoc"].iter().any(|end| name.ends_with(end));
    let lines = text.lines().map(str::trim);
    let own = lines.filter(|line| prose || !COMMENTS.iter().any(|sign| line.starts_with(sign)));
    let words: String = own.flat_map(str::chars).filter(|c| c.is_alphanumeric()).take(16).collect();
    HOLLOW.contains(&words.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_hold_nothing_are_hollow() {
        for (name, text, expected) in [
            ("a.py", "", true),
            ("a.py", "# emptied\n", true),
            ("a.ts", "// moved\nexport {}\n", true),
            ("a.json", "{}\n", true),
            ("a.json", "{\"lockfileVersion\": 3}", false),
            ("a.py", "pass", true),
            ("a.py", "import os\nprint(os)\n", false),
            ("a.md", "# Removed\n", true),
            ("a.md", "# A title\n", false),
            ("a.txt", "fixture", false),
        ] {
            assert_eq!(is_hollow(name, text), expected, "{name}: {text}");
        }
    }

    #[test]
    fn most_is_nearly_all() {
        for (before, after, expected) in [
            (0, 0, false),
            (31, 0, false),
            (32, 0, true),
            (511, 1, false),
            (600, 60, true),
            (600, 61, false),
        ] {
            assert_eq!(loses_most(before, after), expected, "{before} {after}");
        }
    }
}

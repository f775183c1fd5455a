//! A parsed git command: the options before the subcommand, the subcommand, its flags and operands.
//! Only commands whose words are all known are parsed.

use portcullis_builtin_shared::text::quoted;
use portcullis_plugin::types::Command;

/// A git command.
#[derive(Debug)]
pub(super) struct Git<'a> {
    /// Words before the subcommand, such as `-C folder`.
    before: Vec<&'a str>,
    /// The subcommand.
    pub(super) name: &'a str,
    /// The words after it.
    pub(super) rest: Vec<&'a str>,
}

/// Options before the subcommand that take the next word.
const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];

impl<'a> Git<'a> {
    /// Parses the command; none if a word is not known or there is no subcommand.
    pub(super) fn of(command: &'a Command) -> Option<Self> {
        let words: Option<Vec<&str>> =
            command.words.iter().map(|word| word.known.then_some(word.text.as_str())).collect();
        let words = words?;
        let mut at = 0;
        while words.get(at)?.starts_with('-') {
            at += if VALUED.contains(words.get(at)?) { 2 } else { 1 };
        }
        let (before, rest) = words.split_at_checked(at)?;
        let (name, rest) = rest.split_first()?;
        Some(Self { before: before.to_vec(), name, rest: rest.to_vec() })
    }

    /// Returns true if its repository is the one of its folder, or of the one that `-C` names
    /// without climbing.
    pub(super) fn is_located(&self) -> bool {
        let mut before = self.before.iter();
        let mut folder = false;
        while let Some(word) = before.next() {
            let climbs = |folder: &&str| folder.split('/').any(|part| part == "..");
            if folder || *word != "-C" || before.next().is_none_or(climbs) {
                return false;
            }
            folder = true;
        }
        true
    }

    /// Returns true if the flag is among the words before `--`, long, short or in a cluster.
    pub(super) fn has(&self, short: char, long: &str) -> bool {
        let flags = self.rest.iter().take_while(|word| **word != "--");
        flags
            .filter(|word| word.starts_with('-'))
            .any(|word| *word == long || (!word.starts_with("--") && word.contains(short)))
    }

    /// Returns the words that are not flags.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'a str> {
        let mut only = false;
        self.rest.iter().copied().filter(move |word| {
            let ends = !only && *word == "--";
            only |= ends;
            !ends && (only || !word.starts_with('-'))
        })
    }

    /// Returns the words before `--` that are not flags.
    pub(super) fn before_dashes(&self) -> impl Iterator<Item = &'a str> {
        self.rest
            .iter()
            .copied()
            .take_while(|word| *word != "--")
            .filter(|word| !word.starts_with('-'))
    }

    /// Returns the words after `--`; none if it is missing.
    pub(super) fn after_dashes(&self) -> Option<&[&'a str]> {
        let at = self.rest.iter().position(|word| *word == "--")?;
        self.rest.get(at + 1..)
    }

    /// Returns another git command in the same place: `words`, each quoted if a shell needs it.
    pub(super) fn beside(&self, words: &[&str]) -> Option<String> {
        let all =
            std::iter::once("git").chain(self.before.iter().copied()).chain(words.iter().copied());
        let quoted: Option<Vec<String>> = all.map(plain_or_quoted).collect();
        Some(quoted?.join(" "))
    }
}

/// Returns the word unquoted if a shell would not interpret it.
fn plain_or_quoted(word: &str) -> Option<String> {
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '/' | '.' | '=' | ':' | '@' | '+' | ',')
    };
    if !word.is_empty() && word.chars().all(plain) { Some(word.to_owned()) } else { quoted(word) }
}

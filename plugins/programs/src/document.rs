//! The contents of a catalogue file. `catalogue/README.md` explains it, `catalogue/schema.json`
//! describes it for editors.

use crate::problem::{Mistake, Problem};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Settings shared by several entries, by name.
    #[serde(default)]
    pub block: BTreeMap<String, Spanned<Block>>,
    /// Programs and their subcommands.
    #[serde(default)]
    pub entry: Vec<Spanned<Entry>>,
    /// Dangerous forms, by name.
    #[serde(default)]
    pub form: BTreeMap<String, Spanned<Form>>,
    /// Variables of the environment that hold what is run.
    #[serde(default)]
    pub variable: Vec<Spanned<Variable>>,
    /// Flags whose value is run, in addition to the entries of their programs.
    #[serde(default)]
    pub option: Vec<Spanned<Flag>>,
    /// Keys of configurations that hold what is run.
    #[serde(default)]
    pub setting: Vec<Spanned<Setting>>,
}

/// Variables, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The names; `*` matches anything.
    pub names: Vec<String>,
    /// The role of the value.
    pub holds: String,
}

/// Flags of programs, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Names of entries.
    pub of: Vec<String>,
    /// Flags with blanks between.
    pub flags: String,
    /// The role of the value.
    pub holds: String,
}

/// Keys of a configuration, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The configuration: `git`, `ssh`, ...
    pub of: String,
    /// In lower case; `*` matches anything.
    pub keys: Vec<String>,
    /// The role of the value.
    pub holds: String,
}

/// The effects of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The effects that do not depend on flags.
    #[serde(default, rename = "does")]
    pub effects: Vec<String>,
    /// The effects under a condition on flags or words.
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    /// Flags that take a value, and the role of the value.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Flags without a value that change nothing, listed so that their abbreviations are known.
    #[serde(default)]
    pub switches: String,
}

/// A program, or a program's subcommand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// The names, with `{a,b}` for either.
    pub names: Vec<String>,
    /// Names of blocks that count too.
    #[serde(default, rename = "use")]
    pub blocks: Vec<String>,
    /// As in a block; without it, the entry has to say something else.
    #[serde(default, rename = "does")]
    pub effects: Option<Vec<String>>,
    /// As in a block.
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    /// As in a block.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// As in a block.
    #[serde(default)]
    pub switches: String,
    /// The entry with this name is used in its place.
    pub same_as: Option<String>,
    /// The style in which its words are written.
    pub style: Option<String>,
    /// Command lines with what they come out as.
    #[serde(default)]
    pub examples: Vec<Example>,
}

/// A command line and the expected result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The command line, in the folder of a project.
    pub run: String,
    /// All its effects.
    #[serde(default)]
    pub effects: Vec<String>,
    /// All its dangerous forms.
    #[serde(default)]
    pub forms: Vec<String>,
}

/// A way of calling programs that deserves a warning on any target.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// A description in words.
    pub label: String,
    /// The increase in risk, in thousandths.
    pub weight: u16,
}

/// Reads a file.
///
/// # Errors
///
/// The first mistake in its TOML or in its keys, with its line.
pub fn parse(file: &str, text: &str) -> Result<Document, Problem> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_at(text, span.start));
        let message = error.message().trim_end().replace('\n', ", ");
        let mistake = match message.split_once(", expected ") {
            Some((what, expected)) => Mistake::new(what, format!("expected {expected}")),
            None => Mistake::new(message, "correct the TOML; `schema.json` has all keys"),
        };
        Problem { file: file.to_owned(), line, kind: "", name: String::new(), mistake }
    })
}

/// Returns the line of a place in a text, counted from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

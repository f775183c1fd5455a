//! The contents of a catalogue file. `catalogue/README.md` explains it, `catalogue/schema.json`
//! describes it for editors.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// Settings shared by several entries, by name.
    #[serde(default)]
    pub block: BTreeMap<String, Block>,
    #[serde(default)]
    pub entry: Vec<Entry>,
    /// Dangerous forms, by name.
    #[serde(default)]
    pub form: BTreeMap<String, Form>,
    /// Variables of the environment that hold what is run.
    #[serde(default)]
    pub variable: Vec<Variable>,
    /// Flags whose value is run, in addition to the entries of their programs.
    #[serde(default)]
    pub option: Vec<Flag>,
    /// Keys of configurations that hold what is run.
    #[serde(default)]
    pub setting: Vec<Setting>,
}

/// Variables, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variable {
    /// The names; `*` matches anything.
    pub names: Vec<String>,
    pub holds: String,
}

/// Flags of programs, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flag {
    /// Names of entries.
    pub of: Vec<String>,
    pub flags: String,
    pub holds: String,
}

/// Keys of a configuration, and what their value is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    /// The configuration: `git`, `ssh`, ...
    pub of: String,
    /// In lower case; `*` matches anything.
    pub keys: Vec<String>,
    pub holds: String,
}

/// The effects of a program.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Block {
    /// The effects that do not depend on flags.
    #[serde(default, rename = "does")]
    pub deeds: Vec<String>,
    /// The effects under a condition on flags or words.
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    /// Flags that take a value, and the role of the value.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
}

/// A program, or a program's subcommand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Entry {
    pub names: Vec<String>,
    #[serde(default, rename = "use")]
    pub blocks: Vec<String>,
    #[serde(default, rename = "does")]
    pub deeds: Option<Vec<String>>,
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The entry with this name is used in its place.
    pub same_as: Option<String>,
    /// The style in which its words are written.
    pub style: Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "a test runs the examples; the build only reads them")]
    pub examples: Vec<Example>,
}

/// A command line and the expected result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "as for `Entry::examples`")]
pub(crate) struct Example {
    pub run: String,
    #[serde(default)]
    pub effects: Vec<String>,
    #[serde(default)]
    pub forms: Vec<String>,
}

/// A way of calling programs that deserves a warning on any target.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    /// A description in words.
    pub label: String,
    /// The increase in risk, in thousandths.
    pub weight: u16,
}

/// Reads a file; an error names its line.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

//! What stands in a file of the catalogue. `catalogue/README.md` explains it, `catalogue/schema.json`
//! describes it for editors.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// What several entries share, by name.
    #[serde(default)]
    pub block: BTreeMap<String, Block>,
    #[serde(default)]
    pub entry: Vec<Entry>,
    /// Dangerous forms, by name.
    #[serde(default)]
    pub form: BTreeMap<String, Form>,
}

/// What a program does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Block {
    /// What it does whatever its flags are.
    #[serde(default, rename = "does")]
    pub deeds: Vec<String>,
    /// What it does where flags or words stand.
    #[serde(default)]
    pub when: BTreeMap<String, Vec<String>>,
    /// Flags that take a value, and what the value is.
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
    /// The entry with this name says it all.
    pub same_as: Option<String>,
    /// How its words are written.
    pub style: Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "a test runs the examples; the build only reads them")]
    pub examples: Vec<Example>,
}

/// A command line and what must come out.
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

/// A way of calling programs that is worth a warning whatever it is called on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    /// What it does, in words.
    pub label: String,
    /// What it adds to the risk, in thousandths.
    pub weight: u16,
}

/// Reads a file; a mistake names its line.
pub(crate) fn parse(text: &str) -> Result<Document, String> {
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

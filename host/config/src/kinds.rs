//! The allowed values of a key, and the values that count in an untrusted project's file.

use crate::answers;
use portcullis_engine::SettingValue as Value;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any of these words.
    Choices(&'static [&'static str]),
    /// Answers of a ladder: an intervention's kind, alone or with a plugin's name.
    Answers,
    /// Yes or no.
    Flag,
    /// A whole number within this range, bounds included.
    Integer(i64, i64),
    /// A score: a number from 0 to 1.
    Score,
    /// Any text.
    Text,
    /// A path; a relative one begins at the file's folder.
    Path,
    /// A file; a relative path begins at the file's folder.
    File,
    /// Paths that begin with `/` or `~/`.
    Paths,
    /// Globs of folders that begin with `/` or `~/`.
    Globs,
    /// Globs of paths, those of the project relative to it.
    PathGlobs,
    /// Names of plugins, or `all`.
    Plugins,
    /// Files; a relative path begins at the file's folder. The entries of all layers are combined.
    Files,
    /// Any texts.
    Names,
    /// Names of environment variables.
    Variables,
    /// Hosts, by scheme, name or address, and port.
    Hosts,
    /// Patterns of tools of MCP servers.
    Tools,
    /// Regular expressions of values that are masked.
    Patterns,
    /// A plugin's own setting: text, a number, yes or no, a list of texts.
    Setting,
}

/// The values of a key that count in an untrusted project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectScope {
    /// None.
    Trust,
    /// None, even with trust: the key applies to the whole installation.
    Never,
    /// None, even with trust: only the organisation and the person set it, possibly for some
    /// projects.
    Owner,
    /// A smaller number.
    Least,
    /// A greater number.
    Most,
    /// `true`.
    True,
    /// `false`.
    False,
    /// A word later in the list of allowed words.
    Later,
    /// Globs of paths in the project, if nobody else sets any.
    Within,
    /// `true` for a builtin plugin.
    TrueIfBuiltin,
    /// This word.
    Word(&'static str),
    /// Additional items.
    Union,
    /// Folders that are in both lists.
    Intersection,
    /// Items that are in both lists.
    Common,
}

impl ValueKind {
    /// Describes the allowed values, to complete "it must be".
    pub fn in_words(self) -> String {
        let listed = |words: &[&str]| {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Choice(words) => format!("one of {}", listed(words)),
            Self::Choices(words) => format!("a list of {}", listed(words)),
            Self::Answers => format!("a list of {}", answers::in_words()),
            Self::Flag => "`true` or `false`".into(),
            Self::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Self::Score => "a number from 0 to 1".into(),
            Self::Text => "text".into(),
            Self::Path => "the path of a folder".into(),
            Self::File => "the path of a file".into(),
            Self::Paths => "a list of paths that begin with `/` or `~/`".into(),
            Self::Globs => "a list of globs that begin with `/` or `~/`".into(),
            Self::PathGlobs => "a list of globs that begin with `/`, `~/` or at the project".into(),
            Self::Plugins => "a list of plugins' names, or of `all`".into(),
            Self::Files => "a list of files".into(),
            Self::Names => "a list of texts".into(),
            Self::Variables => {
                "a list of variables' names (letters, digits and `_`, no digit first)".into()
            }
            Self::Hosts => {
                "a list of `https://HOST`, `http://HOST:PORT`, `https://HOST=ADDRESS/BITS`".into()
            }
            Self::Tools => "a list of `SERVER/TOOL`, in which `*` stands for any letters".into(),
            Self::Patterns => {
                "a list of at most 32 regular expressions that match no empty text".into()
            }
            Self::Setting => "text, a finite number, `true`, `false` or a list of texts".into(),
        }
    }
}

impl ProjectScope {
    /// Describes the values that count without trust, for the documentation.
    pub fn in_words(self) -> String {
        match self {
            Self::Trust => "needs trust".into(),
            Self::Never | Self::Owner => "does not count".into(),
            Self::Least => "the smaller number counts".into(),
            Self::Most => "the greater number counts".into(),
            Self::True => "`true` counts".into(),
            Self::False => "`false` counts".into(),
            Self::Later => "the later word counts".into(),
            Self::Within => "relative globs count, if no other file sets any".into(),
            Self::TrueIfBuiltin => "`true` counts for a builtin plugin".into(),
            Self::Word(word) => format!("`\"{word}\"` counts"),
            Self::Union => "what it adds counts".into(),
            Self::Intersection | Self::Common => "what is in both counts".into(),
        }
    }
}

/// Formats a value as TOML, on one line.
pub fn toml_text(value: &Value) -> String {
    match value {
        Value::Text(text) => toml::Value::String(text.clone()).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => toml::Value::Float(*number).to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Texts(texts) => {
            let texts: Vec<String> =
                texts.iter().map(|text| toml::Value::String(text.clone()).to_string()).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

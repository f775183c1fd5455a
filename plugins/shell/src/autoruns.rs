//! Texts of files that run by themselves or by their name (`portcullis_autoruns` knows which).
//! Finds the parts of such a text that something will run.
//!
//! It judges nothing: the walk reads each part as the command line or the code that it is.

mod builds;
mod json;
mod settings;
mod tree;
mod yaml;

pub(crate) use settings::git_settings as list_git_settings;
pub(crate) use tree::{Node, read_tree};

pub(crate) use portcullis_autoruns::{Autorun, Format, Reach, find_autorun};

/// The most parts of one file that are read; past it, anything may follow.
pub(crate) const PARTS: usize = 512;

/// A part of a file that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub text: String,
    /// Its language; none for the shell's.
    pub language: Option<&'static str>,
}

impl Part {
    fn shell(text: impl Into<String>) -> Self {
        Self { text: text.into(), language: None }
    }
}

use Format::{
    Cmake, Code, Crontab, Desktop, Dockerfile, Git, Gradle, Json, Justfile, Makefile, Maven,
    Pipeline, PropertyList, Script, Sections, Ssh, Steps, Toml, Unit, Yaml,
};

/// Returns a piece of a file as a whole one: under a key, a section or a table whose contents run.
pub(crate) fn whole_of(format: Format, piece: &str) -> String {
    let before = match format {
        Yaml => "script:\n",
        Toml => "[tasks]\n",
        Git => "[core]\n",
        _ => "",
    };
    format!("{before}{piece}")
}

/// Returns the parts of a file that are run, and true if there is more than is read. Makefiles and
/// justfiles are read elsewhere, with their variables.
pub(crate) fn list_parts(format: Format, text: &str) -> (Vec<Part>, bool) {
    let mut parts = match format {
        Script => vec![Part::shell(text)],
        Code(language) => vec![Part { text: text.to_owned(), language: Some(language) }],
        Makefile | Justfile => Vec::new(),
        Git => settings::git(text),
        Ssh => settings::ssh(text),
        Unit => settings::unit(text),
        Desktop => settings::desktop(text),
        Crontab(user) => settings::crontab(text, user),
        PropertyList => settings::property_list(text),
        Dockerfile => settings::dockerfile(text),
        Pipeline => settings::pipeline(text),
        Toml => settings::toml(text),
        Cmake => builds::cmake(text),
        Gradle(kotlin) => builds::gradle(text, kotlin),
        Maven => builds::maven(text),
        Steps => builds::steps(text),
        Sections => builds::sections(text),
        Json => return json::parts(text),
        Yaml if text.trim_start().starts_with('{') => return json::parts(text),
        Yaml => yaml::parts(text),
    };
    let more = parts.len() > PARTS;
    parts.truncate(PARTS);
    (parts, more)
}

/// Joins words to a command line.
fn joined<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+$".contains(&byte);
        if !word.is_empty() && word.bytes().all(plain) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', "'\\''"));
            line.push('\'');
        }
    }
    line
}

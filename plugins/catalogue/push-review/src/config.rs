//! The settings.

use portcullis_plugin::pattern::{Error, FromSettings, Settings, Spec};

/// The settings.
#[derive(Debug)]
pub struct Config {
    /// Files whose change needs a reviewer.
    pub protected: Vec<String>,
    /// Branches that others build on.
    pub branches: Vec<String>,
    /// More changed files than this are many.
    pub most_files: usize,
    /// More changed lines than this are many.
    pub most_lines: usize,
    /// Every push is reported, not only those that need somebody.
    pub every_push: bool,
}

const PROTECTED: &[&str] =
    &[".github/workflows/**", "CODEOWNERS", "**/migrations/**", "Dockerfile"];
const BRANCHES: &[&str] = &["main", "master", "release/*"];
/// The most entries of a list.
const MOST_ENTRIES: usize = 200;

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::texts(
            "protected",
            PROTECTED,
            "files whose change needs a reviewer: a name, or a path with * and **",
        ),
        Spec::texts("branches", BRANCHES, "branches that others build on, with *"),
        Spec::integer("most_files", 30, "more changed files than this need a reviewer")
            .between(1, 100_000),
        Spec::integer("most_lines", 800, "more changed lines than this need a reviewer")
            .between(1, 10_000_000),
        Spec::flag("every_push", false, "report every push, not only those that need a reviewer"),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let size = |key| {
            let number = settings.integer(key);
            number.map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        Ok(Self {
            protected: read_globs(settings, "protected")?,
            branches: read_globs(settings, "branches")?,
            most_files: size("most_files")?,
            most_lines: size("most_lines")?,
            every_push: settings.flag("every_push")?,
        })
    }
}

fn read_globs(settings: &Settings, key: &str) -> Result<Vec<String>, Error> {
    let globs = settings.texts(key)?;
    if globs.len() > MOST_ENTRIES {
        return Err(Error::setting(key, "should have at most 200 entries"));
    }
    if globs.iter().any(|glob| glob.trim().is_empty()) {
        return Err(Error::setting(key, "should have no empty entry"));
    }
    Ok(globs.to_vec())
}

//! The settings.

use portcullis_plugin::risk_calculator::{Error, FromSettings, Settings, Spec};

/// How strictly a rule objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Not at all.
    Off,
    /// The action runs, with a warning.
    Warn,
    /// A person decides.
    Ask,
    /// The action does not run.
    Block,
}

/// The settings.
#[derive(Debug)]
pub struct Config {
    /// A file of secrets goes into a commit.
    pub staging: Strictness,
    /// Ignored files are added by force.
    pub forced: Strictness,
    /// A literal secret is written into a file that a commit may hold.
    pub contents: Strictness,
    /// A secret goes to a gist, a release, a comment.
    pub publishing: Strictness,
    /// A scanner for secrets is turned off.
    pub scanners: Strictness,
    /// All hooks are skipped.
    pub hooks: Strictness,
    /// A secret is no longer ignored.
    pub ignoring: Strictness,
    /// Further files that hold secrets.
    pub files: Vec<String>,
    /// Files that hold none, whatever their names say.
    pub harmless: Vec<String>,
    /// Files whose secrets are examples.
    pub examples: Vec<String>,
}

/// Files whose secrets are examples most of the time.
const EXAMPLES: &[&str] = &[
    "**/test/**",
    "**/tests/**",
    "**/__tests__/**",
    "**/spec/**",
    "**/fixtures/**",
    "**/testdata/**",
    "**/mocks/**",
    "**/__mocks__/**",
    "**/examples/**",
    "**/docs/**",
    "*.md",
    "*.mdx",
    "*.rst",
    "*.example",
    "*.sample",
    "*.template",
    "test_*",
    "test.*",
    "*_test.*",
    "*.test.*",
    "*.spec.*",
    "conftest.py",
];
/// The most entries of a list.
const MOST_ENTRIES: usize = 200;

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::text(
            "staging",
            "ask",
            "a file of secrets goes into a commit: off, warn, ask or block",
        ),
        Spec::text("forced", "warn", "ignored files are added by force"),
        Spec::text(
            "contents",
            "ask",
            "a literal secret is written into a file that a commit may hold",
        ),
        Spec::text(
            "publishing",
            "block",
            "a secret goes to a gist, a release, an issue or a commit message",
        ),
        Spec::text("scanners", "ask", "a scanner for secrets is turned off or told to look away"),
        Spec::text("hooks", "warn", "all hooks of a commit or a push are skipped"),
        Spec::text("ignoring", "ask", "a file of secrets is no longer ignored by git"),
        Spec::texts(
            "files",
            &[],
            "further files that hold secrets: a name, or a path with * and **",
        ),
        Spec::texts("harmless", &[], "files that hold no secrets, whatever their names say"),
        Spec::texts(
            "examples",
            EXAMPLES,
            "files whose secrets are examples: strong ones get a warning, weak ones pass",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            staging: read_strictness(settings, "staging")?,
            forced: read_strictness(settings, "forced")?,
            contents: read_strictness(settings, "contents")?,
            publishing: read_strictness(settings, "publishing")?,
            scanners: read_strictness(settings, "scanners")?,
            hooks: read_strictness(settings, "hooks")?,
            ignoring: read_strictness(settings, "ignoring")?,
            files: read_globs(settings, "files")?,
            harmless: read_globs(settings, "harmless")?,
            examples: read_globs(settings, "examples")?,
        })
    }
}

fn read_strictness(settings: &Settings, key: &str) -> Result<Strictness, Error> {
    match settings.text(key)? {
        "off" => Ok(Strictness::Off),
        "warn" => Ok(Strictness::Warn),
        "ask" => Ok(Strictness::Ask),
        "block" => Ok(Strictness::Block),
        _ => Err(Error::setting(key, "should be off, warn, ask or block")),
    }
}

fn read_globs(settings: &Settings, key: &str) -> Result<Vec<String>, Error> {
    let globs = settings.texts(key)?;
    if globs.len() > MOST_ENTRIES {
        return Err(Error::setting(key, "should have at most 200 entries"));
    }
    match globs.iter().find(|glob| glob.trim_matches(['*', '/', ' ']).is_empty()) {
        Some(_) => Err(Error::setting(key, "should name files, not all of them")),
        None => Ok(globs.to_vec()),
    }
}

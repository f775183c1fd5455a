//! The operator's settings: which names stand for production and for tests, and what follows.

use crate::names::{Class, Patterns};
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::risk_calculator::*;

/// What the plugin does about a finding, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Nothing.
    Pass,
    /// It runs, and the agent hears why that is doubtful.
    Warn,
    /// A person decides.
    Ask,
    /// It does not run.
    Block,
}

/// The names of answers, in the order of their positions.
const ANSWERS: &[(&str, Answer)] = &[
    ("pass", Answer::Pass),
    ("warn", Answer::Warn),
    ("ask", Answer::Ask),
    ("block", Answer::Block),
];

impl Answer {
    fn of_byte(byte: u8) -> Option<Self> {
        ANSWERS.get(usize::from(byte)).map(|(_, answer)| *answer)
    }
}

/// All settings.
pub struct Config {
    /// The names of databases, hosts and files.
    pub patterns: Patterns,
    /// To what destroys in production.
    pub production_destroys: Answer,
    /// To any other change of production.
    pub production_changes: Answer,
    /// To what destroys on another machine.
    pub remote_destroys: Answer,
    /// To any other change on another machine.
    pub remote_changes: Answer,
    /// To what destroys where nothing names the database.
    pub unknown_destroys: Answer,
    /// To what destroys on this machine.
    pub local_destroys: Answer,
    /// To statements for production that cannot be read before they run.
    pub unread: Answer,
    /// To what reaches the machine that the database runs on.
    pub server: Answer,
    /// To several changes outside of a transaction.
    pub loose: Answer,
    /// From how many changes on.
    pub loose_from: usize,
}

impl Config {
    /// Encodes the settings: every call reads them, and these bytes are quicker to read than the
    /// settings as they were given.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(FORMAT);
        for answer in [
            self.production_destroys,
            self.production_changes,
            self.remote_destroys,
            self.remote_changes,
            self.unknown_destroys,
            self.local_destroys,
            self.unread,
            self.server,
            self.loose,
        ] {
            out.byte(answer as u8);
        }
        out.number(self.loose_from);
        self.patterns.write(&mut out);
        out.into_bytes()
    }

    /// Decodes what [`Self::to_bytes`] encoded.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn of_bytes(prepared: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(prepared);
        Self::read(&mut input)
            .filter(|_| input.is_empty())
            .ok_or_else(|| Error::input("`prepared` is not what this plugin writes"))
    }

    fn read(input: &mut Reader<'_>) -> Option<Self> {
        if input.byte()? != FORMAT {
            return None;
        }
        let mut answer = || Answer::of_byte(input.byte()?);
        Some(Self {
            production_destroys: answer()?,
            production_changes: answer()?,
            remote_destroys: answer()?,
            remote_changes: answer()?,
            unknown_destroys: answer()?,
            local_destroys: answer()?,
            unread: answer()?,
            server: answer()?,
            loose: answer()?,
            loose_from: input.number()?,
            patterns: Patterns::read(input)?,
        })
    }
}

/// The first byte of encoded settings.
const FORMAT: u8 = 1;
/// The most patterns of one list, and the longest, in bytes.
const MOST: usize = 64;
const LONGEST: usize = 64;

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::texts(
            "production",
            &["prod", "production", "prd", "live"],
            "names of production: a word matches a part of a name, anything else the whole name, \
             with `*` for any text",
        ),
        Spec::texts(
            "test",
            &[
                "test",
                "tests",
                "testing",
                "dev",
                "develop",
                "development",
                "sandbox",
                "scratch",
                "tmp",
                "temp",
                "ci",
                "fixture",
                "fixtures",
                "e2e",
            ],
            "names of databases, hosts and files that may be broken",
        ),
        Spec::text(
            "production_destroys",
            "block",
            "block, ask, warn or pass: the answer to what destroys or changes without a bound \
             in production",
        ),
        Spec::text(
            "production_changes",
            "ask",
            "block, ask, warn or pass: the answer to any other change of production",
        ),
        Spec::text(
            "remote_destroys",
            "ask",
            "block, ask, warn or pass: the answer to what destroys on another machine",
        ),
        Spec::text(
            "remote_changes",
            "pass",
            "block, ask, warn or pass: the answer to any other change on another machine",
        ),
        Spec::text(
            "unknown_destroys",
            "ask",
            "block, ask, warn or pass: the answer to what destroys in a database that nothing \
             names",
        ),
        Spec::text(
            "local_destroys",
            "warn",
            "block, ask, warn or pass: the answer to what destroys in a database of this machine",
        ),
        Spec::text(
            "unread_statements",
            "ask",
            "block, ask, warn or pass: the answer to statements for production that cannot be \
             read before they run",
        ),
        Spec::text(
            "server_access",
            "ask",
            "block, ask, warn or pass: the answer to what reaches files or programs of the \
             database's machine",
        ),
        Spec::text(
            "loose_changes",
            "warn",
            "block, ask, warn or pass: the answer to several changes of rows outside of a \
             transaction, not on this machine",
        ),
        Spec::integer("loose_changes_from", 2, "from how many such changes on").between(2, 1000),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let answer = |key: &str| read_answer(settings, key);
        // A name that stands in both lists belongs to the stricter.
        let mut patterns = Patterns::default();
        patterns.add(Class::Production, read_patterns(settings, "production")?);
        patterns.add(Class::Test, read_patterns(settings, "test")?);
        Ok(Self {
            patterns,
            production_destroys: answer("production_destroys")?,
            production_changes: answer("production_changes")?,
            remote_destroys: answer("remote_destroys")?,
            remote_changes: answer("remote_changes")?,
            unknown_destroys: answer("unknown_destroys")?,
            local_destroys: answer("local_destroys")?,
            unread: answer("unread_statements")?,
            server: answer("server_access")?,
            loose: answer("loose_changes")?,
            loose_from: usize::try_from(settings.integer("loose_changes_from")?)
                .unwrap_or(usize::MAX),
        })
    }
}

fn read_answer(settings: &Settings, key: &str) -> Result<Answer, Error> {
    let text = settings.text(key)?;
    let found = ANSWERS.iter().find(|(name, _)| *name == text).map(|(_, answer)| *answer);
    found.ok_or_else(|| {
        Error::setting(key, &format!("is `{text}`, should be `block`, `ask`, `warn` or `pass`"))
    })
}

fn read_patterns<'s>(settings: &'s Settings, key: &str) -> Result<&'s [String], Error> {
    let given = settings.texts(key)?;
    if given.len() > MOST {
        return Err(Error::setting(key, &format!("should hold at most {MOST} patterns")));
    }
    let usable = |pattern: &&String| {
        (1..=LONGEST).contains(&pattern.len())
            && !pattern.contains(char::is_whitespace)
            && pattern.chars().any(char::is_alphanumeric)
    };
    match given.iter().find(|pattern| !usable(pattern)) {
        None => Ok(given),
        Some(pattern) => {
            let reason = format!(
                "`{pattern}` should be 1 to {LONGEST} bytes without blanks, with a letter or digit"
            );
            Err(Error::setting(key, &reason))
        }
    }
}

//! The operator's settings: which names belong to which environment, and what follows.

use crate::names::{Environment, Patterns};
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

/// The answers to what goes to one environment.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    /// To what destroys something.
    pub destroys: Answer,
    /// To any other change.
    pub changes: Answer,
}

/// All settings.
pub struct Config {
    /// The names of environments.
    pub patterns: Patterns,
    /// Answers for production.
    pub production: Answers,
    /// Answers for a protected environment.
    pub protected: Answers,
    /// Answers where no name is known.
    pub unknown: Answers,
    /// To making production the environment of all later commands.
    pub switch: Answer,
    /// To changing the record of what exists.
    pub state: Answer,
    /// To applying without approval.
    pub unapproved: Answer,
    /// To applying without a plan that was saved before.
    pub unplanned: Answer,
}

impl Config {
    /// Encodes the settings: every call reads them, and these bytes are quicker to read than the
    /// settings as they were given.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(FORMAT);
        let of = |answers: Answers| [answers.destroys, answers.changes];
        let pairs = [of(self.production), of(self.protected), of(self.unknown)];
        let single = [self.switch, self.state, self.unapproved, self.unplanned];
        for answer in pairs.into_iter().flatten().chain(single) {
            out.byte(answer as u8);
        }
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
        let (production, protected, unknown) = (
            Answers { destroys: answer()?, changes: answer()? },
            Answers { destroys: answer()?, changes: answer()? },
            Answers { destroys: answer()?, changes: answer()? },
        );
        let (switch, state) = (answer()?, answer()?);
        let (unapproved, unplanned) = (answer()?, answer()?);
        let patterns = Patterns::read(input)?;
        Some(Self {
            patterns,
            production,
            protected,
            unknown,
            switch,
            state,
            unapproved,
            unplanned,
        })
    }

    /// Returns the answers for an environment.
    pub const fn answers(&self, environment: Environment) -> Answers {
        match environment {
            Environment::Production => self.production,
            Environment::Protected => self.protected,
            Environment::Unknown => self.unknown,
            Environment::Development => Answers { destroys: Answer::Pass, changes: Answer::Pass },
        }
    }
}

/// The first byte of encoded settings.
const FORMAT: u8 = 1;
/// The most patterns of one environment, and the longest, in bytes.
const MOST: usize = 64;
const LONGEST: usize = 64;
const ONE_OF: &str = "`block`, `ask`, `warn` or `pass`";

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::texts(
            "production",
            &["prod", "production", "prd", "live"],
            "names of production: a word matches a part of a name, anything else the whole name, \
             with `*` for any text",
        ),
        Spec::texts(
            "protected",
            &["staging", "stage", "stg", "uat", "preprod"],
            "names of environments that others share",
        ),
        Spec::texts(
            "development",
            &[
                "dev",
                "develop",
                "development",
                "test",
                "testing",
                "qa",
                "sandbox",
                "local",
                "localhost",
                "localstack",
                "minikube",
                "kind",
                "k3d",
                "docker-desktop",
                "rancher-desktop",
                "*127.0.0.1*",
            ],
            "names of environments that may be broken",
        ),
        Spec::text(
            "production_destroys",
            "block",
            "block, ask, warn or pass: the answer to what destroys something in production",
        ),
        Spec::text(
            "production_changes",
            "ask",
            "block, ask, warn or pass: the answer to any other change of production",
        ),
        Spec::text(
            "protected_destroys",
            "ask",
            "block, ask, warn or pass: the answer to what destroys something in a protected \
             environment",
        ),
        Spec::text(
            "protected_changes",
            "warn",
            "block, ask, warn or pass: the answer to any other change of a protected environment",
        ),
        Spec::text(
            "unknown_destroys",
            "ask",
            "block, ask, warn or pass: the answer to what destroys something in an environment \
             that nothing names",
        ),
        Spec::text(
            "unknown_changes",
            "pass",
            "block, ask, warn or pass: the answer to any other change of an environment that \
             nothing names",
        ),
        Spec::text(
            "switch_to_production",
            "ask",
            "block, ask, warn or pass: the answer to making production the environment of all \
             later commands",
        ),
        Spec::text(
            "state_edits",
            "ask",
            "block, ask, warn or pass: the answer to changing the record of what exists, \
             outside development",
        ),
        Spec::text(
            "unapproved_apply",
            "ask",
            "block, ask, warn or pass: the answer to applying changes that nobody approved, \
             outside development",
        ),
        Spec::text(
            "unplanned_apply",
            "warn",
            "block, ask, warn or pass: the answer to applying without a plan saved before, \
             outside development",
        ),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let answers = |destroys: &str, changes: &str| {
            Ok(Answers {
                destroys: read_answer(settings, destroys)?,
                changes: read_answer(settings, changes)?,
            })
        };
        // A name that stands in several lists belongs to the strictest.
        let mut patterns = Patterns::default();
        patterns.add(Environment::Production, read_patterns(settings, "production")?);
        patterns.add(Environment::Protected, read_patterns(settings, "protected")?);
        patterns.add(Environment::Development, read_patterns(settings, "development")?);
        Ok(Self {
            patterns,
            production: answers("production_destroys", "production_changes")?,
            protected: answers("protected_destroys", "protected_changes")?,
            unknown: answers("unknown_destroys", "unknown_changes")?,
            switch: read_answer(settings, "switch_to_production")?,
            state: read_answer(settings, "state_edits")?,
            unapproved: read_answer(settings, "unapproved_apply")?,
            unplanned: read_answer(settings, "unplanned_apply")?,
        })
    }
}

fn read_answer(settings: &Settings, key: &str) -> Result<Answer, Error> {
    let text = settings.text(key)?;
    let found = ANSWERS.iter().find(|(name, _)| *name == text).map(|(_, answer)| *answer);
    found.ok_or_else(|| Error::setting(key, &format!("is `{text}`, should be {ONE_OF}")))
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

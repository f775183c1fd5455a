//! What a check says: how well, what it saw, what to do.

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Somebody chose it; it is told so that nobody is surprised.
    Note,
    /// The guard holds, but something weakens it or will.
    Warning,
    /// Actions run unreviewed, are refused for the wrong reason, or cannot be proven.
    Problem,
}

impl Level {
    /// As it stands in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// What findings are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The client and how we are registered there.
    Client,
    /// The program, its configuration, its plugins.
    Guard,
    /// The journal.
    Journal,
    /// The machine.
    Machine,
}

impl Group {
    /// All, in the order in which they are shown.
    pub const ALL: &[Self] = &[Self::Client, Self::Guard, Self::Journal, Self::Machine];

    /// For people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Client => "Claude Code",
            Self::Guard => "Portcullis",
            Self::Journal => "Journal",
            Self::Machine => "Machine",
        }
    }
}

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident => $text:literal, $group:ident;)*) => {
        /// What is looked at. The names stand in `doctor --json` and do not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Check { $($(#[$doc])* $name,)* }

        impl Check {
            /// As it stands in JSON and in front of a line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Where it is shown.
            pub const fn group(self) -> Group {
                match self { $(Self::$name => Group::$group,)* }
            }
        }
    };
}

checks! {
    /// The client's settings files can be read, and the client takes them for valid.
    Settings => "settings", Client;
    /// Our handlers stand there for every event, in the form that holds.
    Handlers => "handlers", Client;
    /// Nothing in the settings switches hooks off or leads ours elsewhere.
    Switches => "switches", Client;
    /// No other hook can undo what ours answers.
    Rivals => "other hooks", Client;
    /// Changes of the settings that were held back from running sessions.
    Held => "held changes", Client;
    /// The client is there and new enough.
    Version => "version", Client;
    /// The client's own word on which hooks it loaded.
    Listing => "loaded", Client;
    /// The program that the handlers start.
    Program => "program", Guard;
    /// Owners and modes of our folders and files.
    Access => "permissions", Guard;
    /// The configuration is valid and means what its owner thinks.
    Configuration => "configuration", Guard;
    /// Decisions hold, and nobody paused them.
    Mode => "mode", Guard;
    /// What is locked is installed, trusted and what was locked; told where anything is.
    Bundles => "bundles", Guard;
    /// Every plugin loads.
    Plugins => "plugins", Guard;
    /// Everything is compiled, so that no hook has to.
    Code => "compiled code", Guard;
    /// A known-bad action, judged by the loaded plugins.
    Judgement => "judgement", Guard;
    /// The database can be read and written.
    Database => "database", Journal;
    /// No record was changed, removed or inserted.
    Chain => "chain", Journal;
    /// What went wrong in the last day.
    Faults => "faults", Journal;
    /// Actions of the last day that nobody reviewed.
    Unreviewed => "unreviewed", Journal;
    /// The work that waits gets done.
    Maintenance => "maintenance", Journal;
    /// Channels of notifications can be used, and messages arrive; told where there are any.
    Notifications => "notifications", Journal;
    /// What is kept of files before actions can be put back; told where it is switched on.
    Checkpoints => "checkpoints", Journal;
    /// What is known of stopped sessions can be read, and whether one waits for a person.
    Incidents => "incidents", Journal;
    /// What was moved away in place of being deleted can be had back.
    Quarantine => "quarantine", Journal;
    /// The clock fits to the records.
    Clock => "clock", Machine;
    /// There is room.
    Disk => "disk", Machine;
    /// The handlers answer as they should, started as the client starts them. Last, since what is wrong
    /// there mostly has its cause above.
    Canary => "canary", Client;
}

/// One result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How well it is.
    pub level: Level,
    /// What was seen, in one line.
    pub what: String,
    /// What to do; empty where there is nothing to do.
    pub mend: String,
}

impl Finding {
    /// It is as it should be.
    pub fn ok(check: Check, what: impl Into<String>) -> Self {
        Self::new(check, Level::Ok, what, "")
    }

    /// Somebody chose it.
    pub fn note(check: Check, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(check, Level::Note, what, mend)
    }

    /// Something weakens the guard or will.
    pub fn warning(check: Check, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(check, Level::Warning, what, mend)
    }

    /// The guard does not hold.
    pub fn problem(check: Check, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(check, Level::Problem, what, mend)
    }

    fn new(check: Check, level: Level, what: impl Into<String>, mend: impl Into<String>) -> Self {
        let line = |text: String| portcullis_core::text::one_line(&text, 1024);
        Self { check, level, what: line(what.into()), mend: line(mend.into()) }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Finding", 4)?;
        fields.serialize_field("check", self.check.as_str())?;
        fields.serialize_field("level", self.level.as_str())?;
        fields.serialize_field("what", &self.what)?;
        fields.serialize_field("mend", &self.mend)?;
        fields.end()
    }
}

/// The worst level among findings.
pub fn worst(findings: &[Finding]) -> Level {
    findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
}

/// What was found of a check, or that all is well there.
pub fn or_ok(findings: Vec<Finding>, check: Check, what: impl Into<String>) -> Vec<Finding> {
    if findings.is_empty() { vec![Finding::ok(check, what)] } else { findings }
}

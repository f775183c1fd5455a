//! The result of a check: a level, an observation, and the advice.

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything is as expected.
    Ok,
    /// An intentional choice, reported as a reminder.
    Note,
    /// The guard works, but something weakens it or will.
    Warning,
    /// Actions run unreviewed, are refused for the wrong reason, or cannot be proven.
    Problem,
}

impl Level {
    /// Returns its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// The groups of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingGroup {
    /// The client and our registration there.
    Client,
    /// The program, its configuration, its plugins.
    Guard,
    /// The journal.
    Journal,
    /// The machine.
    Machine,
}

impl FindingGroup {
    /// All groups, in display order.
    pub const ALL: &[Self] = &[Self::Client, Self::Guard, Self::Journal, Self::Machine];

    /// Returns the title for people; that of a client is the client's name.
    pub fn group_title(self) -> &'static str {
        match self {
            Self::Client => "Client",
            Self::Guard => "Portcullis",
            Self::Journal => "Journal",
            Self::Machine => "Machine",
        }
    }
}

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident => $text:literal, $group:ident;)*) => {
        /// The subject of a check. The names are part of `doctor --json` and do not change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Check { $($(#[$doc])* $name,)* }

        impl Check {
            /// Returns its name in JSON and at the beginning of a line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Returns the group in which it is shown.
            pub const fn group(self) -> FindingGroup {
                match self { $(Self::$name => FindingGroup::$group,)* }
            }
        }
    };
}

checks! {
    /// The client's settings files can be read and are valid for the client.
    Settings => "settings", Client;
    /// Our handlers are registered for every event, in the required form.
    Handlers => "handlers", Client;
    /// Nothing in the settings disables hooks or redirects ours.
    Switches => "switches", Client;
    /// No other hook can override our answers.
    Rivals => "other hooks", Client;
    /// Settings changes that running sessions did not get.
    Held => "held changes", Client;
    /// The client is installed and recent enough.
    Version => "version", Client;
    /// The client's own report of the hooks that it loaded.
    Listing => "loaded", Client;
    /// The limits of a prompt that are measured for the client on this system.
    Limits => "limits", Client;
    /// The program that the handlers start.
    Program => "program", Guard;
    /// Owners and modes of our folders and files.
    Access => "permissions", Guard;
    /// The configuration is valid and does what its owner expects.
    Configuration => "configuration", Guard;
    /// Verdicts are enforced, and nobody has paused them.
    Mode => "mode", Guard;
    /// The fleet's orders are in force; reported if the machine has any, or refused some.
    Orders => "fleet orders", Guard;
    /// Locked bundles are installed, trusted and match their lock; reported if there are any.
    Bundles => "bundles", Guard;
    /// Every plugin loads.
    Plugins => "plugins", Guard;
    /// Everything is compiled, so that no hook has to compile.
    Code => "compiled code", Guard;
    /// The loaded plugins refuse a known-bad action.
    Judgement => "judgement", Guard;
    /// The resident service answers; reported if one is set up, or did not answer in the last day.
    Service => "service", Guard;
    /// The database can be read and written.
    Database => "database", Journal;
    /// No record was changed, removed or inserted.
    Chain => "chain", Journal;
    /// Faults of the last day.
    Faults => "faults", Journal;
    /// Actions of the last day that were not reviewed.
    Unreviewed => "unreviewed", Journal;
    /// Queued work gets done.
    Maintenance => "maintenance", Journal;
    /// Notification channels are usable, and messages arrive; reported if there are any.
    Notifications => "notifications", Journal;
    /// Exports are usable, and their sinks take the records; reported if there are any.
    Exports => "exports", Journal;
    /// Credentials are valid and accepted; reported if there are any.
    Credentials => "credentials", Journal;
    /// The keys that encrypt what is kept are available.
    Encryption => "encryption", Journal;
    /// Checkpoints can be restored; reported if they are enabled.
    Checkpoints => "checkpoints", Journal;
    /// Records of stopped sessions are readable; reports sessions that wait for a person.
    Incidents => "incidents", Journal;
    /// Quarantined files can be restored.
    Quarantine => "quarantine", Journal;
    /// The clock matches the records.
    Clock => "clock", Machine;
    /// There is enough disk space.
    Disk => "disk", Machine;
    /// The handlers answer correctly when started as the client starts them. This check is last,
    /// since its problems mostly have their cause in an earlier one.
    Canary => "canary", Client;
}

/// One result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthFinding {
    /// The subject of the check.
    pub check: Check,
    /// The client that it concerns, by its name; none if it concerns no client, or the only one.
    pub client: Option<&'static str>,
    /// Its level.
    pub level: Level,
    /// The observation, in one line.
    pub what: String,
    /// The advice; empty if there is nothing to do.
    pub fix: String,
}

impl HealthFinding {
    /// Creates a finding at level `Ok`.
    pub fn ok(check: Check, what: impl Into<String>) -> Self {
        Self::new(check, Level::Ok, what, "")
    }

    /// Creates a finding about an intentional choice.
    pub fn note(check: Check, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(check, Level::Note, what, fix)
    }

    /// Creates a finding about something that weakens the guard or will.
    pub fn warning(check: Check, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(check, Level::Warning, what, fix)
    }

    /// Creates a finding about a guard that does not work.
    pub fn problem(check: Check, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(check, Level::Problem, what, fix)
    }

    fn new(check: Check, level: Level, what: impl Into<String>, fix: impl Into<String>) -> Self {
        let line = |text: String| portcullis_core::text::one_line(&text, 1024);
        Self { check, client: None, level, what: line(what.into()), fix: line(fix.into()) }
    }
}

impl Serialize for HealthFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Finding", 5)?;
        fields.serialize_field("check", self.check.as_str())?;
        match self.client {
            Some(client) => fields.serialize_field("client", client)?,
            None => fields.skip_field("client")?,
        }
        fields.serialize_field("level", self.level.as_str())?;
        fields.serialize_field("what", &self.what)?;
        fields.serialize_field("fix", &self.fix)?;
        fields.end()
    }
}

/// Returns the worst level among findings.
pub fn worst_level(findings: &[HealthFinding]) -> Level {
    findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
}

/// Returns the findings, or one that says that the check passed.
pub(super) fn or_ok(
    findings: Vec<HealthFinding>,
    check: Check,
    what: impl Into<String>,
) -> Vec<HealthFinding> {
    if findings.is_empty() { vec![HealthFinding::ok(check, what)] } else { findings }
}

//! The content of a notification: bounded, and safe to show to a person.

use jiff::Timestamp;
use portcullis_core::text::{list_lines, one_line};
use serde::{Deserialize, Serialize};

/// The importance of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationSeverity {
    /// Good to know.
    #[default]
    Info,
    /// Worth a look.
    Warning,
    /// A person should act.
    Critical,
}

impl NotificationSeverity {
    /// Returns the name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// An action waits for a person.
    Approval,
    /// An action was blocked.
    Block,
    /// The agent was corrected, limited or held.
    Intervention,
    /// The session was stopped; there is an incident.
    EmergencyStop,
    /// A plugin failed too often and was disabled.
    Quarantine,
    /// Messages over another channel do not arrive.
    Delivery,
    /// A test of a channel.
    Test,
}

impl Topic {
    /// Returns the name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Block => "block",
            Self::Intervention => "intervention",
            Self::EmergencyStop => "emergency_stop",
            Self::Quarantine => "quarantine",
            Self::Delivery => "delivery",
            Self::Test => "test",
        }
    }
}

/// A description of one event. Masked text only. The fields may contain any text: the sender cuts
/// and escapes it, and the limit of each field, in bytes, is given in its documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// The event's id, the same at each attempt; 128.
    pub id: String,
    /// The time of the event, in milliseconds since 1970.
    pub at: u64,
    /// The subject.
    pub topic: Topic,
    /// The importance.
    pub severity: NotificationSeverity,
    /// One line; 150.
    pub title: String,
    /// The session's id, empty for none; 128.
    #[serde(default)]
    pub session: String,
    /// The project's name, empty for none; 200.
    #[serde(default)]
    pub project: String,
    /// The event; 2000.
    pub what: String,
    /// The reason, empty for none; 2000.
    #[serde(default)]
    pub why: String,
    /// The commands that a person can run next, at most 5 of 300 each. The caller's own words,
    /// never an agent's.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// The most bytes of the event, and of the reason.
const TEXT_BYTES: usize = 2000;
const MOST_COMMANDS: usize = 5;

impl Notification {
    /// Returns the message within its limits, without control characters, without line breaks in
    /// one-line fields, and without characters that reorder or hide text.
    pub(crate) fn bounded(&self) -> Self {
        Self {
            id: one_line(&self.id, 128),
            at: self.at,
            topic: self.topic,
            severity: self.severity,
            title: one_line(&self.title, 150),
            session: one_line(&self.session, 128),
            project: one_line(&self.project, 200),
            what: list_lines(&self.what, TEXT_BYTES),
            why: list_lines(&self.why, TEXT_BYTES),
            commands: self
                .commands
                .iter()
                .take(MOST_COMMANDS)
                .map(|command| one_line(command, 300))
                .collect(),
        }
    }

    /// Returns its head in one line.
    pub(crate) fn headline(&self) -> String {
        format!("{}: {}", self.severity.as_str(), self.title)
    }

    /// Returns the rest in paragraphs. Each line that somebody else may have worded begins with `>
    /// `, so that none can pass for one of our headings or commands.
    pub(crate) fn paragraphs(&self) -> Vec<String> {
        let quoted = |heading: &str, text: &str| {
            let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
            (!text.trim().is_empty()).then(|| format!("{heading}\n{}", lines.join("\n")))
        };
        let commands = || format!("What you can run\n{}", self.commands.join("\n"));
        [
            quoted("What happened", &self.what),
            quoted("Why", &self.why),
            (!self.commands.is_empty()).then(commands),
            Some(self.circumstances()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn circumstances(&self) -> String {
        let time = i64::try_from(self.at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        let named =
            |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}: {value}"));
        let rows = [
            named("Project", &self.project),
            named("Session", &self.session),
            time.map(|time| format!("Time: {time:.0}")),
            named("Event", &format!("{} {}", self.topic.as_str(), self.id)),
        ];
        rows.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

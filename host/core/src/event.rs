//! A message from an agent's client, independent of the client.
//!
//! `wire` makes an [`Event`] from bytes; everything after it works on this type alone.

use serde_json::{Map, Value};

/// One message of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The client's name in its profile, or a recording's format.
    pub client: String,
    /// The client's session id.
    pub session: String,
    /// The subagent that acts; none for the main agent.
    pub agent: Option<String>,
    /// The folder that the agent works in, absolute.
    pub cwd: String,
    /// The permission mode, for example `bypassPermissions`.
    pub permission_mode: Option<String>,
    /// The event's name as the client spells it.
    pub name: String,
    /// The kind of event.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// The agent is about to call a tool.
    BeforeTool(Call),
    /// The call ended.
    AfterTool(Call, CallResult),
    /// All calls of a message have ended; calls without an event of their own are seen only here.
    AfterBatch(Vec<(Call, CallResult)>),
    /// The person sent a prompt.
    Prompt(String),
    /// A session began or was resumed.
    SessionStart {
        /// `startup`, `resume`, `clear`, ...
        source: String,
    },
    /// A session ended.
    SessionEnd {
        /// The reason.
        reason: String,
    },
    /// The agent finished its turn.
    Stop,
    /// A subagent began.
    SubagentStart {
        /// The subagent's type.
        agent_type: String,
    },
    /// A subagent finished.
    SubagentStop,
    /// The client's settings changed on disk.
    ConfigChange {
        /// `project_settings`, `user_settings`, `local_settings`, `policy_settings`, ...
        source: String,
        /// The file, if the client names it.
        file: Option<String>,
    },
    /// Anything else, which gets a neutral answer.
    Other,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The client's id of the call.
    pub id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// Its parameters as received.
    pub input: Map<String, Value>,
}

/// The completeness of a call: a call that did not run to its own end shows no error of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallEnd {
    /// It ran to its end.
    #[default]
    Finished,
    /// Someone ended it while it ran: part of it may have happened.
    Interrupted,
    /// A person, or a rule of the client, refused it before it began.
    Refused,
    /// The client dropped it before it began, for a reason of its own: another call of the message
    /// failed. Nobody objected to it.
    Dropped,
}

impl CallEnd {
    /// Returns true for a call that never began.
    #[must_use]
    pub const fn is_before_begin(self) -> bool {
        matches!(self, Self::Refused | Self::Dropped)
    }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// True if the call failed.
    pub failed: bool,
    /// Its completeness. [`CallEnd::Refused`] counts only for a failed call.
    pub end: CallEnd,
    /// The error's text, empty when it did not fail.
    pub error: String,
    /// The result as text.
    pub output: String,
    /// The call's duration in milliseconds.
    pub duration_ms: Option<u32>,
    /// Tokens, if the client reports them.
    pub tokens: Option<u32>,
    /// The result as the client gave it, if the agent can be shown another one in its place;
    /// otherwise null.
    pub shown: Value,
}

impl CallResult {
    /// The result of a finished call of which only the text is known: the error's if it `failed`,
    /// otherwise the output.
    #[must_use]
    pub fn from_text(text: String, failed: bool) -> Self {
        let (error, output) = if failed { (text, String::new()) } else { (String::new(), text) };
        Self {
            failed,
            end: CallEnd::Finished,
            error,
            output,
            duration_ms: None,
            tokens: None,
            shown: Value::Null,
        }
    }
}

/// The answer to the client, independent of the client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The ruling on the call.
    pub ruling: Disposition,
    /// Text for the agent.
    pub agent: Vec<String>,
    /// Text for the person.
    pub person: Vec<String>,
    /// The result that the agent sees in place of the call's own, in the same shape.
    pub result: Option<Value>,
}

impl Reply {
    /// Changes each text for the agent and the person.
    #[must_use]
    pub fn map_texts(self, change: impl Fn(&str) -> String) -> Self {
        let ruling = match self.ruling {
            Disposition::Ask(reason) => Disposition::Ask(change(&reason)),
            Disposition::Refuse(reason) => Disposition::Refuse(change(&reason)),
            Disposition::Stop(reason) => Disposition::Stop(change(&reason)),
            other @ (Disposition::None | Disposition::Rewrite(_)) => other,
        };
        let agent = self.agent.iter().map(|text| change(text)).collect();
        let person = self.person.iter().map(|text| change(text)).collect();
        Self { ruling, agent, person, ..self }
    }
}

/// The ruling on the call that an event announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Disposition {
    /// No objection. It never gives consent on the person's behalf.
    #[default]
    None,
    /// It runs with these parameters instead.
    Rewrite(Map<String, Value>),
    /// A person decides. Holds the reason.
    Ask(String),
    /// It does not run or, for a change of settings, does not take effect. Holds the reason.
    Refuse(String),
    /// It does not run and the session ends. Holds the reason.
    Stop(String),
}

//! What an agent's client told us, independent of the client.
//!
//! `wire` makes an [`Event`] from bytes; everything after it works on this type alone.

use serde_json::{Map, Value};

/// One message of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The client: `claude`, or a recording's format.
    pub client: String,
    /// The client's session id.
    pub session: String,
    /// The subagent that acts; none for the main agent.
    pub agent: Option<String>,
    /// The folder that the agent works in, absolute.
    pub cwd: String,
    /// For example `bypassPermissions`.
    pub permission_mode: Option<String>,
    /// The event's name as the client spells it.
    pub name: String,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// The agent is about to call a tool.
    BeforeTool(Call),
    /// The call ended.
    AfterTool(Call, CallResult),
    /// A message's calls have all ended; calls that no other event told of are seen only here.
    AfterBatch(Vec<(Call, CallResult)>),
    /// The person asked for something.
    Prompt(String),
    /// A session began or was taken up again.
    SessionStart {
        /// `startup`, `resume`, `clear`, ...
        source: String,
    },
    /// A session ended.
    SessionEnd {
        /// Why.
        reason: String,
    },
    /// The agent finished its turn.
    Stop,
    /// A subagent began.
    SubagentStart {
        /// Its type.
        agent_type: String,
    },
    /// A subagent finished.
    SubagentStop,
    /// The client's settings changed on disk.
    ConfigChange {
        /// `project_settings`, `user_settings`, `local_settings`, `policy_settings`, ...
        source: String,
        /// The file, where it is told.
        file: Option<String>,
    },
    /// Anything else: answered neutrally.
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

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// It failed.
    pub failed: bool,
    /// The error's text, empty when it did not fail.
    pub error: String,
    /// The result as text.
    pub output: String,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<u32>,
    /// Tokens, where the client says.
    pub tokens: Option<u32>,
    /// The result as the client gave it, where another one can be shown to the agent in its place; null elsewhere.
    pub shown: Value,
}

/// What goes back to the client, independent of the client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What happens to the call.
    pub ruling: Ruling,
    /// Text for the agent.
    pub agent: Vec<String>,
    /// Text for the person.
    pub person: Vec<String>,
    /// What the agent sees in place of the call's result, in the same shape.
    pub result: Option<Value>,
}

/// What happens to the call that an event announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ruling {
    /// No objection. Never a consent on the person's behalf.
    #[default]
    None,
    /// It runs with these parameters instead.
    Rewrite(Map<String, Value>),
    /// A person decides; why.
    Ask(String),
    /// It does not run, or (a change of settings) does not take effect; why.
    Refuse(String),
    /// It does not run and the session ends; why.
    Stop(String),
}

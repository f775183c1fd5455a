//! Writes the answer to an event.

use super::VERSION;
use crate::payload::text_of;
use portcullis_core::event::{Disposition, Event, EventKind, Reply};
use serde::Serialize;
use serde_json::{Map, Value};

/// The answer to an event, in the form of [`super::SCHEMA`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    version: u64,
    /// True if the action may run now: as it is, or with `input` if that is there.
    run: bool,
    /// The ruling.
    ruling: Ruling,
    /// The reason; empty if there is no objection.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    /// The input to run in place of the action's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Map<String, Value>>,
    /// The result to show the model in place of the tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// Texts to add to the model's context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agent: Vec<String>,
    /// Texts to show the person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    person: Vec<String>,
}

/// The ruling on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ruling {
    /// No objection; the loop's own rules decide.
    Pass,
    /// No objection to the action with another input.
    Modify,
    /// A person has to decide.
    Ask,
    /// The action must not run.
    Block,
    /// The action must not run, and the session ends.
    Stop,
}

impl Answer {
    /// Returns true if the action may run now.
    #[must_use]
    pub const fn may_run(&self) -> bool {
        self.run
    }

    /// Returns true if the action may run as it is.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.ruling == Ruling::Pass
    }
}

/// Returns the answer to an event that was reviewed.
#[must_use]
pub fn answer_reply(event: &Event, reply: &Reply) -> Answer {
    let (ruling, reason, input) = match &reply.ruling {
        Disposition::None => (Ruling::Pass, String::new(), None),
        Disposition::Rewrite(input) => (Ruling::Modify, String::new(), Some(input.clone())),
        Disposition::Ask(reason) => (Ruling::Ask, reason.clone(), None),
        Disposition::Refuse(reason) => (Ruling::Block, reason.clone(), None),
        Disposition::Stop(reason) => (Ruling::Stop, reason.clone(), None),
    };
    let is_after = matches!(event.kind, EventKind::AfterTool(..));
    Answer {
        version: VERSION,
        run: matches!(ruling, Ruling::Pass | Ruling::Modify),
        ruling,
        reason,
        input,
        result: reply.result.as_ref().filter(|_| is_after).map(text_of),
        agent: reply.agent.clone(),
        person: reply.person.clone(),
    }
}

/// Returns the answer to bytes that are not an event: it could have been an action, so nothing
/// runs.
#[must_use]
pub fn answer_unreadable(problem: &str) -> Answer {
    Answer {
        version: VERSION,
        run: false,
        ruling: Ruling::Block,
        reason: format!("the event could not be read: {problem}"),
        input: None,
        result: None,
        agent: Vec::new(),
        person: Vec::new(),
    }
}

//! Calls that a transcript shows and that no review covers: they count as unreviewed steps, and
//! both agent and person are informed.
//!
//! The caller determines which calls those are, since it can read the transcript and the journal.

use super::{Ports, ReviewOutcome, Run, Settings};
use crate::action::Timestamp;
use crate::event::{Call, CallResult, Event};
use crate::text::{count_noun, one_line};
use serde_json::{Map, Value};

/// The most calls that are handled at once; the others are found missing again at the next event.
pub const MOST_MISSED: usize = 64;
/// The most calls that the notice names.
const MOST_NAMED: usize = 5;

/// A call that was not reviewed.
#[derive(Clone, Debug, PartialEq)]
pub struct MissedCall {
    /// The client's id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its parameters.
    pub input: Map<String, Value>,
    /// The subagent that made it; none for the main agent.
    pub agent: Option<String>,
    /// Its result, if the transcript has it.
    pub result: Option<CallResult>,
}

/// Adds the calls to the result of `event`. They join the history of that event's agent, since that
/// is the history that patterns examine. The record of a call names the agent that made it. Calls
/// that the history already has are skipped.
pub fn missed_calls<'p>(
    event: &Event,
    reviewed: ReviewOutcome,
    missed: &[MissedCall],
    now: Timestamp,
    settings: &Settings<'_>,
    ports: &mut Ports<'p>,
) -> ReviewOutcome {
    let mut run = Run::resume(event, reviewed, now, settings, ports);
    let mut named = Vec::new();
    for call in missed {
        if named.len() < MOST_MISSED && !run.state.agent.knows_call(&call.id) {
            named.push(run.missed(call));
        }
    }
    run.tell_missed(&named);
    run.replace_reply_if_stopped();
    run.reviewed()
}

impl Run<'_, '_> {
    /// Adds one call and returns it in one line.
    fn missed(&mut self, missed: &MissedCall) -> String {
        let call = Call {
            id: Some(missed.id.clone()),
            tool: missed.tool.clone(),
            input: missed.input.clone(),
        };
        let first = self.records.len();
        self.unreviewed(&call, missed.result.as_ref());
        let Some(record) = self.records.get_mut(first) else { return missed.tool.clone() };
        if record.agent != missed.agent {
            // The step's number belongs to the event's agent.
            record.step = None;
            record.agent.clone_from(&missed.agent);
        }
        record.details.insert("found".into(), "transcript".into());
        record.summary.clone()
    }

    fn tell_missed(&mut self, named: &[String]) {
        if named.is_empty() {
            return;
        }
        let few: Vec<String> = named
            .iter()
            .take(MOST_NAMED)
            .map(|name| format!("`{}`", one_line(name, 120)))
            .collect();
        let more = named.len().saturating_sub(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let count = count_noun(named.len() as u64, "call");
        let text = format!(
            "Portcullis found {count} that it did not review in the session's transcript: {}{more}.",
            few.join(", ")
        );
        if !self.observing() {
            self.reply.agent.push(text.clone());
        }
        self.reply.person.push(format!("{text} `portcullis doctor` shows the possible causes."));
    }
}

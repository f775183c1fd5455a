//! What an intervention's answer means for the session: text for agent and person, limits, a stop.
//!
//! Everything that a plugin proposes is checked here: a limit that loosens is refused, a checkpoint
//! that does not exist is a fault.

use crate::finding::{Background, Guidance, Response, Situation};
use crate::record::RecordedRestore;
use crate::session::Session;
use crate::text::lines;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes of one message to the agent.
const MOST: usize = 4096;

crate::score::named! {
    /// How the session goes on.
    Outcome {
        /// With a correction.
        Continue => "continue",
        /// With its context rebuilt.
        Rebuild => "rebuild",
        /// Under tighter limits.
        Limit => "limit",
        /// From a checkpoint.
        Restore => "restore",
        /// Not at all.
        Stop => "stop",
        /// When a person has acted.
        Wait => "wait",
    }
}

/// What follows from an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// How the session goes on.
    pub outcome: Outcome,
    /// For the agent.
    pub agent: Vec<String>,
    /// For the person.
    pub person: Vec<String>,
    /// Why the session ends, if it does.
    pub stop: Option<String>,
    /// Why the agent waits for a person, if it does.
    pub hold: Option<String>,
}

/// Carries a response out. `beyond`: the issue came back after as many new beginnings as it gets, so another one is
/// for a person to begin.
///
/// # Errors
/// In words: the response names a checkpoint that does not exist.
pub fn carry_out(response: &Response, situation: &Situation, beyond: bool, session: &mut Session) -> Result<Recovery, String> {
    let recovery = match response {
        Response::Guide(guidance) => guide(guidance, session),
        Response::Rollback { checkpoint, guidance } => {
            if !situation.checkpoints.iter().any(|known| &known.id == checkpoint) {
                return Err(format!("it wants to return to the checkpoint `{}`, which does not exist", lines(checkpoint, 64)));
            }
            let mut recovery = guide(guidance, session);
            recovery.outcome = Outcome::Restore;
            let id = lines(checkpoint, 128);
            recovery.person.push(format!("to put the files back as they were: `portcullis checkpoint restore {id}`"));
            recovery.hold = Some(format!("a person has to decide whether files go back to the checkpoint {id}"));
            recovery
        }
        Response::Stop { message, report } => {
            let reason = lines(message, MOST);
            let person = report.immediate.iter().map(|step| format!("- {}", lines(step, 512))).collect();
            Recovery { outcome: Outcome::Stop, agent: Vec::new(), person, stop: Some(reason), hold: None }
        }
        Response::RecoveryNeeded { reason, steps } => {
            let reason = lines(reason, MOST);
            let mut person = vec![reason.clone()];
            person.extend(steps.iter().map(|step| format!("- {}", lines(step, 512))));
            Recovery { outcome: Outcome::Wait, agent: vec![reason.clone()], person, stop: None, hold: Some(reason) }
        }
    };
    Ok(if beyond { recovery.given_up() } else { recovery })
}

impl Recovery {
    /// The files are back, or why they are not; then the session stays held for a person.
    #[must_use]
    pub fn restored(mut self, restored: &RecordedRestore) -> Self {
        if let Some(why) = &restored.problem {
            self.person.push(format!("nothing was put back by itself: {}", lines(why, MOST)));
            return self;
        }
        let named = restored.first.iter().map(|path| format!("`{}`", lines(path, 240))).collect::<Vec<_>>().join(", ");
        let more = restored.paths.saturating_sub(restored.first.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what = format!("{} paths are as they were before it: {named}{more}", restored.paths);
        self.agent.push(format!("{what}. The conversation was not rewound: read a file again before you rely on what you remember of it."));
        let undo = restored.undo.as_ref().map(|undo| format!("; `portcullis checkpoint restore {undo}` undoes that")).unwrap_or_default();
        self.person = vec![format!("{what}{undo}")];
        self.hold = None;
        self
    }

    /// Another new beginning would be one too many.
    fn given_up(mut self) -> Self {
        if matches!(self.outcome, Outcome::Rebuild | Outcome::Restore) {
            self.outcome = Outcome::Wait;
            let why = "this came back after each new beginning: say what you tried and what you need, and wait for the person";
            self.agent.push(why.to_owned());
            self.person.push("the agent began anew as often as it may, and the same thing came back: it waits for you".to_owned());
            self.hold.get_or_insert_with(|| "the same thing came back after each new beginning".to_owned());
        }
        self
    }
}

fn guide(guidance: &Guidance, session: &mut Session) -> Recovery {
    let mut background: Vec<&Background> = guidance.background.iter().collect();
    background.sort_by_key(|item| !item.emphasised);
    let mut agent: Vec<String> = guidance.messages.iter().map(|message| lines(message, MOST)).collect();
    agent.extend(background.iter().map(|item| format!("{}: {}", lines(&item.title, 128), lines(&item.text, MOST))));
    session.tighten(&guidance.limits);
    let outcome = match (guidance.limits.is_empty(), guidance.background.is_empty()) {
        (false, _) => Outcome::Limit,
        (true, false) => Outcome::Rebuild,
        (true, true) => Outcome::Continue,
    };
    Recovery { outcome, agent, person: Vec::new(), stop: None, hold: None }
}

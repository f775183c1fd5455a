//! The effects of an intervention's answer on the session: text for agent and person, limits, a
//! stop.
//!
//! Everything that a plugin proposes is checked here: a limit that loosens is refused, a checkpoint
//! that does not exist is a fault.

use crate::finding::{Background, Guidance, Response, Situation};
use crate::recorded_undo::RecordedRestore;
use crate::session::Session;
use crate::text::counted;
use crate::text::lines;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most bytes of one message to the agent.
const MOST: usize = 4096;

crate::score::named! {
    /// The way in which the session continues.
    RecoveryOutcome {
        /// With a correction.
        Continue => "continue",
        /// With its context rebuilt.
        Rebuild => "rebuild",
        /// Under tighter limits.
        Limit => "limit",
        /// From a checkpoint.
        Restore => "restore",
        /// Not at all: it is stopped.
        Stop => "stop",
        /// Only after a person has acted.
        Wait => "wait",
    }
}

/// The effects of an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// The way in which the session continues.
    pub outcome: RecoveryOutcome,
    /// Text for the agent.
    pub agent: Vec<String>,
    /// Text for the person.
    pub person: Vec<String>,
    /// The reason that the session ends, if it does.
    pub stop: Option<String>,
    /// The reason that the agent waits for a person, if it does.
    pub hold: Option<String>,
}

/// Carries out a response. `beyond`: the issue came back after all its permitted restarts, so only
/// a person may start another one.
///
/// # Errors
/// Fails, with a message, if the response names a checkpoint that does not exist.
pub fn carry_out(
    response: &Response,
    situation: &Situation,
    beyond: bool,
    session: &mut Session,
) -> Result<Recovery, String> {
    let recovery = match response {
        Response::Guide(guidance) => guide(guidance, session),
        Response::Rollback { checkpoint, guidance } => {
            if !situation.checkpoints.iter().any(|known| &known.id == checkpoint) {
                return Err(format!(
                    "it wants to return to the checkpoint `{}`, which does not exist",
                    lines(checkpoint, 64)
                ));
            }
            let mut recovery = guide(guidance, session);
            recovery.outcome = RecoveryOutcome::Restore;
            let id = lines(checkpoint, 128);
            recovery.person.push(format!(
                "to put the files back as they were: `portcullis checkpoint restore {id}`"
            ));
            recovery.hold = Some(format!(
                "a person has to decide whether files go back to the checkpoint {id}"
            ));
            recovery
        }
        Response::Stop { message, report } => {
            let reason = lines(message, MOST);
            let person =
                report.immediate.iter().map(|step| format!("- {}", lines(step, 512))).collect();
            Recovery {
                outcome: RecoveryOutcome::Stop,
                agent: Vec::new(),
                person,
                stop: Some(reason),
                hold: None,
            }
        }
        Response::RecoveryNeeded { reason, steps } => {
            let reason = lines(reason, MOST);
            let mut person = vec![reason.clone()];
            person.extend(steps.iter().map(|step| format!("- {}", lines(step, 512))));
            Recovery {
                outcome: RecoveryOutcome::Wait,
                agent: vec![reason.clone()],
                person,
                stop: None,
                hold: Some(reason),
            }
        }
    };
    Ok(if beyond { recovery.given_up() } else { recovery })
}

impl Recovery {
    /// Reports that the files are restored, or the reason that they are not; in that case the
    /// session stays held for a person.
    #[must_use]
    pub fn restored(mut self, restored: &RecordedRestore) -> Self {
        if let Some(why) = &restored.problem {
            self.person.push(format!("nothing was put back automatically: {}", lines(why, MOST)));
            return self;
        }
        let named = restored
            .first
            .iter()
            .map(|path| format!("`{}`", lines(path, 240)))
            .collect::<Vec<_>>()
            .join(", ");
        let more = restored.paths.saturating_sub(restored.first.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let paths = counted(restored.paths, "path");
        let what = format!("restored to the state before it: {paths}, {named}{more}");
        self.agent.push(format!("{what}. The conversation was not rewound: read a file again before you rely on what you remember of it."));
        let undo = restored
            .undo
            .as_ref()
            .map(|undo| format!("; `portcullis checkpoint restore {undo}` undoes that"))
            .unwrap_or_default();
        self.person = vec![format!("{what}{undo}")];
        self.hold = None;
        self
    }

    /// Holds the session instead of exceeding the number of restarts.
    fn given_up(mut self) -> Self {
        if matches!(self.outcome, RecoveryOutcome::Rebuild | RecoveryOutcome::Restore) {
            self.outcome = RecoveryOutcome::Wait;
            let why = "this problem came back after each fresh start: say what you tried and what you need, and wait for the person";
            self.agent.push(why.to_owned());
            self.person.push("the agent started over as often as it may, and the same problem came back: it waits for you".to_owned());
            self.hold.get_or_insert_with(|| {
                "the same problem came back after each fresh start".to_owned()
            });
        }
        self
    }
}

fn guide(guidance: &Guidance, session: &mut Session) -> Recovery {
    let mut background: Vec<&Background> = guidance.background.iter().collect();
    background.sort_by_key(|item| !item.emphasised);
    let mut agent: Vec<String> =
        guidance.messages.iter().map(|message| lines(message, MOST)).collect();
    agent.extend(
        background
            .iter()
            .map(|item| format!("{}: {}", lines(&item.title, 128), lines(&item.text, MOST))),
    );
    session.tighten(&guidance.limits);
    let outcome = match (guidance.limits.is_empty(), guidance.background.is_empty()) {
        (false, _) => RecoveryOutcome::Limit,
        (true, false) => RecoveryOutcome::Rebuild,
        (true, true) => RecoveryOutcome::Continue,
    };
    Recovery { outcome, agent, person: Vec::new(), stop: None, hold: None }
}

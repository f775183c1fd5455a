//! What an intervention's answer means for the session: text for agent and person, limits, a stop.
//!
//! Everything that a plugin proposes is checked here: a limit that loosens is refused, a checkpoint
//! that does not exist is a fault.

use crate::finding::{Background, Guidance, Response, Situation};
use crate::session::Session;
use crate::text::lines;
use serde::{Deserialize, Serialize};

/// The most bytes of one message to the agent.
const MOST: usize = 4096;

/// How the session goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// With a correction.
    Continue,
    /// With its context rebuilt.
    Rebuild,
    /// Under tighter limits.
    Limit,
    /// From a checkpoint.
    Restore,
    /// Not at all.
    Stop,
    /// When a person has acted.
    Wait,
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
}

/// Carries a response out.
///
/// # Errors
/// In words: the response names a checkpoint that does not exist.
pub fn carry_out(response: &Response, situation: &Situation, session: &mut Session) -> Result<Recovery, String> {
    match response {
        Response::Guide(guidance) => Ok(guide(guidance, session)),
        Response::Rollback { checkpoint, guidance } => {
            if !situation.checkpoints.iter().any(|known| &known.id == checkpoint) {
                return Err(format!("it wants to return to the checkpoint `{}`, which does not exist", lines(checkpoint, 64)));
            }
            let mut recovery = guide(guidance, session);
            recovery.outcome = Outcome::Restore;
            recovery.person.push(format!("the files can be put back to the checkpoint {checkpoint}"));
            Ok(recovery)
        }
        Response::Stop { message, report } => {
            let reason = lines(message, MOST);
            let mut person = Vec::new();
            person.extend(report.immediate.iter().map(|step| format!("- {}", lines(step, 512))));
            Ok(Recovery { outcome: Outcome::Stop, agent: Vec::new(), person, stop: Some(reason) })
        }
        Response::RecoveryNeeded { reason, steps } => {
            let mut person = vec![lines(reason, MOST)];
            person.extend(steps.iter().map(|step| format!("- {}", lines(step, 512))));
            Ok(Recovery { outcome: Outcome::Wait, agent: vec![lines(reason, MOST)], person, stop: None })
        }
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
    Recovery { outcome, agent, person: Vec::new(), stop: None }
}

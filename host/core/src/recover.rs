//! The effects of an intervention's answer on the session: text for agent and person, limits, a
//! stop.
//!
//! Everything that a plugin proposes is checked here: a limit that loosens is refused, a checkpoint
//! that does not exist is a fault.

use crate::finding::{Background, Guidance, Response, Situation};
use crate::recorded_undo::{RecordedLeftOut, RecordedRestore};
use crate::session::Session;
use crate::text::count_noun;
use crate::text::list_lines;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The text for the agent while a person decides if files go back.
const NOTHING_WENT_BACK: &str = "nothing has gone back yet: the person decides whether files do, \
     and is asked about each thing that you do beyond looking. Say what you did, and wait for \
     their next prompt.";
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
        /// Unchanged: in observe mode nothing is carried out.
        Observed => "observed",
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
        Response::Guide(guidance) => guide(guidance, situation.step, session),
        Response::Rollback { checkpoint, guidance } => {
            if !situation.checkpoints.iter().any(|known| &known.id == checkpoint) {
                return Err(format!(
                    "it wants to return to the checkpoint `{}`, which does not exist",
                    list_lines(checkpoint, 64)
                ));
            }
            let mut recovery = guide(guidance, situation.step, session);
            recovery.outcome = RecoveryOutcome::Restore;
            let id = list_lines(checkpoint, 128);
            recovery.agent.push(NOTHING_WENT_BACK.to_owned());
            recovery.person.push(format!(
                "the agent is held: what it does beyond looking asks you, until your next prompt. \
                 To put the files back as they were: `portcullis checkpoint restore {id}`"
            ));
            recovery.hold = Some(format!(
                "a person has to decide whether files go back to the checkpoint {id}"
            ));
            recovery
        }
        Response::Stop { message, report } => {
            let reason = list_lines(message, MOST);
            let person = report
                .immediate
                .iter()
                .map(|step| format!("- {}", list_lines(step, 512)))
                .collect();
            Recovery {
                outcome: RecoveryOutcome::Stop,
                agent: Vec::new(),
                person,
                stop: Some(reason),
                hold: None,
            }
        }
        Response::RecoveryNeeded { reason, steps } => {
            let reason = list_lines(reason, MOST);
            let mut person = vec![reason.clone()];
            person.extend(steps.iter().map(|step| format!("- {}", list_lines(step, 512))));
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
    pub fn note_restored(mut self, restored: &RecordedRestore) -> Self {
        if let Some(why) = &restored.problem {
            self.person
                .push(format!("nothing was put back automatically: {}", list_lines(why, MOST)));
            return self;
        }
        self.agent.retain(|text| text != NOTHING_WENT_BACK);
        let named = restored
            .first
            .iter()
            .map(|path| format!("`{}`", list_lines(path, 240)))
            .collect::<Vec<_>>()
            .join(", ");
        let more = restored.paths.saturating_sub(restored.first.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let paths = count_noun(restored.paths, "path");
        let missing = describe_missing(restored);
        let what = format!("restored to the state before it: {paths}, {named}{more}{missing}");
        self.agent.push(format!(
            "{}{what}. The conversation was not rewound: read a file again \
             before you rely on what you remember of it.",
            describe_steps(restored)
        ));
        let still_done = describe_still_done(restored);
        let again = "do not take it for undone, and do not simply do it again";
        self.agent.extend(still_done.iter().map(|text| format!("{text}; {again}")));
        let undo = restored
            .undo
            .as_ref()
            .map(|undo| format!("; `portcullis checkpoint restore {undo}` undoes that"))
            .unwrap_or_default();
        self.person = vec![format!("{what}{undo}")];
        self.person.extend(still_done);
        if !restored.limits.is_empty() {
            let limits = format!(
                "the limits are those of the checkpoint again: {}",
                restored.limits.join(", ")
            );
            self.agent.push(limits.clone());
            self.person.push(limits);
        }
        self.hold = None;
        self
    }

    /// Holds the session instead of exceeding the number of restarts.
    fn given_up(mut self) -> Self {
        if matches!(self.outcome, RecoveryOutcome::Rebuild | RecoveryOutcome::Restore) {
            self.outcome = RecoveryOutcome::Wait;
            let why = "this problem came back after each answer: say what you tried and what you \
                 need, and wait for the person";
            self.agent.push(why.to_owned());
            self.person.push(
                "the agent was told to start over as often as it may be, and the same \
                 problem came back: it waits for you"
                    .to_owned(),
            );
            self.hold
                .get_or_insert_with(|| "the same problem came back after each answer".to_owned());
        }
        self
    }
}

/// The most actions that a message names.
const MOST_NAMED: usize = 8;

/// Describes the steps that a restore undid.
fn describe_steps(restored: &RecordedRestore) -> String {
    match restored.steps {
        Some((first, last)) if first == last => {
            format!("what step {first} did to files is undone; ")
        }
        Some((first, last)) => {
            format!("what the steps from {first} to {last} did to files is undone; ")
        }
        None => String::new(),
    }
}

/// Describes what the undone steps did besides changing files.
fn describe_still_done(restored: &RecordedRestore) -> Option<String> {
    let all = &restored.still_done;
    let named: Vec<&str> = all.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = all.len().saturating_sub(named.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!named.is_empty())
        .then(|| format!("not undone, since no file holds it: {}{more}", named.join("; ")))
}

/// Describes the paths that are not as before in spite of a restore.
fn describe_missing(restored: &RecordedRestore) -> String {
    if restored.not_restored == 0 {
        return String::new();
    }
    let named = |one: &RecordedLeftOut| format!("`{}` ({})", list_lines(&one.path, 240), one.why);
    let named: Vec<String> = restored.first_not_restored.iter().map(named).collect();
    let paths = count_noun(restored.not_restored, "path");
    format!("; not restored: {paths}, {}", named.join(", "))
}

fn guide(guidance: &Guidance, step: u64, session: &mut Session) -> Recovery {
    let mut background: Vec<&Background> = guidance.background.iter().collect();
    background.sort_by_key(|item| !item.emphasised);
    let mut agent: Vec<String> =
        guidance.messages.iter().map(|message| list_lines(message, MOST)).collect();
    agent.extend(
        background.iter().map(|item| {
            format!("{}: {}", list_lines(&item.title, 128), list_lines(&item.text, MOST))
        }),
    );
    session.tighten_limits_at(step, &guidance.limits);
    let outcome = match (guidance.limits.is_empty(), guidance.background.is_empty()) {
        (false, _) => RecoveryOutcome::Limit,
        (true, false) => RecoveryOutcome::Rebuild,
        (true, true) => RecoveryOutcome::Continue,
    };
    Recovery { outcome, agent, person: Vec::new(), stop: None, hold: None }
}

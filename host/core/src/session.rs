//! A session's state: goals, limits and history, carried from hook to hook as data.
//!
//! The state has two parts: one shared by the whole session, and one for each agent in it, so that
//! a subagent's loops are its own while limits and stops apply to everyone. Both are bounded:
//! regardless of the session's length, they encode to a few tens of kilobytes.

mod bytes;
mod rewind;
mod rows;
mod stop;
mod usage;

pub use bytes::StateError;
pub use rewind::{LastingAction, LimitChange};
pub use stop::{ResumeConditions, Stop};
pub use usage::{CALM_STEPS, Measured, PromptClock, TokenCursor, TokenReading};

use crate::action::{
    Effect, Goal, History, Intent, Limit, Repetition, Status, Step, Timestamp, Totals,
};
use crate::event::CallEnd;
use crate::finding::PastIntervention;
use crate::own_files::OwnFiles;
use crate::policy::LimitPolicy;
use crate::run_files::{FileLedger, MountLedger};
use crate::score::{Score, Verdict};
use crate::seen_secrets::SeenSecrets;
use crate::text::{hash_parts, one_line};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Steps that are kept.
pub const HISTORY: usize = 200;
/// Goals that are kept.
pub const GOALS: usize = 16;
/// Calls without an outcome that are kept, including refused ones; older ones are forgotten and
/// count as never ended.
const PENDING: usize = 64;
/// Ids of reviewed calls that are kept, to notice calls that were never reviewed.
const CALLS: usize = 512;
/// Action shapes whose repetition is counted.
const SHAPES: usize = 256;
/// Issues that are kept.
const ISSUES: usize = 64;
/// Limits that are kept.
const LIMITS_KEPT: usize = 16;
/// Interventions that are kept.
const INTERVENTIONS: usize = 32;
/// Refused calls that are kept for the summary at the end, and the most bytes of each.
const REFUSED: (usize, usize) = (200, 120);
/// Refused steps that each agent's history shares.
const SHARED: usize = 12;
/// One-line descriptions of the newest actions.
const RECENT: usize = 50;

/// The state that a session's agents share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Events of the session so far; ids are derived from it.
    pub events: u64,
    /// The time when it was first seen.
    pub started: Timestamp,
    /// The project's folders: those in which the session began.
    pub roots: Vec<String>,
    /// The person's requests, oldest first.
    pub goals: Vec<(String, Timestamp)>,
    /// Prompts so far.
    pub prompts: u32,
    /// Limits in force and their usage.
    pub limits: Vec<Limit>,
    /// Sums over all agents.
    pub totals: Totals,
    /// The reason that the session was stopped, if it was.
    pub stopped: Option<String>,
    /// Issues that came up, by name.
    pub issues: BTreeMap<String, IssueState>,
    /// Interventions, newest last.
    pub interventions: VecDeque<PastIntervention>,
    /// The reason that the agent must wait for a person's next prompt before it changes anything,
    /// if it must.
    pub held: Option<String>,
    /// States of the plugins that observe the session as a whole, by name.
    pub plugins: BTreeMap<String, Vec<u8>>,
    /// The next step's position, regardless of the agent that makes it.
    pub next_step: u64,
    /// The newest stop, and a person's decision about it.
    pub stop: Option<Stop>,
    /// The files that hold other data than they seem to.
    pub files: FileLedger,
    /// The reason why a person is asked about graver actions until the next prompt, if they are.
    pub raised: Option<Raised>,
    /// The operator's limits that a session of layout 5 to 7 began with: file operations,
    /// megabytes of memory, seconds, tokens. In others [`Self::base`] takes its place.
    pub configured: Option<[u64; 4]>,
    /// True if issues and interventions are partly of the observe mode, so that the agent does not
    /// know them.
    pub observed: bool,
    /// The refused calls of all agents in one line each, newest last.
    pub refused: VecDeque<String>,
    /// The newest refused steps of all agents: what one was refused, the others were too.
    pub refused_steps: VecDeque<Step>,
    /// The files that the session made itself.
    pub own_files: OwnFiles,
    /// The operator's limits that [`Self::limits`] began with; none in a session that an earlier
    /// version began, until its next event.
    pub base: Option<LimitPolicy>,
    /// The time of the current prompt.
    pub clock: PromptClock,
    /// The highest share of each limit that the agent was warned of, in thousandths.
    pub announced: BTreeMap<String, u16>,
    /// Reviewed steps since the last detection.
    pub calm_steps: u32,
    /// The number of steps when the agent's processes were measured last.
    pub measured_at: Option<u64>,
    /// The newest changes of the limits, newest last.
    pub limit_changes: VecDeque<LimitChange>,
    /// The newest actions of all agents with effects that no file holds, newest last.
    pub lasting: VecDeque<LastingAction>,
    /// The secrets that results have shown.
    pub secrets: SeenSecrets,
    /// The folders that the session mounted at second places.
    pub mounts: MountLedger,
}

/// A detection that raised the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The pattern.
    pub pattern: String,
    /// Its summary.
    pub reason: String,
    /// The step at which it was found.
    pub step: u64,
}

/// The state of the answer to one issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueState {
    /// The number of recurrences.
    pub recurrences: u32,
    /// The host's escalation level, 0 to 4.
    pub level: u8,
    /// The number of steps of all agents when it was last answered.
    pub step: u64,
    /// The time of that answer.
    pub at: Timestamp,
}

/// The state of one agent of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// The next step's position. No two agents of a session have a step of the same position, so
    /// one agent's positions have gaps.
    pub next_step: u64,
    /// The newest steps, oldest first.
    #[serde(with = "rows")]
    pub steps: VecDeque<Step>,
    /// Sums.
    pub totals: Totals,
    /// Reviewed calls without a known end.
    pub pending: VecDeque<Pending>,
    /// Fingerprints of the newest reviewed calls' ids.
    calls: VecDeque<u64>,
    /// Repetition by shape, most recently used last.
    shapes: VecDeque<(u64, Repetition)>,
    /// Exact actions that succeeded, newest last, with their counts.
    successes: VecDeque<(u64, u32)>,
    /// The plugins' own states, by name, except for those that observe the session as a whole.
    pub plugins: BTreeMap<String, Vec<u8>>,
    /// The newest actions, in one line each.
    pub recent: VecDeque<String>,
    /// The place in its transcript up to which tokens are counted.
    pub tokens: Option<TokenCursor>,
}

/// A reviewed call without a known end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Fingerprint of its id, or of its identity if the client gives no id.
    pub key: u64,
    /// Its step.
    pub step: u64,
    /// The review's id.
    pub review: String,
    /// The message that the agent gets when it ends: before that, a rewrite leaves no room for it,
    /// and some clients drop it.
    pub note: Option<String>,
}

/// The state that one review reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The shared part.
    pub session: Session,
    /// The acting agent's part.
    pub agent: AgentState,
}

impl State {
    /// Returns the acting agent's steps, with the newest refused ones of the session's other agents,
    /// and the sums over the whole session.
    #[must_use]
    pub fn history(&self) -> History {
        let mut history = History { totals: self.session.totals, ..self.agent.history() };
        let own: BTreeSet<u64> = history.steps.iter().map(|step| step.index).collect();
        let others = self.session.refused_steps.iter().filter(|step| !own.contains(&step.index));
        history.steps.extend(others);
        history.steps.sort_by_key(|step| step.index);
        history
    }

    /// Reads both parts as stored; absent parts are new.
    ///
    /// # Errors
    /// Fails if this version did not write the bytes.
    pub fn decode_state(session: Option<&[u8]>, agent: Option<&[u8]>) -> Result<Self, StateError> {
        Ok(Self { session: bytes::session(session)?, agent: bytes::agent(agent)? })
    }

    /// Numbers the acting agent's next step after all steps of the session.
    pub fn take_position(&mut self) {
        self.agent.next_step = self.agent.next_step.max(self.session.next_step);
    }

    /// Continues the session's numbering after the acting agent's steps.
    pub fn leave_position(&mut self) {
        self.session.next_step = self.session.next_step.max(self.agent.next_step);
    }

    /// Returns both parts as bytes, session first.
    ///
    /// # Errors
    /// Never fails for states within their bounds.
    pub fn encode(&self) -> Result<(Vec<u8>, Vec<u8>), StateError> {
        Ok((bytes::write(&self.session)?, bytes::write(&self.agent)?))
    }
}

impl Session {
    /// Records an event: the first one sets start, project and limits.
    pub fn touch_at(&mut self, now: Timestamp, cwd: &str, limits: &LimitPolicy) {
        self.events = self.events.saturating_add(1);
        if self.events == 1 {
            self.started = now;
        }
        self.adopt_limits(limits);
        self.pass_time(now);
        if self.roots.is_empty() && cwd.starts_with('/') {
            self.roots.push(cwd.to_owned());
        }
    }

    /// Starts a new prompt: stores its goal, if it has one, and resets the counters. A hold for a
    /// person ends, and so does what raised the session.
    pub fn begin_prompt(&mut self, goal: Option<String>, now: Timestamp) {
        self.prompts = self.prompts.saturating_add(1);
        self.totals.prompts = self.prompts;
        self.restart_usage();
        self.held = None;
        self.raised = None;
        if let Some(goal) = goal {
            self.goals.push((goal, now));
            let excess = self.goals.len().saturating_sub(GOALS);
            self.goals.drain(..excess);
        }
    }

    /// Raises the session for a detection; the first one of a prompt counts.
    pub fn raise(&mut self, pattern: &str, summary: &str, step: u64) {
        self.raised.get_or_insert_with(|| Raised {
            pattern: one_line(pattern, 64),
            reason: one_line(summary, 256),
            step,
        });
    }

    /// Returns the goals as plugins see them: newest last, newest most important.
    #[must_use]
    pub fn goals(&self) -> Vec<Goal> {
        let count = self.goals.len();
        let priority = |index: usize| u8::try_from(count - 1 - index).unwrap_or(u8::MAX);
        self.goals
            .iter()
            .enumerate()
            .map(|(index, (text, at))| Goal {
                text: text.clone(),
                at: *at,
                priority: priority(index),
            })
            .collect()
    }

    /// Records the state of the answer to an issue; if there are too many, the one that was
    /// answered longest ago is forgotten.
    pub fn note_issue(&mut self, name: &str, state: IssueState) {
        self.issues.insert(name.to_owned(), state);
        while self.issues.len() > ISSUES {
            let oldest = self
                .issues
                .iter()
                .filter(|(known, _)| *known != name)
                .min_by_key(|(_, state)| (state.at, state.step));
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
            self.issues.remove(&oldest);
        }
    }

    /// Remembers a refused call of one of the agents for the summary.
    pub fn note_refused(&mut self, call: &str, agent: Option<&str>) {
        let by = agent.map(|agent| format!(" (subagent {})", one_line(agent, 32)));
        let call = one_line(call, REFUSED.1) + by.as_deref().unwrap_or_default();
        push(&mut self.refused, call, REFUSED.0);
    }

    /// Shares an agent's newest step with the others, if it was refused.
    pub fn share_step(&mut self, step: Option<&Step>) {
        if let Some(step) = step.filter(|step| step.status == Status::Refused) {
            push(&mut self.refused_steps, *step, SHARED);
        }
    }

    /// Begins a mode. What was only observed escalates nothing that is carried out.
    pub fn enter_mode(&mut self, observing: bool) {
        if self.observed && !observing {
            self.issues.clear();
            self.interventions.clear();
        }
        self.observed = observing;
    }

    /// Remembers an intervention.
    pub fn note_intervention(&mut self, past: PastIntervention) {
        self.totals.interventions = self.totals.interventions.saturating_add(1);
        push(&mut self.interventions, past, INTERVENTIONS);
    }
}

/// A step at the end of its review.
#[derive(Clone, Debug)]
pub struct NewStep<'a> {
    /// The time.
    pub at: Timestamp,
    /// The action's purpose.
    pub intent: Intent,
    /// The verdict.
    pub verdict: Verdict,
    /// The shape, as in the facts.
    pub shape: u64,
    /// The identity, as in the facts.
    pub identity: u64,
    /// The risk that the decision is based on.
    pub risk: Score,
    /// Goal alignment, if scored.
    pub alignment: Option<Score>,
    /// The effects; for each, true if it is outside the scope.
    pub effects: &'a [(Effect, bool)],
    /// The prompt it belongs to.
    pub prompt: u32,
}

impl AgentState {
    /// Returns the history as patterns see it.
    #[must_use]
    pub fn history(&self) -> History {
        History { steps: self.steps.iter().copied().collect(), totals: self.totals }
    }

    /// Returns earlier attempts at this shape and this exact action.
    #[must_use]
    pub fn find_repetition(&self, shape: u64, identity: u64) -> Repetition {
        let mut repetition = self
            .shapes
            .iter()
            .rev()
            .find(|(known, _)| *known == shape)
            .map(|(_, repetition)| *repetition)
            .unwrap_or_default();
        repetition.successes = self
            .successes
            .iter()
            .rev()
            .find(|(known, _)| *known == identity)
            .map_or(0, |(_, count)| *count);
        repetition
    }

    /// Adds a reviewed step; returns its position.
    pub fn add_step(&mut self, new: &NewStep<'_>) -> u64 {
        let index = self.next_step;
        self.next_step = self.next_step.saturating_add(1);
        let outside = new.effects.iter().filter(|(_, outside)| *outside).count();
        let files = new.effects.iter().filter(|(effect, _)| effect.counts_as_write()).count();
        let small = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let refused = matches!(new.verdict, Verdict::Block | Verdict::Ask);
        let step = Step {
            index,
            at: new.at,
            intent: new.intent,
            verdict: new.verdict,
            status: if refused { Status::Refused } else { Status::Pending },
            shape: new.shape,
            identity: new.identity,
            error: 0,
            output: 0,
            risk: new.risk,
            alignment: new.alignment,
            effects: small(new.effects.len()),
            outside: small(outside),
            files: small(files),
            prompt: new.prompt,
            bytes: 0,
            tokens: 0,
            duration_ms: 0,
        };
        push(&mut self.steps, step, HISTORY);
        self.update_shape(new.shape, |repetition| {
            repetition.seen = repetition.seen.saturating_add(1)
        });
        index
    }

    /// Adds an outcome to its step. The fingerprints are those of its own error and of
    /// its output; 0 for none.
    pub fn finish_step(
        &mut self,
        index: u64,
        outcome: &crate::action::Outcome,
        (error, output): (u64, u64),
        end: CallEnd,
    ) {
        let Some(step) = self.steps.iter_mut().rev().find(|step| step.index == index) else {
            return;
        };
        step.status = outcome.status;
        step.error = error;
        step.output = output;
        step.bytes = outcome.bytes;
        step.tokens = outcome.tokens.unwrap_or(0);
        step.duration_ms = outcome.duration_ms.unwrap_or(0);
        let (shape, identity) = (step.shape, step.identity);
        match outcome.status {
            Status::Failed if end == CallEnd::Finished => self.update_shape(shape, |repetition| {
                repetition.failures = repetition.failures.saturating_add(1)
            }),
            // A call that was interrupted, or never ran, says nothing about the next one.
            Status::Failed | Status::Refused | Status::Pending => {}
            Status::Ok => {
                self.update_shape(shape, |repetition| repetition.failures = 0);
                self.count_success(identity);
            }
        }
    }

    fn update_shape(&mut self, shape: u64, change: impl FnOnce(&mut Repetition)) {
        let known = self
            .shapes
            .iter()
            .position(|(known, _)| *known == shape)
            .and_then(|index| self.shapes.remove(index));
        let mut entry = known.unwrap_or((shape, Repetition::default()));
        change(&mut entry.1);
        push(&mut self.shapes, entry, SHAPES);
    }

    fn count_success(&mut self, identity: u64) {
        let known = self
            .successes
            .iter()
            .position(|(known, _)| *known == identity)
            .and_then(|index| self.successes.remove(index));
        push(
            &mut self.successes,
            (identity, known.map_or(1, |(_, count)| count.saturating_add(1))),
            SHAPES,
        );
    }

    /// Remembers that a call was reviewed.
    pub fn saw_call(&mut self, id: &str) {
        push(&mut self.calls, hash_parts(&[id]), CALLS);
    }

    /// Returns true if a call was reviewed.
    #[must_use]
    pub fn knows_call(&self, id: &str) -> bool {
        self.calls.contains(&hash_parts(&[id]))
    }

    /// Remembers a call that was reviewed, to join its outcome.
    pub fn start_call(&mut self, pending: Pending) {
        push(&mut self.pending, pending, PENDING);
    }

    /// Removes a call that ended from the pending ones. Without ids, equal calls have one key: then
    /// the newest that was not refused has ended, since a refused one did not run.
    pub fn end_call(&mut self, key: u64) -> Option<Pending> {
        let refused = |pending: &Pending| {
            let step = self.steps.iter().rev().find(|step| step.index == pending.step);
            step.is_some_and(|step| step.status == Status::Refused)
        };
        let equal = |pending: &Pending| pending.key == key;
        let ran = self.pending.iter().rposition(|pending| equal(pending) && !refused(pending));
        let index = ran.or_else(|| self.pending.iter().rposition(equal))?;
        self.pending.remove(index)
    }

    /// Remembers an action in one line.
    pub fn add_note(&mut self, line: String) {
        push(&mut self.recent, line, RECENT);
    }
}

impl Totals {
    /// Counts a decision.
    pub fn count_verdict(&mut self, verdict: Verdict) {
        self.steps = self.steps.saturating_add(1);
        let counter = match verdict {
            Verdict::Allow => return,
            Verdict::Warn => &mut self.warned,
            Verdict::Modify => &mut self.modified,
            Verdict::Ask => &mut self.asked,
            Verdict::Block => &mut self.blocked,
        };
        *counter = counter.saturating_add(1);
    }

    /// Counts an outcome.
    pub fn count_outcome(&mut self, outcome: &crate::action::Outcome) {
        self.failed = self.failed.saturating_add(u64::from(outcome.status == Status::Failed));
        self.bytes = self.bytes.saturating_add(outcome.bytes);
        self.tokens = self.tokens.saturating_add(u64::from(outcome.tokens.unwrap_or(0)));
        self.duration_ms =
            self.duration_ms.saturating_add(u64::from(outcome.duration_ms.unwrap_or(0)));
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    queue.push_back(item);
    while queue.len() > most {
        queue.pop_front();
    }
}

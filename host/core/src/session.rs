//! A session's state: goals, limits and history, carried from hook to hook as data.
//!
//! Two parts: what the whole session shares, and what each agent in it has for itself, so that a
//! subagent's loops are its own while limits and stops are everyone's. Both are bounded: whatever
//! the session's length, they encode to a few tens of kilobytes.

mod bytes;
mod rows;
mod stop;

pub use bytes::StateError;
pub use stop::{Stop, Terms};

use crate::action::{Effect, Goal, History, Intent, Limit, Outcome, Quantity, Repetition, Status, Step, Timestamp, Totals};
use crate::finding::PastIntervention;
use crate::policy::LimitPolicy;
use crate::score::{Score, Verdict};
use crate::text::fingerprint;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Steps that are kept.
pub const HISTORY: usize = 200;
/// Goals that are kept.
pub const GOALS: usize = 16;
/// Calls without an outcome that are kept, refused ones included; older ones are forgotten and count
/// as never ended.
const PENDING: usize = 64;
/// Ids of reviewed calls that are kept, to notice calls that were never reviewed.
const CALLS: usize = 512;
/// Action shapes whose repetition is counted.
const SHAPES: usize = 256;
/// Issues that are kept.
const ISSUES: usize = 64;
/// Limits that are kept.
const LIMITS: usize = 16;
/// Interventions that are kept.
const INTERVENTIONS: usize = 32;
/// One-line descriptions of the newest actions.
const RECENT: usize = 50;

/// What a session's agents share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Events of the session so far; ids are derived from it.
    pub events: u64,
    /// When it was first seen.
    pub started: Timestamp,
    /// The project's folders: where the session began.
    pub roots: Vec<String>,
    /// What the person asked for, oldest first.
    pub goals: Vec<(String, Timestamp)>,
    /// Prompts so far.
    pub prompts: u32,
    /// Limits in force and what is used of them.
    pub limits: Vec<Limit>,
    /// Sums over all agents.
    pub totals: Totals,
    /// Why the session was stopped, if it was.
    pub stopped: Option<String>,
    /// Issues that came up, by name.
    pub issues: BTreeMap<String, IssueState>,
    /// Interventions, newest last.
    pub interventions: VecDeque<PastIntervention>,
    /// Why the agent has to wait for a person's next prompt before it changes anything, if it has to.
    pub held: Option<String>,
    /// States of the plugins that look at the session as a whole, by name.
    pub plugins: BTreeMap<String, Vec<u8>>,
    /// The next step's position, whichever agent makes it.
    pub next_step: u64,
    /// The newest stop, and what a person made of it.
    pub stop: Option<Stop>,
}

/// Where the answer to one issue stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueState {
    /// How often it came back.
    pub recurrences: u32,
    /// How far the host has escalated, 0 to 4.
    pub level: u8,
    /// How many steps all agents had made when it was last answered.
    pub step: u64,
    /// When.
    pub at: Timestamp,
}

/// What one agent of a session has for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The next step's position. No two agents of a session have a step of the same position, so one agent's
    /// positions have gaps.
    pub next_step: u64,
    /// The newest steps, oldest first.
    #[serde(with = "rows")]
    pub steps: VecDeque<Step>,
    /// Sums.
    pub totals: Totals,
    /// Reviewed calls whose end is not known.
    pub pending: VecDeque<Pending>,
    /// Fingerprints of the newest reviewed calls' ids.
    calls: VecDeque<u64>,
    /// Repetition by shape, most recently used last.
    shapes: VecDeque<(u64, Repetition)>,
    /// Exact actions that ended well, newest last, with how often.
    successes: VecDeque<(u64, u32)>,
    /// The plugins' own states, by name, but for those that look at the session as a whole.
    pub plugins: BTreeMap<String, Vec<u8>>,
    /// The newest actions in a line each.
    pub recent: VecDeque<String>,
}

/// A reviewed call whose end is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Fingerprint of its id, or of its identity where the client gives none.
    pub key: u64,
    /// Its step.
    pub step: u64,
    /// The review's id.
    pub review: String,
    /// What the agent is told when it ends: a rewrite leaves no room for that before.
    pub note: Option<String>,
}

/// The state that one review reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Shared.
    pub session: Session,
    /// Of the acting agent.
    pub agent: Agent,
}

impl State {
    /// Reads both parts as stored; absent parts are new.
    ///
    /// # Errors
    /// Bytes that this version did not write.
    pub fn decode(session: Option<&[u8]>, agent: Option<&[u8]>) -> Result<Self, StateError> {
        Ok(Self { session: bytes::session(session)?, agent: bytes::agent(agent)? })
    }

    /// The acting agent numbers its next step after all steps of the session.
    pub fn take_position(&mut self) {
        self.agent.next_step = self.agent.next_step.max(self.session.next_step);
    }

    /// The session goes on numbering where the acting agent stands.
    pub fn leave_position(&mut self) {
        self.session.next_step = self.session.next_step.max(self.agent.next_step);
    }

    /// Both parts as bytes, session first.
    ///
    /// # Errors
    /// Never for states within their bounds.
    pub fn encode(&self) -> Result<(Vec<u8>, Vec<u8>), StateError> {
        Ok((bytes::write(&self.session)?, bytes::write(&self.agent)?))
    }
}

impl Session {
    /// Takes note of an event: the first one sets start, project and limits.
    pub fn touch(&mut self, now: Timestamp, cwd: &str, limits: &LimitPolicy) {
        self.events = self.events.saturating_add(1);
        if self.events == 1 {
            self.started = now;
            self.limits = first_limits(limits);
        }
        if self.roots.is_empty() && cwd.starts_with('/') {
            self.roots.push(cwd.to_owned());
        }
    }

    /// A new prompt: its goal, if it is one, and fresh counters. Who was held for a person goes on.
    pub fn prompt(&mut self, goal: Option<String>, now: Timestamp) {
        self.prompts = self.prompts.saturating_add(1);
        self.totals.prompts = self.prompts;
        self.restart_usage();
        self.held = None;
        if let Some(goal) = goal {
            self.goals.push((goal, now));
            let excess = self.goals.len().saturating_sub(GOALS);
            self.goals.drain(..excess);
        }
    }

    /// Nothing is used of any limit yet.
    pub fn restart_usage(&mut self) {
        self.limits.iter_mut().for_each(|limit| limit.used = 0);
    }

    /// The goals as plugins see them: newest last, newest most important.
    #[must_use]
    pub fn goals(&self) -> Vec<Goal> {
        let count = self.goals.len();
        let priority = |index: usize| u8::try_from(count - 1 - index).unwrap_or(u8::MAX);
        self.goals.iter().enumerate().map(|(index, (text, at))| Goal { text: text.clone(), at: *at, priority: priority(index) }).collect()
    }

    /// Counts file operations against their limit.
    pub fn use_files(&mut self, files: u64) {
        self.limits
            .iter_mut()
            .filter(|limit| limit.quantity == Quantity::FileOperations)
            .for_each(|limit| limit.used = limit.used.saturating_add(files));
    }

    /// Counts what an outcome took against the limits of time and tokens.
    pub fn use_resources(&mut self, outcome: &Outcome) {
        for limit in &mut self.limits {
            let used = match limit.quantity {
                Quantity::Time => u64::from(outcome.duration_ms.unwrap_or_default()),
                Quantity::Tokens => u64::from(outcome.tokens.unwrap_or_default()),
                _ => 0,
            };
            limit.used = limit.used.saturating_add(used);
        }
    }

    /// Takes over limits that are stricter than those in force. Never loosens one.
    pub fn tighten(&mut self, limits: &[Limit]) {
        for wanted in limits {
            let room = self.limits.len() < LIMITS && short(&wanted.quantity);
            match self.limits.iter_mut().find(|limit| limit.quantity == wanted.quantity) {
                Some(limit) => limit.maximum = limit.maximum.min(wanted.maximum),
                None if room => self.limits.push(Limit { used: 0, ..wanted.clone() }),
                None => {}
            }
        }
    }

    /// Takes note of where the answer to an issue stands; the one that was answered longest ago is
    /// forgotten when there are too many.
    pub fn note_issue(&mut self, name: &str, state: IssueState) {
        self.issues.insert(name.to_owned(), state);
        while self.issues.len() > ISSUES {
            let oldest = self.issues.iter().filter(|(known, _)| *known != name).min_by_key(|(_, state)| (state.at, state.step));
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
            self.issues.remove(&oldest);
        }
    }

    /// Remembers an intervention.
    pub fn intervened(&mut self, past: PastIntervention) {
        self.totals.interventions = self.totals.interventions.saturating_add(1);
        push(&mut self.interventions, past, INTERVENTIONS);
    }
}

/// The limits that a session begins with.
fn first_limits(policy: &LimitPolicy) -> Vec<Limit> {
    let quantities = [Quantity::FileOperations, Quantity::Memory, Quantity::Time, Quantity::Tokens];
    let limit = |quantity| Some(Limit { maximum: policy.of(&quantity)?, quantity, used: 0 });
    quantities.into_iter().filter_map(limit).collect()
}

/// What a step looks like when its review ends.
#[derive(Clone, Debug)]
pub struct NewStep<'a> {
    /// When.
    pub at: Timestamp,
    /// The action's purpose.
    pub intent: Intent,
    /// What was decided.
    pub verdict: Verdict,
    /// As in the facts.
    pub shape: u64,
    /// As in the facts.
    pub identity: u64,
    /// The risk that was decided on.
    pub risk: Score,
    /// Goal alignment, if scored.
    pub alignment: Option<Score>,
    /// The effects, with whether each lies outside the scope.
    pub effects: &'a [(Effect, bool)],
    /// The prompt it belongs to.
    pub prompt: u32,
}

impl Agent {
    /// The history as patterns see it.
    #[must_use]
    pub fn history(&self) -> History {
        History { steps: self.steps.iter().copied().collect(), totals: self.totals }
    }

    /// Earlier attempts at this shape and this exact action.
    #[must_use]
    pub fn repetition(&self, shape: u64, identity: u64) -> Repetition {
        let mut repetition =
            self.shapes.iter().rev().find(|(known, _)| *known == shape).map(|(_, repetition)| *repetition).unwrap_or_default();
        repetition.successes = self.successes.iter().rev().find(|(known, _)| *known == identity).map_or(0, |(_, count)| *count);
        repetition
    }

    /// Adds a reviewed step; returns its position.
    pub fn add(&mut self, new: &NewStep<'_>) -> u64 {
        let index = self.next_step;
        self.next_step = self.next_step.saturating_add(1);
        let outside = new.effects.iter().filter(|(_, outside)| *outside).count();
        let files = new.effects.iter().filter(|(effect, _)| effect.kind.changes_files()).count();
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
        self.update_shape(new.shape, |repetition| repetition.seen = repetition.seen.saturating_add(1));
        index
    }

    /// Puts an outcome to its step.
    pub fn finish(&mut self, index: u64, outcome: &crate::action::Outcome, error: u64, output: u64) {
        let Some(step) = self.steps.iter_mut().rev().find(|step| step.index == index) else { return };
        step.status = outcome.status;
        step.error = error;
        step.output = output;
        step.bytes = outcome.bytes;
        step.tokens = outcome.tokens.unwrap_or(0);
        step.duration_ms = outcome.duration_ms.unwrap_or(0);
        let (shape, identity) = (step.shape, step.identity);
        if outcome.status == Status::Failed {
            self.update_shape(shape, |repetition| repetition.failures = repetition.failures.saturating_add(1));
        } else {
            self.update_shape(shape, |repetition| repetition.failures = 0);
            self.count_success(identity);
        }
    }

    fn update_shape(&mut self, shape: u64, change: impl FnOnce(&mut Repetition)) {
        let known = self.shapes.iter().position(|(known, _)| *known == shape).and_then(|index| self.shapes.remove(index));
        let mut entry = known.unwrap_or((shape, Repetition::default()));
        change(&mut entry.1);
        push(&mut self.shapes, entry, SHAPES);
    }

    fn count_success(&mut self, identity: u64) {
        let known = self.successes.iter().position(|(known, _)| *known == identity).and_then(|index| self.successes.remove(index));
        push(&mut self.successes, (identity, known.map_or(1, |(_, count)| count.saturating_add(1))), SHAPES);
    }

    /// Remembers that a call was reviewed.
    pub fn saw_call(&mut self, id: &str) {
        push(&mut self.calls, fingerprint(&[id]), CALLS);
    }

    /// Whether a call was reviewed.
    #[must_use]
    pub fn knows_call(&self, id: &str) -> bool {
        self.calls.contains(&fingerprint(&[id]))
    }

    /// Remembers a call that was reviewed, to join its outcome.
    pub fn start(&mut self, pending: Pending) {
        push(&mut self.pending, pending, PENDING);
    }

    /// Takes a call that ended out of those that run.
    pub fn end(&mut self, key: u64) -> Option<Pending> {
        let index = self.pending.iter().rposition(|pending| pending.key == key)?;
        self.pending.remove(index)
    }

    /// Remembers an action in one line.
    pub fn note(&mut self, line: String) {
        push(&mut self.recent, line, RECENT);
    }
}

impl Totals {
    /// Counts a decision.
    pub fn decided(&mut self, verdict: Verdict) {
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
    pub fn ended(&mut self, outcome: &crate::action::Outcome) {
        self.failed = self.failed.saturating_add(u64::from(outcome.status == Status::Failed));
        self.bytes = self.bytes.saturating_add(outcome.bytes);
        self.tokens = self.tokens.saturating_add(u64::from(outcome.tokens.unwrap_or(0)));
        self.duration_ms = self.duration_ms.saturating_add(u64::from(outcome.duration_ms.unwrap_or(0)));
    }
}

/// Whether a quantity's own name is short enough to be kept.
const fn short(quantity: &Quantity) -> bool {
    !matches!(quantity, Quantity::Other(name) if name.len() > 64)
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    queue.push_back(item);
    while queue.len() > most {
        queue.pop_front();
    }
}

//! The use of a session's limits: what events and measurements add, what a prompt resets, what an
//! intervention tightens and calm steps give back.

use super::{AgentState, LIMITS_KEPT, ResumeConditions, Session};
use crate::action::{Limit, Outcome, Quantity, Timestamp};
use crate::limits::{self, LIMITS, LimitSource, LimitUse, OUTPUT};
use crate::policy::LimitPolicy;
use crate::throttle::{highest_mark, is_tightened};
use serde::{Deserialize, Serialize};

/// Reviewed steps without a detection after which the limits that an intervention tightened are the
/// configured ones again.
pub const CALM_STEPS: u32 = 20;
/// Steps between two looks at the agent's processes, while they are far from their limits.
const LOOK_EVERY: u64 = 4;

/// The measurements for one event; the event itself does not hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measured {
    /// The tokens since the last event, from the client's transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenReading>,
    /// Bytes of memory of the agent's processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The number of the agent's processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

impl Measured {
    /// Returns true if nothing was measured that a limit counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.as_ref().is_none_or(|reading| reading.added == 0)
            && self.memory.is_none()
            && self.processes.is_none()
    }
}

/// Tokens read from a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenReading {
    /// The tokens that are new.
    pub added: u64,
    /// The place up to which the transcript is read now.
    #[serde(skip)]
    pub cursor: TokenCursor,
}

/// A place in a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCursor {
    /// The fingerprint of the transcript's path.
    pub file: u64,
    /// The bytes that are read.
    pub offset: u64,
    /// The newest messages, by fingerprint, with their tokens so far: a transcript repeats the
    /// usage of a message on each of its lines.
    pub messages: Vec<(u64, u64)>,
}

/// The time that a prompt takes, without the time in which a person is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptClock {
    /// The beginning of the prompt; 0 if it is not known.
    began: Timestamp,
    /// Milliseconds in which a person was waited for.
    waited_ms: u64,
    /// The time of the newest event.
    last: Timestamp,
    /// True if the agent has ended its turn.
    rests: bool,
}

impl PromptClock {
    /// Begins a prompt.
    pub(super) const fn restart(&mut self, now: Timestamp) {
        *self = Self { began: now, waited_ms: 0, last: now, rests: false };
    }

    /// Notes that the agent does nothing until the next event.
    pub const fn rest(&mut self) {
        self.rests = true;
    }

    const fn pass(&mut self, now: Timestamp) {
        if self.began == 0 {
            self.restart(now);
        }
        if self.rests {
            self.wait(now.saturating_sub(self.last));
        }
        (self.last, self.rests) = (now, false);
    }

    const fn wait(&mut self, milliseconds: u64) {
        self.waited_ms = self.waited_ms.saturating_add(milliseconds);
    }

    const fn used(&self) -> u64 {
        self.last.saturating_sub(self.began).saturating_sub(self.waited_ms)
    }
}

impl Session {
    /// Returns the operator's limits that hold in this session. `now` are those of the
    /// configuration, which count for a session that an earlier version began.
    #[must_use]
    pub fn configured_limits(&self, now: &LimitPolicy) -> LimitPolicy {
        self.base.unwrap_or(*now)
    }

    /// Begins with the configured limits.
    pub(super) fn begin_limits(&mut self, policy: &LimitPolicy) {
        self.base = Some(*policy);
        self.announced.clear();
        // No answer goes back behind a decision of the operator or the person.
        self.limit_changes.clear();
        self.limits = LIMITS
            .iter()
            .map(|row| {
                let used = self.used_of(row.name);
                Limit { quantity: row.quantity(), maximum: (row.configured)(policy), used }
            })
            .collect();
    }

    fn used_of(&self, name: &str) -> u64 {
        let known = self.limits.iter().find(|limit| limits::name_of(&limit.quantity) == name);
        known.map_or(0, |limit| limit.used)
    }

    /// Takes over the configured limits at the first event. In a session that an earlier version
    /// began, a limit that an intervention tightened stays; the others were not held then, and get
    /// the values of today.
    pub(super) fn adopt_limits(&mut self, policy: &LimitPolicy) {
        if self.base.is_some() {
            return;
        }
        let earlier = self.configured.take();
        let began = |quantity: &Quantity| {
            let [files, megabytes, seconds, tokens] = earlier?;
            match quantity {
                Quantity::FileOperations => Some(files),
                Quantity::Memory => Some(megabytes.saturating_mul(1 << 20)),
                Quantity::Time => Some(seconds.saturating_mul(1000)),
                Quantity::Tokens => Some(tokens),
                Quantity::BatchSize | Quantity::Other(_) => None,
            }
        };
        let kept: Vec<Limit> = self
            .limits
            .iter()
            .filter(|limit| began(&limit.quantity).is_none_or(|began| limit.maximum < began))
            .filter(|_| earlier.is_some())
            .cloned()
            .collect();
        self.begin_limits(policy);
        self.tighten_limits(&kept);
    }

    /// Lets time pass up to an event.
    pub(super) fn pass_time(&mut self, now: Timestamp) {
        self.clock.pass(now);
        let used = self.clock.used();
        self.set_used(&Quantity::Time, used);
    }

    /// Takes the time out in which a call waited for a person's consent: from its review, or from
    /// the newest event after it, until it began to run. `before` is the time of the event before
    /// this one.
    pub fn pass_wait(&mut self, reviewed: Timestamp, before: Timestamp, outcome: &Outcome) {
        let Some(ran) = outcome.duration_ms else { return };
        let began = outcome.at.saturating_sub(u64::from(ran));
        self.clock.wait(began.saturating_sub(reviewed.max(before)));
        let used = self.clock.used();
        self.set_used(&Quantity::Time, used);
    }

    /// Returns the time of the newest event.
    #[must_use]
    pub const fn last_event(&self) -> Timestamp {
        self.clock.last
    }

    /// Resets the usage of every limit.
    pub fn restart_usage(&mut self) {
        self.limits.iter_mut().for_each(|limit| limit.used = 0);
        let last = self.clock.last;
        self.clock.restart(last);
        self.announced.clear();
        self.measured_at = None;
    }

    /// Adds what was measured for an event of an agent.
    pub fn add_measured(&mut self, agent: &mut AgentState, measured: &Measured) {
        if let Some(TokenReading { added, cursor }) = &measured.tokens {
            agent.tokens = Some(cursor.clone());
            self.use_amount(&Quantity::Tokens, *added);
        }
        if let Some(bytes) = measured.memory {
            self.set_used(&Quantity::Memory, bytes);
        }
        if let Some(count) = measured.processes {
            self.set_used(&Quantity::Other(limits::PROCESSES.into()), count);
            self.measured_at = Some(self.totals.steps);
        }
    }

    /// Returns true if the agent's processes are to be measured before the next action: they were
    /// not for some steps, or are near a limit.
    #[must_use]
    pub fn is_look_due(&self) -> bool {
        let near = |limit: &Limit| {
            limits::find_row(&limit.quantity).is_some_and(|row| row.gauge)
                && highest_mark(limit.used, limit.maximum).is_some()
        };
        self.measured_at.is_none_or(|at| at.saturating_add(LOOK_EVERY) <= self.totals.steps)
            || self.limits.iter().any(near)
    }

    /// Returns the limit for a quantity, in the quantity's unit.
    #[must_use]
    pub fn limit_for(&self, quantity: &Quantity) -> Option<u64> {
        let limit = self.limits.iter().find(|limit| limit.quantity == *quantity);
        limit.map(|limit| limit.maximum)
    }

    /// Returns the use of each limit that is measured in the current prompt, the one that is used
    /// most first.
    #[must_use]
    pub fn list_limit_use(&self) -> Vec<LimitUse> {
        let mut listed: Vec<LimitUse> = self
            .limits
            .iter()
            .filter(|limit| self.is_measured(limit))
            .map(|limit| self.limit_use(limit))
            .collect();
        let share =
            |Limit { maximum, used, .. }: &Limit| used.saturating_mul(1000) / (*maximum).max(1);
        listed.sort_by_key(|one| std::cmp::Reverse((share(&one.limit), one.base.is_some())));
        listed
    }

    /// Returns a limit with the operator's one, if that is another.
    #[must_use]
    pub fn limit_use(&self, limit: &Limit) -> LimitUse {
        let base = self.base.and_then(|base| base.limit_of(&limit.quantity));
        LimitUse { limit: limit.clone(), base: base.filter(|base| *base != limit.maximum) }
    }

    /// Formats limits that have changed: `100 writes and deletions (70 before)`. `before` has them
    /// as they were.
    #[must_use]
    pub fn describe_changes(&self, before: &[Limit]) -> Vec<String> {
        let changed = before.iter().filter_map(|limit| {
            let row = limits::find_row(&limit.quantity)?;
            let now = self.limit_for(&limit.quantity)?;
            let before = row.unit.format_amount(limit.maximum);
            Some(format!("{} ({before} before)", row.format_amount(now)))
        });
        changed.collect()
    }

    /// Returns true if the use of a limit is known. The use of tokens is unknown until a transcript
    /// or a result has named some.
    fn is_measured(&self, limit: &Limit) -> bool {
        match limits::find_row(&limit.quantity).map(|row| row.source) {
            Some(LimitSource::Processes) => self.measured_at.is_some(),
            Some(LimitSource::Transcript) => limit.used > 0,
            Some(LimitSource::Actions | LimitSource::Events | LimitSource::Results) => true,
            None => false,
        }
    }

    /// Counts file operations against their limit.
    pub fn use_files(&mut self, files: u64) {
        self.use_amount(&Quantity::FileOperations, files);
    }

    /// Counts an outcome's bytes and tokens against their limits. Tokens of an agent whose
    /// transcript is read are counted from there.
    pub fn use_resources(&mut self, agent: &AgentState, outcome: &Outcome) {
        self.use_amount(&Quantity::Other(OUTPUT.into()), outcome.bytes);
        if agent.tokens.is_none() {
            let tokens = outcome.tokens.unwrap_or_default();
            self.use_amount(&Quantity::Tokens, u64::from(tokens));
        }
    }

    fn use_amount(&mut self, quantity: &Quantity, amount: u64) {
        self.limits
            .iter_mut()
            .filter(|limit| limit.quantity == *quantity)
            .for_each(|limit| limit.used = limit.used.saturating_add(amount));
    }

    fn set_used(&mut self, quantity: &Quantity, amount: u64) {
        self.limits
            .iter_mut()
            .filter(|limit| limit.quantity == *quantity)
            .for_each(|limit| limit.used = amount);
    }

    /// Remembers the shares of the limits that an action was warned of.
    pub fn note_announced(&mut self) {
        for limit in &self.limits {
            if let Some(mark) = highest_mark(limit.used, limit.maximum) {
                let known =
                    self.announced.entry(limits::name_of(&limit.quantity).to_owned()).or_default();
                *known = mark.max(*known);
            }
        }
    }

    /// Adopts limits that are stricter than those in force. Never loosens one.
    pub fn tighten_limits(&mut self, limits: &[Limit]) {
        for wanted in limits {
            let room = self.limits.len() < LIMITS_KEPT && short(&wanted.quantity);
            match self.limits.iter_mut().find(|limit| limit.quantity == wanted.quantity) {
                Some(limit) => limit.maximum = limit.maximum.min(wanted.maximum),
                None if room => self.limits.push(Limit { used: 0, ..wanted.clone() }),
                None => {}
            }
        }
        // A tighter limit has shares of its own.
        self.announced.clear();
        self.calm_steps = 0;
    }

    /// Counts a reviewed step. After enough of them without a detection, the limits that an
    /// intervention tightened are the base limits again: the configured ones, or half of them under
    /// the terms of a resumed session. Returns those that changed, as they were.
    pub fn note_calm_step(&mut self, step: u64, detected: bool) -> Vec<Limit> {
        if detected {
            self.calm_steps = 0;
            return Vec::new();
        }
        self.calm_steps = self.calm_steps.saturating_add(1);
        let Some(base) = self.base.filter(|_| self.calm_steps >= CALM_STEPS) else {
            return Vec::new();
        };
        let halved = self.terms() == Some(ResumeConditions::Limited);
        let base_of = |limit: &Limit| {
            let configured = base.limit_of(&limit.quantity)?;
            Some(if halved { (configured / 2).max(1) } else { configured })
        };
        let tightened = |limit: &Limit| {
            is_tightened(limit, &base) && base_of(limit).is_none_or(|base| limit.maximum < base)
        };
        let changed: Vec<Limit> =
            self.limits.iter().filter(|limit| tightened(limit)).cloned().collect();
        if changed.is_empty() {
            return changed;
        }
        let earlier = self.limits.clone();
        // A quantity of a plugin's own has no base limit, so its limit goes.
        self.limits.retain(|limit| base_of(limit).is_some());
        for limit in &mut self.limits {
            limit.maximum = base_of(limit).unwrap_or(limit.maximum).max(limit.maximum);
        }
        self.note_limit_change(step, &earlier);
        self.announced.clear();
        changed
    }
}

/// Returns true if a quantity's own name is short enough to be kept.
const fn short(quantity: &Quantity) -> bool {
    !matches!(quantity, Quantity::Other(name) if name.len() > 64)
}

//! The circuit breaker: a plugin of somebody else's that fails again and again is held, tried once more after a
//! while, and in the end left to a person.
//!
//! Only rules, over one small record a plugin; who keeps the record and who runs plugins is not told here. A
//! held plugin is a fault like any other, and never a mild one: whoever made a plugin fail on three harmless
//! actions must not have bought it out of the way of the fourth.

use crate::action::Timestamp;
use crate::fault::{Fault, FaultKind};
use crate::text::cut;
use serde::{Deserialize, Serialize};

/// The longest that a plugin is held before it is tried again, in milliseconds: a day.
const LONGEST: u64 = 24 * 60 * 60 * 1000;
/// So many answers without a fault, and what was before is forgotten.
const FORGIVEN: u32 = 20;
/// The most bytes that are kept of the fault's words.
const WORDS: usize = 240;

/// When a plugin is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// After so many reviews in a row in which it failed; 0 for never.
    pub faults: u32,
    /// For how long the first time, in milliseconds; each further time twice as long, at most a day.
    pub back_off_ms: u64,
    /// The so manieth time it is held for good; 0 for never.
    pub quarantine_after: u32,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { faults: 3, back_off_ms: 60_000, quarantine_after: 5 }
    }
}

/// What is known of a plugin that failed. There is none of a plugin that never did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// BLAKE3 of the file that failed, 64 hex digits: another file begins anew.
    pub digest: String,
    /// Reviews in a row in which it failed.
    pub faults: u32,
    /// How often it was held since it was last forgiven.
    pub held: u32,
    /// Reviews without a fault since it last failed.
    pub answers: u32,
    /// What it waits for, while it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// The last fault's kind.
    pub kind: FaultKind,
    /// The last fault's words.
    pub detail: String,
    /// When that was.
    pub at: Timestamp,
}

/// What a held plugin waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// For a time; then it is tried once more.
    Until(Timestamp),
    /// For a person: it is in quarantine.
    ForAPerson,
}

/// A change that is worth a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is held.
    Held,
    /// It is held until a person releases it.
    Quarantined,
    /// It was tried once more, and answered.
    Resumed,
}

impl Change {
    /// The stable name, for records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Quarantined => "quarantined",
            Self::Resumed => "resumed",
        }
    }
}

/// Whether a fault tells of the plugin's own run. What keeps a plugin from running at all (a file that does not
/// load, a missing grant, a setting) costs nothing to find again, and its mend shows at once.
#[must_use]
pub const fn counts(kind: FaultKind) -> bool {
    use FaultKind as K;
    matches!(kind, K::Trap | K::OutOfFuel | K::Timeout | K::OutOfMemory | K::StackOverflow | K::OutputTooLarge | K::BadValue | K::Declined)
}

impl Breaker {
    /// Why this file is not run now, if it is held.
    #[must_use]
    pub fn holds(&self, digest: &str, now: Timestamp) -> Option<Waits> {
        let waits = self.waits.filter(|_| self.digest == digest)?;
        match waits {
            // A time that is further off than any can be was set by a clock that was wrong.
            Waits::Until(time) if time <= now || time - now > LONGEST => None,
            waits => Some(waits),
        }
    }

    /// What is known after a review in which the plugin ran; `fault` is what went wrong with it. None: nothing that
    /// would have to be kept.
    #[must_use]
    pub fn after(
        known: Option<&Self>,
        digest: &str,
        fault: Option<&Fault>,
        now: Timestamp,
        policy: &BreakerPolicy,
    ) -> (Option<Self>, Option<Change>) {
        let known = known.filter(|known| known.digest == digest);
        match fault.filter(|fault| counts(fault.kind) && policy.faults > 0) {
            Some(fault) => {
                let (breaker, change) = failed(known, digest, fault, now, policy);
                (Some(breaker), change)
            }
            None if fault.is_some() => (known.cloned(), None),
            None => known.map_or((None, None), Self::answered),
        }
    }

    fn answered(&self) -> (Option<Self>, Option<Change>) {
        let change = self.waits.map(|_| Change::Resumed);
        let answers = self.answers.saturating_add(1);
        let kept = Self { faults: 0, answers, waits: None, ..self.clone() };
        // Who was never held is forgiven at once.
        ((self.held > 0 && answers < FORGIVEN).then_some(kept), change)
    }

    /// The words of the fault that stands for a held plugin's answer.
    #[must_use]
    pub fn why(&self, name: &str, waits: Waits) -> String {
        format!("it is not run, since {}; {}", self.told(), mend(name, waits))
    }

    /// What it did, in words that follow on "since".
    #[must_use]
    pub fn told(&self) -> String {
        let times = match (self.faults, self.held) {
            (..=1, ..=1) => "it failed".to_owned(),
            (faults, ..=1) => format!("it failed {faults} times in a row"),
            (_, 2) => "it went on failing after it had been held once".to_owned(),
            (_, 3) => "it went on failing after it had been held twice".to_owned(),
            (_, held) => format!("it went on failing after it had been held {} times", held - 1),
        };
        let words = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        format!("{times} (at last `{}`{words})", self.kind)
    }
}

/// What becomes of it by itself, and what a person can do.
#[must_use]
pub fn mend(name: &str, waits: Waits) -> String {
    let by_itself = match waits {
        Waits::Until(_) => "it is tried again by itself, and at once after",
        Waits::ForAPerson => "it is in quarantine until its file changes, or until a person runs",
    };
    format!("{by_itself} `portcullis plugin release {name}`")
}

fn failed(known: Option<&Breaker>, digest: &str, fault: &Fault, now: Timestamp, policy: &BreakerPolicy) -> (Breaker, Option<Change>) {
    let mut breaker = Breaker {
        digest: digest.to_owned(),
        faults: known.map_or(0, |known| known.faults).saturating_add(1),
        held: known.map_or(0, |known| known.held),
        answers: 0,
        waits: known.and_then(|known| known.waits),
        kind: fault.kind,
        detail: cut(&fault.detail, WORDS),
        at: now,
    };
    // One that was tried once more has to fail but once.
    let tried = breaker.waits.is_some();
    if !tried && breaker.faults < policy.faults {
        return (breaker, None);
    }
    breaker.held = breaker.held.saturating_add(1);
    if policy.quarantine_after > 0 && breaker.held >= policy.quarantine_after {
        breaker.waits = Some(Waits::ForAPerson);
        return (breaker, Some(Change::Quarantined));
    }
    let doubled = policy.back_off_ms.saturating_mul(1_u64.checked_shl(breaker.held - 1).unwrap_or(u64::MAX));
    breaker.waits = Some(Waits::Until(now.saturating_add(doubled.min(LONGEST))));
    (breaker, Some(Change::Held))
}

//! The circuit breaker: a third-party plugin that fails repeatedly is held, retried after a
//! back-off, and in the end quarantined until a person releases it.
//!
//! This module holds only the rules, over one small record per plugin. Other modules keep the
//! record and run the plugins. A held plugin is a fault like any other, and never a mild one:
//! otherwise an attacker could make a plugin fail on three harmless actions to keep it from seeing
//! the fourth.

use crate::action::Timestamp;
use crate::fault::{Fault, FaultKind};
use crate::text::cut_text;
use serde::{Deserialize, Serialize};

/// The longest time that a plugin is held before it is retried, in milliseconds: a day.
const LONGEST: u64 = 24 * 60 * 60 * 1000;
/// The number of answers without a fault after which earlier faults are forgotten.
const FORGIVEN: u32 = 20;
/// The most bytes that are kept of the fault's detail.
const WORDS: usize = 240;

/// The settings that decide if a plugin is held, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// The number of consecutive failed reviews after which it is held; 0 for never.
    pub faults: u32,
    /// The first back-off, in milliseconds; each further one is twice as long, at most a day.
    pub back_off_ms: u64,
    /// The number of holds after which it is quarantined until a person releases it; 0 for never.
    pub quarantine_after: u32,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { faults: 3, back_off_ms: 60_000, quarantine_after: 5 }
    }
}

/// The failure record of a plugin. A plugin that never failed has no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// BLAKE3 of the file that failed, 64 hex digits. A different file starts with a clean record.
    pub digest: String,
    /// Consecutive reviews in which it failed.
    pub faults: u32,
    /// The number of holds since it was last forgiven.
    pub held: u32,
    /// Reviews without a fault since it last failed.
    pub answers: u32,
    /// The condition that ends the hold, while it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<ReleaseCondition>,
    /// The last fault's kind.
    pub kind: FaultKind,
    /// The last fault's detail.
    pub detail: String,
    /// The time of the last fault.
    pub at: Timestamp,
}

/// The condition that ends a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseCondition {
    /// A time; after it the plugin is retried once.
    Until(Timestamp),
    /// A person: the plugin is in quarantine.
    ForAPerson,
}

/// A change that is worth a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerTransition {
    /// It is held.
    Held,
    /// It is held until a person releases it.
    Quarantined,
    /// It was retried, and answered.
    Resumed,
}

impl BreakerTransition {
    /// Returns the stable name, for records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Quarantined => "quarantined",
            Self::Resumed => "resumed",
        }
    }
}

/// Returns true if a fault comes from the plugin's own run. A fault that keeps a plugin from
/// running at all (a file that does not load, a missing grant, a setting) costs nothing to detect
/// again, and its fix takes effect at once.
#[must_use]
pub const fn counts_as_failure(kind: FaultKind) -> bool {
    use FaultKind as K;
    matches!(
        kind,
        K::Trap
            | K::OutOfFuel
            | K::Timeout
            | K::OutOfMemory
            | K::StackOverflow
            | K::OutputTooLarge
            | K::BadValue
            | K::Declined
    )
}

impl Breaker {
    /// Returns the condition that this file waits for, if it is held now.
    #[must_use]
    pub fn held_until(&self, digest: &str, now: Timestamp) -> Option<ReleaseCondition> {
        let waits = self.waits.filter(|_| self.digest == digest)?;
        match waits {
            // No valid deadline is further away than this: it was set by a wrong clock.
            ReleaseCondition::Until(time) if time <= now || time - now > LONGEST => None,
            waits => Some(waits),
        }
    }

    /// Returns the record after a review in which the plugin ran; `fault` is its fault, if any. The
    /// record is `None` if nothing has to be kept.
    #[must_use]
    pub fn after_call(
        known: Option<&Self>,
        digest: &str,
        fault: Option<&Fault>,
        now: Timestamp,
        policy: &BreakerPolicy,
    ) -> (Option<Self>, Option<BreakerTransition>) {
        let known = known.filter(|known| known.digest == digest);
        match fault.filter(|fault| counts_as_failure(fault.kind) && policy.faults > 0) {
            Some(fault) => {
                let (breaker, change) = failed(known, digest, fault, now, policy);
                (Some(breaker), change)
            }
            // A fault that does not count is not an answer either: it must not forgive earlier
            // ones.
            None if fault.is_some() => (known.cloned(), None),
            None => known.map_or((None, None), Self::answered),
        }
    }

    fn answered(&self) -> (Option<Self>, Option<BreakerTransition>) {
        let change = self.waits.map(|_| BreakerTransition::Resumed);
        let answers = self.answers.saturating_add(1);
        let kept = Self { faults: 0, answers, waits: None, ..self.clone() };
        // A plugin that was never held is forgiven at once.
        ((self.held > 0 && answers < FORGIVEN).then_some(kept), change)
    }

    /// Returns the detail of the fault that takes the place of a held plugin's answer.
    #[must_use]
    pub fn explain_hold(&self, name: &str, waits: ReleaseCondition) -> String {
        format!("it is not run, since {}; {}", self.describe_failures(), release_hint(name, waits))
    }

    /// Describes its failures, in words that follow "since".
    #[must_use]
    pub fn describe_failures(&self) -> String {
        let times = match (self.faults, self.held) {
            (..=1, ..=1) => "it failed".to_owned(),
            (faults, ..=1) => format!("it failed {faults} times in a row"),
            (_, 2) => "it went on failing after it had been held once".to_owned(),
            (_, 3) => "it went on failing after it had been held twice".to_owned(),
            (_, held) => format!("it went on failing after it had been held {} times", held - 1),
        };
        let words =
            if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        format!("{times} (at last `{}`{words})", self.kind)
    }
}

/// Describes how the hold ends by itself, and how a person can end it.
#[must_use]
pub fn release_hint(name: &str, waits: ReleaseCondition) -> String {
    let by_itself = match waits {
        ReleaseCondition::Until(_) => "it is retried automatically, and at once after",
        ReleaseCondition::ForAPerson => {
            "it is in quarantine until its file changes, or until a person runs"
        }
    };
    format!("{by_itself} `portcullis plugin release {name}`")
}

fn failed(
    known: Option<&Breaker>,
    digest: &str,
    fault: &Fault,
    now: Timestamp,
    policy: &BreakerPolicy,
) -> (Breaker, Option<BreakerTransition>) {
    let mut breaker = Breaker {
        digest: digest.to_owned(),
        faults: known.map_or(0, |known| known.faults).saturating_add(1),
        held: known.map_or(0, |known| known.held),
        answers: 0,
        waits: known.and_then(|known| known.waits),
        kind: fault.kind,
        detail: cut_text(&fault.detail, WORDS),
        at: now,
    };
    // A plugin that was retried needs only one more fault to be held again.
    let tried = breaker.waits.is_some();
    if !tried && breaker.faults < policy.faults {
        return (breaker, None);
    }
    breaker.held = breaker.held.saturating_add(1);
    if policy.quarantine_after > 0 && breaker.held >= policy.quarantine_after {
        breaker.waits = Some(ReleaseCondition::ForAPerson);
        return (breaker, Some(BreakerTransition::Quarantined));
    }
    let doubled =
        policy.back_off_ms.saturating_mul(1_u64.checked_shl(breaker.held - 1).unwrap_or(u64::MAX));
    breaker.waits = Some(ReleaseCondition::Until(now.saturating_add(doubled.min(LONGEST))));
    (breaker, Some(BreakerTransition::Held))
}

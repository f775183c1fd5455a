//! Limits set by an intervention, enforced against an action: a warning when little is left, a
//! refusal when nothing is.
//!
//! A limit with the operator's configured value is for rules and patterns to judge. A tighter one
//! was set because the session went wrong, so the host itself enforces it, regardless of the plugin
//! that set it. Memory and quantities with a name of their own cannot be measured here: those
//! limits are only shown to plugins.

use crate::action::{Facts, Limit, Quantity};
use crate::policy::LimitPolicy;
use crate::review::Objection;
use crate::score::{Severity, Verdict};

/// The source of these objections; a person's exception lifts them like any others.
pub const SOURCE: &str = "limits";
/// The share of a limit at which warnings begin, in thousandths.
const WARN_AT: u64 = 800;

/// Returns the tightened limits' objections to an action with these facts.
#[must_use]
pub fn objections(limits: &[Limit], policy: &LimitPolicy, facts: &Facts) -> Vec<Objection> {
    let files = facts.effects.iter().filter(|effect| effect.kind.changes_files()).count() as u64;
    limits
        .iter()
        .filter(|limit| is_tightened(limit, policy))
        .filter_map(|limit| objection(limit, files))
        .collect()
}

/// Returns true if a limit is tighter than the operator's.
#[must_use]
pub fn is_tightened(limit: &Limit, policy: &LimitPolicy) -> bool {
    policy.of(&limit.quantity).is_none_or(|configured| limit.maximum < configured)
}

fn objection(limit: &Limit, files: u64) -> Option<Objection> {
    let (rule, own, unit) = match limit.quantity {
        Quantity::FileOperations if files > 0 => {
            ("limit_file_operations", files, Unit::Count("writes and deletions"))
        }
        Quantity::BatchSize if files > 0 => return batch(limit.maximum, files),
        // An action's usage is known only when it has ended, so nothing more may begin once all is
        // used.
        Quantity::Tokens => ("limit_tokens", 1, Unit::Count("tokens")),
        Quantity::Time => ("limit_time", 1, Unit::Milliseconds),
        _ => return None,
    };
    let after = limit.used.saturating_add(own);
    let counted = !matches!(limit.quantity, Quantity::FileOperations);
    let used = unit.number(if counted { limit.used } else { after });
    let (most, what) = (unit.number(limit.maximum), unit.name());
    if after > limit.maximum {
        let reason = if counted {
            format!("{used} {what} are used; {most} is the most for a prompt {SINCE}")
        } else {
            format!("this would make {used} {what}; {most} is the most for a prompt {SINCE}")
        };
        return Some(object(rule, Verdict::Block, Severity::High, reason, REST));
    }
    let near = after.saturating_mul(1000) >= limit.maximum.saturating_mul(WARN_AT);
    near.then(|| {
        object(
            rule,
            Verdict::Warn,
            Severity::Medium,
            format!("with this, {used} of {most} {what} are used"),
            SPARE,
        )
    })
}

fn batch(maximum: u64, files: u64) -> Option<Objection> {
    let reason = format!("it changes {files} files at once; {maximum} is the most {SINCE}");
    (files > maximum).then(|| {
        object(
            "limit_batch_size",
            Verdict::Block,
            Severity::High,
            reason,
            "do it in smaller parts, and look at the first one before the next",
        )
    })
}

/// The cause named in an objection. The limits do not record what went wrong; the agent was
/// informed when they were tightened.
const SINCE: &str = "since limits were tightened";
const REST: &str = "stop here and tell the person what is done and what is left; the count restarts with their next prompt";
const SPARE: &str = "do only what the task needs, and leave the rest to the person's next prompt";

fn object(
    rule: &str,
    verdict: Verdict,
    severity: Severity,
    reason: String,
    instead: &str,
) -> Objection {
    Objection {
        source: SOURCE.into(),
        rule: rule.into(),
        verdict,
        severity,
        reason,
        alternatives: vec![instead.into()],
        rewrite: false,
    }
}

/// The unit in which a quantity is reported.
#[derive(Clone, Copy)]
enum Unit {
    Count(&'static str),
    Milliseconds,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Count(what) => what,
            Self::Milliseconds => "s",
        }
    }

    const fn number(self, number: u64) -> u64 {
        match self {
            Self::Count(_) => number,
            Self::Milliseconds => number / 1000,
        }
    }
}

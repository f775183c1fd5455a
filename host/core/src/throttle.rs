//! The limits of a prompt, enforced against an action: a warning when little is left, a refusal
//! when nothing is.
//!
//! The rule `limit_file_operations` holds the configured number of writes and deletions, so the
//! host itself holds that number only if an intervention tightened it, regardless of the plugin
//! that set it; and it holds all other limits of [`crate::limits::LIMITS`] always. Reading goes on
//! for a while past a limit. Quantities with a name of a plugin's own are only shown to plugins.

use crate::action::{Facts, Limit, Quantity};
use crate::limits::{self, LimitRow};
use crate::policy::LimitPolicy;
use crate::review::Objection;
use crate::score::{Severity, Verdict};
use std::collections::BTreeMap;

/// The source of these objections; a person's exception lifts them like any others.
pub const SOURCE: &str = "limits";
/// The shares of a limit that are announced, in thousandths; the actions between say nothing.
const MARKS: [u16; 3] = [800, 900, 1000];
/// The share up to which reading goes on, in thousandths: it uses tokens and time too.
const MOST_READING: u16 = 1250;

/// The limits of a session, as an action meets them.
#[derive(Clone, Copy, Debug)]
pub struct LimitState<'a> {
    /// The limits in force.
    pub limits: &'a [Limit],
    /// The operator's limits with which the session began.
    pub base: &'a LimitPolicy,
    /// The highest share of each that was announced, by the limit's name.
    pub announced: &'a BTreeMap<String, u16>,
}

/// Returns the limits' objections to an action with these facts.
#[must_use]
pub fn find_objections(state: &LimitState<'_>, facts: &Facts) -> Vec<Objection> {
    state.limits.iter().filter_map(|limit| find_objection(limit, state, facts)).collect()
}

/// Returns true if a limit is tighter than the operator's when the session took it over. A key that
/// is raised later tightens nothing, and one that is lowered does not hide what an intervention
/// set.
#[must_use]
pub fn is_tightened(limit: &Limit, base: &LimitPolicy) -> bool {
    base.limit_of(&limit.quantity).is_none_or(|configured| limit.maximum < configured)
}

/// Returns the highest mark that the use of a limit has reached.
#[must_use]
pub fn highest_mark(used: u64, maximum: u64) -> Option<u16> {
    MARKS.into_iter().rev().find(|mark| has_reached(used, maximum, *mark))
}

fn has_reached(used: u64, maximum: u64, mark: u16) -> bool {
    used.saturating_mul(1000) >= maximum.saturating_mul(u64::from(mark))
}

fn find_objection(limit: &Limit, state: &LimitState<'_>, facts: &Facts) -> Option<Objection> {
    let files = facts.effects.iter().filter(|effect| effect.counts_as_write()).count() as u64;
    if limit.quantity == Quantity::BatchSize {
        return find_batch_objection(limit.maximum, files);
    }
    let row = limits::find_row(&limit.quantity)?;
    if row.ruled {
        let holds = files > 0 && is_tightened(limit, state.base);
        return holds.then(|| find_files_objection(row, limit, state, files)).flatten();
    }
    let announced = state.announced.get(row.name).copied().unwrap_or_default();
    let mark = highest_mark(limit.used, limit.maximum)?;
    // A gauge can fall again, however high it is; what a prompt has used does not.
    let reading = row.lets_through(facts)
        && (row.gauge || !has_reached(limit.used, limit.maximum, MOST_READING));
    if row.is_reached(limit.used, limit.maximum) && !reading {
        let used = row.format_amount(limit.used);
        return Some(refuse(row, format!("{used} are used"), limit, state));
    }
    (mark > announced).then(|| warn(row, limit.used, limit))
}

/// An action's own files are known before it runs, so they count.
fn find_files_objection(
    row: &LimitRow,
    limit: &Limit,
    state: &LimitState<'_>,
    files: u64,
) -> Option<Objection> {
    let after = limit.used.saturating_add(files);
    if after > limit.maximum {
        return Some(refuse(
            row,
            format!("this would make {}", row.format_amount(after)),
            limit,
            state,
        ));
    }
    let passes = |mark: &u16| {
        has_reached(after, limit.maximum, *mark) && !has_reached(limit.used, limit.maximum, *mark)
    };
    MARKS.iter().any(passes).then(|| warn(row, after, limit))
}

fn find_batch_objection(maximum: u64, files: u64) -> Option<Objection> {
    let reason = format!("it changes {files} files at once; {maximum} is the most {SINCE}");
    (files > maximum).then(|| {
        object(
            "limit_batch_size",
            Verdict::Block,
            reason,
            "do it in smaller parts, and look at the first one before the next",
        )
    })
}

/// The cause named in an objection. The limits do not record what went wrong; the agent was
/// informed when they were tightened.
const SINCE: &str = "since limits were tightened";
const REST: &str = "stop here and tell the person what is done and what is left; the count \
     restarts with their next prompt";
const WAIT: &str = "wait until less runs, or stop processes that are not needed any more, and tell \
     the person; it is measured again before each action";
const SPARE: &str = "do only what the task needs, and leave the rest to the person's next prompt";

fn refuse(row: &LimitRow, used: String, limit: &Limit, state: &LimitState<'_>) -> Objection {
    let most = row.unit.format_amount(limit.maximum);
    let span = if row.gauge { "at once" } else { "for a prompt" };
    let base = state.base.limit_of(&limit.quantity).filter(|base| *base > limit.maximum);
    let cause = base.map_or_else(
        || format!("(`{}`)", row.key),
        |base| format!("{SINCE} (`{}` is {})", row.key, row.unit.format_amount(base)),
    );
    let instead = if row.gauge { WAIT } else { REST };
    object(row.rule, Verdict::Block, format!("{used}; {most} is the most {span} {cause}"), instead)
}

fn warn(row: &LimitRow, used: u64, limit: &Limit) -> Objection {
    let used = row.unit.format_amount(used);
    let most = row.format_amount(limit.maximum);
    let reason = format!("with this, {used} of {most} are used (`{}`)", row.key);
    object(row.rule, Verdict::Warn, reason, if row.gauge { WAIT } else { SPARE })
}

fn object(rule: &str, verdict: Verdict, reason: String, instead: &str) -> Objection {
    Objection {
        source: SOURCE.into(),
        rule: rule.into(),
        verdict,
        severity: if verdict == Verdict::Block { Severity::High } else { Severity::Medium },
        reason,
        alternatives: vec![instead.into()],
        rewrite: false,
    }
}

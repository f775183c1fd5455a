//! Measures how far the recent steps serve the goal.

use super::config::{ALIGNED, Config};
use super::memory::{LastReport, Reported, to_bytes};
use portcullis_builtin_shared::steps::{
    Detail, LEAST, ended_after, label, past_label, recent, thousandths,
};
use portcullis_builtin_shared::text::{decimal, evidence, named};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Context, Evidence, Goal, Severity, Step};

/// The maximum number of steps in the evidence, newest first.
const SHOWN: usize = 8;

/// Evaluates the session after this action's outcome.
pub(super) fn look(
    config: &Config,
    reported: LastReport,
    history: &History,
    action: &Action,
    context: &Context,
    detail: &Detail<'_>,
) -> Report {
    let Some(goal) =
        context.goals.iter().min_by_key(|goal| goal.priority).filter(|_| action.outcome.is_some())
    else {
        return Report::nothing();
    };
    let scored: Vec<Scored> =
        recent(history, config.window).iter().filter_map(Scored::of).collect();
    let mean = mean(&scored);
    if scored.len() < config.least || mean >= config.threshold {
        return settle(reported);
    }
    let (newer, older) = halves(&scored);
    // With a setting of 0 equal halves would count as a fall.
    let falls = newer.saturating_add(config.falls_by.max(1)) <= older;
    let astray = scored.iter().any(|step| step.index == action.step && step.is_astray());
    let due = reported.map_or(falls, |before| recurs(config, before, &scored, history));
    if !astray || !due {
        return Report::nothing();
    }
    let found = Measured { mean, newer, older, falls, scored };
    Report::from(detection(config, &found, goal, action, detail))
        .remember(to_bytes(Some(Reported { mean, step: action.step })))
}

/// Returns true if a drift that was reported is to be reported again: it has grown, or some steps
/// have passed and the agent has not turned round since.
fn recurs(config: &Config, before: Reported, scored: &[Scored], history: &History) -> bool {
    let newest = scored.get(..scored.len().min(LEAST)).unwrap_or_default();
    mean(scored).saturating_add(config.worse_by) <= before.mean
        || mean(newest) < config.threshold
            && ended_after(history, before.step) >= config.again_after
}

/// Forgets the last report: all is well, or not known yet.
fn settle(reported: LastReport) -> Report {
    if reported.is_some() { Report::nothing().remember(to_bytes(None)) } else { Report::nothing() }
}

struct Measured {
    mean: u32,
    newer: u32,
    older: u32,
    /// True if the newer half serves the goal less than the older one.
    falls: bool,
    /// Newest first.
    scored: Vec<Scored>,
}

/// A step with an alignment to the goal.
struct Scored {
    index: u64,
    alignment: u32,
}

impl Scored {
    /// Returns the score of a step; none if it was not compared with the goal, or the value is not
    /// a score.
    fn of(step: &Step) -> Option<Self> {
        let alignment = step.alignment.filter(|score| *score <= 1000)?;
        Some(Self { index: step.index, alignment: alignment.into() })
    }

    const fn is_astray(&self) -> bool {
        self.alignment < ALIGNED
    }
}

fn mean(steps: &[Scored]) -> u32 {
    let sum: u32 = steps.iter().map(|step| step.alignment).sum();
    sum.checked_div(u32::try_from(steps.len()).unwrap_or(u32::MAX)).unwrap_or(1000)
}

/// Returns the means of the newer and of the older half. Of an odd number the one in the middle
/// belongs to neither.
fn halves(steps: &[Scored]) -> (u32, u32) {
    let half = steps.len() / 2;
    let older = steps.get(steps.len().saturating_sub(half)..).unwrap_or_default();
    (mean(steps.get(..half).unwrap_or_default()), mean(older))
}

fn detection(
    config: &Config,
    found: &Measured,
    goal: &Goal,
    action: &Action,
    detail: &Detail<'_>,
) -> Detection {
    let astray: Vec<&Scored> = found.scored.iter().filter(|step| step.is_astray()).collect();
    let share = u32::try_from(
        astray.len().saturating_mul(1000).checked_div(found.scored.len()).unwrap_or(0),
    )
    .unwrap_or(1000);
    let bad = if found.mean.saturating_mul(2) < config.threshold {
        Severity::Medium
    } else {
        Severity::Low
    };
    let course = if found.falls { "gets worse: " } else { "stays so: " };
    let summary = [
        astray.len().to_string().as_str(),
        " of the ",
        &found.scored.len().to_string(),
        " recent steps that were held against the goal do not serve it, and it ",
        course,
        &decimal(found.newer),
        " on average, ",
        &decimal(found.older),
        " before; the goal is ",
        &named(goal.text.trim()),
    ]
    .concat();
    let detection = Detection::new("goal_drift", bad.min(config.severity), &summary)
        .sure(thousandths(1000_u32.saturating_sub(found.mean)), thousandths(share))
        .since(astray.last().map_or(action.step, |step| step.index))
        .because(evidence("goal", goal.text.trim(), None));
    astray
        .iter()
        .take(SHOWN)
        .filter_map(|step| shown(step, action, detail))
        .fold(detection, Detection::because)
}

/// Returns the evidence of a step, as far as the host still knows it.
fn shown(step: &Scored, action: &Action, detail: &Detail<'_>) -> Option<Evidence> {
    if step.index == action.step {
        Some(label(action))
    } else {
        detail(step.index).map(|past| past_label(&past, step.index))
    }
}

//! Counts one error in the history.

use super::config::Config;
use super::memory::Memory;
use portcullis_builtin_shared::checks::runs_checks;
use portcullis_builtin_shared::steps::{graded, label, share, thousandths};
use portcullis_builtin_shared::text::{evidence, named};
use portcullis_plugin::history::{History, MOST_STEPS};
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Status, Step};

/// The maximum number of steps in the evidence, newest first.
const SHOWN: usize = 8;

/// Updates the memory with this action's outcome, and reports a repeated error.
pub(super) fn look(
    config: &Config,
    mut memory: Memory,
    history: &History,
    action: &Action,
) -> Report {
    let Some(outcome) = action.outcome.as_ref().filter(|outcome| outcome.status == Status::Failed)
    else {
        return Report::nothing();
    };
    let steps = history.newest(MOST_STEPS);
    let Some(own) =
        steps.iter().rev().find(|step| step.index == action.step).filter(|step| is_error(step))
    else {
        return Report::nothing();
    };
    memory.keep(own.error, &outcome.error);
    let times = unresolved(&steps, own.error);
    let tries = if runs_checks(action) { tries(&steps, &times) } else { 0 };
    // Red, work, red again is how a check is used: two such rounds weigh as much as one repetition.
    let weight = times.len().saturating_sub(tries.div_ceil(2));
    let weight = u32::try_from(weight).unwrap_or(u32::MAX);
    let report = if weight >= config.threshold {
        let more = weight.saturating_sub(config.threshold);
        detection(config, &memory, history, &times, more, action).into()
    } else {
        Report::nothing()
    };
    report.remember(memory.to_bytes())
}

/// Returns the steps that ended in this error, oldest first, with no success of their shape since.
fn unresolved(steps: &[Step], error: u64) -> Vec<&Step> {
    let mut succeeded: Vec<u64> = Vec::new();
    let mut found: Vec<&Step> = Vec::new();
    for step in steps.iter().rev() {
        if step.status == Status::Ok && !succeeded.contains(&step.shape) {
            succeeded.push(step.shape);
        }
        if is_error(step) && step.error == error && !succeeded.contains(&step.shape) {
            found.push(step);
        }
    }
    found.reverse();
    found
}

/// Returns how often files were changed between one time and the next.
fn tries(steps: &[Step], times: &[&Step]) -> usize {
    let changed = |from: u64, to: u64| {
        steps.iter().any(|step| {
            from < step.index && step.index < to && step.status == Status::Ok && step.files > 0
        })
    };
    let pairs = times.iter().zip(times.iter().skip(1));
    pairs.filter(|(before, after)| changed(before.index, after.index)).count()
}

/// Returns true for a step that ran and failed with an error that has a fingerprint. Refused ones
/// never ran.
fn is_error(step: &Step) -> bool {
    step.status == Status::Failed && step.error != 0
}

fn detection(
    config: &Config,
    memory: &Memory,
    history: &History,
    times: &[&Step],
    more: u32,
    action: &Action,
) -> Detection {
    let confidence = u32::from(config.confidence)
        .saturating_add(more.saturating_mul(u32::from(config.confidence_step)))
        .min(1000);
    let impact =
        share(history, config.window, |step| times.iter().any(|time| time.index == step.index));
    let bad = graded(more, impact);
    let error = times.last().map_or(0, |step| step.error);
    let text = memory.text(error).map(telling);
    let summary = [
        "the same error came up ",
        &times.len().to_string(),
        " times without a success between: ",
        &first_line(text),
    ]
    .concat();
    let detection = Detection::new("repetitive_errors", bad.min(config.severity), &summary)
        .sure(thousandths(confidence), thousandths(impact))
        .since(times.first().map_or(0, |step| step.index));
    let quoted = text.map(|text| evidence("error", text, times.last().map(|step| step.index)));
    let steps = times
        .iter()
        .rev()
        .take(SHOWN)
        .map(|step| evidence("step", &step.index.to_string(), Some(step.index)));
    quoted.into_iter().chain([label(action)]).chain(steps).fold(detection, Detection::because)
}

/// Removes the line that only says that it failed, if another one gives the reason.
fn telling(text: &str) -> &str {
    match text.trim_start().split_once('\n') {
        Some((first, rest)) if first.starts_with("Exit code ") && !rest.trim().is_empty() => {
            rest.trim_start()
        }
        _ => text,
    }
}

fn first_line(text: Option<&str>) -> String {
    text.and_then(|text| text.lines().find(|line| !line.trim().is_empty()))
        .map_or_else(|| "its text is not known".to_owned(), |line| named(line.trim()))
}

//! Finds a cycle at the end of the history.

use super::config::Config;
use super::memory::{ReportedLoop, to_bytes};
use portcullis_builtin_shared::steps::{
    Detail, ended, graded, label, past_label, share, thousandths,
};
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Evidence, Status, Step};

/// Evaluates the session after this action's outcome.
pub(super) fn look(
    config: &Config,
    reported: Option<ReportedLoop>,
    history: &History,
    action: &Action,
    detail: &Detail<'_>,
) -> Report {
    if action.outcome.is_none() {
        return Report::nothing();
    }
    let steps =
        ended_of(history.until(|steps| all_runs_begin_in(config, &ended_of(steps.to_vec()))));
    let Some(found) = find(config, &steps) else { return settle(reported) };
    if !found.run.iter().any(|step| step.index == action.step) {
        return Report::nothing();
    }
    let key = found.key();
    let again = reported.filter(|reported| reported.cycle == key);
    let newer =
        |reported: ReportedLoop| found.run.iter().filter(|step| step.index > reported.step).count();
    if again.is_some_and(|reported| newer(reported) < found.length) {
        return Report::nothing();
    }
    let step = found.run.last().map_or(action.step, |step| step.index);
    Report::from(detection(config, &found, history, action, detail))
        .remember(to_bytes(Some(ReportedLoop { cycle: key, step })))
}

/// Forgets the last report: there is no loop.
fn settle(reported: Option<ReportedLoop>) -> Report {
    if reported.is_some() { Report::nothing().remember(to_bytes(None)) } else { Report::nothing() }
}

/// A cycle and the steps that are one run of it, oldest first.
struct Found<'a> {
    length: usize,
    run: &'a [Step],
}

impl Found<'_> {
    fn times(&self) -> u32 {
        u32::try_from(self.run.len().checked_div(self.length).unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Returns one round of the cycle, the newest.
    fn round(&self) -> &[Step] {
        self.run.get(self.run.len().saturating_sub(self.length)..).unwrap_or_default()
    }

    /// Returns the same key wherever in the cycle the run ends.
    fn key(&self) -> u64 {
        self.round().iter().fold(0, |sum: u64, step| {
            // A sum has no order; the rotations keep a step's three prints from cancelling each
            // other.
            sum.wrapping_add(
                step.identity ^ step.output.rotate_left(21) ^ step.error.rotate_left(42),
            )
        })
    }
}

fn ended_of(mut steps: Vec<Step>) -> Vec<Step> {
    steps.retain(ended);
    steps
}

/// Returns the number of the newest steps that are rounds of one cycle of this length, complete or
/// not.
fn run(config: &Config, steps: &[Step], length: usize) -> usize {
    let same_prompt = |step: &Step| {
        !config.within_prompt || steps.last().is_some_and(|last| last.prompt == step.prompt)
    };
    let repeats = steps
        .iter()
        .rev()
        .zip(steps.iter().rev().skip(length))
        .take_while(|(newer, older)| same(newer, older) && same_prompt(older));
    repeats.count().saturating_add(length)
}

/// Returns true if no run continues in steps that are older than these.
fn all_runs_begin_in(config: &Config, steps: &[Step]) -> bool {
    (1..=config.longest).all(|length| run(config, steps, length) < steps.len())
}

/// Finds the shortest cycle that the history ends with often enough.
fn find<'a>(config: &Config, steps: &'a [Step]) -> Option<Found<'a>> {
    (1..=config.longest).find_map(|length| {
        let run = steps.get(steps.len().checked_sub(run(config, steps, length))?..)?;
        Some(Found { length, run }).filter(|found| found.times() >= config.threshold)
    })
}

/// Returns true for the same exact action with the same result.
fn same(one: &Step, other: &Step) -> bool {
    let of = |step: &Step| (step.identity, step.status == Status::Ok, step.error, step.output);
    of(one) == of(other)
}

fn detection(
    config: &Config,
    found: &Found<'_>,
    history: &History,
    action: &Action,
    detail: &Detail<'_>,
) -> Detection {
    let more = found.times().saturating_sub(config.threshold);
    let confidence = u32::from(config.confidence)
        .saturating_add(more.saturating_mul(u32::from(config.confidence_step)));
    let impact =
        share(history, config.window, |step| found.run.iter().any(|own| own.index == step.index));
    let labels = labels(found, action, detail);
    let mut summary = match found.length {
        1 => "the same step came with the same result ".to_owned(),
        length => ["the same ", &length.to_string(), " steps came with the same results "].concat(),
    };
    summary.push_str(&[&found.times().to_string(), " times in a row"].concat());
    if !labels.is_empty() {
        summary
            .push_str(&[": ", &listed(labels.iter().map(|label| label.value.as_str()))].concat());
    }
    let detection = Detection::new("loop", graded(more, impact).min(config.severity), &summary)
        .sure(thousandths(confidence), thousandths(impact))
        .since(found.run.first().map_or(action.step, |step| step.index));
    labels.into_iter().chain(result(action)).fold(detection, Detection::because)
}

/// Returns the cycle's steps as evidence, in order, as far as the host still knows them.
fn labels(found: &Found<'_>, action: &Action, detail: &Detail<'_>) -> Vec<Evidence> {
    let one = |step: &Step| {
        if step.index == action.step {
            Some(label(action))
        } else {
            detail(step.index).map(|past| past_label(&past, step.index))
        }
    };
    found.round().iter().filter_map(one).collect()
}

/// Returns the result of each round.
fn result(action: &Action) -> Option<Evidence> {
    let outcome = action.outcome.as_ref()?;
    let (kind, text) = if outcome.status == Status::Failed {
        ("error", &outcome.error)
    } else {
        ("output", &outcome.output)
    };
    (!text.trim().is_empty()).then(|| evidence(kind, text.trim(), Some(action.step)))
}

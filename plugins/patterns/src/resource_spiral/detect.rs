//! The conditions for a report of growth, and its wording.

use super::config::Config;
use super::growth::{Growth, Resource, Windows, growth, is_warm, reach_back, windows};
use super::memory::{ReportedGrowth, to_bytes};
use portcullis_builtin_shared::steps::{Detail, label, past_label, thousandths};
use portcullis_builtin_shared::text::{decimal, evidence};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Evidence, Severity, Step};

/// Evaluates the session after this action's outcome.
pub(super) fn look(
    config: &Config,
    reported: ReportedGrowth,
    history: &History,
    action: &Action,
    detail: &Detail<'_>,
) -> Report {
    if action.outcome.is_none() {
        return Report::nothing();
    }
    let steps = history.until(|steps| reach_back(config, steps));
    let windows = windows(config, &steps).unwrap_or_default();
    let warm = is_warm(&windows);
    let spiral: Vec<Growth> = Resource::ALL
        .into_iter()
        .filter_map(|resource| growth(config, &windows, resource, warm))
        .filter(|growth| growth.score > config.threshold)
        .collect();
    let before = |resource: Resource| reported.get(resource as usize).copied().unwrap_or(0);
    let worse = spiral.iter().any(|growth| match before(growth.resource) {
        0 => true,
        known => growth.score >= (known - 1).saturating_add(config.worse_by.max(1)),
    });
    let mut telling = ReportedGrowth::default();
    for growth in &spiral {
        if let Some(one) = telling.get_mut(growth.resource as usize) {
            let known = before(growth.resource);
            // A report names all that grow: none of them is news again until it grows faster.
            *one = if worse { growth.score.saturating_add(1).max(known) } else { known };
        }
    }
    let report = match spiral.iter().max_by_key(|growth| growth.score) {
        Some(worst) if worse => detection(config, worst, &spiral, &windows, action, detail).into(),
        _ => Report::nothing(),
    };
    if telling == reported { report } else { report.remember(to_bytes(&telling)) }
}

/// Returns the severity. One window may be an accident, two a burst; only growth throughout can be
/// the worst.
fn severity(config: &Config, worst: &Growth) -> Severity {
    let times = |factor: u32| worst.score > config.threshold.saturating_mul(factor);
    let bad = match worst.grew {
        3 if times(4) => Severity::Critical,
        2 | 3 if times(2) => Severity::High,
        2 | 3 => Severity::Medium,
        _ => Severity::Low,
    };
    bad.min(config.severity)
}

fn detection(
    config: &Config,
    worst: &Growth,
    spiral: &[Growth],
    windows: &Windows<'_>,
    action: &Action,
    detail: &Detail<'_>,
) -> Detection {
    let summary = [
        "what the session uses grows from window to window: ",
        &spiral.iter().map(describe_growth).collect::<Vec<_>>().join("; "),
    ]
    .concat();
    let growths =
        spiral.iter().map(|growth| evidence("growth", &describe_growth(growth), Some(action.step)));
    // The one more rounds two of three windows up to 667.
    let confidence = worst.grew.saturating_mul(1000).saturating_add(1) / 3;
    let detection = Detection::new("resource_spiral", severity(config, worst), &summary)
        .sure(thousandths(confidence), thousandths(worst.score / 2))
        .since(begin(worst, windows).unwrap_or(action.step));
    growths.chain(greediest(worst, windows, action, detail)).fold(detection, Detection::because)
}

/// Formats growth: `files 3, 6, 12, 24 (x 2.00 a window)`.
fn describe_growth(growth: &Growth) -> String {
    let used: Vec<String> = growth.used.iter().map(u128::to_string).collect();
    let ratio = decimal(growth.score.saturating_add(1000));
    [growth.resource.name(), " ", &used.join(", "), " (x ", &ratio, " a window)"].concat()
}

/// Returns the first step of the first window that used more than the one before.
fn begin(worst: &Growth, windows: &Windows<'_>) -> Option<u64> {
    let grew = worst
        .used
        .iter()
        .zip(worst.used.iter().skip(1))
        .position(|(before, after)| after > before)?;
    windows.get(grew.checked_add(1)?)?.first().map(|step| step.index)
}

/// Returns the step of the newest window that used most.
fn greediest(
    worst: &Growth,
    windows: &Windows<'_>,
    action: &Action,
    detail: &Detail<'_>,
) -> Option<Evidence> {
    let step: &&Step = windows.last()?.iter().max_by_key(|step| worst.resource.of(step))?;
    if step.index == action.step {
        Some(label(action))
    } else {
        detail(step.index).map(|past| past_label(&past, step.index))
    }
}

//! Measures the share of the recent work that is outside the scope.

use super::config::Config;
use super::memory::{LastReport, Reported, to_bytes};
use portcullis_builtin_shared::steps::{Detail, LEAST, ended_after, recent, thousandths};
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Effect, EffectKind, Evidence, Path, Scope, Severity, Step};

/// The maximum number of paths in the evidence, newest first.
const SHOWN: usize = 8;
/// The maximum number of past steps that are looked up for them: the host answers 16 times.
const LOOKED_UP: usize = 15;

/// Evaluates the session after this action's outcome.
pub(super) fn look(
    config: &Config,
    reported: LastReport,
    history: &History,
    action: &Action,
    detail: &Detail<'_>,
) -> Report {
    if action.outcome.is_none() {
        return Report::nothing();
    }
    let recent = recent(history, config.window);
    let (effects, outside) = sums(&recent);
    let share = share(&recent);
    if recent.len() < config.least || share <= config.threshold {
        return settle(reported);
    }
    let reached_out = recent.iter().any(|step| step.index == action.step && step.outside > 0);
    if !reached_out || reported.is_some_and(|before| !recurs(config, before, &recent, history)) {
        return Report::nothing();
    }
    let seen = reported.map_or(effects, |before| {
        let newer: Vec<Step> =
            recent.iter().filter(|step| step.index > before.step).copied().collect();
        effects.max(before.seen.saturating_add(sums(&newer).0))
    });
    let confidence = (seen.saturating_mul(1000) / config.sure_at).min(1000);
    let found = Measured { share, effects, outside, confidence };
    let report = Reported { share, seen, step: action.step };
    Report::from(detection(config, &found, &recent, action, detail))
        .remember(to_bytes(Some(report)))
}

/// Returns true if a share that was reported is to be reported again: it has grown, or some steps
/// have passed and the agent has not turned round since.
fn recurs(config: &Config, before: Reported, recent: &[Step], history: &History) -> bool {
    let newest = recent.get(..recent.len().min(LEAST)).unwrap_or_default();
    share(recent) >= before.share.saturating_add(config.worse_by)
        || share(newest) > config.threshold
            && ended_after(history, before.step) >= config.again_after
}

/// Forgets the last report: all is well, or not known yet.
fn settle(reported: LastReport) -> Report {
    if reported.is_some() { Report::nothing().remember(to_bytes(None)) } else { Report::nothing() }
}

struct Measured {
    share: u32,
    effects: u32,
    outside: u32,
    confidence: u32,
}

fn sums(steps: &[Step]) -> (u32, u32) {
    steps.iter().fold((0, 0), |(effects, outside), step| {
        (effects + u32::from(step.effects), outside + u32::from(step.outside.min(step.effects)))
    })
}

/// Returns the share of the steps' effects that is outside, in thousandths.
fn share(steps: &[Step]) -> u32 {
    let (effects, outside) = sums(steps);
    outside.saturating_mul(1000).checked_div(effects).unwrap_or(0)
}

fn detection(
    config: &Config,
    found: &Measured,
    recent: &[Step],
    action: &Action,
    detail: &Detail<'_>,
) -> Detection {
    let outside: Vec<&Step> = recent.iter().filter(|step| step.outside > 0).collect();
    let paths = paths(&outside, action, detail);
    let bad = match found {
        _ if found.share > config.threshold.saturating_mul(2) => Severity::High,
        _ if found.confidence < 500 => Severity::Low,
        _ => Severity::Medium,
    };
    let mut summary = [
        &found.outside.to_string(),
        " of the ",
        &found.effects.to_string(),
        " things that the recent steps did are outside the expected scope",
    ]
    .concat();
    if !paths.is_empty() {
        summary.push_str(": ");
        summary.push_str(&listed(paths.iter().map(|path| path.value.as_str())));
    }
    let detection = Detection::new("scope_creep", bad.min(config.severity), &summary)
        .sure(thousandths(found.confidence), thousandths(found.share))
        .since(outside.last().map_or(action.step, |step| step.index));
    paths.into_iter().fold(detection, Detection::because)
}

/// Returns the paths that the steps reached, newest first, each path once.
fn paths(steps: &[&Step], action: &Action, detail: &Detail<'_>) -> Vec<Evidence> {
    let mut found: Vec<Evidence> = Vec::new();
    keep(&mut found, &action.facts.effects, &action.facts.paths, action.step);
    for step in steps.iter().filter(|step| step.index != action.step).take(LOOKED_UP) {
        if found.len() >= SHOWN {
            break;
        }
        if let Some(past) = detail(step.index) {
            keep(&mut found, &past.effects, &past.paths, step.index);
        }
    }
    found
}

fn keep(found: &mut Vec<Evidence>, effects: &[Effect], paths: &[Path], step: u64) {
    for effect in effects.iter().filter(|effect| effect.kind != EffectKind::FileRead) {
        let path = effect.path.and_then(|index| paths.get(usize::try_from(index).ok()?));
        let Some(path) = path.filter(|path| matches!(path.scope, Scope::Outside | Scope::System))
        else {
            continue;
        };
        let one = evidence("path", &path.text, Some(step));
        if found.len() < SHOWN && !found.iter().any(|known| known.value == one.value) {
            found.push(one);
        }
    }
}

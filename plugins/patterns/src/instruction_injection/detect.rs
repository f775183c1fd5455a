//! Reads incoming text, and compares the next actions with it.

use super::config::Config;
use super::follow::followed;
use super::memory::{Found, MOST_TEXT, Memory};
use super::text::{Sign, Signs, read};
use super::things::{Kind, Thing, things};
use portcullis_builtin_shared::steps::label;
use portcullis_builtin_shared::text::{clip, evidence, named};
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Access, Action, Context, Outcome, Severity};

/// Updates the memory with this action, and reports instructions and their execution.
pub(crate) fn look(
    config: &Config,
    mut memory: Memory,
    action: &Action,
    context: &Context,
) -> Report {
    let before = memory.clone();
    let mut report = Report::nothing();
    let looked = action.step.saturating_add(1);
    if action.outcome.is_none() || looked > memory.looked {
        memory.looked = looked.max(memory.looked);
        report.detections.extend(following(config, &mut memory, action, context));
    }
    if let Some(outcome) = &action.outcome {
        report.detections.extend(arrived(config, &mut memory, action, outcome, context));
    }
    if memory == before { report } else { report.remember(memory.to_bytes()) }
}

/// Detects an action on something that a text named a few steps ago.
fn following(
    config: &Config,
    memory: &mut Memory,
    action: &Action,
    context: &Context,
) -> Option<Detection> {
    memory.found.retain(|found| {
        action.step.saturating_sub(found.step) <= config.within || found.step > action.step
    });
    let texts = memory.found.iter_mut().rev().filter(|found| found.step < action.step);
    for found in texts {
        if let Some(thing) = followed(&mut found.things, action, context) {
            thing.reported = true;
            let thing = thing.clone();
            return Some(follows(config, found, &thing, action));
        }
    }
    None
}

fn follows(config: &Config, found: &Found, thing: &Thing, action: &Action) -> Detection {
    let sure = match thing.kind {
        Kind::Host | Kind::Mail | Kind::Command => config.confidence_followed,
        Kind::Path | Kind::Name => {
            config.confidence_followed.saturating_sub(200).max(config.confidence_seen)
        }
    };
    let summary = [
        "the result of step ",
        &found.step.to_string(),
        " told the agent what to do, ",
        &named(&found.excerpt),
        ", and this acts on ",
        &named(&thing.name),
        " from it",
    ]
    .concat();
    let own = label(action);
    let detection =
        Detection::new("instruction_injection", Severity::High.min(config.severity), &summary)
            .sure(sure, config.impact)
            .since(found.step)
            .because(evidence(&found.source.0, &found.source.1, Some(found.step)))
            .because(evidence("text", &found.excerpt, Some(found.step)))
            .because(evidence(thing.kind.evidence(), &thing.name, Some(action.step)));
    let shown = own.kind == thing.kind.evidence() && own.value == thing.name;
    if shown { detection } else { detection.because(own) }
}

/// Detects an outcome whose text instructs the agent. A text that the agent wrote itself comes from
/// nobody else, and one that repeats the person's request from the person.
fn arrived(
    config: &Config,
    memory: &mut Memory,
    action: &Action,
    outcome: &Outcome,
    context: &Context,
) -> Option<Detection> {
    let own =
        action.file().is_some_and(|file| !matches!(file.access, Access::Read | Access::Search));
    if own {
        return None;
    }
    let (output, error) = (read(&outcome.output), read(&outcome.error));
    let signs = if error.weight > output.weight { error } else { output };
    if signs.weight < config.threshold || is_requested(&signs, context) {
        return None;
    }
    let source = label(action);
    let named = if signs.around.is_empty() { &signs.excerpt } else { &signs.around };
    let found = Found {
        step: action.step,
        excerpt: clip(&signs.excerpt, MOST_TEXT),
        source: (source.kind, clip(&source.value, MOST_TEXT)),
        things: things(named),
    };
    let is_new = memory.keep(found.clone());
    (is_new && config.seen).then(|| seen(config, &signs, &found))
}

/// Returns true if one of the person's requests holds the text.
fn is_requested(signs: &Signs, context: &Context) -> bool {
    !signs.signs.contains(&Sign::Hidden)
        && context.goals.iter().any(|goal| read(&goal.text).excerpt == signs.excerpt)
}

fn seen(config: &Config, signs: &Signs, found: &Found) -> Detection {
    let hidden = signs.signs.contains(&Sign::Hidden);
    let more = signs.weight.saturating_sub(config.threshold).min(3);
    let bad = if hidden || more >= 2 { Severity::Medium } else { Severity::Low };
    let confidence = u32::from(config.confidence_seen).saturating_add(more.saturating_mul(100));
    let names: Vec<&str> = signs.signs.iter().map(|sign| sign.as_str()).collect();
    let summary = [
        "the result of step ",
        &found.step.to_string(),
        " holds text that instructs an agent (",
        &names.join(", "),
        "): ",
        &named(&found.excerpt),
    ];
    Detection::new("instruction_injection", bad.min(config.severity), &summary.concat())
        .sure(u16::try_from(confidence).unwrap_or(1000), config.impact)
        .since(found.step)
        .because(evidence(&found.source.0, &found.source.1, Some(found.step)))
        .because(evidence("text", &found.excerpt, Some(found.step)))
}

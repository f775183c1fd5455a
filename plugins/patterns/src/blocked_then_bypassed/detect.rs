//! Compares an action with the refused ones before it.

use super::config::Config;
use super::effects::{Class, ComparedEffect, again, refusable};
use super::memory::{Attempt, MOST_LABEL, Memory, Refusal};
use portcullis_builtin_shared::steps::label;
use portcullis_builtin_shared::text::{clip, evidence, named};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Context, Severity, Status, Step, Verdict};

/// Updates the memory with this action, and reports a bypass.
pub(super) fn look(
    config: &Config,
    mut memory: Memory,
    history: &History,
    action: &Action,
    context: &Context,
) -> Report {
    let looked = action.step.saturating_add(1);
    let ended = action.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::Ok);
    let edit = edit_of(action).filter(|_| ended);
    if let Some((own, _)) = edit {
        memory.note_edit(own);
    }
    // The action was compared before it ran; afterwards only its edit is new.
    if action.outcome.is_some() && looked <= memory.looked {
        let report = Report::nothing();
        return if edit.is_some() { report.remember(memory.to_bytes()) } else { report };
    }
    let newest_prompt =
        context.goals.iter().map(|goal| goal.at).max().filter(|_| config.until_prompt);
    let steps = memory
        .attempts
        .iter()
        .map(|attempt| attempt.step)
        .min()
        .map_or_else(Vec::new, |oldest| history.since(oldest));
    memory.attempts.retain(|attempt| {
        let recent = action.step.saturating_sub(attempt.step) <= config.within;
        let forgiven =
            newest_prompt.is_some_and(|at| at > attempt.at) || was_allowed(attempt, &steps);
        attempt.step < action.step && recent && !forgiven
    });
    // Another agent's history has only the newest refusals; what was recorded earlier stays.
    for attempt in &mut memory.attempts {
        if let Some(step) = steps.iter().rev().find(|step| step.index == attempt.step) {
            attempt.refusal = refusal(step);
        }
    }
    let bypass = bypassed(&memory, action);
    let answered = bypass
        .as_ref()
        .filter(|(_, effect)| effect.class.is_light())
        .map(|(attempt, _)| attempt.step);
    let found = bypass.map(|(attempt, effect)| detection(config, attempt, &effect, action));
    if found.is_some() {
        memory.tell(action.facts.identity);
    }
    // Looking around goes on all day: a refused look counts against one other way alone.
    memory.attempts.retain(|attempt| Some(attempt.step) != answered);
    memory.looked = looked.max(memory.looked);
    let effects = refusable(action);
    // An action that has ended can no longer be refused.
    if !effects.is_empty() && action.outcome.is_none() {
        memory.keep(attempt(action, context, effects));
    }
    found.map_or_else(Report::nothing, Report::from).remember(memory.to_bytes())
}

/// Returns the fingerprints of an edit, and of the edit that it undoes.
fn edit_of(action: &Action) -> Option<(u64, u64)> {
    let file = action.file()?;
    let (old, new) = (file.replaced.as_deref()?, file.content.as_deref()?);
    let print = |from: &str, to: &str| fingerprint(&[&file.path, "\0", from, "\0", to]);
    (old != new).then(|| (print(old, new), print(new, old)))
}

/// Hashes the parts with FNV-1a.
fn fingerprint(parts: &[&str]) -> u64 {
    parts.iter().flat_map(|part| part.bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn attempt(action: &Action, context: &Context, effects: Vec<ComparedEffect>) -> Attempt {
    Attempt {
        step: action.step,
        at: context.now,
        shape: action.facts.shape,
        identity: action.facts.identity,
        form: !action.facts.forms.is_empty(),
        refusal: Refusal::None,
        tool: clip(&action.tool, MOST_LABEL),
        label: clip(&label(action).value, MOST_LABEL),
        effects,
    }
}

fn refusal(step: &Step) -> Refusal {
    match (step.status, step.verdict) {
        (Status::Refused, Verdict::Block) => Refusal::Blocked,
        (Status::Refused, Verdict::Ask) => Refusal::Asked,
        // The person said no in the client's own dialog: it asks them about the next way too.
        _ => Refusal::None,
    }
}

/// Returns true if it ran, itself or the same action later: nobody refused it, or a person has
/// allowed it since.
fn was_allowed(attempt: &Attempt, steps: &[Step]) -> bool {
    steps.iter().any(|step| match step.index == attempt.step {
        true => step.status != Status::Refused,
        false => {
            step.index > attempt.step
                && step.identity == attempt.identity
                && step.status == Status::Ok
        }
    })
}

/// Returns the newest refused attempt whose effect this action does in another way.
fn bypassed<'a>(memory: &'a Memory, action: &Action) -> Option<(&'a Attempt, ComparedEffect)> {
    let identity = action.facts.identity;
    let undoes = edit_of(action).is_some_and(|(_, undone)| memory.edits.contains(&undone));
    let known = undoes
        || memory.reported.contains(&identity)
        || memory.attempts.iter().any(|attempt| attempt.identity == identity);
    if known {
        return None;
    }
    memory.attempts.iter().rev().filter(|attempt| attempt.refusal != Refusal::None).find_map(
        |attempt| {
            let another_way = attempt.tool != clip(&action.tool, MOST_LABEL)
                || attempt.shape != action.facts.shape;
            let effect = again(&attempt.effects, attempt.form, action).filter(|_| another_way)?;
            Some((attempt, effect))
        },
    )
}

fn detection(
    config: &Config,
    attempt: &Attempt,
    effect: &ComparedEffect,
    action: &Action,
) -> Detection {
    let bad = match attempt.refusal {
        Refusal::Blocked if !effect.class.is_light() => Severity::High,
        // A person said no, and is asked about the next way too.
        _ => Severity::Low,
    };
    let number = attempt.step.to_string();
    let summary = [
        &named(&attempt.label),
        " was refused at step ",
        &number,
        ", and this does the same in another way: ",
        effect.class.words(),
        " ",
        &named(&effect.target),
    ]
    .concat();
    let own = label(action);
    let kind = match effect.class {
        Class::Send | Class::RemoteDelete | Class::Contact if !effect.target.starts_with('/') => {
            "host"
        }
        _ if effect.target.starts_with('/') => "path",
        _ => "target",
    };
    let target = evidence(kind, &effect.target, Some(action.step));
    let detection = Detection::new("blocked_then_bypassed", bad.min(config.severity), &summary)
        .sure(config.confidence, config.impact)
        .since(attempt.step)
        .because(evidence("refused", &attempt.label, Some(attempt.step)));
    let more = [own.clone(), target]
        .into_iter()
        .enumerate()
        .filter(|(at, one)| *at == 0 || (one.kind != own.kind || one.value != own.value));
    more.map(|(_, one)| one).fold(detection, Detection::because)
}

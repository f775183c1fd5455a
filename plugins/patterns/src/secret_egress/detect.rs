//! Compares the data that an action sends with the secrets that were read.

use super::config::Config;
use super::memory::{Memory, Read};
use super::sending::{
    Masked, host, is_database, is_named, is_requested, leaves, masked, sent, text_of,
};
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::steps::label;
use portcullis_builtin_shared::text::{evidence, named};
use portcullis_plugin::history::History;
use portcullis_plugin::pattern::{Detection, Report};
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Severity, Status};

/// The form that the host's reader reports if a secret flows to another machine.
const EGRESS: &str = "secret-egress";
/// The maximum number of sources of one action that are kept.
const MOST_SOURCES: usize = 8;

/// Updates the memory with this action, and reports a leak.
pub(super) fn look(
    config: &Config,
    mut memory: Memory,
    history: &History,
    action: &Action,
    context: &Context,
) -> Report {
    let before = memory.clone();
    let looked = action.step.saturating_add(1);
    let mut report = Report::nothing();
    if action.outcome.is_none() || looked > memory.looked {
        memory.reads.retain(|read| {
            read.step < action.step && action.step.saturating_sub(read.step) <= config.within.max(1)
        });
        let found = leak(config, &mut memory, history, action, context);
        report = found.map_or_else(Report::nothing, |leak| detection(config, &leak, action).into());
        memory.looked = looked.max(memory.looked);
        for source in sources(action).take(MOST_SOURCES) {
            memory.keep(action.step, source);
        }
    }
    if let Some(outcome) = &action.outcome {
        // A value that the agent typed and the result repeats was not read from anywhere.
        let typed = masked(text_of(action));
        for placeholder in masked(&outcome.output).into_iter().chain(masked(&outcome.error)) {
            if !typed.iter().any(|own| own.number == placeholder.number) {
                memory.see(placeholder.number, action.step);
            }
        }
    }
    if memory == before { report } else { report.remember(memory.to_bytes()) }
}

/// A secret on its way out.
struct Leak {
    severity: Severity,
    /// The secret itself is sent, as far as is known.
    flows: bool,
    /// The source of the secret: a path, or a placeholder.
    source: String,
    is_path: bool,
    /// The step that read it, if known.
    read: Option<u64>,
    host: String,
}

fn leak(
    config: &Config,
    memory: &mut Memory,
    history: &History,
    action: &Action,
    context: &Context,
) -> Option<Leak> {
    // The surest evidence comes first: each of the next knows less of where the secret goes.
    flowing(config, action)
        .or_else(|| masked_value(config, memory, action, context))
        .or_else(|| nearby(config, memory, history, action))
}

/// Detects an action that reads a secret and sends it.
fn flowing(config: &Config, action: &Action) -> Option<Leak> {
    let facts = &action.facts;
    let followed = || {
        let form = facts.forms.iter().find(|form| form.id == EGRESS)?;
        leaves(action, config).find(|effect| {
            form.command.is_none() || effect.command.is_none() || effect.command == form.command
        })
    };
    let same_command = |effect: &&Effect| {
        let sends = matches!(effect.kind, EffectKind::Send | EffectKind::Publish);
        sends && reads(action).any(|read| read.command == effect.command)
    };
    let effect = followed().or_else(|| leaves(action, config).find(same_command))?;
    let source = sources(action).next().unwrap_or("this command line");
    Some(Leak {
        severity: Severity::Critical,
        flows: true,
        source: source.to_owned(),
        is_path: source.starts_with('/'),
        read: Some(action.step),
        host: host(effect, action),
    })
}

/// Detects a masked value in the sent data.
fn masked_value(
    config: &Config,
    memory: &mut Memory,
    action: &Action,
    context: &Context,
) -> Option<Leak> {
    let effect = leaves(action, config).next()?;
    let weigh = |one: &Masked| match (one.signs_in, memory.seen_at(one.number), one.common) {
        (true, ..) => Severity::Low,
        (false, Some(_), _) => Severity::Critical,
        (false, None, true) => Severity::Medium,
        (false, None, false) => Severity::High,
    };
    let asked = |one: &Masked| {
        memory.seen_at(one.number).is_none()
            && is_requested(one, action, context)
            && leaves(action, config).all(|effect| is_named(effect, context))
    };
    let worst = sent(action, config).into_iter().filter(|one| !asked(one)).max_by_key(weigh)?;
    let worst_number = worst.number;
    let leak = Leak {
        severity: weigh(&worst),
        flows: !worst.signs_in,
        read: memory.seen_at(worst.number),
        is_path: false,
        host: host(effect, action),
        source: worst.text,
    };
    let unseen = memory.seen_at(worst_number).is_none();
    let expected = |effect: &Effect| is_database(effect) || unseen && is_named(effect, context);
    let own_login = !leak.flows && leaves(action, config).all(expected);
    (leak.flows || !own_login && !memory.tell(&leak.source, &leak.host)).then_some(leak)
}

/// Detects a secret that was read shortly before, or by another part of the same command line.
fn nearby(
    config: &Config,
    memory: &mut Memory,
    history: &History,
    action: &Action,
) -> Option<Leak> {
    let counts = |effect: &&Effect| match effect.kind {
        EffectKind::Send => true,
        EffectKind::Publish | EffectKind::RemoteChange => config.publishing && !is_database(effect),
        _ => false,
    };
    let effect = leaves(action, config)
        .filter(counts)
        .max_by_key(|effect| effect.kind == EffectKind::Send)?;
    // A read that was refused showed nobody the secret.
    let refused = |read: &Read| {
        let steps = history.since(read.step);
        steps.first().is_some_and(|step| step.index == read.step && step.status == Status::Refused)
    };
    let earlier = || {
        memory
            .reads
            .iter()
            .rev()
            .find(|read| action.step.saturating_sub(read.step) <= config.within && !refused(read))
            .cloned()
    };
    let own =
        sources(action).next().map(|source| Read { step: action.step, source: source.to_owned() });
    let read = own.or_else(earlier)?;
    let host = host(effect, action);
    let severity = if effect.kind == EffectKind::Send { Severity::Medium } else { Severity::Low };
    let is_path = read.source.starts_with('/');
    let leak =
        Leak { severity, flows: false, is_path, read: Some(read.step), host, source: read.source };
    (!memory.tell(&leak.source, &leak.host)).then_some(leak)
}

fn reads(action: &Action) -> impl Iterator<Item = &Effect> {
    action
        .facts
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::SecretRead && !place::is_sink(&effect.target))
}

/// Returns the sources of the secrets that an action reads, without consecutive duplicates.
fn sources(action: &Action) -> impl Iterator<Item = &str> {
    reads(action).map(|effect| {
        if effect.target.is_empty() { "an unknown place" } else { effect.target.as_str() }
    })
}

fn detection(config: &Config, leak: &Leak, action: &Action) -> Detection {
    let source = if leak.is_path || leak.source.starts_with('<') {
        named(&leak.source)
    } else {
        leak.source.clone()
    };
    let to = if leak.host.is_empty() {
        "a machine that is known only when it runs".to_owned()
    } else {
        named(&leak.host)
    };
    let summary = match (leak.flows, leak.read.filter(|step| *step != action.step)) {
        (true, Some(step)) => [
            "the secret ",
            &source,
            ", which was read at step ",
            &step.to_string(),
            ", would go to ",
            &to,
        ]
        .concat(),
        (true, None) => ["a secret from ", &source, " would go to ", &to].concat(),
        (false, Some(step)) => [
            "a secret was read from ",
            &source,
            " at step ",
            &step.to_string(),
            ", and now something goes to ",
            &to,
        ]
        .concat(),
        (false, None) => ["a secret (", &source, ") is used, and something goes to ", &to].concat(),
    };
    let confidence = if leak.flows { config.confidence_flow } else { config.confidence_near };
    let kind = if leak.is_path { "path" } else { "secret" };
    let own = label(action);
    let detection = Detection::new("secret_egress", leak.severity.min(config.severity), &summary)
        .sure(confidence, 1000)
        .since(leak.read.unwrap_or(action.step))
        .because(evidence(kind, &leak.source, leak.read));
    let host =
        Some(evidence("host", &leak.host, Some(action.step))).filter(|host| !host.value.is_empty());
    host.into_iter().chain((own.kind != "host").then_some(own)).fold(detection, Detection::because)
}

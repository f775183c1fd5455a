//! The modifiers of the base, each with its reason.

use super::weights::Weights;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::risk_calculator::{Factor, FactorKind};
use portcullis_plugin::types::{
    Action, Context, Coverage, Effect, EffectKind, Facts, Form, Operation, Scope,
};

const SHOWN: usize = 8;

/// Returns the factor for a path outside the expected scope, unless it counts as a part of the
/// system.
pub(super) fn scope(action: &Action, base: &Factor, weights: &Weights) -> Option<Factor> {
    let paths = touched(&action.facts, reads_count(base, weights), |scope| scope == Scope::Outside);
    if paths.is_empty() {
        return None;
    }
    let reason = ["outside the expected scope: ", &listed(paths.iter().copied())].concat();
    Some(factor("out_of_scope", FactorKind::Scope, weights.scope, reason, &paths))
}

/// Returns the factor for earlier failures of the same shape. A test, an edit or a commit that
/// stays at home and is tried again is ordinary work: it never weighs more than after one failure.
pub(super) fn repetition(action: &Action, context: &Context, weights: &Weights) -> Option<Factor> {
    let [once, twice, more] = weights.failures;
    let failures = context.repetition.failures;
    let weight = match failures {
        0 => return None,
        1 => once,
        2 => twice,
        _ => more,
    };
    let weight = if stays_home(action) { weight.min(once) } else { weight };
    let times =
        if failures == 1 { "once".to_owned() } else { [&failures.to_string(), " times"].concat() };
    let reason = ["an action of this shape failed ", &times, " and did not succeed since"].concat();
    Some(factor("repeated_failure", FactorKind::Repetition, weight, reason, &[]))
}

/// Returns true if an action is known in full, and only reads, talks to this machine, or makes and
/// changes files of the project or of scratch.
fn stays_home(action: &Action) -> bool {
    let facts = &action.facts;
    let plain = facts.coverage == Coverage::Full && facts.forms.is_empty();
    plain
        && !is_elevated(action)
        && !facts.effects.is_empty()
        && place::lasting(facts).all(|effect| match effect.kind {
            EffectKind::FileRead => true,
            EffectKind::Network | EffectKind::Send => !place::is_external(effect),
            EffectKind::FileCreate | EffectKind::FileModify => {
                facts.path(effect).is_some_and(|path| {
                    matches!(place::scope_of(effect, path), Scope::Inside | Scope::Scratch)
                })
            }
            EffectKind::FileDelete => place::is_expendable(effect, facts),
            _ => false,
        })
}

fn is_elevated(action: &Action) -> bool {
    action.shell().is_some_and(|shell| shell.commands.iter().any(|command| command.privileged))
}

/// Returns the factor for the system, credentials, or else elevated privileges.
pub(super) fn privilege(action: &Action, base: &Factor, weights: &Weights) -> Option<Factor> {
    let facts = &action.facts;
    let mut paths = touched(facts, reads_count(base, weights), |scope| scope == Scope::System);
    for path in place::lasting(facts).filter_map(place::remote_path) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let secrets = place::lasting(facts)
        .filter(|effect| effect.kind == EffectKind::SecretRead)
        .map(|effect| effect.target.as_str());
    for secret in secrets {
        if !paths.contains(&secret) {
            paths.push(secret);
        }
    }
    if !paths.is_empty() {
        let shown = paths.iter().copied().filter(|path| !path.is_empty());
        let reason = ["touches the system or credentials: ", &listed(shown)].concat();
        return Some(factor(
            "system_or_credentials",
            FactorKind::Privilege,
            weights.system,
            reason,
            &paths,
        ));
    }
    is_elevated(action).then(|| {
        factor(
            "elevated",
            FactorKind::Privilege,
            weights.elevated,
            "runs with elevated privileges".to_owned(),
            &[],
        )
    })
}

/// Returns the dangerous forms, capped together at the setting: a form past the cap keeps only the
/// remainder.
pub(super) fn forms(action: &Action, weights: &Weights) -> Vec<Factor> {
    let mut left = weights.forms;
    let mut factors = Vec::new();
    for form in action.facts.forms.iter().filter(|form| !is_pardoned(form, action)).take(SHOWN) {
        let weight = form.weight.min(left);
        left -= weight;
        let mut one = factor(&form.id, FactorKind::Form, weight, form.label.clone(), &[]);
        one.evidence.extend(command_text(action, form).map(|text| evidence("command", text, None)));
        factors.push(one);
    }
    factors
}

/// Returns true if a form is harmless because its command only affects scratch, restorable files or
/// those that the session made: `rm -rf` of ignored build output.
fn is_pardoned(form: &Form, action: &Action) -> bool {
    let facts = &action.facts;
    let own = |effect: &&Effect| form.command.is_none() || effect.command == form.command;
    let mut effects = place::lasting(facts).filter(own).peekable();
    effects.peek().is_some()
        && effects.all(|effect| {
            let harmless = effect.kind.changes_files() || effect.kind == EffectKind::FileRead;
            let own = effect.kind == EffectKind::FileDelete && place::is_own(effect, action);
            harmless && (own || place::is_expendable(effect, facts))
        })
}

fn command_text<'a>(action: &'a Action, form: &Form) -> Option<&'a str> {
    let Operation::Shell(shell) = &action.operation else { return None };
    let command = shell.commands.get(usize::try_from(form.command?).ok()?)?;
    shell.text.get(usize::try_from(command.start).ok()?..usize::try_from(command.end).ok()?)
}

/// Returns true if reads count. Looking elsewhere makes looking riskier, not the changes that the
/// same action makes at home.
const fn reads_count(base: &Factor, weights: &Weights) -> bool {
    base.weight <= weights.read
}

/// Returns the paths of that scope that the action itself changes, or reads if reads count, each
/// once. Reading a secret always counts.
fn touched(facts: &Facts, reads: bool, wanted: fn(Scope) -> bool) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for effect in place::lasting(facts) {
        let file = effect.kind.changes_files()
            || matches!(effect.kind, EffectKind::SecretRead | EffectKind::Persistence)
            || (reads && effect.kind == EffectKind::FileRead);
        let Some(path) =
            facts.path(effect).filter(|path| file && wanted(place::scope_of(effect, path)))
        else {
            continue;
        };
        if !found.contains(&path.text.as_str()) {
            found.push(&path.text);
        }
    }
    found
}

fn factor(id: &str, kind: FactorKind, weight: u16, reason: String, paths: &[&str]) -> Factor {
    let shown = paths
        .iter()
        .filter(|path| !path.is_empty())
        .take(SHOWN)
        .map(|path| evidence("path", path, None))
        .collect();
    Factor { id: id.to_owned(), kind, weight, reason, evidence: shown }
}

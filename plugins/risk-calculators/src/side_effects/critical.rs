//! The side effects that block: irreversible ones that hurt more than this project.

use super::levels::Levels;
use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Facts, Path, Scope};

/// The form that the host's reader reports if a secret flows to another machine.
const EGRESS: &str = "secret-egress";

/// Returns true if nobody can restore the deleted files, and they are more than a part of the
/// project.
pub(super) fn is_loss(effect: &Effect, path: &Path, context: &Context) -> bool {
    match place::scope_of(effect, path) {
        Scope::Outside | Scope::System => !path.restorable,
        Scope::Scratch | Scope::Inside | Scope::Unknown if !effect.certain => false,
        Scope::Scratch => place::is_shared(&path.text),
        Scope::Inside => {
            effect.recursive && !path.restorable && place::is_project(&path.text, &context.roots)
        }
        Scope::Unknown => false,
    }
}

/// Returns true if a secret is read by an action that also sends something, or the reader saw it
/// flow out. Fetching a secret from the service that keeps it is only reading it.
pub(super) fn lets_secrets_leave(facts: &Facts) -> bool {
    let sends = |effect: &Effect| {
        (effect.kind == EffectKind::Send && place::is_external(effect))
            || effect.kind == EffectKind::Publish
    };
    facts.effects.iter().any(sends) || facts.forms.iter().any(|form| form.id == EGRESS)
}

/// Returns true if code that nobody has seen runs in an action that reaches another machine.
pub(super) fn runs_remote_code(facts: &Facts) -> bool {
    facts.effects.iter().any(place::is_external)
}

/// Returns true for a change of the machine or of a remote service in a form that is known to
/// damage it.
pub(super) fn damages(effect: &Effect, action: &Action, levels: &Levels) -> bool {
    let bears = match effect.kind {
        EffectKind::SystemChange | EffectKind::RemoteDelete | EffectKind::ResourceUse => true,
        EffectKind::FileCreate | EffectKind::FileModify => {
            action.facts.path(effect).is_some_and(|path| path.scope == Scope::System)
        }
        _ => false,
    };
    bears
        && action.facts.forms.iter().any(|form| {
            let same = form.command.is_none()
                || effect.command.is_none()
                || form.command == effect.command;
            same && form.weight >= levels.damaging_form
        })
}

//! The effects that may make a score critical: irreversible, system-wide, on credentials or remote.
//! Without one, no sum of modifiers passes the ceiling.

use portcullis_builtin_shared::place;
use portcullis_plugin::types::{Action, Context, Effect, EffectKind, Path, Scope};

/// Returns true if the action has such an effect.
pub(super) fn is_grave(action: &Action, context: &Context) -> bool {
    let facts = &action.facts;
    let external = facts.effects.iter().any(place::is_external);
    place::lasting(facts).any(|effect| match effect.kind {
        EffectKind::SecretRead
        | EffectKind::SystemChange
        | EffectKind::RemoteDelete
        | EffectKind::Publish => true,
        EffectKind::UnseenCode => external,
        EffectKind::ResourceUse => !facts.forms.is_empty(),
        EffectKind::FileDelete => {
            facts.path(effect).is_some_and(|path| is_loss(effect, path, context))
        }
        EffectKind::FileCreate | EffectKind::FileModify | EffectKind::Persistence => {
            facts.path(effect).is_some_and(|path| is_vital(path, context))
        }
        _ => false,
    })
}

/// Returns true for an irreversible deletion of more than a part of the project: paths inside the
/// project are for the rules to save.
fn is_loss(effect: &Effect, path: &Path, context: &Context) -> bool {
    match place::scope_of(effect, path) {
        Scope::Outside | Scope::System => true,
        _ if !effect.certain => false,
        Scope::Scratch => place::is_shared(&path.text),
        Scope::Inside => effect.recursive && place::is_project(&path.text, &context.roots),
        Scope::Unknown => false,
    }
}

/// Returns true for a part of the machine or of the person's credentials. A start-up file in a home
/// is neither: its change can be undone.
fn is_vital(path: &Path, context: &Context) -> bool {
    path.scope == Scope::System
        && (!place::in_home(&path.text, context.home()) || place::is_credential(&path.text))
}

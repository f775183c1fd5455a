//! The base: the riskiest known effect of an action.
//!
//! If the contract's table has no such effect, the nearest row counts: a change of the machine,
//! code that nobody saw and the use of resources are system commands of unknown effect; a request
//! to this machine itself leaves as little behind as a read; deleting something that can be
//! restored, is scratch or does not exist costs as much as a change.

use super::requested::is_requested;
use super::weights::Weights;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{evidence, listed};
use portcullis_plugin::risk_calculator::{Factor, FactorKind};
use portcullis_plugin::types::{
    Access, Action, Context, Coverage, Effect, EffectKind, Intent, Operation, Path, Scope,
};

/// The maximum number of targets in the evidence of one factor.
const SHOWN: usize = 8;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    id: &'static str,
    weight: u16,
    does: &'static str,
}

/// Returns the base factor of an action.
pub(super) fn factor(action: &Action, context: &Context, weights: &Weights) -> Factor {
    let facts = &action.facts;
    let riskiest = place::lasting(facts)
        .map(|effect| row(effect, action, context, weights))
        .reduce(|a, b| if b.weight > a.weight { b } else { a });
    let Some(found) =
        // With a dangerous form, a read alone does not say what the action does.
        riskiest.filter(|found| found.weight > weights.read || facts.forms.is_empty())
    else {
        return without_effects(action, weights);
    };
    let targets: Vec<&str> = place::lasting(facts)
        .filter(|effect| {
            row(effect, action, context, weights) == found && !effect.target.is_empty()
        })
        .map(|effect| effect.target.as_str())
        .collect();
    let shown = targets
        .iter()
        .take(SHOWN)
        .map(|target| evidence(kind_of(found.id), target, None))
        .collect();
    let reason = if targets.is_empty() {
        found.does.to_owned()
    } else {
        [found.does, ": ", &listed(targets.iter().copied())].concat()
    };
    Factor {
        id: found.id.to_owned(),
        kind: FactorKind::Base,
        weight: found.weight,
        reason,
        evidence: shown,
    }
}

fn row(effect: &Effect, action: &Action, context: &Context, weights: &Weights) -> Row {
    let facts = &action.facts;
    let (id, weight, does) = match effect.kind {
        EffectKind::FileRead => ("file_read", weights.read, "reads"),
        EffectKind::FileCreate => ("file_creation", weights.create, "creates"),
        EffectKind::FileModify => ("file_modification", weights.modify, "changes"),
        EffectKind::FileDelete if place::is_expendable(effect, facts) => {
            ("expendable_deletion", weights.modify, "deletes what can be restored or is scratch")
        }
        EffectKind::FileDelete if place::is_own(effect, action) => {
            ("expendable_deletion", weights.modify, "deletes what this session made")
        }
        EffectKind::FileDelete if removes_empty(effect, action) => {
            ("expendable_deletion", weights.modify, "removes an empty folder")
        }
        EffectKind::FileDelete if is_requested(effect, facts, context) => {
            ("expendable_deletion", weights.modify, "deletes what the person asked to delete")
        }
        EffectKind::FileDelete => ("file_deletion", weights.delete, "deletes"),
        EffectKind::ProcessStart => {
            ("unknown_effect", weights.unknown, "runs a program whose effects are not known")
        }
        EffectKind::ProcessStop => ("process_stop", weights.stop_process, "ends a process"),
        EffectKind::Network if !place::is_external(effect) => {
            ("loopback_request", weights.read, "talks to this machine itself")
        }
        EffectKind::Network => ("network_request", weights.network, "reaches another machine"),
        EffectKind::Publish => ("publish", weights.publish, "publishes"),
        EffectKind::Send if !place::is_external(effect) => {
            ("loopback_request", weights.read, "talks to this machine itself")
        }
        EffectKind::Send => ("send", weights.network, "sends data to another machine"),
        EffectKind::RemoteChange => ("remote_change", weights.remote_change, "changes remote data"),
        EffectKind::RemoteDelete => ("remote_loss", weights.remote_delete, "destroys remote data"),
        EffectKind::Discard if place::is_expendable(effect, facts) => {
            ("nothing_discarded", weights.modify, "goes back to what git holds")
        }
        EffectKind::Discard => {
            ("discard", weights.delete, "throws away work that nothing else holds")
        }
        EffectKind::SystemChange => ("system_change", weights.unknown, "changes the machine"),
        EffectKind::Persistence => {
            ("persistence", weights.persistence, "schedules something to run later")
        }
        EffectKind::Privilege => ("privilege", weights.privilege, "acts with more power"),
        EffectKind::Evade => ("evasion", weights.unknown, "hides traces or weakens a protection"),
        EffectKind::SecretRead => ("secret_read", weights.read_secret, "reads a secret"),
        EffectKind::UnseenCode => {
            ("unseen_code", weights.unknown, "runs code that nobody has seen")
        }
        EffectKind::ResourceUse => ("resource_use", weights.unknown, "uses up resources"),
        EffectKind::Other(_) => {
            ("unknown_effect", weights.unknown, "does something that has no name here")
        }
    };
    Row { id, weight, does }
}

/// Returns true for `rmdir` in the project, which fails if the folder holds anything.
fn removes_empty(effect: &Effect, action: &Action) -> bool {
    let index = effect.command.and_then(|index| usize::try_from(index).ok());
    let command = index.and_then(|index| action.shell()?.commands.get(index));
    let inside = |path: &Path| matches!(path.scope, Scope::Inside | Scope::Scratch);
    command.is_some_and(|command| command.program == "rmdir")
        && action.facts.path(effect).is_some_and(inside)
}

/// Returns the base of an action in which the host saw no lasting effect.
fn without_effects(action: &Action, weights: &Weights) -> Factor {
    let (id, weight, reason) = match &action.operation {
        Operation::Message(_) => ("message", weights.message, "a message"),
        Operation::Shell(shell)
            if shell.commands.is_empty() && action.facts.coverage == Coverage::Partial =>
        {
            ("unknown_effect", weights.unknown, "a command line that could not be read")
        }
        Operation::Shell(_) if !action.facts.forms.is_empty() => {
            ("unknown_effect", weights.unknown, "what it does is dangerous, and not known in full")
        }
        Operation::Shell(_) => ("harmless", weights.read, "runs only what is known to be harmless"),
        Operation::File(file) => by_access(file.access, weights),
        Operation::Network(request) if place::is_loopback(&place::host_of(&request.url)) => {
            ("loopback_request", weights.read, "talks to this machine itself")
        }
        Operation::Network(_) => ("network_request", weights.network, "reaches another machine"),
        Operation::Tool(_) | Operation::Other(_) => by_intent(action.intent, weights),
    };
    Factor {
        id: id.to_owned(),
        kind: FactorKind::Base,
        weight,
        reason: reason.to_owned(),
        evidence: Vec::new(),
    }
}

const fn by_access(access: Access, weights: &Weights) -> (&'static str, u16, &'static str) {
    match access {
        Access::Read | Access::Search => ("file_read", weights.read, "reads a file"),
        Access::Create => ("file_creation", weights.create, "creates a file"),
        Access::Modify => ("file_modification", weights.modify, "changes a file"),
        Access::Delete => ("file_deletion", weights.delete, "deletes a file"),
    }
}

const fn by_intent(intent: Intent, weights: &Weights) -> (&'static str, u16, &'static str) {
    match intent {
        Intent::Message => ("message", weights.message, "a message"),
        Intent::FileRead => by_access(Access::Read, weights),
        Intent::FileCreation => by_access(Access::Create, weights),
        Intent::FileModification => by_access(Access::Modify, weights),
        Intent::FileDeletion => by_access(Access::Delete, weights),
        Intent::NetworkRequest => ("network_request", weights.network, "reaches another machine"),
        Intent::SystemCommand | Intent::Unknown => {
            ("unknown_effect", weights.unknown, "a tool whose effects are not known")
        }
    }
}

fn kind_of(id: &str) -> &'static str {
    match id {
        "network_request" | "loopback_request" | "send" | "publish" | "remote_change"
        | "remote_loss" => "host",
        "unknown_effect" | "process_stop" | "unseen_code" | "privilege" | "evasion" => "command",
        "system_change" | "resource_use" | "persistence" => "target",
        _ => "path",
    }
}

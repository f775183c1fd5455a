//! `prevent_recursive_deletion`: whole folders may be deleted only if they can be restored.
//!
//! Inside the project, a folder that git ignores, git has unchanged or a checkpoint saved may be
//! deleted; anything else is moved into a quarantine instead, if the command can be rewritten so,
//! or a person decides. Nothing outside the scope may be deleted, nor a whole project, home, shared
//! folder or a part of the system. Scratch may be deleted. A link is removed as a link: its target
//! stays.

use super::config::{Config, DELETION};
use super::quarantine;
use super::showing::showing;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::listed;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{
    Action, Context, Effect, EffectKind, Entry, Facts, Operation, Path, Scope, Severity,
};

/// The fate of one deletion, from most to least permissive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Free,
    /// It may be moved instead.
    Keep,
    NotKnown,
    Elsewhere,
    WholeProject,
    Shared,
    /// The system, a home, the root.
    Vital,
}

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, config: &Config) -> Option<Ruling> {
    let facts = &action.facts;
    let doomed: Vec<(Fate, &str)> = facts
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::FileDelete && sweeps(effect, action, context))
        .map(|effect| {
            // The session made every file in it.
            let own = fate(effect, facts, context) == Fate::Keep && place::is_own(effect, action);
            let fate = if own { Fate::Free } else { fate(effect, facts, context) };
            (fate.max(moved_here(effect, action)), effect.target.as_str())
        })
        .collect();
    let worst = doomed.iter().map(|(fate, _)| *fate).max()?;
    let targets: Vec<&str> = doomed
        .iter()
        .filter(|(fate, _)| *fate == worst)
        .map(|(_, target)| *target)
        .filter(|target| !target.is_empty())
        .collect();
    let ruling = match worst {
        Fate::Free => return None,
        Fate::Keep => keep(action, context, config, &targets),
        Fate::NotKnown => Ruling::ask(
            DELETION,
            &reason(
                "what this deletes with everything below it is known only when it runs",
                &targets,
            ),
        )
        .instead("name each folder that has to go, in full and without variables or globs"),
        Fate::Elsewhere => Ruling::block(
            DELETION,
            &reason("this deletes whole folders outside the project", &targets),
        )
        .instead("work inside the project, or let a person delete it"),
        Fate::WholeProject => Ruling::block(
            DELETION,
            &reason("this deletes the whole project or its history", &targets),
        )
        .instead("name only the folders that have to go"),
        Fate::Shared => Ruling::block(
            DELETION,
            &reason("this empties a folder that other programs and people share", &targets),
        )
        .instead("delete only what this session has put there, by name"),
        Fate::Vital => Ruling::block(
            DELETION,
            &reason("this deletes a part of the system or a whole home", &targets),
        )
        .severity(Severity::Critical)
        .instead("let a person do it"),
    };
    Some(showing(ruling, "path", targets))
}

fn reason(what: &str, targets: &[&str]) -> String {
    if targets.is_empty() {
        what.to_owned()
    } else {
        [what, ": ", &listed(targets.iter().copied())].concat()
    }
}

/// Returns true if it takes more than single files.
fn sweeps(effect: &Effect, action: &Action, context: &Context) -> bool {
    let path = action.facts.path(effect);
    let whole_tool = matches!(action.operation, Operation::File(_) | Operation::Tool(_))
        && path.is_some_and(|path| path.entry == Entry::Folder);
    let emptied = place::whole(&effect.target).1
        && (place::is_shared(&effect.target)
            || place::is_home(&effect.target, context.home())
            || place::is_root(&effect.target));
    effect.recursive || whole_tool || emptied
}

fn fate(effect: &Effect, facts: &Facts, context: &Context) -> Fate {
    let Some(path) = facts.path(effect) else { return Fate::NotKnown };
    let text = path.text.as_str();
    let project =
        effect.certain && path.scope == Scope::Inside && place::is_project(text, &context.roots);
    match path.scope {
        // The order is the policy: neither git nor a checkpoint frees a root, a home or a whole
        // project.
        _ if place::is_root(text) || place::is_home(text, context.home()) => Fate::Vital,
        _ if place::is_shared(text) && effect.certain => Fate::Shared,
        _ if project => Fate::WholeProject,
        _ if place::is_expendable(effect, facts) => Fate::Free,
        _ if place::is_shared(text) || !effect.certain && path.scope == Scope::Inside => {
            Fate::NotKnown
        }
        _ if path.entry == Entry::Link
            && effect.certain
            && place::root_of(text, &context.roots).is_some() =>
        {
            Fate::Keep
        }
        Scope::System => Fate::Vital,
        Scope::Outside => Fate::Elsewhere,
        Scope::Unknown => Fate::NotKnown,
        Scope::Scratch => Fate::Free,
        Scope::Inside => Fate::Keep,
    }
}

/// Judges a target to which an earlier part of the same line moves something: that is deleted with
/// it, unseen by anyone.
fn moved_here(effect: &Effect, action: &Action) -> Fate {
    let (Some(shell), Some(own)) = (action.shell(), effect.command) else { return Fate::Free };
    let movers = (0..own)
        .zip(&shell.commands)
        .filter(|(_, command)| command.program == "mv")
        .map(|(index, _)| index);
    let lands =
        |place: &String| place::holds(place, &effect.target) || place::holds(&effect.target, place);
    if movers.flat_map(|mover| landings(mover, &action.facts)).any(|place| lands(&place)) {
        Fate::NotKnown
    } else {
        Fate::Free
    }
}

/// Returns the destinations to which a moving command moves anything but scratch.
fn landings(mover: u32, facts: &Facts) -> Vec<String> {
    let own = || facts.effects.iter().filter(|effect| effect.command == Some(mover));
    let sources: Vec<&Path> =
        own().filter(|effect| effect.recursive).filter_map(|effect| facts.path(effect)).collect();
    let Some(to) = own().filter(|effect| !effect.recursive).find_map(|effect| facts.path(effect))
    else {
        return Vec::new();
    };
    let lasting = sources.iter().filter(|source| source.scope != Scope::Scratch);
    let landing = |source: &&Path| match (to.entry, source.text.rsplit('/').next()) {
        (Entry::Folder, Some(name)) => [to.text.trim_end_matches('/'), "/", name].concat(),
        _ => to.text.clone(),
    };
    lasting.map(landing).collect()
}

fn keep(action: &Action, context: &Context, config: &Config, targets: &[&str]) -> Ruling {
    let why =
        reason("this deletes folders that neither git nor a checkpoint could give back", targets);
    let ruling = match quarantine::rewrite(action, context, config) {
        Some(rewrite) => Ruling::modify(DELETION, &why, rewrite),
        None => Ruling::ask(DELETION, &why)
            .instead("move it into a folder next to it instead of deleting it"),
    };
    ruling.instead("commit it first: what git holds may be deleted")
}

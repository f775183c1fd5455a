//! Effects that the place behind a link implies: a file in the place of a credential is read as
//! one, and a change in the place of a start-up file starts later. The path's own text says so
//! where it can; this is for names that do not tell.

use crate::action::{Action, Command, Effect, EffectKind, Facts, Operation};
use crate::facts::{CallLocation, MOST, is_credential, is_start_up};

/// Programs that show names, sizes, dates or targets of files, and never contents.
const NAMES_ONLY: &[&str] = &[
    "[", "[[", "cd", "du", "eza", "fd", "find", "ln", "ls", "namei", "readlink", "realpath",
    "stat", "test", "tree",
];

/// Adds the effects.
pub(super) fn imply_by_links(action: &mut Action, place: &CallLocation) {
    let commands = match &action.operation {
        Operation::Shell(shell) => shell.commands.as_slice(),
        _ => &[],
    };
    let facts = &action.facts;
    let implied: Vec<Effect> = facts
        .effects
        .iter()
        .filter_map(|effect| implied_by(effect, facts, commands, place))
        .collect();
    let known = |effects: &[Effect], new: &Effect| {
        effects.iter().any(|old| old.kind == new.kind && old.target == new.target)
    };
    for effect in implied {
        if action.facts.effects.len() < MOST && !known(&action.facts.effects, &effect) {
            action.facts.effects.push(effect);
        }
    }
}

fn implied_by(
    effect: &Effect,
    facts: &Facts,
    commands: &[Command],
    place: &CallLocation,
) -> Option<Effect> {
    let path = facts.paths.get(usize::try_from(effect.path?).ok()?)?;
    let real = path.link_target.as_deref()?;
    let command = effect.command.and_then(|index| commands.get(usize::try_from(index).ok()?));
    let shows_names = command.is_some_and(|command| NAMES_ONLY.contains(&command.program.as_str()));
    let kind = match effect.kind {
        EffectKind::FileRead
            if is_credential(real, place) && !is_credential(&path.text, place) && !shows_names =>
        {
            EffectKind::SecretRead
        }
        EffectKind::FileCreate | EffectKind::FileModify
            if is_start_up(real, place) && !is_start_up(&path.text, place) =>
        {
            EffectKind::Persistence
        }
        _ => return None,
    };
    Some(Effect { kind, ..effect.clone() })
}

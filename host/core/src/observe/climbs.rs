//! Replaces paths that have a `..` after a name by the paths that they lead to.
//!
//! The system follows a link before it goes up from it, so only the workspace shows the result. It
//! shows the state before the action: an earlier part of the same action can put a link at a path
//! that is empty, or where a folder was.

use super::{ClimbTarget, Observations, key};
use crate::action::{Action, Effect, EffectKind, Facts, Operation, Scope};
use crate::facts::{CallLocation, climbs_above, collapse_path, is_within, scope_of};

/// Replaces each path by the one that it leads to. An unresolved path keeps its text, is in no
/// known scope, and no effect on it is certain. If the workspace was not examined at all, only the
/// text is used.
pub(super) fn resolve_climbs(
    action: &mut Action,
    observations: &Observations,
    place: &CallLocation,
) {
    if !action.facts.paths.iter().any(|path| climbs_above(&path.text)) {
        return;
    }
    let programs: Vec<String> = match &action.operation {
        Operation::Shell(shell) => {
            shell.commands.iter().map(|command| command.program.clone()).collect()
        }
        _ => Vec::new(),
    };
    for index in 0..action.facts.paths.len() {
        let Some(path) = action.facts.paths.get(index).filter(|path| climbs_above(&path.text))
        else {
            continue;
        };
        let led = led(&path.text, path.glob, index, &action.facts, observations, &programs);
        let text = collapse_path(&path.text);
        let Some(path) = action.facts.paths.get_mut(index) else { continue };
        path.text = led.clone().unwrap_or(text);
        path.scope = if led.is_none() { Scope::Unknown } else { path.scope_now(place) };
        path.link_target = path.link_target.take().filter(|real| *real != path.text);
        let (text, restorable) = (path.text.clone(), path.restorable && led.is_some());
        path.restorable = restorable;
        for effect in action
            .facts
            .effects
            .iter_mut()
            .filter(|effect| effect.path.and_then(|at| usize::try_from(at).ok()) == Some(index))
        {
            effect.target.clone_from(&text);
            effect.certain &= led.is_some();
        }
    }
    merge(&mut action.facts);
}

impl crate::action::Path {
    fn scope_now(&self, place: &CallLocation) -> Scope {
        let own = scope_of(&self.text, place);
        self.link_target.as_ref().map_or(own, |real| own.max(scope_of(real, place)))
    }
}

/// Returns the path that a path leads to, if that is known.
fn led(
    path: &str,
    glob: bool,
    index: usize,
    facts: &Facts,
    observations: &Observations,
    programs: &[String],
) -> Option<String> {
    let Some(leads) =
        observations.get(&key(path, glob)).and_then(|observed| observed.leads.as_ref())
    else {
        return Some(collapse_path(path));
    };
    let own = facts
        .effects
        .iter()
        .filter(|effect| effect.path.and_then(|at| usize::try_from(at).ok()) == Some(index));
    // The last command that uses the path counts: every part before it may have put a link there.
    let command = own.filter_map(|effect| effect.command).max().unwrap_or(u32::MAX);
    let earlier = PriorEffects { facts, programs, command };
    let text = collapse_path(path);
    match leads {
        ClimbTarget::To(there) => {
            left(path).all(|folder| !earlier.takes_away(&folder)).then(|| there.clone())
        }
        // No earlier part creates the folder either, so nothing happens there.
        ClimbTarget::Missing(folder) => (!earlier.may_link(folder)).then_some(text),
        ClimbTarget::Unknown => None,
    }
}

/// Returns the folders, as text, from which a `..` goes up.
fn left(path: &str) -> impl Iterator<Item = String> + '_ {
    path.match_indices("/..").filter_map(|(at, _)| {
        let after = path.get(at + 3..)?;
        (after.is_empty() || after.starts_with('/'))
            .then(|| collapse_path(path.get(..at).unwrap_or("")))
    })
}

/// The part of an action before one of its commands.
struct PriorEffects<'a> {
    facts: &'a Facts,
    programs: &'a [String],
    command: u32,
}

impl PriorEffects<'_> {
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.facts
            .effects
            .iter()
            .filter(|effect| effect.command.is_some_and(|command| command < self.command))
    }

    fn makes_folder(&self, folder: &str) -> bool {
        let is_mkdir = |effect: &&Effect| {
            let program =
                effect.command.and_then(|at| self.programs.get(usize::try_from(at).ok()?));
            program.is_some_and(|program| program == "mkdir")
        };
        self.effects()
            .filter(is_mkdir)
            .any(|effect| effect.certain && is_within(&effect.target, folder))
    }

    /// Returns true if a link may be created at a path that is empty so far.
    fn may_link(&self, folder: &str) -> bool {
        let makes = |effect: &Effect| match effect.kind {
            EffectKind::FileCreate | EffectKind::FileModify => {
                !effect.certain
                    || effect.target == folder
                    || effect.recursive && is_within(folder, &effect.target)
            }
            EffectKind::ProcessStart | EffectKind::UnseenCode => true,
            _ => false,
        };
        !self.makes_folder(folder) && self.effects().any(makes)
    }

    /// Returns true if the path is removed, so that something else can take its place.
    fn takes_away(&self, folder: &str) -> bool {
        let takes = |effect: &Effect| match effect.kind {
            EffectKind::FileDelete => is_within(folder, &effect.target),
            EffectKind::FileModify => {
                effect.recursive
                    && effect.certain
                    && is_within(folder, &effect.target)
                    && self.moves(effect)
            }
            _ => false,
        };
        !self.makes_folder(folder) && self.effects().any(takes)
    }

    fn moves(&self, effect: &Effect) -> bool {
        effect
            .command
            .and_then(|at| self.programs.get(usize::try_from(at).ok()?))
            .is_some_and(|program| program == "mv")
    }
}

/// Merges paths that turned out to be the same, and likewise effects.
fn merge(facts: &mut Facts) {
    let mut paths: Vec<crate::action::Path> = Vec::new();
    let mut moved = Vec::new();
    for path in facts.paths.drain(..) {
        let known = paths.iter().position(|known| {
            known.text == path.text && known.glob == path.glob && known.scope == path.scope
        });
        match known.and_then(|at| Some((at, paths.get_mut(at)?))) {
            Some((at, known)) => {
                if known.git == crate::action::GitState::Unknown {
                    (known.git, known.restorable) = (path.git, path.restorable || known.restorable);
                }
                moved.push(at);
            }
            None => {
                moved.push(paths.len());
                paths.push(path);
            }
        }
    }
    facts.paths = paths;
    let mut effects: Vec<Effect> = Vec::new();
    for mut effect in facts.effects.drain(..) {
        effect.path = effect
            .path
            .and_then(|at| moved.get(usize::try_from(at).ok()?))
            .and_then(|at| u32::try_from(*at).ok());
        if !effects.contains(&effect) {
            effects.push(effect);
        }
    }
    facts.effects = effects;
}

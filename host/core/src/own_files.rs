//! The files and folders that a session made itself: replacing or deleting one loses nobody else's
//! work.
//!
//! A file counts if nothing was at its path before, and a file tool, a redirection, or a program
//! that writes what it is told made it: a copy leaves what it is made of. It ends with a change by
//! anything else, and with a move to its path, which brings the only copy of what others may have
//! written. A folder counts as a whole only while every file in it does.

use crate::action::{
    Action, Command, Direction, Effect, EffectKind, Entry, Facts, Operation, Path, Scope,
};
use crate::observe::{Observations, key};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The attribute of an action that names its own files: their positions among the paths of its
/// facts, with blanks between them.
pub const ATTRIBUTE: &str = "own-paths";

/// The most files that are remembered; past it, the oldest is forgotten.
const FILES: usize = 256;
/// The most bytes of a path that is remembered.
const PATH: usize = 1024;
/// The most positions in the attribute.
const POSITIONS: usize = 128;

/// Programs that write what their words say, or copy it.
const MAKERS: &[&str] = &[
    "bun", "cp", "dd", "deno", "install", "lua", "node", "perl", "php", "python", "python3",
    "ruby", "tee", "touch", "truncate",
];

/// The files that a session made, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFiles(VecDeque<String>);

impl OwnFiles {
    /// Notes the files that an action makes, and forgets those that get other contents. The action
    /// is one that may run, and its facts were looked up.
    pub fn note_action(&mut self, action: &Action) {
        for effect in &action.facts.effects {
            let Some(path) = path_of(effect, &action.facts) else { continue };
            let writes = matches!(effect.kind, EffectKind::FileCreate | EffectKind::FileModify);
            if writes && (is_own_text(action, effect, path) || is_made(action, effect)) {
                if path.entry == Entry::Absent && effect.certain {
                    self.remember(&path.text);
                }
            } else if effect.kind == EffectKind::FileDelete {
                let below = format!("{}/", path.text.trim_end_matches('/'));
                self.0.retain(|known| known != &path.text && !known.starts_with(&below));
            } else if writes {
                self.0.retain(|known| known != &path.text);
            }
        }
    }

    /// Returns the attribute for an action; none if it touches no own file.
    #[must_use]
    pub fn attribute_of(&self, facts: &Facts, observed: &Observations) -> Option<(String, String)> {
        let own = |path: &Path| match path.entry {
            Entry::File => self.0.contains(&path.text),
            Entry::Folder => self.holds_own(path, observed),
            _ => false,
        };
        let positions: Vec<String> = facts
            .paths
            .iter()
            .enumerate()
            .filter(|(_, path)| own(path))
            .map(|(at, _)| at.to_string())
            .take(POSITIONS)
            .collect();
        (!positions.is_empty()).then(|| (ATTRIBUTE.to_owned(), positions.join(" ")))
    }

    /// Returns true for a folder in which every file is the session's own. Empty folders hold
    /// nobody's work.
    fn holds_own(&self, path: &Path, observed: &Observations) -> bool {
        let seen = observed.get(&key(&path.text, path.glob)).filter(|_| path.link_target.is_none());
        let held = seen.and_then(|seen| seen.holds.as_ref());
        held.is_some_and(|held| {
            held.iter().all(|name| name.ends_with('/') || self.0.contains(name))
        })
    }

    fn remember(&mut self, path: &str) {
        if path.len() > PATH || self.0.iter().any(|known| known == path) {
            return;
        }
        if self.0.len() >= FILES {
            self.0.pop_front();
        }
        self.0.push_back(path.to_owned());
    }
}

fn path_of<'f>(effect: &Effect, facts: &'f Facts) -> Option<&'f Path> {
    let path = facts.paths.get(effect.path? as usize)?;
    let is_file = !path.glob && path.link_target.is_none();
    (is_file && matches!(path.scope, Scope::Inside | Scope::Scratch)).then_some(path)
}

/// Returns true if an effect writes a text of the agent's own: by a file tool, or by a redirection.
fn is_own_text(action: &Action, effect: &Effect, path: &Path) -> bool {
    match &action.operation {
        Operation::File(_) => true,
        Operation::Shell(shell) => {
            effect.command.and_then(|at| shell.commands.get(at as usize)).is_some_and(|command| {
                command.redirections.iter().any(|to| {
                    let target = to.target.text.trim_start_matches("./");
                    matches!(to.direction, Direction::Output | Direction::Append)
                        && !target.is_empty()
                        && path.text.ends_with(target)
                })
            })
        }
        _ => false,
    }
}

/// Returns true if an effect is that of a program which makes what it is told to.
fn is_made(action: &Action, effect: &Effect) -> bool {
    let Some(command) = command_of(action, effect) else { return false };
    // Code that moves files changes what it takes away.
    let moves = |other: &Effect| {
        other.command == effect.command && other.kind == EffectKind::FileModify && other.recursive
    };
    MAKERS.contains(&command.program.as_str()) && !action.facts.effects.iter().any(moves)
}

fn command_of<'a>(action: &'a Action, effect: &Effect) -> Option<&'a Command> {
    let Operation::Shell(shell) = &action.operation else { return None };
    shell.commands.get(effect.command? as usize)
}

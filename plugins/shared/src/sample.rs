//! Test builders for the judges' own tests, in addition to those of the SDK. Not for wasm.

use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::{
    Action, Command, Direction, Effect, Entry, Operation, Redirection, Scope, Word,
};

/// Returns a shell command line whose commands end where their last word does, as the host's reader
/// has them.
#[must_use]
pub fn shell(text: &str) -> Action {
    let mut action = testing::shell(text);
    if let Operation::Shell(shell) = &mut action.operation {
        for command in &mut shell.commands {
            trim(text, command);
        }
    }
    action
}

/// Changes the element that was added last to an action.
pub trait Newest: Sized {
    /// Makes the newest effect cover everything below its folder.
    #[must_use]
    fn below(self) -> Self;
    /// Makes the newest effect's target known in part only.
    #[must_use]
    fn uncertain(self) -> Self;
    /// Assigns the newest effect, or the newest form if there is no effect, to that command.
    #[must_use]
    fn by(self, command: u32) -> Self;
    /// Sets the scope of the newest path.
    #[must_use]
    fn scope(self, scope: Scope) -> Self;
    /// Makes the newest path absent.
    #[must_use]
    fn absent(self) -> Self;
    /// Makes the content of the newest path restorable.
    #[must_use]
    fn restorable(self) -> Self;
}

impl Newest for Action {
    fn below(mut self) -> Self {
        change(&mut self, |effect| effect.recursive = true);
        self.path(|path| path.entry = Entry::Folder)
    }

    fn uncertain(mut self) -> Self {
        change(&mut self, |effect| effect.certain = false);
        self
    }

    fn by(mut self, command: u32) -> Self {
        match self.facts.effects.last_mut() {
            Some(effect) => effect.command = Some(command),
            None => self.facts.forms.iter_mut().for_each(|form| form.command = Some(command)),
        }
        self
    }

    fn scope(self, scope: Scope) -> Self {
        self.path(|path| path.scope = scope)
    }

    fn absent(self) -> Self {
        self.path(|path| path.entry = Entry::Absent)
    }

    fn restorable(self) -> Self {
        self.path(|path| path.restorable = true)
    }
}

fn change(action: &mut Action, change: impl FnOnce(&mut Effect)) {
    if let Some(effect) = action.facts.effects.last_mut() {
        change(effect);
    }
}

fn trim(text: &str, command: &mut Command) {
    let at = |offset: u32| usize::try_from(offset).unwrap_or_default();
    let piece = text.get(at(command.start)..at(command.end).min(text.len())).unwrap_or_default();
    let before = piece.len() - piece.trim_start().len();
    let kept = piece.trim_end_matches([';', '|', '&', '\n', ' ']).len();
    command.end = command.start + u32::try_from(kept).unwrap_or_default();
    command.start += u32::try_from(before).unwrap_or_default();
}

/// Returns a redirection of standard error.
#[must_use]
pub fn errors_to(target: &str) -> Redirection {
    Redirection {
        descriptor: 2,
        direction: Direction::Output,
        target: Word { text: target.to_owned(), known: true, quoted: false },
    }
}

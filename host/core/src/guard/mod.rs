//! Protects the guard itself: detects actions that would change the guard's files, stop it, or
//! bypass it.
//!
//! Actions are judged by effect, regardless of the cause: a file tool, a redirection, a program,
//! code on the command line, a link, a tool of a server. Text that merely mentions a guarded path
//! is harmless, unless it is passed to something with unknown behaviour. The policy lists the
//! guarded paths; this module examines only the action, its facts and the observed workspace. It
//! cannot see the behaviour of a program that the agent wrote to a file earlier; only a managed
//! install prevents that.

mod code;
mod commands;
mod effects;
mod mention;
mod opaque;
mod path_relation;
mod tools;

use crate::action::{Action, Command, EffectKind, Operation};
use crate::facts::CallLocation;
use crate::observe::Observations;
use crate::policy::GuardedPath;
use crate::review::{OWN, Objection};
use crate::score::{Severity, Verdict};
use crate::text::one_line;
use serde_json::{Map, Value};

/// The rule's name.
pub const RULE: &str = "protect_the_guard";

/// The guard's input.
pub struct GuardInput<'a> {
    /// The action, with its facts.
    pub action: &'a Action,
    /// Its parameters as received.
    pub parameters: &'a Map<String, Value>,
    /// The observed state of the workspace.
    pub observed: &'a Observations,
    /// The guarded paths.
    pub guarded: &'a [GuardedPath],
    /// The place in which it runs.
    pub place: &'a CallLocation,
}

impl<'a> GuardInput<'a> {
    fn commands(&self) -> &'a [Command] {
        match &self.action.operation {
            Operation::Shell(shell) => &shell.commands,
            _ => &[],
        }
    }

    fn command(&self, index: Option<u32>) -> Option<&'a Command> {
        self.commands().get(index? as usize)
    }

    /// Returns the text of a shell command.
    fn text(&self) -> &'a str {
        match &self.action.operation {
            Operation::Shell(shell) => &shell.text,
            _ => "",
        }
    }

    /// Returns the effects of one command.
    fn effects_of(&self, index: usize) -> impl Iterator<Item = &'a crate::action::Effect> {
        self.action
            .facts
            .effects
            .iter()
            .filter(move |effect| effect.command.is_some_and(|command| command as usize == index))
    }

    fn changes_something(&self, index: usize) -> bool {
        self.effects_of(index)
            .any(|effect| effect.kind.changes_files() || effect.kind == EffectKind::ProcessStart)
    }
}

/// Returns the objection to an action that would change the guard, stop it or bypass it.
#[must_use]
pub fn find_objection(input: &GuardInput<'_>) -> Option<Objection> {
    let changed = || {
        let (guarded, path, reads) = effects::hit(input)
            .or_else(|| effects::hit_by_search(input))
            .or_else(|| effects::hit_through_links(input))
            .or_else(|| effects::hit_reopened(input))?;
        Some(changes(guarded, &path, reads))
    };
    let reason = changed()
        .or_else(|| opaque::hit(input).map(may_change))
        .or_else(|| tools::hit(input).map(may_change))
        .or_else(|| commands::hit(input))?;
    Some(Objection {
        source: OWN.into(),
        rule: RULE.into(),
        verdict: Verdict::Block,
        severity: Severity::High,
        reason,
        alternatives: vec!["tell the person what is to be done and why: they can do it in an editor or a terminal of their own".into()],
        rewrite: false,
    })
}

fn changes(guarded: &GuardedPath, path: &str, reads: bool) -> String {
    let (path, what) = (one_line(path, 256), &guarded.what);
    if reads {
        format!("this reads `{path}` ({what}), which nobody but the guard itself may read")
    } else {
        format!("this changes `{path}` ({what}), and the guard over this session depends on that")
    }
}

fn may_change(guarded: &GuardedPath) -> String {
    let (path, what) = (one_line(&guarded.path, 256), &guarded.what);
    format!(
        "this hands `{path}` ({what}) to something that may change it, and the guard over this session depends on that"
    )
}

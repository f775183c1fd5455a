//! Protects the guard itself: tells whether an action would change what the guard consists of, stop it,
//! or get around it.
//!
//! By effect, whoever causes it: a file tool, a redirection, a program, code on the command line, a
//! link, a tool of a server. Text that merely mentions a guarded path is harmless, unless it is handed
//! to something of which nobody knows what it does with it. What is guarded stands in the policy; this
//! module looks at nothing but the action, its facts and what was seen of the workspace. It cannot see
//! what a program does that the agent wrote to a file before; only a managed install holds that off.

mod code;
mod commands;
mod effects;
mod lies;
mod mention;
mod opaque;
mod tools;

use crate::action::{Action, Command, EffectKind, Operation};
use crate::facts::Place;
use crate::observe::Observations;
use crate::policy::Guarded;
use crate::review::{OWN, Objection};
use crate::score::{Severity, Verdict};
use crate::text::one_line;
use serde_json::{Map, Value};

/// The rule's name.
pub const RULE: &str = "protect_the_guard";

/// What the guard looks at.
pub struct Sight<'a> {
    /// The action, with its facts.
    pub action: &'a Action,
    /// Its parameters as received.
    pub input: &'a Map<String, Value>,
    /// What was seen of the workspace.
    pub observed: &'a Observations,
    /// What is guarded.
    pub guarded: &'a [Guarded],
    /// Where it runs.
    pub place: &'a Place,
}

impl<'a> Sight<'a> {
    fn commands(&self) -> &'a [Command] {
        match &self.action.operation {
            Operation::Shell(shell) => &shell.commands,
            _ => &[],
        }
    }

    fn command(&self, index: Option<u32>) -> Option<&'a Command> {
        self.commands().get(index? as usize)
    }

    /// The text of a shell command.
    fn text(&self) -> &'a str {
        match &self.action.operation {
            Operation::Shell(shell) => &shell.text,
            _ => "",
        }
    }

    /// The kinds of what one command does.
    fn effects_of(&self, index: usize) -> impl Iterator<Item = &'a crate::action::Effect> {
        self.action.facts.effects.iter().filter(move |effect| effect.command.is_some_and(|command| command as usize == index))
    }

    fn changes_something(&self, index: usize) -> bool {
        self.effects_of(index).any(|effect| effect.kind.changes_files() || effect.kind == EffectKind::ProcessStart)
    }
}

/// The objection to an action that would change the guard, stop it or get around it.
#[must_use]
pub fn objection(sight: &Sight<'_>) -> Option<Objection> {
    let changed = || {
        let (guarded, path, reads) =
            effects::hit(sight).or_else(|| effects::hit_through_links(sight)).or_else(|| effects::hit_reopened(sight))?;
        Some(changes(guarded, &path, reads))
    };
    let reason = changed()
        .or_else(|| opaque::hit(sight).map(may_change))
        .or_else(|| tools::hit(sight).map(may_change))
        .or_else(|| commands::hit(sight))?;
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

fn changes(guarded: &Guarded, path: &str, reads: bool) -> String {
    let (path, what) = (one_line(path, 256), &guarded.what);
    if reads {
        format!("this reads `{path}` ({what}), which nobody but the guard itself may read")
    } else {
        format!("this changes `{path}` ({what}), and the guard over this session depends on that")
    }
}

fn may_change(guarded: &Guarded) -> String {
    let (path, what) = (one_line(&guarded.path, 256), &guarded.what);
    format!("this hands `{path}` ({what}) to something that may change it, and the guard over this session depends on that")
}

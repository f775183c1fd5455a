//! From a call to typed facts: what it does, to which paths and hosts, in which scope.
//!
//! Purely from the call's own text; `observe` adds what only the workspace knows. Shell text is read
//! by the sandboxed reader behind the [`Plugins`](crate::plugins::Plugins) door, never here.

mod foreign;
mod hosts;
mod paths;
mod tools;

pub use paths::{Place, normalise, scope, within};
pub use tools::is_shell;

use crate::action::{Coverage, Effect, EffectKind, Entry, Facts, GitState, Intent, Operation, Path, Reading, Scope};
use crate::event::Call;
use crate::fault::{Fault, OnFault};
use crate::text::fingerprint;

/// The most effects, paths and commands of one action; past them the coverage is partial.
pub const MOST: usize = 256;
/// The most bytes of one text that plugins see.
pub const MOST_TEXT: usize = 64 * 1024;

/// What the call says by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Its purpose.
    pub intent: Intent,
    /// Its parameters, typed.
    pub operation: Operation,
    /// What it does.
    pub facts: Facts,
    /// The shell reader's fault, if it had one.
    pub fault: Option<Fault>,
}

/// Reads shell text: the text and where it would run.
pub type ShellReader<'a> = dyn FnMut(&str, &Place) -> Result<Reading, Fault> + 'a;

/// Finds the facts of one call.
pub fn of(call: &Call, place: &Place, read_shell: &mut ShellReader<'_>) -> Found {
    let mut collector = Collector::new(place);
    let (operation, intent, shape, fault) = tools::read(call, place, &mut collector, read_shell);
    let mut facts = collector.finish();
    facts.shape = fingerprint(&[&call.tool, &shape]);
    facts.identity = identity(call);
    let intent = if intent == Intent::SystemCommand && facts.effects.iter().any(|effect| effect.kind == EffectKind::FileDelete) {
        Intent::FileDeletion
    } else {
        intent
    };
    Found { intent, operation, facts, fault }
}

/// A shell command's identity is its text; any other call's is all of its parameters.
fn identity(call: &Call) -> u64 {
    match call.input.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => fingerprint(&[&call.tool, command]),
        None => fingerprint(&[&call.tool, &serde_json::Value::Object(call.input.clone()).to_string()]),
    }
}

/// Gathers facts within their bounds.
struct Collector<'a> {
    place: &'a Place,
    facts: Facts,
}

impl<'a> Collector<'a> {
    const fn new(place: &'a Place) -> Self {
        Self { place, facts: Facts::nothing() }
    }

    fn gap(&mut self, what: impl Into<String>) {
        self.facts.coverage = Coverage::Partial;
        if self.facts.gaps.len() < 16 {
            self.facts.gaps.push(what.into());
        }
    }

    /// A file effect of a tool, with what its path implies: a start-up file persists, a credential is a secret.
    fn file(&mut self, kind: EffectKind, path: &str) {
        let text = normalise(path, &self.place.cwd, &self.place.home);
        let implied = match kind {
            EffectKind::FileRead if paths::is_credential(&text, &self.place.home) => Some(EffectKind::SecretRead),
            EffectKind::FileCreate | EffectKind::FileModify if paths::is_start_up(&text, &self.place.home) => Some(EffectKind::Persistence),
            _ => None,
        };
        for kind in [Some(kind), implied].into_iter().flatten() {
            self.effect(Effect { kind, target: text.clone(), path: None, command: None, recursive: false, certain: true });
        }
    }

    /// Any effect; a target that is a path is numbered among the paths.
    fn effect(&mut self, mut effect: Effect) {
        if self.facts.effects.len() >= MOST {
            self.gap("it does more than 256 things");
            return;
        }
        if on_a_path(&effect) {
            effect.target = normalise(&effect.target, &self.place.cwd, &self.place.home);
            effect.path = self.path(&effect.target);
        }
        if !self.facts.effects.contains(&effect) {
            self.facts.effects.push(effect);
        }
    }

    fn path(&mut self, text: &str) -> Option<u32> {
        let known = self.facts.paths.iter().position(|path| path.text == text);
        let index = known.or_else(|| {
            if self.facts.paths.len() >= MOST {
                self.gap("it touches more than 256 paths");
                return None;
            }
            self.facts.paths.push(Path {
                text: text.to_owned(),
                glob: text.contains(['*', '?', '[']),
                scope: scope(text, self.place),
                entry: Entry::Unknown,
                link_target: None,
                git: GitState::Unknown,
                restorable: false,
            });
            Some(self.facts.paths.len() - 1)
        })?;
        u32::try_from(index).ok()
    }

    fn host(&mut self, host: &str) {
        let host = host.to_ascii_lowercase();
        if host.is_empty() || self.facts.hosts.len() >= 64 || self.facts.hosts.contains(&host) {
            return;
        }
        let implied = if hosts::hands_out_credentials(&host) {
            Some(EffectKind::SecretRead)
        } else if hosts::records_requests(&host) {
            Some(EffectKind::Send)
        } else {
            None
        };
        if let Some(kind) = implied {
            let known = self.facts.effects.iter().any(|effect| effect.kind == kind);
            let target = if kind == EffectKind::Send { host.clone() } else { String::new() };
            if !known {
                self.effect(Effect { kind, certain: !target.is_empty(), target, path: None, command: None, recursive: false });
            }
        }
        self.facts.hosts.push(host);
    }

    fn finish(self) -> Facts {
        self.facts
    }
}

/// Whether the effect's target is a path: always for file effects, and for others where it looks like one.
fn on_a_path(effect: &Effect) -> bool {
    let file = matches!(
        effect.kind,
        EffectKind::FileRead | EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete | EffectKind::Discard
    );
    effect.target.starts_with('/') || (file && !effect.target.is_empty())
}

/// Whether an effect lies outside the expected scope.
#[must_use]
pub fn outside(effect: &Effect, facts: &Facts) -> bool {
    let path = effect.path.and_then(|index| facts.paths.get(index as usize));
    path.is_some_and(|path| matches!(path.scope, Scope::Outside | Scope::System)) && effect.kind != EffectKind::FileRead
}

/// The shell reader's fault, softened: text that it cannot read is for a person to judge.
fn unread(fault: Fault) -> Fault {
    Fault { policy: OnFault::Ask, ..fault }
}

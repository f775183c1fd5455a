//! From a call to typed facts: its effects, its paths and hosts, and its scope.
//!
//! The facts come purely from the call's own text; `observe` adds those that only the workspace
//! knows. Shell text is read by the sandboxed reader behind the
//! [`Plugins`](crate::plugins::Plugins) trait, never here.

mod addresses;
mod foreign;
mod hosts;
mod parts;
mod paths;
mod texts;
mod tools;
mod verbs;
mod written;

pub(crate) use addresses::{is_this_machine, unescaped};
pub(crate) use parts::{LIMIT, host_of};
pub use paths::{
    CallLocation, as_glob, climbs_above, collapse_path, is_glob, is_within, make_absolute,
    normalise_path, only_name, scope_of,
};
pub(crate) use paths::{is_credential, is_start_up};
pub(crate) use tools::note_cut_parameters;
pub(crate) use tools::runs_in_background;
pub use tools::{command_line, is_shell, needs_shell_reader};

use crate::action::{
    Coverage, Effect, EffectKind, Entry, Facts, GitState, Intent, Operation, Path, Reading, Scope,
};
use crate::event::Call;
use crate::fault::{Fault, OnFault};
use crate::text::hash_parts;

/// The most effects, paths and commands of one action; beyond that, coverage is partial.
pub const MOST: usize = 256;
/// The most bytes of one text that plugins see.
pub const MOST_TEXT: usize = 64 * 1024;

/// The facts that follow from the call alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    /// Its purpose.
    pub intent: Intent,
    /// Its parameters, typed.
    pub operation: Operation,
    /// Its effects, paths and hosts.
    pub facts: Facts,
    /// The shell reader's fault, if it had one.
    pub fault: Option<Fault>,
}

/// Reads shell text, given the text and the place in which it would run.
pub type ShellReader<'a> = dyn FnMut(&str, &CallLocation) -> Result<Reading, Fault> + 'a;

/// Finds the facts of one call.
pub fn of_call(call: &Call, place: &CallLocation, read_shell: &mut ShellReader<'_>) -> CallFacts {
    let mut collector = Collector::new(place);
    let (operation, intent, shape, fault) = tools::read(call, place, &mut collector, read_shell);
    let mut facts = collector.finish();
    facts.shape = hash_parts(&[&call.tool, &shape]);
    facts.identity = identity(call);
    let intent = if intent == Intent::SystemCommand
        && facts.effects.iter().any(|effect| effect.kind == EffectKind::FileDelete)
    {
        Intent::FileDeletion
    } else {
        intent
    };
    CallFacts { intent, operation, facts, fault }
}

/// Returns the call's identity: its text for a shell command, all parameters for any other call.
fn identity(call: &Call) -> u64 {
    match call.input.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => hash_parts(&[&call.tool, command]),
        None => {
            hash_parts(&[&call.tool, &serde_json::Value::Object(call.input.clone()).to_string()])
        }
    }
}

/// Gathers facts within their bounds.
struct Collector<'a> {
    place: &'a CallLocation,
    facts: Facts,
}

impl<'a> Collector<'a> {
    const fn new(place: &'a CallLocation) -> Self {
        Self { place, facts: Facts::nothing() }
    }

    fn gap(&mut self, what: impl Into<String>) {
        self.facts.coverage = Coverage::Partial;
        if self.facts.gaps.len() < 16 {
            self.facts.gaps.push(what.into());
        }
    }

    /// Records a host limit that was exceeded. Unlike a gap, anything may follow past it.
    fn limit(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.facts.coverage = Coverage::Partial;
        if self.facts.limits.len() < 16 && !self.facts.limits.contains(&what) {
            self.facts.limits.push(what);
        }
    }

    /// Adds a file effect of a tool that may treat its path as a pattern, and the effects that the
    /// path implies: a start-up file is persistence, a credential is a secret.
    fn file(&mut self, kind: EffectKind, path: &str) {
        self.file_either_way(kind, path, is_glob(path));
    }

    /// Does the same as `file`, for a tool that takes its path literally.
    fn file_as_named(&mut self, kind: EffectKind, path: &str) {
        self.file_either_way(kind, path, false);
    }

    /// Adds both readings of a path with `..`, because a tool may resolve it as text or leave it to
    /// the system.
    fn file_either_way(&mut self, kind: EffectKind, path: &str, glob: bool) {
        let climbing = make_absolute(path, &self.place.cwd, &self.place.home);
        self.file_at(kind.clone(), &collapse_path(&climbing), glob);
        if climbs_above(&climbing) {
            self.file_at(kind, &climbing, glob);
        }
    }

    /// Notes that a call names a file, of which it neither reads nor changes anything.
    fn named(&mut self, path: &str) {
        let path = make_absolute(path, &self.place.cwd, &self.place.home);
        self.path(&collapse_path(&path), false);
    }

    fn file_at(&mut self, kind: EffectKind, text: &str, glob: bool) {
        let implied = match kind {
            EffectKind::FileRead if paths::is_credential(text, self.place) => {
                Some(EffectKind::SecretRead)
            }
            EffectKind::FileCreate | EffectKind::FileModify
                if paths::is_start_up(text, self.place) =>
            {
                Some(EffectKind::Persistence)
            }
            _ => None,
        };
        for kind in [Some(kind), implied].into_iter().flatten() {
            let effect = Effect {
                kind,
                target: text.to_owned(),
                path: None,
                command: None,
                recursive: false,
                certain: true,
            };
            self.add(effect, Some(glob));
        }
    }

    /// Adds any effect; a target that is a path is numbered among the paths. Such a target is a
    /// pattern, in the shell reader's notation: quoted characters are written in brackets (`[*]`).
    fn effect(&mut self, mut effect: Effect) {
        let on_a_path = on_a_path(&effect);
        if on_a_path {
            effect.target = make_absolute(&effect.target, &self.place.cwd, &self.place.home);
        }
        let name = on_a_path.then(|| only_name(&effect.target)).flatten();
        let glob = on_a_path.then_some(name.is_none());
        effect.target = name.unwrap_or(effect.target);
        self.add(effect, glob);
    }

    /// Adds an effect. For a target that is a path, `glob` says if it is a pattern.
    fn add(&mut self, mut effect: Effect, glob: Option<bool>) {
        if self.facts.effects.len() >= MOST && !self.facts.effects.contains(&effect) {
            self.limit("it does more than 256 things");
            return;
        }
        if let Some(glob) = glob {
            effect.path = self.path(&effect.target, glob);
        }
        if !self.facts.effects.contains(&effect) {
            self.facts.effects.push(effect);
        }
    }

    fn path(&mut self, text: &str, glob: bool) -> Option<u32> {
        let known = self.facts.paths.iter().position(|path| path.text == text && path.glob == glob);
        let index = known.or_else(|| {
            if self.facts.paths.len() >= MOST {
                self.limit("it touches more than 256 paths");
                return None;
            }
            self.facts.paths.push(Path {
                text: text.to_owned(),
                glob,
                scope: scope_of(&collapse_path(text), self.place),
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
        if host.is_empty() || self.facts.hosts.contains(&host) {
            return;
        }
        if self.facts.hosts.len() >= 64 {
            self.limit("it contacts more than 64 hosts");
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
                self.effect(Effect {
                    kind,
                    certain: !target.is_empty(),
                    target,
                    path: None,
                    command: None,
                    recursive: false,
                });
            }
        }
        self.facts.hosts.push(host);
    }

    fn finish(self) -> Facts {
        self.facts
    }
}

/// Returns true if the effect's target is a path: always for file effects, and for others if it
/// looks like one.
fn on_a_path(effect: &Effect) -> bool {
    let file = matches!(
        effect.kind,
        EffectKind::FileRead
            | EffectKind::FileCreate
            | EffectKind::FileModify
            | EffectKind::FileDelete
            | EffectKind::Discard
    );
    effect.target.starts_with('/') || (file && !effect.target.is_empty())
}

/// Returns true if an effect is outside the expected scope.
#[must_use]
pub fn is_outside_scope(effect: &Effect, facts: &Facts) -> bool {
    let path = effect.path.and_then(|index| facts.paths.get(index as usize));
    path.is_some_and(|path| matches!(path.scope, Scope::Outside | Scope::System))
        && effect.kind != EffectKind::FileRead
}

/// Softens the shell reader's fault: a person has to judge text that it cannot read.
fn unread(fault: Fault) -> Fault {
    Fault { policy: OnFault::Ask, ..fault }
}

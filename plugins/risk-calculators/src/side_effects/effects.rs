//! From the host's effects to their consequences.

use super::critical;
use super::levels::Levels;
use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::{EVIDENCE, clip};
use portcullis_plugin::risk_calculator::{SideEffect, SideEffectKind};
use portcullis_plugin::types::{
    Action, Context, Effect, EffectKind, Entry, Form, GitState, Operation, Path, Scope, Severity,
};

/// The maximum number that the host accepts.
const MOST: usize = 64;

/// Returns the consequences of an action, worst first, each thing once.
pub(super) fn left_by(action: &Action, context: &Context, levels: &Levels) -> Vec<SideEffect> {
    let judge = Judge { action, context, levels };
    let mut left: Vec<SideEffect> = Vec::new();
    for one in place::lasting(&action.facts).filter_map(|effect| judge.leaves(effect)) {
        if !left.contains(&one) {
            left.push(one);
        }
    }
    bounded(worst_first(left))
}

fn worst_first(mut left: Vec<SideEffect>) -> Vec<SideEffect> {
    let mut sorted = Vec::with_capacity(left.len());
    for severity in [Severity::Critical, Severity::High, Severity::Medium] {
        let (these, milder) = left.into_iter().partition(|one| one.severity == severity);
        let these: Vec<SideEffect> = these;
        sorted.extend(these);
        left = milder;
    }
    sorted.extend(left);
    sorted
}

/// Summarises the excess, so that the worst and the irreversible stay visible.
fn bounded(mut left: Vec<SideEffect>) -> Vec<SideEffect> {
    if left.len() <= MOST {
        return left;
    }
    let rest = left.split_off(MOST - 1);
    let severity = rest.iter().map(|one| one.severity).max().unwrap_or(Severity::Low);
    left.push(SideEffect {
        kind: SideEffectKind::Other("more".to_owned()),
        target: [&rest.len().to_string(), " more"].concat(),
        severity,
        reversible: rest.iter().all(|one| one.reversible),
        mitigation: None,
    });
    left
}

struct Judge<'a> {
    action: &'a Action,
    context: &'a Context,
    levels: &'a Levels,
}

/// The properties of a side effect other than its target.
struct Left {
    kind: SideEffectKind,
    severity: Severity,
    reversible: bool,
    mitigation: &'static str,
}

impl Judge<'_> {
    fn leaves(&self, effect: &Effect) -> Option<SideEffect> {
        let left = match &effect.kind {
            EffectKind::FileRead => return None,
            EffectKind::FileCreate | EffectKind::FileModify => self.write(effect),
            EffectKind::FileDelete => self.deletion(effect),
            EffectKind::SecretRead => self.secret(),
            EffectKind::UnseenCode => self.unseen_code(),
            EffectKind::Network | EffectKind::Send => self.network(effect),
            EffectKind::ProcessStart => {
                process(self.levels.process, "end it when it is no longer needed")
            }
            EffectKind::ProcessStop => process(self.levels.process, "start it again"),
            EffectKind::Publish | EffectKind::RemoteChange | EffectKind::RemoteDelete => {
                self.remote(effect)
            }
            EffectKind::Discard => self.discard(effect),
            EffectKind::SystemChange => self.system(effect),
            EffectKind::Persistence => {
                // A setting is unset as it was set.
                let setting = effect.target.contains('.') && !effect.target.contains('/');
                self.named("persistence", setting, "remove it again when it is no longer needed")
            }
            EffectKind::Privilege => {
                self.named("privilege", false, "try it in a container, or let a person run it")
            }
            EffectKind::Evade => {
                let skips = self.skips_check(effect);
                self.named("evasion", skips, "leave the protection on, or let a person decide")
            }
            EffectKind::ResourceUse => self.resources(effect),
            EffectKind::Other(name) => Left {
                kind: SideEffectKind::Other(clip(name, EVIDENCE)),
                severity: Severity::Medium,
                reversible: false,
                mitigation: "ask a person what it does",
            },
        };
        Some(SideEffect {
            kind: left.kind,
            target: clip(&effect.target, EVIDENCE),
            severity: left.severity,
            reversible: left.reversible,
            mitigation: Some(left.mitigation.to_owned()),
        })
    }

    fn write(&self, effect: &Effect) -> Left {
        let path = self.action.facts.path(effect);
        if path.is_some_and(|path| {
            path.scope == Scope::System && !place::in_home(&path.text, self.context.home())
        }) {
            return self.system(effect);
        }
        let fresh = path.is_some_and(|path| matches!(path.entry, Entry::Absent | Entry::Folder));
        let (reversible, mitigation) = match path {
            _ if fresh => (true, "remove it again"),
            _ if self.states_what_it_replaces() => (true, "put the replaced text back"),
            Some(path) => {
                comes_back(path).map_or((false, "copy or commit it first"), |how| (true, how))
            }
            None => (false, "copy or commit it first"),
        };
        Left {
            kind: SideEffectKind::FileWrite,
            severity: self.levels.file_write,
            reversible,
            mitigation,
        }
    }

    /// Returns true for an edit that names the text that it replaces, which can be reversed.
    fn states_what_it_replaces(&self) -> bool {
        matches!(&self.action.operation, Operation::File(file) if file.replaced.is_some())
    }

    fn deletion(&self, effect: &Effect) -> Left {
        let left = |severity, reversible, mitigation| Left {
            kind: SideEffectKind::FileDeletion,
            severity,
            reversible,
            mitigation,
        };
        let Some(path) = self.action.facts.path(effect) else {
            return left(self.levels.file_deletion, false, "move it aside instead");
        };
        if critical::is_loss(effect, path, self.context) {
            return left(
                Severity::Critical,
                false,
                "let a person delete it, or name only what has to go",
            );
        }
        match comes_back(path) {
            _ if path.entry == Entry::Absent && effect.certain => {
                left(Severity::Low, true, "nothing is there")
            }
            _ if place::is_expendable(effect, &self.action.facts) && !effect.certain => {
                left(self.levels.file_deletion, true, "it is scratch")
            }
            Some(how) if effect.certain => left(self.levels.file_deletion, true, how),
            _ => {
                left(self.levels.file_deletion, false, "commit it first, or move it aside instead")
            }
        }
    }

    fn discard(&self, effect: &Effect) -> Left {
        let kept = place::is_expendable(effect, &self.action.facts);
        Left {
            kind: SideEffectKind::Other("discard".to_owned()),
            severity: if kept { Severity::Low } else { self.levels.file_deletion },
            reversible: kept,
            mitigation: if kept { "git holds it already" } else { "stash or commit it first" },
        }
    }

    fn secret(&self) -> Left {
        if critical::lets_secrets_leave(&self.action.facts) {
            return Left {
                kind: SideEffectKind::Other("credentials-leave".to_owned()),
                severity: Severity::Critical,
                reversible: false,
                mitigation: "let the tool log in by itself instead of reading the secret, or let a person send it",
            };
        }
        Left {
            kind: SideEffectKind::Other("secret-read".to_owned()),
            severity: self.levels.secret_read,
            reversible: false,
            mitigation: "change the secret if it leaves the session",
        }
    }

    fn unseen_code(&self) -> Left {
        let remote = critical::runs_remote_code(&self.action.facts);
        Left {
            kind: SideEffectKind::Other(
                if remote { "remote-code" } else { "unseen-code" }.to_owned(),
            ),
            severity: if remote { Severity::Critical } else { self.levels.system_change },
            reversible: false,
            mitigation: "save it to a file, read it, then run it",
        }
    }

    fn network(&self, effect: &Effect) -> Left {
        let fetches = matches!(&self.action.operation, Operation::Network(request) if request.method.as_deref().is_none_or(|method| method == "GET"));
        let local = !place::is_external(effect);
        Left {
            kind: SideEffectKind::Network,
            severity: if local { Severity::Low } else { self.levels.network },
            reversible: local || fetches,
            mitigation: "check what goes out: it cannot be taken back",
        }
    }

    fn remote(&self, effect: &Effect) -> Left {
        let publish = effect.kind == EffectKind::Publish;
        let name = effect.kind.as_str();
        let mitigation = if publish {
            "let a person agree first: others may fetch it at once"
        } else {
            "back the data up first, or try it on a copy"
        };
        let severity = match effect.kind {
            _ if critical::damages(effect, self.action, self.levels) => Severity::Critical,
            EffectKind::RemoteChange => self.levels.remote_change,
            _ => self.levels.publish,
        };
        Left {
            kind: SideEffectKind::Other(name.to_owned()),
            severity,
            reversible: false,
            mitigation,
        }
    }

    fn system(&self, effect: &Effect) -> Left {
        let severity = if critical::damages(effect, self.action, self.levels) {
            Severity::Critical
        } else {
            self.levels.system_change
        };
        let mitigation = "try it in a container, or let a person run it";
        Left { kind: SideEffectKind::SystemChange, severity, reversible: false, mitigation }
    }

    /// Returns a change that has a name of its own, as grave as one of the system.
    fn named(&self, name: &str, reversible: bool, mitigation: &'static str) -> Left {
        let kind = SideEffectKind::Other(name.to_owned());
        Left { kind, severity: self.levels.system_change, reversible, mitigation }
    }

    /// Returns true if a command leaves a check out: it can be made up for, unlike removed traces.
    fn skips_check(&self, effect: &Effect) -> bool {
        let same = |form: &&Form| form.command.is_none() || form.command == effect.command;
        let mut forms = self.action.facts.forms.iter().filter(same).peekable();
        forms.peek().is_some() && forms.all(|form| form.id.starts_with("skip-"))
    }

    fn resources(&self, effect: &Effect) -> Left {
        let severity = if critical::damages(effect, self.action, self.levels) {
            Severity::Critical
        } else {
            self.levels.resource_use
        };
        Left {
            kind: SideEffectKind::ResourceUse,
            severity,
            reversible: true,
            mitigation: "set a limit of time or size",
        }
    }
}

const fn process(severity: Severity, mitigation: &'static str) -> Left {
    Left { kind: SideEffectKind::Process, severity, reversible: true, mitigation }
}

/// Returns the way to restore the content of a path, if there is one.
fn comes_back(path: &Path) -> Option<&'static str> {
    match path.git {
        GitState::Clean if path.restorable || path.entry == Entry::File => {
            Some("`git restore` brings it back")
        }
        GitState::Ignored if path.restorable => Some("a build makes it again"),
        _ if path.restorable => Some("a checkpoint brings it back"),
        _ if path.scope == Scope::Scratch && !place::is_shared(&path.text) => Some("it is scratch"),
        _ => None,
    }
}

//! The reading as it grows, within its bounds.

use super::environment::UNKNOWN;
use crate::bindings::exports::portcullis::shell::reader::{Reading, RunLine};
use crate::places::{self, Mount, Place};
use crate::types::{Command, Coverage, Effect, EffectKind, Form, Word};
use std::collections::BTreeSet;

const COMMANDS: usize = 256;
/// The maximum number of commands, and of bytes of their texts, that are kept until it is known
/// which are listed.
const KEPT: usize = 32 * 1024;
const KEPT_TEXTS: usize = 6 << 20;
const EFFECTS: usize = 256;
const HOSTS: usize = 64;
const FORMS: usize = 64;
const GAPS: usize = 16;
const WORDS: usize = 128;
/// The longest text in a command, in bytes.
const TEXT: usize = 4096;
/// The maximum size of all texts of all commands together, in bytes.
const TEXTS: usize = 96 * 1024;
const SHAPE: usize = 4096;

/// The results so far.
#[derive(Default)]
pub(crate) struct Output {
    pub commands: Vec<Command>,
    pub effects: Vec<Effect>,
    pub forms: Vec<Form>,
    pub gaps: Vec<String>,
    limits: Vec<String>,
    hosts: BTreeSet<String>,
    seen: BTreeSet<(String, String, bool)>,
    seen_forms: BTreeSet<(Option<u32>, &'static str)>,
    shape: String,
    texts: usize,
    /// The files whose text is being read, one in the other: true for one that is as it was
    /// committed.
    files: Vec<bool>,
}

impl Output {
    /// Notes a command; returns its number, unless there are too many already.
    pub(crate) fn command(&mut self, mut command: Command) -> Option<u32> {
        let size = bound(&mut command);
        if self.commands.len() >= KEPT || self.texts + size > KEPT_TEXTS {
            self.limit(MORE_COMMANDS);
            return None;
        }
        self.texts += size;
        self.commands.push(command);
        u32::try_from(self.commands.len() - 1).ok()
    }

    /// Notes an effect once, with its consequences.
    pub(crate) fn effect(&mut self, effect: Effect) {
        if effect.kind == EffectKind::Network && !effect.target.is_empty() && effect.certain {
            self.hosts.insert(effect.target.clone());
        }
        let key = (format!("{:?}", effect.kind), effect.target.clone(), effect.recursive);
        if self.seen.insert(key) {
            self.effects.push(effect);
        }
    }

    pub(crate) fn form(&mut self, id: &str, command: Option<u32>) {
        if let Some((id, label, weight)) = crate::catalogue::form(id)
            && self.seen_forms.insert((command, id))
        {
            self.forms.push(Form { id: id.to_owned(), label: label.to_owned(), weight, command });
        }
    }

    /// Drops the forms with these ids among those that were noted after the first `kept`.
    pub(crate) fn drop_forms(&mut self, kept: usize, ids: &[&str]) {
        let later = self.forms.split_off(kept.min(self.forms.len()));
        for form in later {
            if ids.contains(&form.id.as_str()) {
                self.seen_forms.retain(|(command, id)| (*command, *id) != (form.command, &form.id));
            } else {
                self.forms.push(form);
            }
        }
    }

    /// Notes a form that removes traces, and its effect.
    pub(crate) fn hides(&mut self, id: &str, target: &str, command: Option<u32>) {
        self.form(id, command);
        let (kind, certain) = (EffectKind::Evade, !target.is_empty());
        self.effect(Effect {
            kind,
            target: target.to_owned(),
            path: None,
            command,
            recursive: false,
            certain,
        });
    }

    /// Begins the text of a file: it has no shape of its own, and its gaps are not the command
    /// line's.
    pub(crate) fn enter_file(&mut self, committed: bool) {
        self.files.push(committed);
    }

    pub(crate) fn leave_file(&mut self) {
        self.files.pop();
    }

    /// Returns true if a limit was exceeded.
    pub(crate) fn is_limited(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Notes text that was not understood. In a file, that is what running it means anyway.
    pub(crate) fn gap(&mut self, gap: &str) {
        if self.files.is_empty() {
            self.file_gap(gap);
        }
    }

    /// Notes a file that is run and not fully read.
    pub(crate) fn file_gap(&mut self, gap: &str) {
        if self.gaps.len() < GAPS && !self.gaps.iter().any(|known| known == gap) {
            self.gaps.push(gap.to_owned());
        }
    }

    /// Notes a limit that was exceeded: anything may come after it. A file that is as it was
    /// committed is the work of people, who may have long ones.
    pub(crate) fn limit(&mut self, limit: &str) {
        match self.files.last() {
            // The bodies of its functions were read all the same.
            Some(_) if limit == CALLS => {}
            Some(true) => self.file_gap(limit),
            _ if self.limits.len() >= GAPS || self.limits.iter().any(|known| known == limit) => {}
            _ => self.limits.push(limit.to_owned()),
        }
    }

    pub(crate) fn shape(&mut self, part: &str) {
        if self.files.is_empty() && self.shape.len() + part.len() < SHAPE {
            self.shape.push_str(part);
        }
    }

    pub(crate) fn finish(mut self, mut lines: Vec<RunLine>) -> Reading {
        self.list_effects();
        self.list_commands(&mut lines);
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.weight));
        self.forms.truncate(FORMS);
        if self.hosts.len() > HOSTS {
            self.limit("more hosts than are listed");
        }
        // Limits come first, so that the list is never cut by one.
        let mut gaps: Vec<String> =
            self.limits.iter().map(|limit| format!("{LIMIT}{limit}")).collect();
        gaps.append(&mut self.gaps);
        gaps.truncate(GAPS);
        Reading {
            coverage: if gaps.is_empty() { Coverage::Full } else { Coverage::Partial },
            commands: self.commands,
            effects: self.effects,
            forms: self.forms,
            hosts: self.hosts.into_iter().take(HOSTS).collect(),
            shape: self.shape,
            gaps,
            wants: Vec::new(),
            absences: Vec::new(),
            lines,
            leaves: Vec::new(),
            mounts: Vec::new(),
        }
    }

    /// Keeps the gravest effects, if there are too many. Omitted reads are a gap, anything else is
    /// a limit.
    fn list_effects(&mut self) {
        if self.effects.len() <= EFFECTS {
            return;
        }
        self.effects.sort_by_key(|effect| std::cmp::Reverse(places::gravity(&effect.kind)));
        let only_reads =
            self.effects.iter().skip(EFFECTS).all(|effect| effect.kind == EffectKind::FileRead);
        self.effects.truncate(EFFECTS);
        if only_reads {
            self.gap(MORE_EFFECTS);
        } else {
            self.limit(MORE_EFFECTS);
        }
    }

    /// Keeps the commands with the gravest effects, if there are too many. Omitted builtins of the
    /// shell are a gap, anything else is a limit.
    fn list_commands(&mut self, lines: &mut Vec<RunLine>) {
        let sizes: Vec<usize> = self.commands.iter().map(size_of).collect();
        let mut listed: Vec<usize> = (0..self.commands.len()).collect();
        if self.commands.len() > COMMANDS || self.texts > TEXTS {
            let weights = self.weights();
            listed.sort_by_key(|at| std::cmp::Reverse(weights.get(*at).copied()));
            let mut texts = 0;
            let fitting = listed.iter().take(COMMANDS).take_while(|at| {
                texts += sizes.get(**at).copied().unwrap_or(0);
                texts <= TEXTS
            });
            let count = fitting.count();
            if listed.iter().skip(count).all(|at| weights.get(*at) == Some(&0)) {
                self.gap(MORE_COMMANDS);
            } else {
                self.limit(MORE_COMMANDS);
            }
            listed.truncate(count);
            listed.sort_unstable();
        }
        let number = |old: u32| {
            listed.binary_search(&(old as usize)).ok().and_then(|at| u32::try_from(at).ok())
        };
        // A command that is not listed was referred to before that was known.
        let renumber = |command: &mut Option<u32>| *command = command.and_then(number);
        self.effects.iter_mut().for_each(|effect| renumber(&mut effect.command));
        self.forms.iter_mut().for_each(|form| renumber(&mut form.command));
        self.commands.iter_mut().for_each(|command| renumber(&mut command.input_from));
        lines.retain_mut(|line| {
            let listed = number(line.command);
            line.command = listed.unwrap_or_default();
            listed.is_some()
        });
        let mut at = 0;
        self.commands.retain(|_| {
            at += 1;
            listed.binary_search(&(at - 1)).is_ok()
        });
    }

    /// Ranks each command by its effects: 0 for those of the shell alone that no effect, form or
    /// pipe names.
    fn weights(&self) -> Vec<u8> {
        let idle = |command: &Command| {
            IDLE.contains(&command.program.as_str())
                && command.redirections.is_empty()
                && command.assignments.is_empty()
        };
        let mut weights: Vec<u8> =
            self.commands.iter().map(|command| u8::from(!idle(command))).collect();
        let mut raise = |command: Option<u32>, weight: u8| {
            if let Some(known) = command.and_then(|at| weights.get_mut(at as usize)) {
                *known = (*known).max(weight);
            }
        };
        for effect in self.effects.iter().filter(|effect| effect.kind != EffectKind::FileRead) {
            raise(effect.command, places::gravity(&effect.kind).saturating_add(2));
        }
        self.forms.iter().for_each(|form| raise(form.command, u8::MAX));
        self.commands.iter().for_each(|command| raise(command.input_from, 1));
        weights
    }
}

/// The prefix of limits among the gaps. The host knows it: `host/core/src/facts/tools.rs`.
const LIMIT: &str = "limit: ";
/// The limit on calls of functions.
pub(crate) const CALLS: &str = "more calls of functions than are followed";
const MORE_COMMANDS: &str = "more commands than are listed";
const MORE_EFFECTS: &str = "more effects than are listed";
/// Commands of the shell that do nothing by themselves.
const IDLE: &[&str] = &[
    ":", "true", "false", "echo", "printf", "test", "[", "pwd", "sleep", "cd", "ls", "cat", "head",
    "tail", "wc", "grep",
];

/// Translates an effect for the person's machine: an effect elsewhere is a change there.
pub(crate) fn located(
    kind: EffectKind,
    target: String,
    place: &Place,
) -> Option<(EffectKind, String)> {
    let elsewhere = match place {
        Place::Here => return Some((kind, target)),
        Place::Host(name) | Place::Container(name, _) => name.clone(),
    };
    match (&kind, place) {
        (
            EffectKind::Network
            | EffectKind::Send
            | EffectKind::Publish
            | EffectKind::RemoteChange
            | EffectKind::RemoteDelete
            | EffectKind::UnseenCode,
            _,
        ) => Some((kind, target)),
        // A file that is read elsewhere tells nothing of this machine; a secret is one anywhere.
        (EffectKind::FileRead, _) => None,
        (EffectKind::SecretRead, _) => Some((kind, target)),
        // A container that was made for this: nothing in it was there before.
        (_, Place::Container(name, _)) if name.is_empty() => None,
        (
            EffectKind::FileCreate | EffectKind::FileModify | EffectKind::ProcessStart,
            Place::Container(..),
        ) => None,
        // It changes that machine as it would change this one: the target keeps its path there.
        (
            EffectKind::SystemChange | EffectKind::Persistence | EffectKind::Privilege,
            Place::Host(_),
        ) if target.starts_with('/') && !elsewhere.is_empty() => {
            Some((kind, format!("{elsewhere}:{target}")))
        }
        (
            EffectKind::ProcessStart
            | EffectKind::SystemChange
            | EffectKind::Persistence
            | EffectKind::Privilege,
            Place::Host(_),
        ) => Some((kind, elsewhere)),
        (EffectKind::FileDelete | EffectKind::Discard, Place::Host(_)) => {
            Some((EffectKind::RemoteDelete, elsewhere))
        }
        _ => Some((EffectKind::RemoteChange, elsewhere)),
    }
}

/// Returns the mount that a path in a container is in, with the path on this machine that it maps
/// to.
pub(crate) fn mounted(path: &str, mounts: &[Mount]) -> Option<Mount> {
    let within = mounts.iter().filter(|mount| places::is_below(path, &mount.inside));
    // The innermost mount covers the others.
    let mount = within.max_by_key(|mount| mount.inside.len())?;
    let rest = path.get(mount.inside.trim_end_matches('/').len()..)?;
    let here = match mount.here.as_str() {
        here if here.contains(UNKNOWN) => here.to_owned(),
        "/" if !rest.is_empty() => rest.to_owned(),
        here => format!("{here}{rest}"),
    };
    Some(Mount { here, ..mount.clone() })
}

/// Cuts a command's texts to their bounds; returns their total length.
fn bound(command: &mut Command) -> usize {
    command.words.truncate(WORDS);
    command.assignments.truncate(32);
    command.redirections.truncate(32);
    command.wrappers.truncate(32);
    for word in command
        .words
        .iter_mut()
        .chain(command.redirections.iter_mut().map(|redirection| &mut redirection.target))
    {
        cut_word(word);
    }
    for set in &mut command.assignments {
        cut(&mut set.name, 256);
        cut(&mut set.value, 1024);
    }
    cut(&mut command.program, 256);
    size_of(command)
}

/// Returns the total length of a command's texts.
fn size_of(command: &Command) -> usize {
    let targets = command.redirections.iter().map(|redirection| &redirection.target);
    let words: usize = command.words.iter().chain(targets).map(|word| word.text.len() + 16).sum();
    let assigned: usize =
        command.assignments.iter().map(|set| set.name.len() + set.value.len() + 16).sum();
    160 + command.program.len() + words + assigned
}

fn cut_word(word: &mut Word) {
    if word.text.len() > TEXT {
        cut(&mut word.text, TEXT - UNKNOWN.len_utf8());
        word.text.push(UNKNOWN);
        word.known = false;
    }
}

/// Cuts at a character's boundary.
pub(crate) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
}

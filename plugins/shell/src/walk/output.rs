//! The reading as it grows, within its bounds.

use super::environment::UNKNOWN;
use crate::bindings::exports::portcullis::shell::reader::Reading;
use crate::places::{self, Place};
use crate::types::{Command, Coverage, Effect, EffectKind, Form, Word};
use std::collections::BTreeSet;

const COMMANDS: usize = 256;
const EFFECTS: usize = 256;
const HOSTS: usize = 64;
const FORMS: usize = 64;
const GAPS: usize = 16;
const WORDS: usize = 128;
/// Longest text in a command, in bytes.
const TEXT: usize = 4096;
/// All texts of all commands together, in bytes.
const TEXTS: usize = 96 * 1024;
const SHAPE: usize = 4096;

/// What was found so far.
#[derive(Default)]
pub(crate) struct Output {
    pub commands: Vec<Command>,
    pub effects: Vec<Effect>,
    pub forms: Vec<Form>,
    pub gaps: Vec<String>,
    hosts: BTreeSet<String>,
    seen: BTreeSet<(String, String, bool)>,
    shape: String,
    texts: usize,
}

impl Output {
    /// Notes a command; its number, unless there are too many already.
    pub(crate) fn command(&mut self, mut command: Command) -> Option<u32> {
        let size = bound(&mut command);
        if self.commands.len() >= COMMANDS || self.texts + size > TEXTS {
            self.gap("more commands than are listed");
            return None;
        }
        self.texts += size;
        self.commands.push(command);
        u32::try_from(self.commands.len() - 1).ok()
    }

    /// Notes an effect once, with what follows from it.
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
            && !self.forms.iter().any(|form| form.id == id && form.command == command)
        {
            self.forms.push(Form { id: id.to_owned(), label: label.to_owned(), weight, command });
        }
    }

    /// Notes a form that takes traces away, and that it does.
    pub(crate) fn hides(&mut self, id: &str, target: &str, command: Option<u32>) {
        self.form(id, command);
        let (kind, certain) = (EffectKind::Evade, !target.is_empty());
        self.effect(Effect { kind, target: target.to_owned(), path: None, command, recursive: false, certain });
    }

    /// Notes what was not understood.
    pub(crate) fn gap(&mut self, gap: &str) {
        if self.gaps.len() < GAPS && !self.gaps.iter().any(|known| known == gap) {
            self.gaps.push(gap.to_owned());
        }
    }

    pub(crate) fn shape(&mut self, part: &str) {
        if self.shape.len() + part.len() < SHAPE {
            self.shape.push_str(part);
        }
    }

    pub(crate) fn finish(mut self) -> Reading {
        if self.effects.len() > EFFECTS {
            self.gap("more effects than are listed");
            self.effects.sort_by_key(|effect| std::cmp::Reverse(places::gravity(&effect.kind)));
            self.effects.truncate(EFFECTS);
        }
        // A command past the bound was named before it was noted.
        let count = u32::try_from(self.commands.len()).unwrap_or(u32::MAX);
        let listed = |command: &mut Option<u32>| *command = command.filter(|number| *number < count);
        self.effects.iter_mut().for_each(|effect| listed(&mut effect.command));
        self.forms.iter_mut().for_each(|form| listed(&mut form.command));
        self.commands.iter_mut().for_each(|command| listed(&mut command.input_from));
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.weight));
        self.forms.truncate(FORMS);
        Reading {
            coverage: if self.gaps.is_empty() { Coverage::Full } else { Coverage::Partial },
            commands: self.commands,
            effects: self.effects,
            forms: self.forms,
            hosts: self.hosts.into_iter().take(HOSTS).collect(),
            shape: self.shape,
            gaps: self.gaps,
        }
    }
}

/// An effect as it is for the person's machine: what happens elsewhere is a change there.
pub(crate) fn located(kind: EffectKind, target: String, place: &Place) -> Option<(EffectKind, String)> {
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
        (EffectKind::FileRead, _) => None,
        (EffectKind::SecretRead, _) => Some((kind, target)),
        (EffectKind::FileCreate | EffectKind::FileModify | EffectKind::ProcessStart, Place::Container(..)) => None,
        (EffectKind::ProcessStart, _) => Some((kind, elsewhere)),
        (EffectKind::FileDelete | EffectKind::Discard, Place::Host(_)) => Some((EffectKind::RemoteDelete, elsewhere)),
        _ => Some((EffectKind::RemoteChange, elsewhere)),
    }
}

/// The path on this machine that a path in a container stands for.
pub(crate) fn mounted(path: &str, mounts: &[(String, String)]) -> Option<String> {
    let within = mounts.iter().filter(|(inside, _)| places::is_below(path, inside));
    let (inside, here) = within.max_by_key(|(inside, _)| inside.len())?;
    let rest = path.get(inside.trim_end_matches('/').len()..)?;
    Some(if here == "/" && !rest.is_empty() { rest.to_owned() } else { format!("{here}{rest}") })
}

/// Cuts a command's texts to their bounds; how long they are together.
fn bound(command: &mut Command) -> usize {
    command.words.truncate(WORDS);
    command.assignments.truncate(32);
    command.redirections.truncate(32);
    command.wrappers.truncate(32);
    let mut size = 160 + command.program.len();
    for word in command.words.iter_mut().chain(command.redirections.iter_mut().map(|redirection| &mut redirection.target)) {
        cut_word(word);
        size += word.text.len() + 16;
    }
    for set in &mut command.assignments {
        cut(&mut set.name, 256);
        cut(&mut set.value, 1024);
        size += set.name.len() + set.value.len() + 16;
    }
    cut(&mut command.program, 256);
    size
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

//! Actions that were or may yet be refused, and the attempts that were reported: the plugin's own
//! state.

use super::effects::{Class, ComparedEffect, MOST as MOST_EFFECTS};
use portcullis_builtin_shared::state;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 3;
/// The maximum number of attempts that are kept: 36 KiB at most with their effects, the host keeps
/// 64.
const MOST: usize = 12;
/// The maximum number of identities of reported attempts that are kept.
const MOST_REPORTED: usize = 16;
/// The maximum number of edits of the session's own that are kept.
const MOST_EDITS: usize = 64;
/// The maximum size of an attempt's label, in bytes.
pub(super) const MOST_LABEL: usize = 200;

/// An action that was looked at before it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) step: u64,
    /// The time of the attempt.
    pub(super) at: u64,
    pub(super) shape: u64,
    pub(super) identity: u64,
    /// It had a dangerous form.
    pub(super) form: bool,
    /// Its refusal, as far as its own agent's history has shown.
    pub(super) refusal: Refusal,
    pub(super) tool: String,
    /// A description for people.
    pub(super) label: String,
    pub(super) effects: Vec<ComparedEffect>,
}

/// The refusal of an attempt, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not refused, as far as is known.
    None,
    /// Refused until a person allows it.
    Asked,
    /// Refused permanently.
    Blocked,
}

/// The state that the pattern keeps between calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// One more than the newest step that was looked at; 0 for none.
    pub(super) looked: u64,
    /// Oldest first.
    pub(super) attempts: Vec<Attempt>,
    /// Identities of attempts that were reported, oldest first.
    pub(super) reported: Vec<u64>,
    /// Fingerprints of edits that ran, oldest first: undoing one brings back what was there.
    pub(super) edits: Vec<u64>,
}

impl Memory {
    /// Decodes the state.
    ///
    /// # Errors
    /// Fails with `invalid-input` for bytes that this layout cannot have written.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Error> {
        state::read(bytes, LAYOUT, |input| {
            Some(Self {
                looked: state::long(input)?,
                attempts: state::list(input, MOST, attempt)?,
                reported: state::list(input, MOST_REPORTED, state::long)?,
                edits: state::list(input, MOST_EDITS, state::long)?,
            })
        })
    }

    /// Encodes the memory.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.eight(self.looked.to_le_bytes());
        out.number(self.attempts.len());
        self.attempts.iter().for_each(|attempt| write(&mut out, attempt));
        out.number(self.reported.len());
        self.reported.iter().for_each(|identity| out.eight(identity.to_le_bytes()));
        out.number(self.edits.len());
        self.edits.iter().for_each(|edit| out.eight(edit.to_le_bytes()));
        out.into_bytes()
    }

    /// Keeps an attempt; the oldest is dropped if there is no room.
    pub(super) fn keep(&mut self, attempt: Attempt) {
        self.attempts.retain(|known| known.step != attempt.step);
        self.attempts.push(attempt);
        let excess = self.attempts.len().saturating_sub(MOST);
        self.attempts.drain(..excess);
    }

    /// Records an edit that ran.
    pub(super) fn note_edit(&mut self, edit: u64) {
        self.edits.retain(|known| *known != edit);
        self.edits.push(edit);
        let excess = self.edits.len().saturating_sub(MOST_EDITS);
        self.edits.drain(..excess);
    }

    /// Records that an attempt was reported.
    pub(super) fn tell(&mut self, identity: u64) {
        self.reported.push(identity);
        let excess = self.reported.len().saturating_sub(MOST_REPORTED);
        self.reported.drain(..excess);
    }
}

fn attempt(input: &mut Reader<'_>) -> Option<Attempt> {
    Some(Attempt {
        step: state::long(input)?,
        at: state::long(input)?,
        shape: state::long(input)?,
        identity: state::long(input)?,
        form: input.byte()? != 0,
        refusal: *[Refusal::None, Refusal::Asked, Refusal::Blocked]
            .get(usize::from(input.byte()?))?,
        tool: input.text()?,
        label: input.text()?,
        effects: state::list(input, MOST_EFFECTS, effect)?,
    })
}

fn effect(input: &mut Reader<'_>) -> Option<ComparedEffect> {
    Some(ComparedEffect {
        class: Class::of_byte(input.byte()?)?,
        recursive: input.byte()? != 0,
        target: input.text()?,
    })
}

fn write(out: &mut Writer, attempt: &Attempt) {
    for number in [attempt.step, attempt.at, attempt.shape, attempt.identity] {
        out.eight(number.to_le_bytes());
    }
    out.byte(u8::from(attempt.form));
    out.byte(attempt.refusal as u8);
    out.text(&attempt.tool);
    out.text(&attempt.label);
    out.number(attempt.effects.len());
    for effect in &attempt.effects {
        out.byte(effect.class as u8);
        out.byte(u8::from(effect.recursive));
        out.text(&effect.target);
    }
}

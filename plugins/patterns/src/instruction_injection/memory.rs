//! Texts that instructed the agent: the plugin's own state.

use super::things::{Kind, MOST as MOST_THINGS, Thing};
use portcullis_builtin_shared::state;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;
/// The maximum number of texts that are kept: 18 KiB at most with the things that they name, the
/// host keeps 64.
const MOST: usize = 8;
/// The maximum number of reported excerpts, which are not reported again.
const MOST_REPORTED: usize = 64;
/// The maximum size of an excerpt and of a source, in bytes.
pub(crate) const MOST_TEXT: usize = 300;

/// A text that instructed the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The step whose result contained it.
    pub(crate) step: u64,
    pub(crate) excerpt: String,
    /// The kind and value of its source.
    pub(crate) source: (String, String),
    pub(crate) things: Vec<Thing>,
}

/// The state that the pattern keeps between calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// One more than the newest step that was compared with the texts; 0 for none.
    pub(crate) looked: u64,
    pub(crate) found: Vec<Found>,
    reported: Vec<u64>,
}

impl Memory {
    /// Decodes the state.
    ///
    /// # Errors
    /// Fails with `invalid-input` for bytes that this layout cannot have written.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        state::read(bytes, LAYOUT, |input| {
            Some(Self {
                looked: state::long(input)?,
                found: state::list(input, MOST, found)?,
                reported: state::list(input, MOST_REPORTED, state::long)?,
            })
        })
    }

    /// Encodes the memory.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.eight(self.looked.to_le_bytes());
        out.number(self.found.len());
        self.found.iter().for_each(|found| write(&mut out, found));
        out.number(self.reported.len());
        self.reported.iter().for_each(|key| out.eight(key.to_le_bytes()));
        out.into_bytes()
    }

    /// Keeps a text; returns true if it is new.
    pub(crate) fn keep(&mut self, found: Found) -> bool {
        let key = fingerprint(&found.excerpt);
        push(&mut self.found, found, MOST);
        let known = self.reported.contains(&key);
        if !known {
            push(&mut self.reported, key, MOST_REPORTED);
        }
        !known
    }
}

fn found(input: &mut Reader<'_>) -> Option<Found> {
    Some(Found {
        step: state::long(input)?,
        excerpt: input.text()?,
        source: (input.text()?, input.text()?),
        things: state::list(input, MOST_THINGS, thing)?,
    })
}

fn thing(input: &mut Reader<'_>) -> Option<Thing> {
    let kind = *Kind::ALL.get(usize::from(input.byte()?))?;
    Some(Thing { kind, reported: input.byte()? != 0, name: input.text()? })
}

fn write(out: &mut Writer, found: &Found) {
    out.eight(found.step.to_le_bytes());
    out.text(&found.excerpt);
    out.text(&found.source.0);
    out.text(&found.source.1);
    out.number(found.things.len());
    for thing in &found.things {
        out.byte(thing.kind as u8);
        out.byte(u8::from(thing.reported));
        out.text(&thing.name);
    }
}

fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    list.push(item);
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}

/// Hashes a text with FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

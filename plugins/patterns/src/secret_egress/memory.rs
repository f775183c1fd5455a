//! Secrets that the session has read, and the reports: the plugin's own state.

use portcullis_builtin_shared::state;
use portcullis_builtin_shared::text::clip;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;
/// The maximum number of reads that are kept, newest last, and of bytes of each source.
const MOST_READS: usize = 16;
const MOST_SOURCE: usize = 300;
/// The maximum number of placeholders that are kept, newest last.
const MOST_SEEN: usize = 256;
/// The maximum number of reports that are kept, newest last.
const MOST_REPORTED: usize = 32;

/// A secret was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) step: u64,
    /// Its source: a path, or another description from the host.
    pub(super) source: String,
}

/// The state that the pattern keeps between calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// One more than the newest step that was looked at; 0 for none.
    pub(super) looked: u64,
    pub(super) reads: Vec<Read>,
    /// Placeholders that occurred in results, with the step of the newest.
    seen: Vec<(u32, u64)>,
    /// Sources with hosts that were reported as near.
    reported: Vec<u64>,
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
                reads: state::list(input, MOST_READS, |input| {
                    Some(Read { step: state::long(input)?, source: input.text()? })
                })?,
                seen: state::list(input, MOST_SEEN, seen)?,
                reported: state::list(input, MOST_REPORTED, state::long)?,
            })
        })
    }

    /// Encodes the memory.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.eight(self.looked.to_le_bytes());
        out.number(self.reads.len());
        for read in &self.reads {
            out.eight(read.step.to_le_bytes());
            out.text(&read.source);
        }
        out.number(self.seen.len());
        for (placeholder, step) in &self.seen {
            out.number(usize::try_from(*placeholder).unwrap_or(usize::MAX));
            out.eight(step.to_le_bytes());
        }
        out.number(self.reported.len());
        self.reported.iter().for_each(|key| out.eight(key.to_le_bytes()));
        out.into_bytes()
    }

    /// Records that a step reads a secret.
    pub(super) fn keep(&mut self, step: u64, source: &str) {
        let source = clip(source, MOST_SOURCE);
        self.reads.retain(|known| known.source != source);
        push(&mut self.reads, Read { step, source }, MOST_READS);
    }

    /// Records a placeholder in a result.
    pub(super) fn see(&mut self, placeholder: u32, step: u64) {
        self.seen.retain(|(known, _)| *known != placeholder);
        push(&mut self.seen, (placeholder, step), MOST_SEEN);
    }

    /// Returns the step whose result held a placeholder.
    pub(super) fn seen_at(&self, placeholder: u32) -> Option<u64> {
        self.seen.iter().find(|(known, _)| *known == placeholder).map(|(_, step)| *step)
    }

    /// Records the report of a secret near a sending; returns true if it was reported already.
    pub(super) fn tell(&mut self, source: &str, host: &str) -> bool {
        let key = fingerprint(&[source, "\0", host]);
        let known = self.reported.contains(&key);
        if !known {
            push(&mut self.reported, key, MOST_REPORTED);
        }
        known
    }
}

fn seen(input: &mut Reader<'_>) -> Option<(u32, u64)> {
    Some((u32::try_from(input.number()?).ok()?, state::long(input)?))
}

fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    list.push(item);
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}

/// Hashes the parts with FNV-1a.
fn fingerprint(parts: &[&str]) -> u64 {
    parts.iter().flat_map(|part| part.bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

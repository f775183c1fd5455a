//! The newest errors' texts, by fingerprint: the plugin's own state.

use portcullis_builtin_shared::text::clip;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::types::Error;

/// The layout of the bytes. Bytes of another layout are dropped: only texts are lost.
const LAYOUT: u8 = 1;
/// The maximum number of errors that are kept, and of bytes of each text: 24 KiB at most, the host
/// keeps 64.
const MOST: usize = 32;
const MOST_TEXT: usize = 700;

/// The newest error texts, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory(Vec<(u64, String)>);

impl Memory {
    /// Decodes the state; empty if it is missing or has another layout.
    ///
    /// # Errors
    /// Fails with `invalid-input` for bytes that this layout cannot have written.
    pub(super) fn read(state: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(state);
        match input.byte() {
            None => Ok(Self::default()),
            Some(LAYOUT) => entries(&mut input)
                .filter(|_| input.is_empty())
                .ok_or_else(|| Error::input("`state` is damaged: start a new session")),
            Some(_) => Ok(Self::default()),
        }
    }

    /// Encodes the memory.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.number(self.0.len());
        for (error, text) in &self.0 {
            out.eight(error.to_le_bytes());
            out.text(text);
        }
        out.into_bytes()
    }

    /// Keeps an error's newest text; the oldest error is dropped if there is no room.
    pub(super) fn keep(&mut self, error: u64, text: &str) {
        self.0.retain(|(known, _)| *known != error);
        self.0.push((error, clip(text.trim(), MOST_TEXT)));
        let excess = self.0.len().saturating_sub(MOST);
        self.0.drain(..excess);
    }

    /// Returns an error's newest text.
    pub(super) fn text(&self, error: u64) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| *known == error)
            .map(|(_, text)| text.as_str())
            .filter(|text| !text.is_empty())
    }
}

fn entries(input: &mut Reader<'_>) -> Option<Memory> {
    let count = input.number().filter(|count| *count <= MOST)?;
    let entries: Option<Vec<(u64, String)>> =
        (0..count).map(|_| Some((u64::from_le_bytes(input.eight()?), input.text()?))).collect();
    entries.map(Memory)
}

//! The last report: the plugin's own state.

use portcullis_builtin_shared::state::{self, long};
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes. Bytes of another layout are dropped: at worst the same thing is
/// reported once more.
const LAYOUT: u8 = 2;

/// The report that was made last; none while all is well.
pub(super) type LastReport = Option<Reported>;

/// A report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported {
    /// The share outside, in thousandths.
    pub(super) share: u32,
    /// The effects that were seen since the share passed the threshold, and in the window before.
    pub(super) seen: u32,
    /// The step that it was made at.
    pub(super) step: u64,
}

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(state: &[u8]) -> Result<LastReport, Error> {
    state::read(state, LAYOUT, |input| {
        if input.is_empty() {
            return Some(None);
        }
        let share = input.number().filter(|share| *share <= 1000)?;
        let seen = input.number()?;
        Some(Some(Reported {
            share: u32::try_from(share).ok()?,
            seen: u32::try_from(seen).ok()?,
            step: long(input)?,
        }))
    })
}

/// Encodes the last report: its numbers, or nothing.
pub(super) fn to_bytes(reported: LastReport) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    if let Some(reported) = reported {
        let whole = |number| usize::try_from(number).unwrap_or(usize::MAX);
        out.number(whole(reported.share));
        out.number(whole(reported.seen));
        out.eight(reported.step.to_le_bytes());
    }
    out.into_bytes()
}

//! The last report: the plugin's own state.

use portcullis_builtin_shared::state::{self, long};
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 2;

/// The report that was made last; none while all is well.
pub(super) type LastReport = Option<Reported>;

/// A report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported {
    /// The mean alignment, in thousandths.
    pub(super) mean: u32,
    /// The step that it was made at.
    pub(super) step: u64,
}

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(bytes: &[u8]) -> Result<LastReport, Error> {
    state::read(bytes, LAYOUT, |input| {
        if input.is_empty() {
            return Some(None);
        }
        let mean = input.number().filter(|mean| *mean <= 1000)?;
        Some(Some(Reported { mean: u32::try_from(mean).ok()?, step: long(input)? }))
    })
}

/// Encodes the last report: its numbers, or nothing.
pub(super) fn to_bytes(reported: LastReport) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    if let Some(reported) = reported {
        out.number(usize::try_from(reported.mean).unwrap_or(usize::MAX));
        out.eight(reported.step.to_le_bytes());
    }
    out.into_bytes()
}

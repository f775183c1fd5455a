//! The last reported loop, and its step: the plugin's own state.

use portcullis_builtin_shared::state;
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;

/// A loop that was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReportedLoop {
    /// Identifies the cycle, independent of its first step.
    pub(super) cycle: u64,
    /// The newest step at the time of the report.
    pub(super) step: u64,
}

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(bytes: &[u8]) -> Result<Option<ReportedLoop>, Error> {
    state::read(bytes, LAYOUT, |input| {
        if input.is_empty() {
            return Some(None);
        }
        Some(Some(ReportedLoop { cycle: state::long(input)?, step: state::long(input)? }))
    })
}

/// Encodes the last report.
pub(super) fn to_bytes(reported: Option<ReportedLoop>) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    if let Some(reported) = reported {
        out.eight(reported.cycle.to_le_bytes());
        out.eight(reported.step.to_le_bytes());
    }
    out.into_bytes()
}

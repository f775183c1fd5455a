//! The last report: the plugin's own state.

use portcullis_builtin_shared::state;
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;

/// The mean that was reported last, in thousandths; none while all is well.
pub(super) type LastReport = Option<u32>;

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(bytes: &[u8]) -> Result<LastReport, Error> {
    let read = state::read(bytes, LAYOUT, |input| input.number().filter(|mean| *mean <= 1001))?;
    Ok(u32::try_from(read).ok().and_then(|mean| mean.checked_sub(1)))
}

/// Encodes the last report: the mean and one, or nothing.
pub(super) fn to_bytes(reported: LastReport) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    out.number(
        reported.map_or(0, |mean| usize::try_from(mean).unwrap_or(usize::MAX).saturating_add(1)),
    );
    out.into_bytes()
}

//! The last report: the plugin's own state.

use portcullis_builtin_shared::state;
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes. Bytes of another layout are dropped: at worst the same thing is
/// reported once more.
const LAYOUT: u8 = 1;

/// The share that was reported last, in thousandths; none while all is well.
pub(super) type LastReport = Option<u32>;

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(state: &[u8]) -> Result<LastReport, Error> {
    let share = state::read(state, LAYOUT, |input| input.number().filter(|share| *share <= 1001))?;
    let share = u32::try_from(share).unwrap_or(u32::MAX);
    Ok(share.checked_sub(1))
}

/// Encodes the last report: the share and one, or nothing.
pub(super) fn to_bytes(reported: LastReport) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    out.number(
        reported.map_or(0, |share| usize::try_from(share).unwrap_or(usize::MAX).saturating_add(1)),
    );
    out.into_bytes()
}

//! The last reported growth: the plugin's own state.

use super::growth::Resource;
use portcullis_builtin_shared::state;
use portcullis_plugin::codec::Writer;
use portcullis_plugin::types::Error;

/// The layout of the bytes.
const LAYOUT: u8 = 1;

/// The reported growth, by `Resource`, in thousandths and one more; 0 for none.
pub(super) type ReportedGrowth = [u32; Resource::ALL.len()];

/// Decodes the state.
///
/// # Errors
/// Fails with `invalid-input` for bytes that this layout cannot have written.
pub(super) fn read(bytes: &[u8]) -> Result<ReportedGrowth, Error> {
    state::read(bytes, LAYOUT, |input| {
        let mut reported = ReportedGrowth::default();
        for one in &mut reported {
            *one = u32::try_from(input.number()?).ok()?;
        }
        Some(reported)
    })
}

/// Encodes the last report.
pub(super) fn to_bytes(reported: &ReportedGrowth) -> Vec<u8> {
    let mut out = Writer::default();
    out.byte(LAYOUT);
    reported.iter().for_each(|one| out.number(usize::try_from(*one).unwrap_or(usize::MAX)));
    out.into_bytes()
}

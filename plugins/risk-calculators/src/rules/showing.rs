//! The evidence of a ruling: the first items of a list, each cut to the host's limit.

use portcullis_builtin_shared::text::evidence;
use portcullis_plugin::risk_calculator::Ruling;

/// The maximum number of items in the evidence of one ruling.
const SHOWN: usize = 16;

/// Returns the ruling with these things as its evidence.
pub(super) fn showing<'a>(
    ruling: Ruling,
    kind: &str,
    things: impl IntoIterator<Item = &'a str>,
) -> Ruling {
    things
        .into_iter()
        .take(SHOWN)
        .fold(ruling, |ruling, thing| ruling.because(evidence(kind, thing, None)))
}

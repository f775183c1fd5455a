//! What a ruling is about, as evidence: the first things of a list, each cut to what the host takes.

use portcullis_builtin_judging::text::evidence;
use portcullis_plugin::risk_calculator::Ruling;

/// At most this many things stand as evidence of one ruling.
const SHOWN: usize = 16;

/// The ruling with these things as its evidence.
pub(crate) fn showing<'a>(ruling: Ruling, kind: &str, things: impl IntoIterator<Item = &'a str>) -> Ruling {
    things.into_iter().take(SHOWN).fold(ruling, |ruling, thing| ruling.because(evidence(kind, thing, None)))
}

//! `limit_file_operations`: limits the writes and deletions for one prompt; it warns before they
//! are used up, at three marks and not at each action between, and past them a person decides.

use super::config::{Config, OPERATIONS};
use portcullis_builtin_shared::place;
use portcullis_plugin::risk_calculator::Ruling;
use portcullis_plugin::types::{Action, Context, Evidence, Quantity};

/// Marks after the first, in thousandths of the limit.
const LATER: u16 = 900;
const ALL: u16 = 1000;

/// Applies the rule.
pub(super) fn rule(action: &Action, context: &Context, config: &Config) -> Option<Ruling> {
    let own = u64::try_from(
        place::lasting(&action.facts).filter(|effect| place::counts_as_write(effect)).count(),
    )
    .unwrap_or(u64::MAX);
    let limit = context
        .limits
        .iter()
        .find(|limit| limit.quantity == Quantity::FileOperations)
        .filter(|_| own > 0)?;
    let maximum = config.maximum.map_or(limit.maximum, |maximum| maximum.min(limit.maximum));
    let after = limit.used.saturating_add(own);
    let state =
        [&after.to_string(), " of ", &maximum.to_string(), " writes and deletions of this prompt"]
            .concat();
    let ruling = if after > maximum {
        Ruling::ask(OPERATIONS, &["this would make ", &state].concat())
            .instead("stop here and tell the person what is left to do")
    } else if passes_mark(limit.used, after, maximum, config.warn_at) {
        Ruling::warn(OPERATIONS, &["with this, ", &state, " are used"].concat())
            .instead("change several places of a file in one edit")
    } else {
        return None;
    };
    Some(ruling.because(Evidence::new("count", after.to_string())))
}

/// Returns true if an action goes past the first mark, past nine tenths, or uses the last.
fn passes_mark(used: u64, after: u64, maximum: u64, first: u16) -> bool {
    let reached = |count: u64, mark: u16| {
        count.saturating_mul(1000) >= maximum.saturating_mul(u64::from(mark))
    };
    let marks = [first, LATER.max(first), ALL.max(first)];
    marks.into_iter().any(|mark| reached(after, mark) && !reached(used, mark))
        // Everything may be past a mark of zero: then each action is announced.
        || (first == 0)
}

//! The default values, and helpers that build the rows of the table.

use super::Value;
use portcullis_core::breaker::BreakerPolicy;
use portcullis_core::policy::Policy;
use portcullis_core::score::Score;
use std::sync::LazyLock;

/// Created once: each closure of the table is called in each hook.
pub(super) static DEFAULT: LazyLock<Policy> = LazyLock::new(Policy::default);
pub(super) static BREAKER: LazyLock<BreakerPolicy> = LazyLock::new(BreakerPolicy::default);

/// The largest count: anything above is a typing mistake.
pub(super) const MOST_COUNT: i64 = 1_000_000_000;

pub(super) fn text(text: &str) -> Option<Value> {
    Some(Value::Text(text.to_owned()))
}

pub(super) fn score(score: Score) -> Option<Value> {
    Some(Value::Decimal(f64::from(score.get()) / 1000.0))
}

pub(super) fn number(number: u64) -> Option<Value> {
    i64::try_from(number).ok().map(Value::Integer)
}

//! The totals of reviews: verdicts, times, risks, objections, interventions, faults.
//!
//! Only the journal has to be correct: every total is counted from its records, for `portcullis
//! metrics` and for the service's page alike.

mod answers;
mod count;
mod journal;
mod names;
mod prometheus;

pub use answers::{Answers, Effectiveness};
pub use count::{BUCKETS, FEEDBACK_WORDS, Metrics, ReviewTimes, RuleTotals};
pub use journal::JournalMetrics;
pub use prometheus::render_prometheus;

//! The verdict on an action: decided on the findings, then adjusted in one fixed order.
//!
//! | step | function | effect |
//! |---|---|---|
//! | 1 | [`decide()`] | matrix of risk and rationality; then critical side effects, limits, gaps, dangerous forms, the first-time relief, rules and faults |
//! | 2 | [`BY_SESSION`] | a stopped session blocks, a held one asks, and terms of a resumed one demand what they say |
//! | 3 | [`settle`] | a `modify` runs as its one rewrite, reviewed again, or becomes `ask` |
//! | 4 | [`lift_by_exception`] | a person's exception allows this exact action, unless the decision is beyond exceptions |
//! | 5 | `Decision::cannot_be_undone` | a loss that no checkpoint covers warns or asks, as the operator configured |
//! | 6 | [`refuse_in_stopped_session`] | an intervention on this very action may have stopped the session |
//!
//! Only the first-time relief in step 1 and the exception in step 4 loosen a verdict; everything else can only tighten
//! it. Every change is an [`Adjustment`] in the decision, in order. [`pipeline`](crate::pipeline) calls the steps and
//! changes no verdict itself.

mod adjust;
mod decide;

pub use adjust::{
    BY_SESSION, Change, adjust_to_session, lift_by_exception, refuse_in_stopped_session,
};
pub use decide::*;

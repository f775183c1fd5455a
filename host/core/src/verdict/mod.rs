//! The verdict on an action: decided on the findings, then adjusted in one fixed order.
//!
//! | step | function | effect |
//! |---|---|---|
//! | 1 | [`decide_verdict`] | matrix of risk and rationality; then critical side effects, gaps, limits, dangerous forms, the first-time relief, rules and faults |
//! | 2 | [`BY_SESSION`] | a stopped session blocks, a held one asks, terms of a resumed one demand what they say, and a raised one asks about what leaves the machine, runs new code or destroys; [`ask_about_new_code`] knows the files that run |
//! | 3 | [`settle_rewrites`] | a `modify` has one rewrite, or becomes `ask`; [`pipeline`](crate::pipeline) reviews it again and checks its preconditions |
//! | 4 | [`lift_by_exception`] | a person's exception allows this exact action, unless the decision is beyond exceptions |
//! | 5 | `Decision::tighten_for_loss` | a loss that no checkpoint covers warns or asks, as the operator configured |
//! | 6 | [`refuse_in_stopped_session`] | an intervention on this very action may have stopped the session |
//!
//! Only the first-time relief in step 1 and the exception in step 4 loosen a verdict; everything
//! else can only tighten it. Every change is an [`Adjustment`] in the decision, in order.
//! [`pipeline`](crate::pipeline) calls the steps, and tightens to `ask` where the rewrite of step 3
//! cannot be used.

mod adjust;
mod change;
mod decide;
mod raised;

pub use adjust::{BY_SESSION, adjust_to_session, lift_by_exception, refuse_in_stopped_session};
pub use change::VerdictChange;
pub use decide::*;
pub use raised::ask_about_new_code;

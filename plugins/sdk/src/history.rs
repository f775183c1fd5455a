//! The session so far, as a pattern sees it: totals at hand, steps on request.
//!
//! Each step that the host hands over costs time and fuel, so a pattern should request only as many
//! as it looks at. In a component the steps come from the host; in a native test they are those
//! given to [`testing::history`](crate::testing::history).

use crate::types::{Step, Totals};

/// The most steps that the host keeps for patterns.
pub const MOST_STEPS: usize = 200;
/// The number of steps in the first request if the needed number is unknown: most questions are
/// answered by these.
const FIRST: usize = 50;

/// A session's history.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Sums over the whole session.
    pub totals: Totals,
    /// None if the host is asked.
    steps: Option<Vec<Step>>,
}

impl History {
    /// Returns the history of the session under review.
    #[doc(hidden)]
    #[must_use]
    pub const fn of_host(totals: Totals) -> Self {
        Self { totals, steps: None }
    }

    pub(crate) const fn of(steps: Vec<Step>, totals: Totals) -> Self {
        Self { totals, steps: Some(steps) }
    }

    /// Returns the newest steps, oldest first: `most` of them, or as many as the host keeps, which
    /// is at most [`MOST_STEPS`]. The action under review is not among them before it ran, and is
    /// the last of them after.
    ///
    /// ```
    /// use portcullis_plugin::testing;
    ///
    /// let history = testing::history((0..5).map(testing::step));
    /// let newest: Vec<u64> = history.newest(2).iter().map(|step| step.index).collect();
    /// assert_eq!(newest, [3, 4]);
    /// ```
    #[must_use]
    pub fn newest(&self, most: usize) -> Vec<Step> {
        let most = most.min(MOST_STEPS);
        match &self.steps {
            Some(steps) => {
                steps.get(steps.len().saturating_sub(most)..).unwrap_or_default().to_vec()
            }
            None => of_host(most),
        }
    }

    /// Returns the newest steps, oldest first: few if these are enough, else all that the host
    /// keeps.
    ///
    /// ```
    /// use portcullis_plugin::testing;
    ///
    /// let history = testing::history((0..120).map(testing::step));
    /// assert_eq!(history.until(|steps| steps.len() >= 20).len(), 50);
    /// assert_eq!(history.until(|steps| steps.len() >= 60).len(), 120);
    /// ```
    #[must_use]
    pub fn until(&self, enough: impl FnOnce(&[Step]) -> bool) -> Vec<Step> {
        let steps = self.newest(FIRST);
        if steps.len() < FIRST || enough(&steps) { steps } else { self.newest(MOST_STEPS) }
    }

    /// Returns the steps from this position on, oldest first, as far back as the host keeps them.
    ///
    /// ```
    /// use portcullis_plugin::testing;
    ///
    /// let history = testing::history((0..300).map(testing::step));
    /// assert_eq!(history.since(298).len(), 2);
    /// assert_eq!(history.since(0).len(), 200);
    /// ```
    #[must_use]
    pub fn since(&self, step: u64) -> Vec<Step> {
        let mut steps =
            self.until(|steps| steps.first().is_some_and(|oldest| oldest.index <= step));
        steps.retain(|found| found.index >= step);
        steps
    }
}

#[cfg(target_arch = "wasm32")]
fn of_host(most: usize) -> Vec<Step> {
    crate::bindings::host::steps(u32::try_from(most).unwrap_or(u32::MAX))
}

/// Returns nothing: outside a component there is no host.
#[cfg(not(target_arch = "wasm32"))]
const fn of_host(_: usize) -> Vec<Step> {
    Vec::new()
}

//! A pattern over several calls.

use crate::history::History;
use crate::pattern::{Pattern, Report};
use crate::types::{Action, Context, Error, Setting};
use std::fmt;
use std::marker::PhantomData;

/// A pattern as a host runs it in one session: prepared once, with the state carried from each call
/// to the next.
///
/// ```
/// use portcullis_plugin::pattern::*;
/// use portcullis_plugin::testing::{self, PatternRun};
///
/// struct Tenth;
///
/// impl Pattern for Tenth {
///     const DESCRIPTOR: Descriptor = Descriptor::new("tenth", "0.1.0", "Reports every tenth action.");
///
///     fn detect(_: &[u8], state: &[u8], _: &History, _: &Action, _: &Context) -> Result<Report, Error> {
///         let count = state.first().map_or(1, |count| count + 1);
///         let found = (count % 10 == 0).then(|| Detection::new("tenth", Severity::Low, "ten actions"));
///         Ok(found.map_or(Report::nothing(), Report::from).remember(vec![count % 10]))
///     }
/// }
///
/// let mut run = PatternRun::<Tenth>::new(&[])?.resuming(&[8]);
/// let mut ask = || run.ask(&testing::history([]), &testing::shell("ls"), &testing::context());
/// assert!(ask()?.detections.is_empty());
/// assert_eq!(ask()?.detections.len(), 1);
/// assert_eq!(run.state(), [0]);
/// # Ok::<(), Error>(())
/// ```
pub struct PatternRun<P> {
    prepared: Vec<u8>,
    state: Vec<u8>,
    pattern: PhantomData<P>,
}

impl<P: Pattern> PatternRun<P> {
    /// Prepares the pattern, with an empty state.
    ///
    /// # Errors
    /// Fails if the pattern refuses the settings.
    pub fn new(settings: &[Setting]) -> Result<Self, Error> {
        Ok(Self { prepared: P::prepare(settings)?, state: Vec::new(), pattern: PhantomData })
    }

    /// Continues from a state of an earlier run.
    #[must_use]
    pub fn resuming(self, state: &[u8]) -> Self {
        Self { state: state.to_vec(), ..self }
    }

    /// Asks the pattern once. Its new state, if it returns one, is kept for the next call.
    ///
    /// # Errors
    /// Fails if the pattern does; then the state is unchanged.
    pub fn ask(
        &mut self,
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error> {
        let report = P::detect(&self.prepared, &self.state, history, action, context)?;
        if let Some(state) = &report.state {
            self.state.clone_from(state);
        }
        Ok(report)
    }

    /// Returns the state that the next call gets.
    #[must_use]
    pub fn state(&self) -> &[u8] {
        &self.state
    }
}

impl<P> fmt::Debug for PatternRun<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PatternRun").field("state", &self.state).finish_non_exhaustive()
    }
}

//! Notice how a session goes wrong.
//!
//! ```
//! use portcullis_plugin::pattern::*;
//! use portcullis_plugin::testing::{self, BuildStep};
//!
//! struct Costly;
//!
//! impl Pattern for Costly {
//!     const DESCRIPTOR: Descriptor = Descriptor::new("costly", "0.1.0", "Notices a session that costs too many tokens.")
//!         .reads(&[Reads::History])
//!         .severity(Severity::Medium)
//!         .settings(&[Spec::integer("most", 500_000, "tokens of a session").between(1, i64::MAX)]);
//!
//!     fn detect(prepared: &[u8], _: &[u8], history: &History, _: &Action, _: &Context) -> Result<Report, Error> {
//!         let most = Settings::read(prepared)?.integer("most")?.unsigned_abs();
//!         let spent = history.totals.tokens;
//!         Ok(if spent <= most { Report::nothing() } else {
//!             Detection::new("costly", Severity::Medium, &format!("{spent} tokens were spent, {most} were planned")).sure(1000, 500).into()
//!         })
//!     }
//! }
//!
//! portcullis_plugin::export!(pattern: Costly);
//!
//! let history = testing::history([testing::step(0).tokens(600_000)]);
//! let prepared = Costly::prepare(&[]).unwrap();
//! let report = Costly::detect(&prepared, &[], &history, &testing::shell("ls"), &testing::context()).unwrap();
//! assert_eq!(report.detections[0].summary, "600000 tokens were spent, 500000 were planned");
//! ```

pub use crate::bindings::pattern::exports::portcullis::plugin::detector::{Detection, Report};
pub use crate::descriptor::{Descriptor, Reads, Spec};
pub use crate::history::{History, MOST_STEPS};
pub use crate::settings::{FromSettings, Settings};
pub use crate::types::{
    Action, Context, Error, Evidence, Score, Setting, Severity, Status, Step, Totals, Verdict,
};

/// A plugin that notices how a session goes wrong.
///
/// ```
/// use portcullis_plugin::pattern::*;
/// use portcullis_plugin::testing;
///
/// struct Long;
///
/// impl Pattern for Long {
///     const DESCRIPTOR: Descriptor = Descriptor::new("long", "0.1.0", "Notices a session of many steps.")
///         .reads(&[Reads::History])
///         .settings(&[Spec::integer("most", 100, "how many are too many")]);
///
///     fn detect(prepared: &[u8], _: &[u8], history: &History, _: &Action, _: &Context) -> Result<Report, Error> {
///         let most = Settings::read(prepared)?.integer("most")?.unsigned_abs();
///         if history.totals.steps <= most {
///             return Ok(Report::nothing());
///         }
///         Ok(Detection::new("long", Severity::Low, "the session is long").into())
///     }
/// }
///
/// let prepared = Long::prepare(&[Setting::new("most", 1)])?;
/// let history = testing::history((0..2).map(testing::step));
/// assert_eq!(Long::detect(&prepared, &[], &history, &testing::shell("ls"), &testing::context())?.detections.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait Pattern {
    /// The plugin's metadata.
    const DESCRIPTOR: Descriptor;

    /// Checks the settings and does the work that is needed once rather than for each action. The
    /// default checks them against the descriptor and returns [`Settings::to_bytes`].
    ///
    /// # Errors
    /// Fails if a setting is unknown, of the wrong type or impossible.
    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        Self::DESCRIPTOR.prepare(settings)
    }

    /// Looks at the session. `state` is the state that the last call returned, empty at first;
    /// begin it with a version of your own ([`codec`](crate::codec) helps to write it). Request
    /// only as many steps of the history as you look at: each one costs fuel.
    ///
    /// # Errors
    /// Fails if it cannot answer. The host counts that as a fault, never as "nothing found".
    fn detect(
        prepared: &[u8],
        state: &[u8],
        history: &History,
        action: &Action,
        context: &Context,
    ) -> Result<Report, Error>;
}

/// ```
/// use portcullis_plugin::pattern::Report;
///
/// let report = Report::nothing().remember(vec![1, 7]);
/// assert!(report.detections.is_empty());
/// assert_eq!(report.state, Some(vec![1, 7]));
/// ```
impl Report {
    /// Returns no detections and keeps the remembered state.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { detections: Vec::new(), state: None }
    }

    /// Sets the bytes that the next call gets as `state`.
    #[must_use]
    pub fn remember(self, state: Vec<u8>) -> Self {
        Self { state: Some(state), ..self }
    }
}

impl From<Detection> for Report {
    fn from(detection: Detection) -> Self {
        Self { detections: vec![detection], state: None }
    }
}

/// ```
/// use portcullis_plugin::pattern::{Detection, Evidence, Report, Severity};
///
/// let detection = Detection::new("loop", Severity::Medium, "the same two commands follow each other")
///     .sure(900, 400)
///     .since(3)
///     .because(Evidence::command("make"));
/// assert_eq!((detection.confidence, detection.impact, detection.first_step), (900, 400, 3));
/// assert_eq!(Report::from(detection).detections[0].evidence[0].value, "make");
/// ```
impl Detection {
    /// Reports a problem, from step 0 on and without evidence until these are set.
    #[must_use]
    pub fn new(pattern: &str, severity: Severity, summary: &str) -> Self {
        Self {
            pattern: pattern.into(),
            severity,
            confidence: 500,
            impact: 500,
            first_step: 0,
            summary: summary.into(),
            evidence: Vec::new(),
        }
    }

    /// Sets the confidence and the share of the session that it affects; thousandths, capped at
    /// 1000.
    #[must_use]
    pub fn sure(self, confidence: Score, impact: Score) -> Self {
        Self { confidence: confidence.min(1000), impact: impact.min(1000), ..self }
    }

    /// Sets the step at which it began.
    #[must_use]
    pub fn since(self, first_step: u64) -> Self {
        Self { first_step, ..self }
    }

    /// Adds evidence.
    #[must_use]
    pub fn because(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

//! Answer an issue: guide the agent, go back, stop, or say that a person is needed.
//!
//! ```
//! use portcullis_plugin::intervention::*;
//! use portcullis_plugin::testing;
//!
//! struct Remind;
//!
//! impl Intervention for Remind {
//!     const DESCRIPTOR: Descriptor = Descriptor::new("remind", "0.1.0", "Repeats the request.").reads(&[Reads::Issue, Reads::Context]);
//!
//!     fn intervene(_: &[u8], issue: &Issue, _: &Situation, context: &Context) -> Result<Response, Error> {
//!         let Some(goal) = context.goals.last() else { return Err(Error::failed("nothing was asked for")) };
//!         Ok(Guidance::saying(format!("{}. You were asked to: {}", issue.summary, goal.text)).into())
//!     }
//! }
//!
//! portcullis_plugin::export!(intervention: Remind);
//!
//! let issue = testing::issue("goal_drift", Severity::Medium, "The last steps do not serve the request");
//! let context = testing::BuildContext::goal(testing::context(), "fix the parser");
//! let Ok(Response::Guide(guidance)) = Remind::intervene(&[], &issue, &testing::situation(), &context) else { panic!("no guidance") };
//! assert_eq!(guidance.messages, ["The last steps do not serve the request. You were asked to: fix the parser"]);
//! ```

pub use crate::bindings::intervention::exports::portcullis::plugin::intervener::{
    Background, Checkpoint, Guidance, Issue, PastIntervention, Plan, Response, Rollback, Situation,
    Stop, StopReport,
};
pub use crate::descriptor::{Descriptor, Reads, Spec};
pub use crate::settings::{FromSettings, Settings};
pub use crate::types::{
    Context, Error, Evidence, Goal, Limit, Quantity, Score, Setting, Severity, Totals,
};

/// A plugin that answers an issue.
///
/// ```
/// use portcullis_plugin::intervention::*;
/// use portcullis_plugin::testing;
///
/// struct Say;
///
/// impl Intervention for Say {
///     const DESCRIPTOR: Descriptor =
///         Descriptor::new("say", "0.1.0", "Says a word.").reads(&[Reads::Issue]).settings(&[Spec::text("word", "stop", "which")]);
///
///     fn intervene(prepared: &[u8], issue: &Issue, _: &Situation, _: &Context) -> Result<Response, Error> {
///         let settings = Settings::read(prepared)?;
///         Ok(Guidance::saying(format!("{}: {}", settings.text("word")?, issue.summary)).into())
///     }
/// }
///
/// let prepared = Say::prepare(&[Setting::new("word", "wait")])?;
/// let issue = testing::issue("loop", Severity::Low, "the same again");
/// let Response::Guide(guidance) = Say::intervene(&prepared, &issue, &testing::situation(), &testing::context())? else { panic!() };
/// assert_eq!(guidance.messages, ["wait: the same again"]);
/// # Ok::<(), Error>(())
/// ```
pub trait Intervention {
    /// The plugin's metadata.
    const DESCRIPTOR: Descriptor;

    /// Checks the settings and does the work that is needed once rather than for each issue. The
    /// default checks them against the descriptor and returns [`Settings::to_bytes`].
    ///
    /// # Errors
    /// Fails if a setting is unknown, of the wrong type or impossible.
    fn prepare(settings: &[Setting]) -> Result<Vec<u8>, Error> {
        Self::DESCRIPTOR.prepare(settings)
    }

    /// Answers one issue. The host has decided already that an intervention is due.
    ///
    /// # Errors
    /// Fails if it cannot answer. The host counts that as a fault, never as "nothing to do".
    fn intervene(
        prepared: &[u8],
        issue: &Issue,
        situation: &Situation,
        context: &Context,
    ) -> Result<Response, Error>;
}

/// ```
/// use portcullis_plugin::intervention::{Guidance, Limit, Quantity, Response};
///
/// let guidance = Guidance::saying("one thing at a time")
///     .emphasising("original request", "fix the build")
///     .recalling("boundary", "leave the tests alone")
///     .limiting(Limit { quantity: Quantity::FileOperations, maximum: 10, used: 0 });
/// assert_eq!((guidance.background.len(), guidance.limits.len()), (2, 1));
/// assert!(guidance.background[0].emphasised && !guidance.background[1].emphasised);
/// assert!(matches!(Response::from(guidance), Response::Guide(_)));
/// ```
impl Guidance {
    /// Returns a response with one message for the agent.
    #[must_use]
    pub fn saying(message: impl Into<String>) -> Self {
        Self { messages: vec![message.into()], background: Vec::new(), limits: Vec::new() }
    }

    /// Adds a fact of which the agent is to be reminded.
    #[must_use]
    pub fn recalling(mut self, title: &str, text: impl Into<String>) -> Self {
        self.background.push(Background {
            title: title.into(),
            text: text.into(),
            emphasised: false,
        });
        self
    }

    /// Adds a fact like [`Self::recalling`], but states it first and plainly.
    #[must_use]
    pub fn emphasising(mut self, title: &str, text: impl Into<String>) -> Self {
        self.background.push(Background {
            title: title.into(),
            text: text.into(),
            emphasised: true,
        });
        self
    }

    /// Adds a limit; the host refuses one that is looser than the limit in force.
    #[must_use]
    pub fn limiting(mut self, limit: Limit) -> Self {
        self.limits.push(limit);
        self
    }
}

impl From<Guidance> for Response {
    fn from(guidance: Guidance) -> Self {
        Self::Guide(guidance)
    }
}

impl From<Stop> for Response {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Plan> for Response {
    fn from(plan: Plan) -> Self {
        Self::RecoveryNeeded(plan)
    }
}

/// ```
/// use portcullis_plugin::intervention::Severity;
/// use portcullis_plugin::testing::{self, BuildIssue};
///
/// let issue = testing::issue("rule:no_force", Severity::High, "a forced push").with("command", "git push -f").with("path", "/project");
/// assert_eq!(issue.evidence_of("command").collect::<Vec<_>>(), ["git push -f"]);
/// assert_eq!((issue.rule(), issue.family()), (Some("no_force"), "rule:*"));
/// let issue = testing::issue("loop", Severity::Low, "the same again");
/// assert_eq!((issue.rule(), issue.family()), (None, "loop"));
/// ```
impl Issue {
    /// Returns the values of its evidence of one kind, in order.
    pub fn evidence_of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.evidence
            .iter()
            .filter(move |evidence| evidence.kind == kind)
            .map(|evidence| evidence.value.as_str())
    }

    /// Returns the rule's name, if the issue is a rule's objection.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.name.strip_prefix("rule:")
    }

    /// Returns the name under which its texts are listed: its own, or `rule:*` for every rule's
    /// objection.
    #[must_use]
    pub fn family(&self) -> &str {
        if self.rule().is_some() { "rule:*" } else { &self.name }
    }
}

/// ```
/// use portcullis_plugin::intervention::PastIntervention;
/// use portcullis_plugin::testing;
///
/// let mut situation = testing::situation();
/// let before = PastIntervention { kind: "soft_correction".into(), issue: "loop".into(), step: 2, at: testing::NOW, effectiveness: Some(200) };
/// situation.past.push(before);
/// assert_eq!(situation.past_of("soft-correction", "loop").count(), 1);
/// assert_eq!(situation.past_of("soft-correction", "goal_drift").count(), 0);
/// ```
impl Situation {
    /// Returns earlier interventions of one kind for one issue, newest first.
    pub fn past_of<'a>(
        &'a self,
        kind: &'a str,
        issue: &'a str,
    ) -> impl Iterator<Item = &'a PastIntervention> {
        self.past.iter().filter(move |past| past.is(kind) && past.issue == issue)
    }
}

/// ```
/// use portcullis_plugin::intervention::PastIntervention;
///
/// let past = PastIntervention { kind: "emergency_stop".into(), issue: "loop".into(), step: 2, at: 0, effectiveness: None };
/// assert!(past.is("emergency-stop") && past.is("emergency_stop") && !past.is("emergency"));
/// ```
impl PastIntervention {
    /// Returns true if it is of that kind. Kinds are named with hyphens, as plugins are, or with
    /// underscores, as types are.
    #[must_use]
    pub fn is(&self, kind: &str) -> bool {
        let plain = |byte: u8| if byte == b'_' { b'-' } else { byte };
        self.kind.bytes().map(plain).eq(kind.bytes().map(plain))
    }
}

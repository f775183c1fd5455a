//! Judge one action by itself: how risky, how sensible, what it leaves behind, which rules it
//! breaks.
//!
//! ```
//! use portcullis_plugin::risk_calculator::*;
//! use portcullis_plugin::testing;
//!
//! struct NoForce;
//!
//! impl RiskCalculator for NoForce {
//!     const DESCRIPTOR: Descriptor = Descriptor::new("no-force", "0.1.0", "Asks before a forced push.");
//!
//!     fn assess(_: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
//!         let forced = action.shell().into_iter().flat_map(|shell| &shell.commands).any(|command| {
//!             command.program == "git" && command.operands().any(|word| word.text == "push") && command.has_flag(Some('f'), "force")
//!         });
//!         Ok(if forced { Ruling::ask("no_force", "a forced push rewrites what others have").into() } else { Assessment::nothing() })
//!     }
//! }
//!
//! portcullis_plugin::export!(risk-calculator: NoForce);
//!
//! let assessment = NoForce::assess(&[], &testing::shell("git push -f"), &testing::context()).unwrap();
//! assert_eq!(assessment.rulings[0].objection, Objection::Ask);
//! ```

pub use crate::bindings::risk_calculator::exports::portcullis::plugin::assessor::{
    Assessment, Change, Edit, Factor, FactorKind, Objection, Rationality, Rewrite, Risk, Ruling,
    SideEffect, SideEffectKind, Splice,
};
pub use crate::descriptor::{Descriptor, Reads, Spec};
pub use crate::settings::{FromSettings, Settings};
pub use crate::types::{Action, Context, Error, Evidence, Score, Setting, Severity};

/// A plugin that judges one action by itself.
///
/// ```
/// use portcullis_plugin::risk_calculator::*;
/// use portcullis_plugin::testing;
///
/// struct Word;
///
/// impl RiskCalculator for Word {
///     const DESCRIPTOR: Descriptor =
///         Descriptor::new("word", "0.1.0", "Asks about a word.").settings(&[Spec::text("word", "frob", "which")]);
///
///     fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
///         let settings = Settings::read(prepared)?;
///         let said = action.parameters.contains(settings.text("word")?);
///         Ok(if said { Ruling::ask("word", "it says the word").into() } else { Assessment::nothing() })
///     }
/// }
///
/// let prepared = Word::prepare(&[Setting::new("word", "deploy")])?;
/// assert_eq!(Word::assess(&prepared, &testing::shell("make deploy"), &testing::context())?.rulings.len(), 1);
/// assert!(Word::assess(&prepared, &testing::shell("make"), &testing::context())?.rulings.is_empty());
/// # Ok::<(), Error>(())
/// ```
pub trait RiskCalculator {
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

    /// Judges one action; `prepared` is the result of [`RiskCalculator::prepare`].
    ///
    /// # Errors
    /// Fails if it cannot answer. The host counts that as a fault, never as "nothing found".
    fn assess(prepared: &[u8], action: &Action, context: &Context) -> Result<Assessment, Error>;
}

/// ```
/// use portcullis_plugin::risk_calculator::{Assessment, Risk, Ruling};
///
/// let assessment = Assessment::from(Risk::base("push", 300, "it leaves this machine")).ruling(Ruling::warn("push", "others will see it"));
/// assert_eq!((assessment.risk.map(|risk| risk.score), assessment.rulings.len()), (Some(300), 1));
/// assert!(Assessment::nothing().risk.is_none());
/// ```
impl Assessment {
    /// Returns an assessment without findings.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { risk: None, rationality: None, side_effects: None, rulings: Vec::new() }
    }

    /// Adds a ruling.
    #[must_use]
    pub fn ruling(mut self, ruling: Ruling) -> Self {
        self.rulings.push(ruling);
        self
    }
}

impl From<Ruling> for Assessment {
    fn from(ruling: Ruling) -> Self {
        Self::nothing().ruling(ruling)
    }
}

impl From<Risk> for Assessment {
    fn from(risk: Risk) -> Self {
        Self { risk: Some(risk), ..Self::nothing() }
    }
}

impl From<Rationality> for Assessment {
    fn from(rationality: Rationality) -> Self {
        Self { rationality: Some(rationality), ..Self::nothing() }
    }
}

impl From<Vec<SideEffect>> for Assessment {
    fn from(side_effects: Vec<SideEffect>) -> Self {
        Self { side_effects: Some(side_effects), ..Self::nothing() }
    }
}

/// ```
/// use portcullis_plugin::risk_calculator::{Factor, Risk};
///
/// let risk = Risk::base("delete", 500, "it deletes files").plus(Factor::custom("night", 700, "nobody is there to help"));
/// assert_eq!((risk.score, risk.factors.len()), (1000, 2));
/// ```
impl Risk {
    /// Returns a risk made of its base alone.
    #[must_use]
    pub fn base(id: &str, score: Score, reason: &str) -> Self {
        Self { score: score.min(1000), factors: vec![Factor::base(id, score, reason)] }
    }

    /// Adds a factor to the score, which is capped at 1000.
    #[must_use]
    pub fn plus(mut self, factor: Factor) -> Self {
        self.score = self.score.saturating_add(factor.weight).min(1000);
        self.factors.push(factor);
        self
    }
}

/// ```
/// use portcullis_plugin::risk_calculator::{Evidence, Factor, FactorKind};
///
/// let factor = Factor::new(FactorKind::Custom, "age", 150, "the file is old").because(Evidence::path("/project/a.txt"));
/// assert_eq!((factor.weight, factor.evidence.len()), (150, 1));
/// assert!(matches!(Factor::base("read", 100, "it reads").kind, FactorKind::Base));
/// assert!(matches!(Factor::custom("own", 100, "a reason").kind, FactorKind::Custom));
/// ```
impl Factor {
    /// Returns one part of a risk score; `weight` is in thousandths and capped at 1000.
    #[must_use]
    pub fn new(kind: FactorKind, id: &str, weight: Score, reason: &str) -> Self {
        Self {
            id: id.into(),
            kind,
            weight: weight.min(1000),
            reason: reason.into(),
            evidence: Vec::new(),
        }
    }

    /// Returns a factor for the known effect of the action.
    #[must_use]
    pub fn base(id: &str, weight: Score, reason: &str) -> Self {
        Self::new(FactorKind::Base, id, weight, reason)
    }

    /// Returns a factor for a reason of the plugin's own.
    #[must_use]
    pub fn custom(id: &str, weight: Score, reason: &str) -> Self {
        Self::new(FactorKind::Custom, id, weight, reason)
    }

    /// Adds evidence.
    #[must_use]
    pub fn because(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

/// ```
/// use portcullis_plugin::risk_calculator::{Change, Evidence, Objection, Rewrite, Ruling, Severity};
///
/// let ruling = Ruling::block("no_force", "a forced push rewrites what others have")
///     .severity(Severity::Critical)
///     .because(Evidence::command("git push -f"))
///     .instead("git push --force-with-lease");
/// assert_eq!((ruling.objection, ruling.severity), (Objection::Block, Severity::Critical));
/// assert_eq!(Ruling::ask("late", "it is late").objection, Objection::Ask);
/// assert_eq!(Ruling::warn("late", "it is late").objection, Objection::Warn);
///
/// let dry = Rewrite::of("command", Change::SetText("git push --dry-run".into()), "it only shows what it would push");
/// assert!(Ruling::modify("dry", "first without effect", dry).rewrite.is_some());
/// ```
impl Ruling {
    /// Lets the action run and gives the reason to the agent and the person.
    #[must_use]
    pub fn warn(rule: &str, reason: &str) -> Self {
        Self::new(rule, Objection::Warn, Severity::Low, reason)
    }

    /// Lets the action run with changes.
    #[must_use]
    pub fn modify(rule: &str, reason: &str, rewrite: Rewrite) -> Self {
        Self {
            rewrite: Some(rewrite),
            ..Self::new(rule, Objection::Modify, Severity::Medium, reason)
        }
    }

    /// Lets a person decide.
    #[must_use]
    pub fn ask(rule: &str, reason: &str) -> Self {
        Self::new(rule, Objection::Ask, Severity::Medium, reason)
    }

    /// Blocks the action.
    #[must_use]
    pub fn block(rule: &str, reason: &str) -> Self {
        Self::new(rule, Objection::Block, Severity::High, reason)
    }

    /// Sets another severity; `critical` stops the session.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// Adds evidence.
    #[must_use]
    pub fn because(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds an alternative to the action.
    #[must_use]
    pub fn instead(mut self, alternative: impl Into<String>) -> Self {
        self.alternatives.push(alternative.into());
        self
    }

    fn new(rule: &str, objection: Objection, severity: Severity, reason: &str) -> Self {
        Self {
            rule: rule.into(),
            objection,
            severity,
            reason: reason.into(),
            evidence: Vec::new(),
            alternatives: Vec::new(),
            rewrite: None,
        }
    }
}

/// ```
/// use portcullis_plugin::risk_calculator::{Change, Rewrite};
///
/// let rewrite = Rewrite::of("force", Change::Remove, "without force");
/// assert_eq!((rewrite.edits[0].parameter.as_str(), rewrite.explanation.as_str()), ("force", "without force"));
/// ```
impl Rewrite {
    /// Returns one change of one parameter.
    #[must_use]
    pub fn of(parameter: &str, change: Change, explanation: &str) -> Self {
        Self {
            edits: vec![Edit { parameter: parameter.into(), change }],
            explanation: explanation.into(),
        }
    }
}

//! The scales that everything is judged on: scores, severities, verdicts, levels.
//!
//! Scores are whole thousandths so that .7 + .1 is .8. No floating point enters a decision.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Thousandths, 0 to 1000; shown with two decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Score(u16);

impl Score {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The most there is.
    pub const MAX: Self = Self(1000);

    /// `thousandths` cut to 0..=1000.
    #[must_use]
    pub const fn new(thousandths: u16) -> Self {
        if thousandths > 1000 { Self(1000) } else { Self(thousandths) }
    }

    /// `thousandths` if it is 0..=1000: what a plugin sends is refused rather than cut.
    #[must_use]
    pub const fn checked(thousandths: u16) -> Option<Self> {
        if thousandths > 1000 { None } else { Some(Self(thousandths)) }
    }

    /// The whole number of thousandths.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The mean, rounded down; none of nothing.
    #[must_use]
    pub fn mean(scores: &[Self]) -> Option<Self> {
        let sum: u64 = scores.iter().map(|score| u64::from(score.0)).sum();
        let count = u64::try_from(scores.len()).ok().filter(|count| *count > 0)?;
        u16::try_from(sum / count).ok().map(Self::new)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (u32::from(self.0) + 5) / 10;
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in records, settings and messages.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use named;

named! {
    /// How bad, from least to worst.
    Severity {
        /// A nuisance.
        Low => "low",
        /// Costs work.
        Medium => "medium",
        /// Costs a lot of work, or something that cannot be had back.
        High => "high",
        /// Irreversible, system-wide, on credentials, or remote.
        Critical => "critical",
    }
}

named! {
    /// What may happen to an action, from most to least permissive.
    Verdict {
        /// No objection. It is never passed on as the person's consent.
        Allow => "allow",
        /// No objection, but agent and person are told.
        Warn => "warn",
        /// It runs changed.
        Modify => "modify",
        /// A person decides; a block where no person can.
        Ask => "ask",
        /// It does not run.
        Block => "block",
    }
}

named! {
    /// A risk score's level: critical from .95, high from .8, medium from .6.
    RiskLevel {
        /// Below .6.
        Low => "low",
        /// .6 and above.
        Medium => "medium",
        /// .8 and above.
        High => "high",
        /// .95 and above.
        Critical => "critical",
    }
}

impl RiskLevel {
    /// The level of a score.
    #[must_use]
    pub const fn of(score: Score) -> Self {
        match score.get() {
            950.. => Self::Critical,
            800.. => Self::High,
            600.. => Self::Medium,
            _ => Self::Low,
        }
    }
}

/// Risk below this is negligible: allowed unless a rule, pattern or fault objects.
pub const NEGLIGIBLE: Score = Score(300);

named! {
    /// A rationality score's level: high from .8, medium from .5.
    RationalityLevel {
        /// Below .5.
        Low => "low",
        /// .5 and above.
        Medium => "medium",
        /// .8 and above, or nothing to score.
        High => "high",
    }
}

impl RationalityLevel {
    /// The level of a score; what could not be scored is not held against the action.
    #[must_use]
    pub const fn of(score: Option<Score>) -> Self {
        match score {
            Some(Score(500..=799)) => Self::Medium,
            Some(Score(..=499)) => Self::Low,
            _ => Self::High,
        }
    }
}

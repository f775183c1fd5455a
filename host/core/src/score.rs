//! The scales of every judgement: scores, severities, verdicts, levels.
//!
//! Scores are whole thousandths so that .7 + .1 is .8. No floating point enters a decision.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Thousandths, 0 to 1000; shown with two decimals.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Score(u16);

impl Score {
    /// The lowest score.
    pub const ZERO: Self = Self(0);
    /// The highest score.
    pub const MAX: Self = Self(1000);

    /// Creates a score from `thousandths`, clamped to 0..=1000.
    #[must_use]
    pub const fn new(thousandths: u16) -> Self {
        if thousandths > 1000 { Self(1000) } else { Self(thousandths) }
    }

    /// Creates a score from `thousandths` if it is in 0..=1000: an invalid value from a plugin is
    /// refused rather than clamped.
    #[must_use]
    pub const fn from_thousandths(thousandths: u16) -> Option<Self> {
        if thousandths > 1000 { None } else { Some(Self(thousandths)) }
    }

    /// Returns the whole number of thousandths.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the mean, rounded down; none for an empty slice.
    #[must_use]
    pub fn mean_of(scores: &[Self]) -> Option<Self> {
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

            /// Returns the name used in records, settings and messages.
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
    /// The severity, from least to worst.
    Severity {
        /// A nuisance.
        Low => "low",
        /// Costs work.
        Medium => "medium",
        /// Costs a lot of work, or something that cannot be restored.
        High => "high",
        /// Irreversible, system-wide, on credentials, or remote.
        Critical => "critical",
    }
}

named! {
    /// The verdict on an action, from most to least permissive.
    Verdict {
        /// No objection. It is never passed on as the person's consent.
        Allow => "allow",
        /// No objection, but agent and person are warned.
        Warn => "warn",
        /// It runs in a changed form.
        Modify => "modify",
        /// A person decides; a block where no person can.
        Ask => "ask",
        /// It does not run.
        Block => "block",
    }
}

named! {
    /// A risk score's level; the policy sets the thresholds.
    RiskLevel {
        /// By default below .6.
        Low => "low",
        /// By default from .6.
        Medium => "medium",
        /// By default from .8.
        High => "high",
        /// By default from .95.
        Critical => "critical",
    }
}

named! {
    /// A rationality score's level; the policy sets the thresholds.
    RationalityLevel {
        /// By default below .5.
        Low => "low",
        /// By default from .5.
        Medium => "medium",
        /// By default from .8, or not scored.
        High => "high",
    }
}

//! The amount of background that is given.

use portcullis_builtin_shared::choice::one_of;
use portcullis_plugin::intervention::{Error, Issue, Settings, Severity, Situation};

/// From least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// The request, and the constraints that the issue touches.
    Light,
    /// The goals, the boundaries and the other constraints too.
    Medium,
    /// Examples too, and most of it said first.
    Strong,
}

const WORDS: &[(&str, Option<Strength>)] = &[
    ("auto", None),
    ("light", Some(Strength::Light)),
    ("medium", Some(Strength::Medium)),
    ("strong", Some(Strength::Strong)),
];

/// Returns the operator's fixed strength, if any.
///
/// # Errors
/// Fails if the setting is not one of the known words.
pub(super) fn fixed(settings: &Settings) -> Result<Option<Strength>, Error> {
    one_of(settings, "strength", WORDS)
}

const EXAMPLES: &[(&str, Option<bool>)] =
    &[("auto", None), ("yes", Some(true)), ("no", Some(false))];

/// Returns true if examples are given: as the operator says, and otherwise with `strong`.
///
/// # Errors
/// Fails if the setting is not one of the known words.
pub(super) fn gives_examples(settings: &Settings, strength: Strength) -> Result<bool, Error> {
    let fixed = one_of(settings, "include_examples", EXAMPLES)?;
    Ok(fixed.unwrap_or(strength == Strength::Strong))
}

/// Returns the strength for the issue's severity or the host's escalation, whichever is more.
pub(super) fn of(issue: &Issue, situation: &Situation) -> Strength {
    let severe = match issue.severity {
        Severity::Low => Strength::Light,
        Severity::Medium => Strength::Medium,
        Severity::High | Severity::Critical => Strength::Strong,
    };
    let escalated = match situation.level {
        0 => Strength::Light,
        1 => Strength::Medium,
        _ => Strength::Strong,
    };
    severe.max(escalated)
}

impl Strength {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Medium => "medium",
            Self::Strong => "strong",
        }
    }

    /// Returns the closing request to the agent.
    pub(super) const fn closing(self) -> &'static str {
        match self {
            Self::Light => "Please go on with this in mind.",
            Self::Medium => {
                "Before the next step, say in a sentence how it fits what is said here."
            }
            Self::Strong => {
                "Stop first and say which of this the last steps did not keep. Take no step that \
                 does not keep all of it; if there is \
                 none, ask the person."
            }
        }
    }
}

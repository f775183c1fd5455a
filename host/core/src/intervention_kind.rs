//! The interventions, from mildest to strictest.

use crate::finding::Response;
use serde::{Deserialize, Serialize};
use std::fmt;

crate::score::named! {
    /// The interventions, from mildest to strictest.
    InterventionKind {
        /// Guidance.
        SoftCorrection => "soft_correction",
        /// A reminder of the request, its constraints and boundaries.
        ContextReinforcement => "context_reinforcement",
        /// New limits.
        ResourceThrottling => "resource_throttling",
        /// A return of the files to an earlier state.
        CheckpointRollback => "checkpoint_rollback",
        /// The end of the session.
        EmergencyStop => "emergency_stop",
    }
}

impl InterventionKind {
    /// Returns the name of the builtin plugin for it: the same name with hyphens.
    #[must_use]
    pub fn plugin_name(self) -> String {
        self.as_str().replace('_', "-")
    }

    /// Returns the kind that a response amounts to, regardless of its author.
    #[must_use]
    pub const fn of_response(response: &Response) -> Self {
        match response {
            Response::Guide(guidance) if !guidance.limits.is_empty() => Self::ResourceThrottling,
            Response::Guide(guidance) if !guidance.background.is_empty() => {
                Self::ContextReinforcement
            }
            Response::Guide(_) => Self::SoftCorrection,
            Response::Rollback { .. } | Response::RecoveryNeeded { .. } => Self::CheckpointRollback,
            Response::Stop { .. } => Self::EmergencyStop,
        }
    }

    /// Returns true if it consists of text only, which the cooldown and the number of interventions
    /// silence.
    #[must_use]
    pub fn is_guidance(self) -> bool {
        self < Self::ResourceThrottling
    }

    /// Returns this kind and all milder ones, strictest first.
    pub fn and_milder(self) -> impl Iterator<Item = Self> {
        Self::ALL.iter().rev().copied().filter(move |kind| *kind <= self)
    }
}

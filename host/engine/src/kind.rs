//! The kinds of plugins, derived from the names of their exports.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The role of a component for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Judges one action.
    RiskCalculator,
    /// Watches a session.
    Pattern,
    /// Answers an issue.
    Intervention,
    /// Writes records.
    AuditExporter,
    /// Reads shell text; the host's own, never a third party's.
    ShellReader,
}

impl Kind {
    /// Every kind, in the order in which a review uses them.
    pub const ALL: &'static [Self] = &[
        Self::ShellReader,
        Self::RiskCalculator,
        Self::Pattern,
        Self::Intervention,
        Self::AuditExporter,
    ];

    /// Returns the world's name, which is the kind's name everywhere.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RiskCalculator => "risk-calculator",
            Self::Pattern => "pattern",
            Self::Intervention => "intervention",
            Self::AuditExporter => "audit-exporter",
            Self::ShellReader => "shell-reader",
        }
    }

    /// Returns the kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// Returns the interface that a component of this kind exports, without its version.
    #[must_use]
    pub const fn interface_name(self) -> &'static str {
        match self {
            Self::RiskCalculator => "portcullis:plugin/assessor",
            Self::Pattern => "portcullis:plugin/detector",
            Self::Intervention => "portcullis:plugin/intervener",
            Self::AuditExporter => "portcullis:plugin/exporter",
            Self::ShellReader => "portcullis:shell/reader",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

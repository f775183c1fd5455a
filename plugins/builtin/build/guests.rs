//! Which builtin plugins there are.

/// A builtin plugin.
pub(crate) struct Guest {
    /// The plugin's name, as in its descriptor and in the configuration.
    pub(crate) name: &'static str,
    /// The crate that it is compiled from.
    pub(crate) package: &'static str,
    /// The world that it is for.
    pub(crate) kind: Kind,
}

/// The worlds.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    RiskCalculator,
    Pattern,
    Intervention,
    AuditExporter,
    /// The host's own, for shell text.
    ShellReader,
}

impl Kind {
    /// The variant's name in the generated code.
    pub(crate) const fn variant(self) -> &'static str {
        match self {
            Self::RiskCalculator => "RiskCalculator",
            Self::Pattern => "Pattern",
            Self::Intervention => "Intervention",
            Self::AuditExporter => "AuditExporter",
            Self::ShellReader => "ShellReader",
        }
    }

    /// The world's name.
    pub(crate) const fn world(self) -> &'static str {
        match self {
            Self::RiskCalculator => "risk-calculator",
            Self::Pattern => "pattern",
            Self::Intervention => "intervention",
            Self::AuditExporter => "audit-exporter",
            Self::ShellReader => "shell-reader",
        }
    }

    /// The interface that a component of this kind exports, without its version.
    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Self::RiskCalculator => "portcullis:plugin/assessor",
            Self::Pattern => "portcullis:plugin/detector",
            Self::Intervention => "portcullis:plugin/intervener",
            Self::AuditExporter => "portcullis:plugin/exporter",
            Self::ShellReader => "portcullis:shell/reader",
        }
    }

    /// Stack in bytes. A parser recurses with what it reads, the others hardly at all; a small stack
    /// is a small memory to set up for each call.
    pub(crate) const fn stack(self) -> u32 {
        match self {
            Self::ShellReader => 1024 * 1024,
            _ => 64 * 1024,
        }
    }
}

const fn guest(name: &'static str, package: &'static str, kind: Kind) -> Guest {
    Guest { name, package, kind }
}

/// Every builtin plugin.
pub(crate) const GUESTS: &[Guest] = &[
    guest("blocked-then-bypassed", "portcullis-builtin-blocked-then-bypassed", Kind::Pattern),
    guest("checkpoint-rollback", "portcullis-builtin-checkpoint-rollback", Kind::Intervention),
    guest("context-reinforcement", "portcullis-builtin-context-reinforcement", Kind::Intervention),
    guest("csv", "portcullis-builtin-csv", Kind::AuditExporter),
    guest("custom-rules", "portcullis-builtin-custom-rules", Kind::RiskCalculator),
    guest("emergency-stop", "portcullis-builtin-emergency-stop", Kind::Intervention),
    guest("goal-drift", "portcullis-builtin-goal-drift", Kind::Pattern),
    guest("hallucination", "portcullis-builtin-hallucination", Kind::Pattern),
    guest("instruction-injection", "portcullis-builtin-instruction-injection", Kind::Pattern),
    guest("jsonl", "portcullis-builtin-jsonl", Kind::AuditExporter),
    guest("loop", "portcullis-builtin-loop", Kind::Pattern),
    guest("rationality", "portcullis-builtin-rationality", Kind::RiskCalculator),
    guest("repetitive-errors", "portcullis-builtin-repetitive-errors", Kind::Pattern),
    guest("resource-spiral", "portcullis-builtin-resource-spiral", Kind::Pattern),
    guest("resource-throttling", "portcullis-builtin-resource-throttling", Kind::Intervention),
    guest("risk", "portcullis-builtin-risk", Kind::RiskCalculator),
    guest("rules", "portcullis-builtin-rules", Kind::RiskCalculator),
    guest("scope-creep", "portcullis-builtin-scope-creep", Kind::Pattern),
    guest("secret-egress", "portcullis-builtin-secret-egress", Kind::Pattern),
    guest("shell", "portcullis-shell-reader", Kind::ShellReader),
    guest("side-effects", "portcullis-builtin-side-effects", Kind::RiskCalculator),
    guest("soft-correction", "portcullis-builtin-soft-correction", Kind::Intervention),
];

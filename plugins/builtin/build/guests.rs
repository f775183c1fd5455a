//! The builtin plugins, and the components that some of them share.

/// A component.
pub(crate) struct Guest {
    /// Its file's name, without an ending.
    pub(crate) name: &'static str,
    /// The crate that it is compiled from.
    pub(crate) package: &'static str,
    /// The world that it is for.
    pub(crate) kind: Kind,
    /// The plugins that it holds, by the names in their descriptors and in the configuration; the
    /// shell reader is not one.
    pub(crate) plugins: &'static [&'static str],
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
    /// Returns the variant's name in the generated code.
    pub(crate) const fn variant(self) -> &'static str {
        match self {
            Self::RiskCalculator => "RiskCalculator",
            Self::Pattern => "Pattern",
            Self::Intervention => "Intervention",
            Self::AuditExporter => "AuditExporter",
            Self::ShellReader => "ShellReader",
        }
    }

    /// Returns the world's name.
    pub(crate) const fn world(self) -> &'static str {
        match self {
            Self::RiskCalculator => "risk-calculator",
            Self::Pattern => "pattern",
            Self::Intervention => "intervention",
            Self::AuditExporter => "audit-exporter",
            Self::ShellReader => "shell-reader",
        }
    }

    /// Returns the interface that a component of this kind exports, without its version.
    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Self::RiskCalculator => "portcullis:plugin/assessor",
            Self::Pattern => "portcullis:plugin/detector",
            Self::Intervention => "portcullis:plugin/intervener",
            Self::AuditExporter => "portcullis:plugin/exporter",
            Self::ShellReader => "portcullis:shell/reader",
        }
    }
}

const fn guest(
    name: &'static str,
    package: &'static str,
    kind: Kind,
    plugins: &'static [&'static str],
) -> Guest {
    Guest { name, package, kind, plugins }
}

/// Every component. Its crate holds its plugins; several are a module each.
pub(crate) const GUESTS: &[Guest] = &[
    guest(
        "custom-rules",
        "portcullis-builtin-custom-rules",
        Kind::RiskCalculator,
        &["custom-rules"],
    ),
    guest(
        "exporters",
        "portcullis-builtin-exporters",
        Kind::AuditExporter,
        &["cef", "cloudevents", "csv", "ecs", "jsonl", "ocsf", "otlp", "otlp-json", "splunk"],
    ),
    guest(
        "interventions",
        "portcullis-builtin-interventions",
        Kind::Intervention,
        &[
            "checkpoint-rollback",
            "context-reinforcement",
            "emergency-stop",
            "resource-throttling",
            "soft-correction",
        ],
    ),
    guest(
        "patterns",
        "portcullis-builtin-patterns",
        Kind::Pattern,
        &[
            "blocked-then-bypassed",
            "goal-drift",
            "hallucination",
            "instruction-injection",
            "loop",
            "repetitive-errors",
            "resource-spiral",
            "scope-creep",
            "secret-egress",
        ],
    ),
    guest(
        "risk-calculators",
        "portcullis-builtin-risk-calculators",
        Kind::RiskCalculator,
        &["rationality", "risk", "rules", "side-effects"],
    ),
    guest("shell", "portcullis-shell-reader", Kind::ShellReader, &[]),
];

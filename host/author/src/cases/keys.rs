//! The keys allowed in an `expect`, by the kind of the plugin.

use super::finding::LOG;
use portcullis_core::fault::FaultKind;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::score::{Severity, Verdict};
use portcullis_engine::Kind;

/// The allowed values of a key.
#[derive(Clone, Copy)]
pub(super) enum AllowedValues {
    /// Any text.
    Text,
    /// A number from 0 to 1000.
    Score,
    /// A whole number of at least 0.
    Whole,
    /// A whole number from 0 to this.
    Most(u64),
    /// True or false.
    Flag,
    /// A list.
    List,
    /// A table.
    Table,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
}

impl AllowedValues {
    /// Describes the allowed values, to complete "it must be".
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Score => "a whole number of thousandths, 0 to 1000".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Most(most) => format!("a whole number from 0 to {most}"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Table => "a table".to_owned(),
            Self::Word(words) => {
                let words: Vec<String> = words().iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
        }
    }
}

/// A key's name and its allowed values.
pub(super) type CaseKey = (&'static str, AllowedValues);

/// The allowed values of a severity.
pub(super) const SEVERITY: AllowedValues =
    AllowedValues::Word(|| Severity::ALL.iter().map(|severity| severity.as_str()).collect());
/// The allowed values of the kind of intervention that is due.
pub(super) const DUE: AllowedValues =
    AllowedValues::Word(|| InterventionKind::ALL.iter().map(|kind| kind.as_str()).collect());
const VERDICT: AllowedValues = AllowedValues::Word(|| {
    Verdict::ALL
        .iter()
        .filter(|verdict| **verdict != Verdict::Allow)
        .map(|verdict| verdict.as_str())
        .collect()
});
const FAULT: AllowedValues =
    AllowedValues::Word(|| FaultKind::ALL.iter().map(|kind| kind.as_str()).collect());
const WHEN: AllowedValues =
    AllowedValues::Word(|| vec![super::finding::BEFORE, super::finding::AFTER]);

/// The keys for every kind of plugin.
const ALWAYS: [CaseKey; 4] =
    [("when", WHEN), ("fault", FAULT), ("detail", AllowedValues::Text), (LOG, AllowedValues::Text)];

const PATTERN: &[CaseKey] = &[
    ("pattern", AllowedValues::Text),
    ("severity", SEVERITY),
    ("confidence", AllowedValues::Score),
    ("impact", AllowedValues::Score),
    ("first_step", AllowedValues::Whole),
    ("summary", AllowedValues::Text),
    ("evidence", AllowedValues::List),
    ALWAYS[0],
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const RISK: &[CaseKey] = &[
    ("rule", AllowedValues::Text),
    ("verdict", VERDICT),
    ("severity", SEVERITY),
    ("reason", AllowedValues::Text),
    ("evidence", AllowedValues::List),
    ("alternatives", AllowedValues::List),
    ("rewrite", AllowedValues::Table),
    ("risk", AllowedValues::Score),
    ("factors", AllowedValues::List),
    ("rationality", AllowedValues::Score),
    ("alignment", AllowedValues::Score),
    ("progression", AllowedValues::Score),
    ("efficiency", AllowedValues::Score),
    ("completeness", AllowedValues::Score),
    ("issues", AllowedValues::List),
    ("suggestions", AllowedValues::List),
    ("side_effect", AllowedValues::Text),
    ("target", AllowedValues::Text),
    ("reversible", AllowedValues::Flag),
    ("mitigation", AllowedValues::Text),
    ALWAYS[0],
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const RESPONSE: AllowedValues = AllowedValues::Word(|| super::finding::RESPONSES.to_vec());

const INTERVENTION: &[CaseKey] = &[
    ("response", RESPONSE),
    ("messages", AllowedValues::List),
    ("background", AllowedValues::List),
    ("limits", AllowedValues::List),
    ("checkpoint", AllowedValues::Text),
    ("message", AllowedValues::Text),
    ("report", AllowedValues::Table),
    ("reason", AllowedValues::Text),
    ("steps", AllowedValues::List),
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const EXPORTER: &[CaseKey] = &[
    ("content_type", AllowedValues::Text),
    ("text", AllowedValues::Text),
    ("base64", AllowedValues::Text),
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

/// Returns the keys allowed for a kind of plugin.
pub(super) const fn of(kind: Kind) -> &'static [CaseKey] {
    match kind {
        Kind::Pattern => PATTERN,
        Kind::RiskCalculator => RISK,
        Kind::Intervention => INTERVENTION,
        Kind::AuditExporter => EXPORTER,
        // The shell reader is not a plugin, so it has no cases.
        Kind::ShellReader => &[],
    }
}

//! What a key of an `expect` may hold, by the kind of the plugin.

use super::finding::LOG;
use portcullis_core::fault::FaultKind;
use portcullis_core::score::{Severity, Verdict};
use portcullis_engine::Kind;

/// What a key of an `expect` holds.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    /// Any text.
    Text,
    /// 0 to 1000.
    Score,
    /// A whole number from 0 on.
    Whole,
    /// A whole number from 0 to this.
    Most(u64),
    /// True or false.
    Flag,
    /// A list.
    List,
    /// A table.
    Table,
    /// One of some words.
    Word(fn() -> Vec<&'static str>),
}

impl Holds {
    /// To complete "it must be".
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

/// The name of a key, and what it holds.
pub(super) type Key = (&'static str, Holds);

/// How bad.
pub(super) const SEVERITY: Holds = Holds::Word(|| Severity::ALL.iter().map(|severity| severity.as_str()).collect());
const VERDICT: Holds =
    Holds::Word(|| Verdict::ALL.iter().filter(|verdict| **verdict != Verdict::Allow).map(|verdict| verdict.as_str()).collect());
const FAULT: Holds = Holds::Word(|| FaultKind::ALL.iter().map(|kind| kind.as_str()).collect());
const WHEN: Holds = Holds::Word(|| vec![super::finding::BEFORE, super::finding::AFTER]);

/// What any plugin can come to.
const ALWAYS: [Key; 4] = [("when", WHEN), ("fault", FAULT), ("detail", Holds::Text), (LOG, Holds::Text)];

const PATTERN: &[Key] = &[
    ("pattern", Holds::Text),
    ("severity", SEVERITY),
    ("confidence", Holds::Score),
    ("impact", Holds::Score),
    ("first_step", Holds::Whole),
    ("summary", Holds::Text),
    ("evidence", Holds::List),
    ALWAYS[0],
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const RISK: &[Key] = &[
    ("rule", Holds::Text),
    ("verdict", VERDICT),
    ("severity", SEVERITY),
    ("reason", Holds::Text),
    ("evidence", Holds::List),
    ("alternatives", Holds::List),
    ("rewrite", Holds::Table),
    ("risk", Holds::Score),
    ("factors", Holds::List),
    ("rationality", Holds::Score),
    ("alignment", Holds::Score),
    ("progression", Holds::Score),
    ("efficiency", Holds::Score),
    ("completeness", Holds::Score),
    ("issues", Holds::List),
    ("suggestions", Holds::List),
    ("side_effect", Holds::Text),
    ("target", Holds::Text),
    ("reversible", Holds::Flag),
    ("mitigation", Holds::Text),
    ALWAYS[0],
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const RESPONSE: Holds = Holds::Word(|| super::finding::RESPONSES.to_vec());

const INTERVENTION: &[Key] = &[
    ("response", RESPONSE),
    ("messages", Holds::List),
    ("background", Holds::List),
    ("limits", Holds::List),
    ("checkpoint", Holds::Text),
    ("message", Holds::Text),
    ("report", Holds::Table),
    ("reason", Holds::Text),
    ("steps", Holds::List),
    ALWAYS[1],
    ALWAYS[2],
    ALWAYS[3],
];

const EXPORTER: &[Key] = &[("content_type", Holds::Text), ("text", Holds::Text), ("base64", Holds::Text), ALWAYS[1], ALWAYS[2], ALWAYS[3]];

/// What may stand in an `expect`.
pub(super) const fn of(kind: Kind) -> &'static [Key] {
    match kind {
        Kind::Pattern => PATTERN,
        Kind::RiskCalculator => RISK,
        Kind::Intervention => INTERVENTION,
        Kind::AuditExporter => EXPORTER,
        // It is no plugin, so nobody has cases of it.
        Kind::ShellReader => &[],
    }
}

//! `[case.step.issue]`: the issue that an intervention has to answer.

use super::super::CaseIssue;
use super::super::keys::{AllowedValues, CaseKey, DUE, SEVERITY};
use super::Reader;
use super::expected::{a_plugin, read_fields};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{Checkpoint, Evidence, PastIntervention};
use portcullis_core::intervene::InterventionKind;
use portcullis_core::score::{Score, Severity};
use portcullis_engine::Kind;
use portcullis_review::recording::EPOCH;
use portcullis_strict_toml::{Item, Value as TomlValue};
use serde_json::{Map, Value};

const PATH: &str = "case.step.issue";

/// The host's highest escalation level.
const MOST_LEVEL: u64 = 4;

const ISSUE: &[CaseKey] = &[
    ("name", AllowedValues::Text),
    ("severity", SEVERITY),
    ("confidence", AllowedValues::Score),
    ("impact", AllowedValues::Score),
    ("first_step", AllowedValues::Whole),
    ("summary", AllowedValues::Text),
    ("evidence", AllowedValues::List),
    ("recurrences", AllowedValues::Most(u32::MAX as u64)),
    ("level", AllowedValues::Most(MOST_LEVEL)),
    ("due", DUE),
    ("score", AllowedValues::Most(u32::MAX as u64)),
    ("checkpoints", AllowedValues::List),
    ("past", AllowedValues::List),
    ("limits", AllowedValues::List),
    ("templates", AllowedValues::Table),
];

const EVIDENCE: &[CaseKey] = &[
    ("kind", AllowedValues::Text),
    ("value", AllowedValues::Text),
    ("step", AllowedValues::Whole),
];

const CHECKPOINT: &[CaseKey] = &[
    ("id", AllowedValues::Text),
    ("step", AllowedValues::Whole),
    ("success_rate", AllowedValues::Score),
    ("unsafe_because", AllowedValues::Text),
];

const PAST: &[CaseKey] = &[
    ("kind", AllowedValues::Text),
    ("issue", AllowedValues::Text),
    ("step", AllowedValues::Whole),
    ("effectiveness", AllowedValues::Score),
];

const LIMIT: &[CaseKey] = &[
    ("quantity", AllowedValues::Text),
    ("maximum", AllowedValues::Whole),
    ("used", AllowedValues::Whole),
];

impl Reader {
    pub(super) fn issue(&self, item: &Item<'_>) -> Option<CaseIssue> {
        if self.kind != Kind::Intervention {
            let of = a_plugin(self.kind);
            item.report(format!(
                "`{PATH}` is for interventions; {of} is asked about no issue: take it out"
            ));
            return None;
        }
        let TomlValue::Table(table) = item.value() else {
            item.report(format!(
                "`{PATH}` is {}; a step has one issue: write it with one bracket, `[{PATH}]`",
                item.type_name()
            ));
            return None;
        };
        let fields = read_fields(item, ISSUE)?;
        if !table.contains("name") {
            table.report("the issue has no `name`; give a pattern's, as `name = \"loop\"`, or `rule:` and a rule's");
        }
        let usual = CaseIssue::with_name(text(&fields, "name")?);
        let list = |key: &str| table.get(key);
        Some(CaseIssue {
            severity: fields.get("severity").and_then(severity).unwrap_or(usual.severity),
            confidence: score(&fields, "confidence").unwrap_or(usual.confidence),
            impact: score(&fields, "impact").unwrap_or(usual.impact),
            first_step: whole(&fields, "first_step"),
            summary: text(&fields, "summary").unwrap_or(usual.summary),
            evidence: read_list(list("evidence"), EVIDENCE, &["kind", "value"], |fields| {
                Evidence {
                    kind: text(fields, "kind").unwrap_or_default(),
                    value: text(fields, "value").unwrap_or_default(),
                    step: whole(fields, "step"),
                }
            }),
            recurrences: small(&fields, "recurrences").unwrap_or_default(),
            level: whole(&fields, "level")
                .and_then(|level| u8::try_from(level).ok())
                .unwrap_or_default(),
            due: fields.get("due").and_then(intervention_kind),
            score: small(&fields, "score"),
            checkpoints: read_list(list("checkpoints"), CHECKPOINT, &["id"], |fields| Checkpoint {
                id: text(fields, "id").unwrap_or_default(),
                step: whole(fields, "step").unwrap_or_default(),
                at: EPOCH,
                success_rate: score(fields, "success_rate").unwrap_or(Score::MAX),
                unsafe_because: text(fields, "unsafe_because"),
            }),
            past: read_list(list("past"), PAST, &["kind"], |fields| PastIntervention {
                kind: text(fields, "kind").unwrap_or_default(),
                issue: text(fields, "issue").unwrap_or_else(|| usual.name.clone()),
                step: whole(fields, "step").unwrap_or_default(),
                at: EPOCH,
                effectiveness: score(fields, "effectiveness"),
            }),
            limits: read_list(list("limits"), LIMIT, &["quantity", "maximum"], |fields| Limit {
                quantity: quantity(&text(fields, "quantity").unwrap_or_default()),
                maximum: whole(fields, "maximum").unwrap_or_default(),
                used: whole(fields, "used").unwrap_or_default(),
            }),
            templates: read_templates(list("templates")),
            name: usual.name,
        })
    }
}

/// Reads the tables of a list, and checks their required keys.
fn read_list<T>(
    item: Option<Item<'_>>,
    keys: &[CaseKey],
    needed: &[&str],
    of: impl Fn(&Map<String, Value>) -> T,
) -> Vec<T> {
    // A value of another type has been reported with the issue's other keys.
    let Some(TomlValue::List(list)) = item.map(|item| item.value()) else { return Vec::new() };
    let mut found = Vec::new();
    for item in list.iter() {
        let Some(fields) = read_fields(&item, keys) else { continue };
        let TomlValue::Table(table) = item.value() else { continue };
        if let Some(missing) = needed.iter().find(|key| !table.contains(key)) {
            item.report(format!("a table of `{}` has no `{missing}`; add it", item.path()));
        }
        found.push(of(&fields));
    }
    found
}

fn read_templates(item: Option<Item<'_>>) -> Vec<(String, String)> {
    let Some(TomlValue::Table(table)) = item.map(|item| item.value()) else { return Vec::new() };
    let text = |item: Item<'_>| Some((item.key().to_owned(), item.text()?.to_owned()));
    table.entries().into_iter().filter_map(text).collect()
}

/// Returns a limit's quantity by its name; a name that the host does not know is a custom quantity.
fn quantity(name: &str) -> Quantity {
    serde_json::from_value(Value::from(name)).unwrap_or_else(|_| Quantity::Other(name.to_owned()))
}

fn severity(word: &Value) -> Option<Severity> {
    Severity::ALL.iter().copied().find(|severity| word == severity.as_str())
}

fn intervention_kind(word: &Value) -> Option<InterventionKind> {
    InterventionKind::ALL.iter().copied().find(|kind| word == kind.as_str())
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::to_owned)
}

fn whole(fields: &Map<String, Value>, key: &str) -> Option<u64> {
    fields.get(key)?.as_u64()
}

fn small(fields: &Map<String, Value>, key: &str) -> Option<u32> {
    whole(fields, key).and_then(|number| u32::try_from(number).ok())
}

fn score(fields: &Map<String, Value>, key: &str) -> Option<Score> {
    whole(fields, key).and_then(|number| u16::try_from(number).ok()).map(Score::new)
}

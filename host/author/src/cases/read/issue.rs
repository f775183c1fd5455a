//! `[case.step.issue]`: the issue that an intervention has to answer.

use super::super::CaseIssue;
use super::super::keys::{AllowedValues, CaseKey, SEVERITY};
use super::Reader;
use super::expected::{a_plugin, read_fields};
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{Checkpoint, Evidence, PastIntervention};
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
        let told = read_fields(item, ISSUE)?;
        if !table.contains("name") {
            table.report("the issue has no `name`; give a pattern's, as `name = \"loop\"`, or `rule:` and a rule's");
        }
        let usual = CaseIssue::named(text(&told, "name")?);
        let list = |key: &str| table.get(key);
        Some(CaseIssue {
            severity: told.get("severity").and_then(severity).unwrap_or(usual.severity),
            confidence: score(&told, "confidence").unwrap_or(usual.confidence),
            impact: score(&told, "impact").unwrap_or(usual.impact),
            first_step: whole(&told, "first_step"),
            summary: text(&told, "summary").unwrap_or(usual.summary),
            evidence: read_list(list("evidence"), EVIDENCE, &["kind", "value"], |told| Evidence {
                kind: text(told, "kind").unwrap_or_default(),
                value: text(told, "value").unwrap_or_default(),
                step: whole(told, "step"),
            }),
            recurrences: small(&told, "recurrences").unwrap_or_default(),
            level: whole(&told, "level")
                .and_then(|level| u8::try_from(level).ok())
                .unwrap_or_default(),
            score: small(&told, "score"),
            checkpoints: read_list(list("checkpoints"), CHECKPOINT, &["id"], |told| Checkpoint {
                id: text(told, "id").unwrap_or_default(),
                step: whole(told, "step").unwrap_or_default(),
                at: EPOCH,
                success_rate: score(told, "success_rate").unwrap_or(Score::MAX),
                unsafe_because: text(told, "unsafe_because"),
            }),
            past: read_list(list("past"), PAST, &["kind"], |told| PastIntervention {
                kind: text(told, "kind").unwrap_or_default(),
                issue: text(told, "issue").unwrap_or_else(|| usual.name.clone()),
                step: whole(told, "step").unwrap_or_default(),
                at: EPOCH,
                effectiveness: score(told, "effectiveness"),
            }),
            limits: read_list(list("limits"), LIMIT, &["quantity", "maximum"], |told| Limit {
                quantity: quantity(&text(told, "quantity").unwrap_or_default()),
                maximum: whole(told, "maximum").unwrap_or_default(),
                used: whole(told, "used").unwrap_or_default(),
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
        let Some(told) = read_fields(&item, keys) else { continue };
        let TomlValue::Table(table) = item.value() else { continue };
        if let Some(missing) = needed.iter().find(|key| !table.contains(key)) {
            item.report(format!("a table of `{}` has no `{missing}`; add it", item.path()));
        }
        found.push(of(&told));
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

fn text(told: &Map<String, Value>, key: &str) -> Option<String> {
    told.get(key)?.as_str().map(str::to_owned)
}

fn whole(told: &Map<String, Value>, key: &str) -> Option<u64> {
    told.get(key)?.as_u64()
}

fn small(told: &Map<String, Value>, key: &str) -> Option<u32> {
    whole(told, key).and_then(|number| u32::try_from(number).ok())
}

fn score(told: &Map<String, Value>, key: &str) -> Option<Score> {
    whole(told, key).and_then(|number| u16::try_from(number).ok()).map(Score::new)
}

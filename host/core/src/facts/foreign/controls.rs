//! Calls whose object tells more than their verb: one that controls who may do what or what is
//! noticed, one that sends everybody elsewhere, one that starts a deployment.

use super::Name;
use super::switches::{is_set, names_production};
use crate::facts::texts;
use crate::facts::verbs::{self, VerbMeaning};
use serde_json::{Map, Value};

/// Objects that keep others out or notice what they do.
const CONTROLS: &[&str] = &[
    "2fa",
    "alarm",
    "alarms",
    "audit",
    "auditing",
    "detector",
    "detectors",
    "encryption",
    "factor",
    "factors",
    "firewall",
    "guardduty",
    "logging",
    "mfa",
    "monitor",
    "monitoring",
    "monitors",
    "protection",
    "rls",
    "scanner",
    "scanning",
    "sso",
    "totp",
    "trail",
    "trails",
    "waf",
];
/// Verbs that take such an object away.
const TAKES: &[&str] = &[
    "bypass",
    "deactivate",
    "delete",
    "detach",
    "disable",
    "mute",
    "pause",
    "purge",
    "remove",
    "reset",
    "silence",
    "stop",
    "suspend",
    "unenroll",
];
/// Verbs that change what names lead to.
const MOVES: &[&str] =
    &["change", "create", "delete", "edit", "patch", "put", "remove", "set", "update", "upsert"];
/// Servers that hold such names.
const REGISTRARS: &[&str] =
    &["cloudflare", "dns", "dnsimple", "gandi", "godaddy", "namecheap", "porkbun", "route53"];
/// Verbs and objects of something that a build service runs.
const STARTS: &[&str] =
    &["create", "dispatch", "invoke", "rerun", "retry", "run", "start", "trigger"];
const RUNS: &[&str] =
    &["build", "builds", "dag", "dispatch", "hook", "job", "pipeline", "workflow", "workflows"];
/// Parts of texts that say that such a run deploys something.
const DEPLOYS: &[&str] =
    &["deploy", "deployment", "migrate", "production", "prod", "publish", "release", "rollout"];
/// Copies by which something is replaced.
const COPIES: &[&str] = &["backup", "backups", "database", "db", "dump", "snapshot", "snapshots"];

/// A finding about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// A control is weakened.
    Weakens,
    /// A name of the internet leads elsewhere.
    Leads,
    /// Something is put where others use it.
    Deploys,
    /// A change is carried out without being shown first.
    Unshown,
    /// Every row of a table changes.
    AllRows,
}

/// Returns the findings about a call.
pub(super) fn controls_of(
    name: &Name,
    input: &Map<String, Value>,
    parameters: &[(String, String)],
    meaning: VerbMeaning,
) -> Vec<Control> {
    let says = |words: &[&str]| name.says(words);
    let server = |words: &[&str]| name.1.iter().any(|word| words.contains(&word.as_str()));
    let mut found = Vec::new();
    if meaning == VerbMeaning::Looks {
        return found;
    }
    if says(TAKES) && says(CONTROLS) || unsets(name, input) {
        found.push(Control::Weakens);
    }
    let names = says(&["dns", "nameserver", "nameservers"])
        || server(REGISTRARS) && says(&["record", "records", "zone"]);
    if names && says(MOVES) {
        found.push(Control::Leads);
    }
    let deploys = |(key, text): &(String, String)| {
        let target = !matches!(key.as_str(), "owner" | "repo" | "repository" | "message" | "body");
        target && text.len() <= 200 && parts_of(text).any(|part| DEPLOYS.contains(&part.as_str()))
    };
    if says(STARTS) && says(RUNS) && parameters.iter().any(deploys)
        || says(&["import", "load", "restore"]) && says(COPIES)
    {
        found.push(Control::Deploys);
    }
    if is_set(input, &["autoapprove", "autoapproved", "skipapproval"]) {
        found.push(Control::Unshown);
    }
    if changes_all_rows(name, input) {
        found.push(Control::AllRows);
    }
    found
}

/// Returns true for a call that switches a control off by a parameter: `set_logging` with
/// `enabled: false`.
fn unsets(name: &Name, input: &Map<String, Value>) -> bool {
    let off = |(key, value): (&String, &Value)| {
        let key = texts::plain(key);
        let switch =
            matches!(key.as_str(), "enable" | "enabled" | "active" | "on" | "status" | "state");
        let text = value.as_str().map(str::to_ascii_lowercase);
        switch
            && (value.as_bool() == Some(false)
                || text
                    .is_some_and(|text| matches!(text.as_str(), "off" | "disabled" | "inactive")))
    };
    name.says(CONTROLS) && input.iter().any(off)
}

/// Returns true for a change or a deletion of rows without a condition: it has a filter that is
/// empty.
fn changes_all_rows(name: &Name, input: &Map<String, Value>) -> bool {
    const FILTERS: &[&str] =
        &["condition", "conditions", "filter", "match", "query", "selector", "where"];
    let changes = name.says(&["delete", "remove", "set", "update", "replace", "patch"]);
    let rows = name.says(&["documents", "many", "records", "rows", "items", "table"])
        || name.asks_database();
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(object) => object.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => {
            matches!(text.replace(char::is_whitespace, "").as_str(), "" | "{}" | "1=1" | "true")
        }
        _ => false,
    };
    let filter = input.iter().find(|(key, _)| FILTERS.contains(&texts::plain(key).as_str()));
    changes && rows && filter.is_some_and(|(_, value)| is_empty(value))
}

/// Returns true for a call that changes something in production, by a parameter that names the
/// place.
pub(super) fn is_in_production(parameters: &[(String, String)], places: &[&str]) -> bool {
    let production = |(key, text): &(String, String)| {
        places.contains(&texts::plain(key).as_str()) && names_production(text)
    };
    parameters.iter().any(production)
}

/// Returns the words of a text, in lower case.
fn parts_of(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase)
}

/// Returns what the words of a button or a link say that it does.
pub(super) fn meaning_of_element(text: &str) -> VerbMeaning {
    const KINDS: &[&str] = &[
        "a", "an", "button", "field", "icon", "item", "link", "menu", "my", "option", "the",
        "this", "your",
    ];
    let words: Vec<String> = parts_of(text)
        .filter(|word| !word.is_empty() && !KINDS.contains(&word.as_str()))
        .take(12)
        .collect();
    verbs::meaning_of(&words)
}

//! A plugin's answer, as the keys and values of a case file.

use data_encoding::BASE64;
use portcullis_core::action::{Limit, Quantity};
use portcullis_core::fault::Fault;
use portcullis_core::finding::{
    Assessment, Guidance, Rationality, Rendered, Report, Response, SideEffectKind,
};
use portcullis_core::plugins::PluginResponse;
use serde::Serialize;
use serde_json::{Map, Value};
use toml::ser::ValueSerializer;

/// The moment before the call runs.
pub const BEFORE: &str = "before";
/// The moment after it ended.
pub const AFTER: &str = "after";
/// The key of a line of the plugin's log.
pub const LOG: &str = "log";

/// The possible responses of an intervention.
pub const RESPONSES: [&str; 4] = ["guide", "rollback", "stop", "recovery-needed"];

/// One part of a plugin's answer, or a fault instead of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct CaseFinding(pub Map<String, Value>);

impl CaseFinding {
    /// Returns true for a line of the log.
    pub fn is_log(&self) -> bool {
        self.0.contains_key(LOG)
    }

    fn of(when: &str, what: &impl Serialize) -> Self {
        let mut map = Map::from_iter([("when".to_owned(), Value::from(when))]);
        if let Ok(Value::Object(found)) = serde_json::to_value(what) {
            map.extend(
                found
                    .into_iter()
                    .map(|(key, value)| (key, without_nulls(value)))
                    .filter(|(_, value)| !value.is_null()),
            );
        }
        Self(map)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        let rest = std::mem::take(&mut self.0);
        self.0.insert("when".to_owned(), rest.get("when").cloned().unwrap_or_default());
        self.0.insert(key.to_owned(), value.into());
        self.0.extend(rest.into_iter().filter(|(known, _)| known != "when" && known != key));
        self
    }
}

/// Converts a pattern's answer.
pub fn of_report(when: &str, answer: &PluginResponse<Report>) -> Vec<CaseFinding> {
    of(Some(when), answer, |report| {
        report.detections.iter().map(|detection| CaseFinding::of(when, detection)).collect()
    })
}

/// Converts a risk-calculator's answer: each part of its assessment separately.
pub fn of_assessment(when: &str, answer: &PluginResponse<Assessment>) -> Vec<CaseFinding> {
    of(Some(when), answer, |assessment| {
        let mut found = Vec::new();
        if let Some(risk) = &assessment.risk {
            let factors =
                serde_json::to_value(&risk.factors).map(without_nulls).unwrap_or_default();
            found.push(
                CaseFinding::of(when, &()).with("risk", risk.score.get()).and("factors", factors),
            );
        }
        found.extend(
            assessment.rationality.iter().map(|rationality| of_rationality(when, rationality)),
        );
        for effect in assessment.side_effects.iter().flatten() {
            let kind = match &effect.kind {
                SideEffectKind::Other(name) => name.clone(),
                known => serde_json::to_value(known)
                    .ok()
                    .and_then(|kind| kind.as_str().map(str::to_owned))
                    .unwrap_or_default(),
            };
            let mut finding = CaseFinding::of(when, effect).with("side_effect", kind);
            finding.0.shift_remove("kind");
            found.push(finding);
        }
        found.extend(assessment.rulings.iter().map(|ruling| CaseFinding::of(when, ruling)));
        found
    })
}

fn of_rationality(when: &str, rationality: &Rationality) -> CaseFinding {
    let finding = CaseFinding::of(when, rationality);
    match rationality.score() {
        Some(score) => finding.with("rationality", score.get()),
        None => finding,
    }
}

/// Converts an intervention's answer.
pub fn of_response(answer: &PluginResponse<Response>) -> Vec<CaseFinding> {
    of(None, answer, |response| {
        let [guide, rollback, stop, needed] = RESPONSES;
        let respond = |word: &str| CaseFinding(Map::new()).and("response", word);
        vec![match response {
            Response::Guide(guidance) => respond(guide).guiding(guidance),
            Response::Rollback { checkpoint, guidance } => {
                respond(rollback).and("checkpoint", checkpoint.as_str()).guiding(guidance)
            }
            Response::Stop { message, report } => respond(stop)
                .and("message", message.as_str())
                .and("report", serde_json::to_value(report).unwrap_or_default()),
            Response::RecoveryNeeded { reason, steps } => {
                respond(needed).and("reason", reason.as_str()).and("steps", steps.as_slice())
            }
        }]
    })
}

/// Converts an exporter's answer; `text` replaces the parts of its text that differ between
/// versions of the host.
pub fn of_rendered(
    answer: &PluginResponse<Rendered>,
    text: impl FnOnce(&str) -> String,
) -> Vec<CaseFinding> {
    of(None, answer, |rendered| {
        let finding = CaseFinding(Map::new()).and("content_type", rendered.content_type.as_str());
        vec![match std::str::from_utf8(&rendered.bytes) {
            Ok(written) => finding.and("text", text(written)),
            Err(_) => finding.and("base64", BASE64.encode(&rendered.bytes)),
        }]
    })
}

fn of<T>(
    when: Option<&str>,
    answer: &PluginResponse<T>,
    convert: impl FnOnce(&T) -> Vec<CaseFinding>,
) -> Vec<CaseFinding> {
    let log = answer.log.iter().map(|line| begun(when).and(LOG, line.as_str()));
    let said = match &answer.result {
        Ok(said) => convert(said),
        Err(fault) => vec![of_fault(when, fault)],
    };
    log.chain(said).collect()
}

/// Converts a fault of the plugin, or the host's rejection of its answer.
pub fn of_fault(when: Option<&str>, fault: &Fault) -> CaseFinding {
    begun(when).and("fault", fault.kind.as_str()).and("detail", fault.detail.as_str())
}

fn begun(when: Option<&str>) -> CaseFinding {
    CaseFinding(when.map(|when| ("when".to_owned(), when.into())).into_iter().collect())
}

impl CaseFinding {
    fn guiding(self, guidance: &Guidance) -> Self {
        let background = serde_json::to_value(&guidance.background).unwrap_or_default();
        let limits: Value = guidance.limits.iter().map(of_limit).collect();
        self.and("messages", guidance.messages.as_slice())
            .and("background", background)
            .and("limits", limits)
    }

    fn and(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }
}

/// Converts a limit, without the used amount, which the host counts.
fn of_limit(limit: &Limit) -> Value {
    let quantity = match &limit.quantity {
        Quantity::Other(name) => Value::from(name.as_str()),
        known => serde_json::to_value(known).unwrap_or_default(),
    };
    Value::Object(Map::from_iter([
        ("quantity".to_owned(), quantity),
        ("maximum".to_owned(), limit.maximum.into()),
    ]))
}

/// Removes nulls, which a case file cannot express.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}

/// Formats findings for the file, each below that head.
pub fn render_findings(path: &str, findings: &[Map<String, Value>]) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("[[{path}]]\n"));
        finding.iter().for_each(|(key, value)| text.push_str(&line_text(key, value)));
    }
    text
}

/// Formats a key with its value.
pub fn line_text(key: &str, value: &Value) -> String {
    format!("{key} = {}\n", value_text(value))
}

/// The most bytes of a list on a single line.
const MOST_LIST: usize = 100;

/// Formats a value. The tables of a list and the items of a long list are on separate lines, and so
/// are the lines of a text.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Array(items)
            if items.iter().any(Value::is_object)
                || (items.len() > 1 && toml(value).len() > MOST_LIST) =>
        {
            let items: String = items.iter().map(|item| format!("    {},\n", toml(item))).collect();
            format!("[\n{items}]")
        }
        Value::String(text) if text.contains('\n') => lines_text(text),
        value => toml(value),
    }
}

/// Formats a text of several lines.
fn lines_text(text: &str) -> String {
    let mut quoted = "\"\"\"\n".to_owned();
    for character in text.chars() {
        match character {
            '\\' => quoted.push_str("\\\\"),
            // Three marks in a row would end the text.
            '"' if quoted.ends_with("\"\"") => quoted.push_str("\\\""),
            '\n' => quoted.push(character),
            // A literal tab would look like spaces.
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(control)))
            }
            other => quoted.push(other),
        }
    }
    // A mark at the end would become one of the closing ones.
    if quoted.ends_with('"') && !quoted.ends_with("\\\"") {
        quoted.pop();
        quoted.push_str("\\\"");
    }
    quoted + "\"\"\""
}

fn toml(value: &Value) -> String {
    let mut text = String::new();
    // It could only fail for values that TOML cannot express, which `without_nulls` removed.
    let _ = value.serialize(ValueSerializer::new(&mut text));
    text
}

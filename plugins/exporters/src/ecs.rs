//! The exporter `ecs`: records as JSON Lines in the Elastic Common Schema.
//!
//! Fields that the schema has are under its names; the rest is below `portcullis`. The record's own
//! text is in `event.original`, from which the journal's chain can be recomputed.

use crate::record::{ExportedRecord, Gravity, MOST_TEXT, fraction};
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, RecordKind, Rendered, Verdict,
};
use portcullis_plugin::text::{cut, rfc3339};
use serde_json::{Map, Value, json};

/// The version of the schema whose fields are used; all of them are in later ones too.
const VERSION: &str = "8.17.0";
/// The most bytes of a field that Elasticsearch indexes as a keyword.
const KEYWORD: usize = 1024;

/// The exporter.
#[derive(Debug)]
pub struct Ecs;

impl AuditExporter for Ecs {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "ecs",
        env!("CARGO_PKG_VERSION"),
        "Writes records as JSON Lines in the Elastic Common Schema.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let size: usize = records.iter().map(|record| record.document.len() * 5 / 4 + 1024).sum();
        let mut out = String::with_capacity(size);
        for record in records {
            out.push_str(&document(&ExportedRecord::read(record)).to_string());
            out.push('\n');
        }
        Ok(Rendered::text(out, "application/x-ndjson"))
    }
}

fn document(exported: &ExportedRecord<'_>) -> Value {
    let record = exported.record;
    let mut fields = Map::new();
    fields.insert("@timestamp".into(), rfc3339(record.at).into());
    fields.insert("ecs".into(), json!({ "version": VERSION }));
    fields.insert("message".into(), cut(&record.summary, MOST_TEXT).into());
    fields.insert("event".into(), Value::Object(event(exported)));
    fields.insert(
        "observer".into(),
        json!({ "vendor": "Portcullis", "product": "portcullis", "version": env!("CARGO_PKG_VERSION") }),
    );
    if !exported.host().is_empty() {
        fields.insert("host".into(), json!({ "name": exported.host() }));
    }
    if let Some(command) = exported.command_line() {
        fields.insert("process".into(), json!({ "command_line": cut(command, MOST_TEXT) }));
    }
    if let Some(file) = exported.file() {
        fields.insert("file".into(), json!({ "path": cut(file.path.text(), KEYWORD) }));
    }
    if let Some(request) = exported.request() {
        fields.insert("url".into(), json!({ "original": cut(request.url.text(), KEYWORD) }));
        if let Some(method) = request.method.get() {
            fields.insert("http".into(), json!({ "request": { "method": cut(method, KEYWORD) } }));
        }
    }
    if !record.detections.is_empty() {
        let names: Vec<&str> =
            record.detections.iter().map(|detected| detected.pattern.as_str()).collect();
        fields.insert("rule".into(), json!({ "name": names, "category": "pattern" }));
    }
    fields.insert("portcullis".into(), Value::Object(own_fields(exported)));
    Value::Object(fields)
}

fn event(exported: &ExportedRecord<'_>) -> Map<String, Value> {
    let record = exported.record;
    let mut event = Map::new();
    event.insert("id".into(), exported.uid_of(record.sequence).into());
    event.insert("kind".into(), if is_alert(exported) { "alert" } else { "event" }.into());
    let (category, kinds) = categories(exported);
    event.insert("category".into(), json!(category));
    event.insert("type".into(), json!(kinds));
    event.insert("action".into(), record.kind.as_str().into());
    event.insert("module".into(), "portcullis".into());
    event.insert("dataset".into(), "portcullis.audit".into());
    event.insert("provider".into(), "portcullis".into());
    event.insert("sequence".into(), record.sequence.into());
    event.insert("severity".into(), severity(exported.gravity()).into());
    if let Some(decision) = &record.decision {
        event.insert("risk_score".into(), json!(fraction(decision.risk) * 100.0));
        if let Some(reason) = decision.reasons.first() {
            event.insert("reason".into(), cut(reason, KEYWORD).into());
        }
    }
    if let Some(outcome) = outcome(exported) {
        event.insert("outcome".into(), outcome.into());
    }
    let duration = exported.document.outcome.get().and_then(|outcome| outcome.duration_ms.get());
    if let Some(duration) = duration {
        event.insert("duration".into(), duration.saturating_mul(1_000_000).into());
    }
    event.insert("hash".into(), record.hash.as_str().into());
    event.insert("original".into(), record.document.as_str().into());
    event
}

fn own_fields(exported: &ExportedRecord<'_>) -> Map<String, Value> {
    let record = exported.record;
    let mut own = Map::new();
    for (name, text) in [
        ("record", record.id.as_str()),
        ("session", &record.session),
        ("agent", record.agent.as_deref().unwrap_or_default()),
        ("client", exported.client()),
        ("event", exported.event()),
        ("subject", &record.subject),
        ("journal", exported.journal()),
        ("previous", &record.previous),
        ("salt", exported.attribute("salt")),
        ("stored", exported.attribute("stored")),
    ] {
        if !text.is_empty() {
            own.insert(name.into(), cut(text, KEYWORD).into());
        }
    }
    exported.add_decision(&mut own);
    if !record.detections.is_empty() {
        let detections = record.detections.iter().map(|detected| {
            json!({
                "pattern": detected.pattern,
                "severity": detected.severity.as_str(),
                "confidence": fraction(detected.confidence),
            })
        });
        own.insert("detections".into(), detections.collect());
    }
    exported.add_faults(&mut own);
    own
}

/// Returns true for a record that a person should see.
fn is_alert(exported: &ExportedRecord<'_>) -> bool {
    !exported.record.detections.is_empty() || exported.verdict() >= Some(Verdict::Ask)
}

/// Returns the values of `event.category` and `event.type` that the schema allows together.
fn categories(exported: &ExportedRecord<'_>) -> (Vec<&'static str>, Vec<&'static str>) {
    let denied = exported.verdict() == Some(Verdict::Block) && !exported.is_observing();
    let with =
        |category, kind| (vec![category], if denied { vec![kind, "denied"] } else { vec![kind] });
    if !exported.record.detections.is_empty() {
        return (vec!["intrusion_detection"], vec!["info"]);
    }
    match &exported.record.kind {
        RecordKind::Session => (vec!["session"], vec!["info"]),
        RecordKind::Configuration => (vec!["configuration"], vec!["change"]),
        RecordKind::Review | RecordKind::Outcome | RecordKind::Unreviewed => {
            if let Some(file) = exported.file() {
                let kind = match file.access.text() {
                    "create" => "creation",
                    "modify" => "change",
                    "delete" => "deletion",
                    _ => "access",
                };
                // `file` does not allow `denied`.
                return (vec!["file"], vec![kind]);
            }
            if exported.request().is_some() {
                return with("network", "connection");
            }
            if exported.command_line().is_some() {
                return (vec!["process"], vec!["start"]);
            }
            (vec!["process"], vec!["info"])
        }
        _ => (vec!["process"], vec!["info"]),
    }
}

/// Returns the end of what the record is about, in the schema's words.
fn outcome(exported: &ExportedRecord<'_>) -> Option<&'static str> {
    let status = exported.document.outcome.get().map(|outcome| outcome.status.text());
    match (status, exported.verdict()) {
        (Some("ok"), _) => Some("success"),
        (Some("failed" | "refused"), _) => Some("failure"),
        (_, Some(Verdict::Block)) if !exported.is_observing() => Some("failure"),
        (_, Some(Verdict::Allow | Verdict::Warn)) => Some("success"),
        (_, Some(_)) => Some("unknown"),
        _ => None,
    }
}

/// Returns a severity from 1 to 99, as Elastic's own detection rules number it.
const fn severity(gravity: Gravity) -> u8 {
    match gravity {
        Gravity::Informational => 1,
        Gravity::Low => 21,
        Gravity::Medium => 47,
        Gravity::High => 73,
        Gravity::Critical => 99,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    /// The values of `event.type` that the schema allows for each `event.category` used here.
    const ALLOWED: &[(&str, &[&str])] = &[
        ("file", &["access", "change", "creation", "deletion", "info"]),
        (
            "network",
            &["access", "allowed", "connection", "denied", "end", "info", "protocol", "start"],
        ),
        ("process", &["access", "change", "end", "info", "start"]),
        ("session", &["start", "end", "info"]),
        ("configuration", &["access", "change", "creation", "deletion", "info"]),
        ("intrusion_detection", &["allowed", "denied", "info"]),
    ];

    fn rendered(record: &AuditRecord) -> Value {
        let rendered = Ecs::render(&[], std::slice::from_ref(record), true).unwrap();
        assert_eq!(rendered.content_type, "application/x-ndjson");
        let text = String::from_utf8(rendered.bytes).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_operation_has_its_fields_and_an_allowed_category() {
        let rows = [
            (r#"{"shell":{"text":"rm -r x"}}"#, "/process/command_line", json!("rm -r x")),
            (r#"{"file":{"path":"/a","access":"delete"}}"#, "/file/path", json!("/a")),
            (r#"{"file":{"path":"/a","access":"read"}}"#, "/event/type", json!(["access"])),
            (
                r#"{"network":{"url":"https://x/","method":"GET"}}"#,
                "/url/original",
                json!("https://x/"),
            ),
            (r#"{"network":{"url":"https://x/"}}"#, "/event/type", json!(["connection", "denied"])),
            (r#"{"tool":{"server":"s","name":"n"}}"#, "/event/category", json!(["process"])),
        ];
        for (operation, pointer, expected) in rows {
            let mut record = testing::record(3);
            record.document = format!(r#"{{"action":{{"operation":{operation}}}}}"#);
            record.decision.as_mut().unwrap().verdict = Verdict::Block;
            let found = rendered(&record);
            assert_eq!(found.pointer(pointer), Some(&expected), "{operation}");
            assert_eq!(found["event"]["outcome"], "failure", "{operation}");
            assert_eq!(found["event"]["kind"], "alert", "{operation}");
            assert_eq!(found["event"]["original"], record.document);
            let category = found["event"]["category"][0].as_str().unwrap();
            let allowed = ALLOWED.iter().find(|(name, _)| *name == category).unwrap().1;
            for kind in found["event"]["type"].as_array().unwrap() {
                assert!(allowed.contains(&kind.as_str().unwrap()), "{category} {kind}");
            }
        }
    }

    #[test]
    fn what_only_observes_denies_nothing() {
        let mut record = testing::record(3);
        record.document =
            r#"{"mode":"observe","action":{"operation":{"network":{"url":"https://x/"}}}}"#.into();
        record.decision.as_mut().unwrap().verdict = Verdict::Block;
        let found = rendered(&record);
        assert_eq!(found["event"]["type"], json!(["connection"]));
        assert_eq!(found["event"]["outcome"], "unknown");
    }
}

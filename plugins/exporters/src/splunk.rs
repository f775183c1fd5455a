//! The exporter `splunk`: records as events of Splunk's HTTP event collector, one a line.
//!
//! The event has the fields to search for, and the record as the journal holds it in `record`. `uid`
//! is the same each time a record is sent.

use crate::record::{ExportedRecord, MOST_TEXT, fraction};
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::cut;
use serde_json::{Map, Value, json};

/// The exporter.
#[derive(Debug)]
pub struct Splunk;

impl AuditExporter for Splunk {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "splunk",
        env!("CARGO_PKG_VERSION"),
        "Writes records as events of Splunk's HTTP event collector.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let size: usize = records.iter().map(|record| record.document.len() + 1024).sum();
        let mut out = String::with_capacity(size);
        for record in records {
            out.push_str(&envelope(&ExportedRecord::read(record)).to_string());
            out.push('\n');
        }
        Ok(Rendered::text(out, "application/json"))
    }
}

fn envelope(exported: &ExportedRecord<'_>) -> Value {
    let mut envelope = Map::new();
    // Seconds with milliseconds: exact in a double until the year 287396.
    envelope.insert("time".into(), json!(exported.record.at as f64 / 1000.0));
    if !exported.host().is_empty() {
        envelope.insert("host".into(), exported.host().into());
    }
    envelope.insert("source".into(), "portcullis".into());
    envelope.insert("sourcetype".into(), "portcullis:audit".into());
    envelope.insert("event".into(), Value::Object(event(exported)));
    Value::Object(envelope)
}

fn event(exported: &ExportedRecord<'_>) -> Map<String, Value> {
    let record = exported.record;
    let mut event = Map::new();
    event.insert("uid".into(), exported.uid_of(record.sequence).into());
    event.insert("id".into(), record.id.as_str().into());
    event.insert("sequence".into(), record.sequence.into());
    for (name, text) in [
        ("kind", record.kind.as_str()),
        ("session", &record.session),
        ("agent", record.agent.as_deref().unwrap_or_default()),
        ("client", exported.client()),
        ("event", exported.event()),
        ("subject", &record.subject),
        ("summary", &record.summary),
        ("journal", exported.journal()),
        ("previous", &record.previous),
        ("hash", &record.hash),
    ] {
        if !text.is_empty() {
            event.insert(name.into(), cut(text, MOST_TEXT).into());
        }
    }
    exported.add_decision(&mut event);
    if !record.detections.is_empty() {
        let detections = record.detections.iter().map(|detected| {
            json!({
                "pattern": detected.pattern,
                "severity": detected.severity.as_str(),
                "confidence": fraction(detected.confidence),
                "impact": fraction(detected.impact),
            })
        });
        event.insert("detections".into(), detections.collect());
    }
    exported.add_faults(&mut event);
    let document = serde_json::from_str(&record.document);
    event.insert("record".into(), document.unwrap_or_else(|_| record.document.as_str().into()));
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::audit_exporter::{Detected, Faulted, Severity};
    use portcullis_plugin::testing;

    fn rendered(records: &[AuditRecord]) -> Vec<Value> {
        let rendered = Splunk::render(&[], records, true).unwrap();
        assert_eq!(rendered.content_type, "application/json");
        let text = String::from_utf8(rendered.bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn an_event_is_exact() {
        let mut record = testing::record(7);
        record.at += 7;
        record.attributes = vec![("host", "box").into(), ("client", "c").into()];
        record.document = r#"{"a":1}"#.into();
        record.detections = vec![Detected {
            pattern: "loop".into(),
            severity: Severity::High,
            confidence: 700,
            impact: 500,
        }];
        record.faults =
            vec![Faulted { source: "s".into(), name: "trap".into(), detail: "d".into() }];
        let expected = json!({
            "time": 1_767_268_800.007,
            "host": "box",
            "source": "portcullis",
            "sourcetype": "portcullis:audit",
            "event": {
                "uid": "journal-7",
                "id": "record-7",
                "sequence": 7,
                "kind": "review",
                "session": "session-1",
                "client": "c",
                "subject": "Bash",
                "summary": "Bash: ls",
                "journal": "journal",
                "previous": "0".repeat(64),
                "hash": "1".repeat(64),
                "verdict": "allow",
                "risk": 0.1,
                "confidence": 0.9,
                "reasons": [],
                "sources": [],
                "detections": [
                    { "pattern": "loop", "severity": "high", "confidence": 0.7, "impact": 0.5 },
                ],
                "faults": [{ "source": "s", "name": "trap", "detail": "d" }],
                "record": { "a": 1 },
            },
        });
        assert_eq!(rendered(&[record]), [expected]);
    }

    #[test]
    fn each_event_is_one_line() {
        let mut record = testing::record(1);
        record.decision = None;
        record.summary = "a\nb".repeat(MOST_TEXT);
        record.document = "nonsense\n{".into();
        let events = rendered(&[record.clone(), record]);
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["event"]["record"], "nonsense\n{");
        assert!(events[0]["event"]["summary"].as_str().unwrap().len() <= MOST_TEXT);
        assert_eq!(events[0]["event"].get("verdict"), None);
    }
}

//! The exporter `cloudevents`: records as a batch of CloudEvents 1.0 in JSON.
//!
//! The envelope has the required attributes, `time`, `subject` and the extension `sequence`; its data
//! is the record as the journal holds it. `source` and `id` together are the same each time a record
//! is sent, so a receiver knows one that comes twice.

use crate::record::ExportedRecord;
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::{push_json, rfc3339};
use serde::de::IgnoredAny;

/// The digits of `sequence`, so that texts are in the order of numbers.
const DIGITS: usize = 20;

/// The exporter.
#[derive(Debug)]
pub struct CloudEvents;

impl AuditExporter for CloudEvents {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "cloudevents",
        env!("CARGO_PKG_VERSION"),
        "Writes records as a batch of CloudEvents in JSON, for a webhook.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let size: usize = records.iter().map(|record| record.document.len() + 768).sum();
        let mut out = String::with_capacity(size);
        for record in records {
            out.push(if out.is_empty() { '[' } else { ',' });
            push_event(&mut out, &ExportedRecord::read(record));
        }
        out.push_str(if out.is_empty() { "[]" } else { "]" });
        Ok(Rendered::text(out, "application/cloudevents-batch+json"))
    }
}

fn push_event(out: &mut String, exported: &ExportedRecord<'_>) {
    let record = exported.record;
    out.push_str("{\"specversion\":\"1.0\"");
    let host = if exported.host().is_empty() { "unknown" } else { exported.host() };
    let fields = [
        ("id", exported.uid_of(record.sequence)),
        ("source", format!("urn:portcullis:{}:{}", encode(host), encode(exported.journal()))),
        ("type", format!("portcullis.{}.v1", record.kind.as_str())),
        ("subject", record.session.clone()),
        ("time", rfc3339(record.at)),
        ("sequence", format!("{:0DIGITS$}", record.sequence)),
        ("recordid", record.id.clone()),
        ("recordhash", record.hash.clone()),
        ("previoushash", record.previous.clone()),
        ("proofsalt", exported.attribute("salt").to_owned()),
        ("storedhash", exported.attribute("stored").to_owned()),
    ];
    for (name, value) in fields {
        // An attribute is not empty.
        if !value.is_empty() {
            push_field(out, name, &value);
        }
    }
    let is_json = serde_json::from_str::<IgnoredAny>(&record.document).is_ok();
    if is_json {
        push_field(out, "datacontenttype", "application/json");
        out.push_str(",\"data\":");
        out.push_str(&record.document);
    } else {
        push_field(out, "datacontenttype", "text/plain");
        push_field(out, "data", &record.document);
    }
    out.push('}');
}

fn push_field(out: &mut String, name: &str, value: &str) {
    out.push(',');
    push_json(out, name);
    out.push(':');
    push_json(out, value);
}

/// Writes a text as a part of a URI: everything but letters, digits, `-`, `.` and `_` as `%XX`.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;
    use serde_json::{Value, json};

    fn rendered(records: &[AuditRecord]) -> Value {
        let rendered = CloudEvents::render(&[], records, true).unwrap();
        assert_eq!(rendered.content_type, "application/cloudevents-batch+json");
        serde_json::from_slice(&rendered.bytes).unwrap()
    }

    #[test]
    fn an_event_is_exact() {
        let mut record = testing::record(7);
        record.attributes = vec![("host", "a box").into(), ("journal", "0123").into()];
        record.document = r#"{"id":"record-7","a":[1,"x\n"]}"#.into();
        let expected = json!([{
            "specversion": "1.0",
            "id": "0123-7",
            "source": "urn:portcullis:a%20box:0123",
            "type": "portcullis.review.v1",
            "subject": "session-1",
            "time": "2026-01-01T12:00:00.000Z",
            "sequence": "00000000000000000007",
            "recordid": "record-7",
            "recordhash": "1".repeat(64),
            "previoushash": "0".repeat(64),
            "datacontenttype": "application/json",
            "data": { "id": "record-7", "a": [1, "x\n"] },
        }]);
        assert_eq!(rendered(&[record]), expected);
        assert_eq!(rendered(&[]), json!([]));
    }

    #[test]
    fn a_document_cannot_leave_its_event() {
        for document in [r#"{}},{"specversion":"1.0""#, "", "{", "\"", "nonsense"] {
            let mut record = testing::record(1);
            record.document = document.into();
            record.session = String::new();
            let events = rendered(&[record.clone(), record]);
            assert_eq!(events.as_array().unwrap().len(), 2, "{document}");
            assert_eq!(events[0]["data"], document);
            assert_eq!(events[0]["datacontenttype"], "text/plain");
            assert_eq!(events[0].get("subject"), None);
        }
    }
}

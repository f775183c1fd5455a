//! The exporter `jsonl`: records as JSON Lines, one object a line.
//!
//! The object holds the fields to search for, then `previous`, `hash` and `document`. The document
//! is the record as the journal holds it, put into a JSON *string*: even if a shipper or a database
//! changes the line's own formatting, unescaping that string gives back every byte that was hashed,
//! which a nested object would not. So anybody can check an export without the journal:
//!
//! ```text
//! hash = BLAKE3("portcullis journal v1" || previous || sequence as 8 bytes, big end first || document)
//! ```
//!
//! with `previous` as its 32 bytes, and each line's `previous` equal to the `hash` of the line
//! before. Nothing is cut or judged here.

use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Decision, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::{push_json, rfc3339};

/// The exporter.
#[derive(Debug)]
pub struct Jsonl;

impl AuditExporter for Jsonl {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "jsonl",
        env!("CARGO_PKG_VERSION"),
        "Writes records as JSON Lines from which the journal's chain can be recomputed.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let mut out = String::with_capacity(
            records.iter().map(|record| record.document.len() * 5 / 4 + 512).sum(),
        );
        for record in records {
            line(&mut out, record);
        }
        Ok(Rendered::text(out, "application/x-ndjson"))
    }
}

fn line(out: &mut String, record: &AuditRecord) {
    out.push_str("{\"sequence\":");
    out.push_str(&record.sequence.to_string());
    field(out, "id", &record.id);
    field(out, "at", &rfc3339(record.at));
    field(out, "kind", record.kind.as_str());
    field(out, "session", &record.session);
    if let Some(agent) = &record.agent {
        field(out, "agent", agent);
    }
    field(out, "subject", &record.subject);
    field(out, "summary", &record.summary);
    if let Some(decision) = &record.decision {
        decided(out, decision);
    }
    field(out, "previous", &record.previous);
    field(out, "hash", &record.hash);
    field(out, "document", &record.document);
    out.push_str("}\n");
}

/// Writes a decision. Risk is a whole number of thousandths, as in the document.
fn decided(out: &mut String, decision: &Decision) {
    field(out, "verdict", decision.verdict.as_str());
    out.push_str(",\"risk\":");
    out.push_str(&decision.risk.to_string());
}

fn field(out: &mut String, name: &str, value: &str) {
    out.push(',');
    push_json(out, name);
    out.push(':');
    push_json(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::audit_exporter::RecordKind;
    use portcullis_plugin::testing;
    use serde_json::Value;

    fn rendered(records: &[AuditRecord]) -> Vec<Value> {
        let rendered = Jsonl::render(&[], records, true).unwrap();
        assert_eq!(rendered.content_type, "application/x-ndjson");
        let text = String::from_utf8(rendered.bytes).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn hash(previous: &[u8; 32], sequence: u64, document: &str) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(b"portcullis journal v1")
            .update(previous)
            .update(&sequence.to_be_bytes())
            .update(document.as_bytes());
        hasher.finalize()
    }

    #[test]
    fn documents_come_back_byte_for_byte() {
        let every_ascii: String = (0..=127_u8).map(char::from).collect();
        for document in [
            "",
            "{}",
            "{\"a\": 1.0}",
            "{\"text\":\"line\\nbreak \\u0000\"}",
            "\u{2028}\u{2029}\u{feff}\r\n",
            "\\\"\\\\",
            &every_ascii,
            "ü🚪𝄞",
        ] {
            let mut record = testing::record(1);
            record.document = document.into();
            record.summary = document.into();
            let lines = rendered(&[record]);
            assert_eq!(lines.len(), 1, "{document:?}");
            assert_eq!(lines[0]["document"], document);
            assert_eq!(lines[0]["summary"], document);
        }
    }

    #[test]
    fn the_chain_can_be_recomputed_from_the_export() {
        let mut previous = [0; 32];
        let mut records = Vec::new();
        for sequence in 1..=4 {
            let mut record = testing::record(sequence);
            record.document =
                format!("{{\"sequence\":{sequence},\"say\":\"\\\"{}\\\"\"}}", "é\\n".repeat(3));
            record.previous = blake3::Hash::from(previous).to_string();
            previous = hash(&previous, sequence, &record.document).into();
            record.hash = blake3::Hash::from(previous).to_string();
            records.push(record);
        }
        let mut head = [0; 32];
        for line in rendered(&records) {
            assert_eq!(line["previous"], blake3::Hash::from(head).to_string());
            head =
                hash(&head, line["sequence"].as_u64().unwrap(), line["document"].as_str().unwrap())
                    .into();
            assert_eq!(line["hash"], blake3::Hash::from(head).to_string());
        }
        assert_eq!(head, previous);
    }

    #[test]
    fn fields_are_there_when_they_mean_something() {
        let mut silent = testing::record(2);
        silent.decision = None;
        silent.kind = RecordKind::Other("approval".into());
        let mut spoken = testing::record(u64::MAX);
        spoken.agent = Some("reviewer".into());
        let lines = rendered(&[silent, spoken]);
        assert_eq!(
            (&lines[0]["kind"], lines[0].get("verdict"), lines[0].get("agent")),
            (&Value::from("approval"), None, None)
        );
        assert_eq!(
            (&lines[1]["verdict"], &lines[1]["risk"]),
            (&Value::from("allow"), &Value::from(100))
        );
        assert_eq!(
            (&lines[1]["agent"], &lines[1]["sequence"]),
            (&Value::from("reviewer"), &Value::from(u64::MAX))
        );
        assert_eq!(lines[1]["at"], "2026-01-01T12:00:00.000Z");
        assert!(rendered(&[]).is_empty());
    }
}

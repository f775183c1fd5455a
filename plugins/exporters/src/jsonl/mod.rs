//! The exporter `jsonl`: records as JSON Lines, one object a line.
//!
//! The object holds the fields to search for, then `previous`, `hash` and `document`. The document
//! is the record as the journal holds it, put into a JSON *string*: even if a shipper or a database
//! changes the line's own formatting, unescaping that string gives back every byte that was hashed,
//! which a nested object would not. So anybody can check an export without the journal:
//!
//! ```text
//! hash = BLAKE3("portcullis journal v2" || previous || sequence as 8 bytes, big end first ||
//!               BLAKE3(document, keyed with `salt`) || stored)
//! ```
//!
//! with `previous`, `salt` and `stored` (the hash of the ciphertext that the journal holds) as 32 bytes
//! each. A record that the journal holds as plain text has neither `salt` nor `stored`:
//!
//! ```text
//! hash = BLAKE3("portcullis journal v1" || previous || sequence as 8 bytes, big end first || document)
//! ```
//!
//! A record with `erased_at` (milliseconds since 1970) has a document in place of the one that was hashed.
//! Each line's `previous` is equal to the `hash` of the line before. Nothing is cut or judged here.

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

/// The attributes that lead from an encrypted record's document to its hash, and the one that says that
/// the document is another one by now.
const PROOF: [&str; 3] = ["salt", "stored", "erased_at"];

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
    for name in PROOF {
        if let Some(found) = record.attributes.iter().find(|found| found.name == name) {
            field(out, name, &found.value);
        }
    }
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

    type Proof = ([u8; 32], [u8; 32]);

    fn hash(
        previous: &[u8; 32],
        sequence: u64,
        document: &str,
        proof: Option<Proof>,
    ) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        let version =
            if proof.is_some() { "portcullis journal v2" } else { "portcullis journal v1" };
        hasher.update(version.as_bytes()).update(previous).update(&sequence.to_be_bytes());
        match proof {
            None => hasher.update(document.as_bytes()),
            Some((salt, stored)) => hasher
                .update(blake3::keyed_hash(&salt, document.as_bytes()).as_bytes())
                .update(&stored),
        };
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
            // Every other one is encrypted in the journal.
            let proof = sequence.is_multiple_of(2).then_some(([7; 32], [9; 32]));
            if let Some((salt, stored)) = proof {
                let hex = |bytes: [u8; 32]| blake3::Hash::from(bytes).to_string();
                record.attributes = vec![
                    ("salt", hex(salt).as_str()).into(),
                    ("stored", hex(stored).as_str()).into(),
                ];
            }
            previous = hash(&previous, sequence, &record.document, proof).into();
            record.hash = blake3::Hash::from(previous).to_string();
            records.push(record);
        }
        let mut head = [0; 32];
        for line in rendered(&records) {
            assert_eq!(line["previous"], blake3::Hash::from(head).to_string());
            let bytes = |name: &str| -> Option<[u8; 32]> {
                Some(blake3::Hash::from_hex(line.get(name)?.as_str().unwrap()).unwrap().into())
            };
            let (sequence, document) =
                (line["sequence"].as_u64().unwrap(), line["document"].as_str().unwrap());
            assert_eq!(bytes("salt").is_some(), sequence.is_multiple_of(2));
            head = hash(&head, sequence, document, bytes("salt").zip(bytes("stored"))).into();
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

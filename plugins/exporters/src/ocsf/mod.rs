//! The exporter `ocsf`: records as events of the Open Cybersecurity Schema Framework 1.9, one a line.
//!
//! An action keeps the class that it has without an agent: a command is process activity, a file tool
//! file activity, a request HTTP activity, another tool API activity. A record with detections is a
//! detection finding, a stop an incident finding, a use of a credential authentication, and the rest
//! application lifecycle. The profile `security_control` has the verdict, `record_integrity` the
//! journal's chain, and `ai_operation` the agent.
//!
//! `raw_data` is the record as the journal holds it. The attestation's fingerprint is that record's
//! hash, so anybody can check the chain as an export of `jsonl` describes it; the journal's hash is
//! BLAKE3, which the schema has no number for.

mod class;
mod verdict;

use crate::record::{ExportedRecord, Gravity, MOST_TEXT, fraction};
use class::{EventClass, choose_class};
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::cut;
use serde_json::{Map, Value, json};

/// The version of the schema.
const VERSION: &str = "1.9.0";
/// The name of the fingerprint's algorithm, which is not one of the schema's.
const ALGORITHM: &str = "BLAKE3 of the journal record";
/// The number of an algorithm that the schema has none for.
const OTHER_ALGORITHM: u8 = 99;

/// The exporter.
#[derive(Debug)]
pub struct Ocsf;

impl AuditExporter for Ocsf {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "ocsf",
        env!("CARGO_PKG_VERSION"),
        "Writes records as OCSF 1.9 events, one a line, with the journal's chain.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let size: usize = records.iter().map(|record| record.document.len() * 5 / 4 + 2048).sum();
        let mut out = String::with_capacity(size);
        for record in records {
            out.push_str(&event(&ExportedRecord::read(record)).to_string());
            out.push('\n');
        }
        Ok(Rendered::text(out, "application/x-ndjson"))
    }
}

fn event(exported: &ExportedRecord<'_>) -> Value {
    let record = exported.record;
    let class = choose_class(exported);
    let mut event = Map::new();
    let mut put = |name: &str, value: Value| drop(event.insert(name.to_owned(), value));
    put("class_uid", class.uid.into());
    put("class_name", class.name.into());
    put("category_uid", (class.uid / 1000).into());
    put("category_name", class.category.into());
    put("activity_id", class.activity.into());
    put("activity_name", class.activity_name.into());
    put("type_uid", (u32::from(class.uid) * 100 + u32::from(class.activity)).into());
    put("type_name", format!("{}: {}", class.name, class.activity_name).into());
    put("time", record.at.into());
    let (severity, severity_name) = severity(exported.gravity());
    put("severity_id", severity.into());
    put("severity", severity_name.into());
    put("message", cut(&record.summary, MOST_TEXT).into());
    put("metadata", metadata(exported, &class));
    put("raw_data", record.document.as_str().into());
    put("attestation_list", json!([attestation(exported)]));
    for (name, value) in class.fields {
        put(name, value);
    }
    for (name, value) in verdict::control_fields(exported) {
        put(name, value);
    }
    put("unmapped", Value::Object(unmapped(exported)));
    Value::Object(event)
}

fn metadata(exported: &ExportedRecord<'_>, class: &EventClass) -> Value {
    let record = exported.record;
    let mut metadata = Map::new();
    let mut put = |name: &str, value: Value| drop(metadata.insert(name.to_owned(), value));
    put("version", VERSION.into());
    put("uid", exported.uid_of(record.sequence).into());
    put("original_event_uid", record.id.as_str().into());
    put("sequence", record.sequence.into());
    put("log_name", "journal".into());
    put(
        "product",
        json!({
            "name": "portcullis",
            "vendor_name": "Portcullis",
            "version": env!("CARGO_PKG_VERSION"),
        }),
    );
    if !record.session.is_empty() {
        put("correlation_uid", record.session.as_str().into());
    }
    if !exported.event().is_empty() {
        put("event_code", exported.event().into());
    }
    // `host` has the device and the actor.
    let mut profiles = vec!["host", "record_integrity"];
    if record.decision.is_some() {
        profiles.push("security_control");
    }
    if class.has_agent {
        profiles.push("ai_operation");
    }
    put("profiles", json!(profiles));
    Value::Object(metadata)
}

/// Returns the place of the record in the journal's chain. The first record of a journal has none
/// before it.
fn attestation(exported: &ExportedRecord<'_>) -> Value {
    let record = exported.record;
    let mut attestation = Map::new();
    attestation.insert("uid".into(), record.id.as_str().into());
    attestation.insert("chain_uid".into(), exported.journal().into());
    if !exported.host().is_empty() {
        attestation.insert("authority_uid".into(), exported.host().into());
    }
    attestation.insert("fingerprint".into(), fingerprint(&record.hash));
    if let Some(before) = record.sequence.checked_sub(1).filter(|before| *before > 0) {
        attestation.insert(
            "prev_event".into(),
            json!({ "uid": exported.uid_of(before), "fingerprint": fingerprint(&record.previous) }),
        );
    }
    Value::Object(attestation)
}

fn fingerprint(hash: &str) -> Value {
    json!({ "algorithm_id": OTHER_ALGORITHM, "algorithm": ALGORITHM, "value": hash })
}

const fn severity(gravity: Gravity) -> (u8, &'static str) {
    match gravity {
        Gravity::Informational => (1, "Informational"),
        Gravity::Low => (2, "Low"),
        Gravity::Medium => (3, "Medium"),
        Gravity::High => (4, "High"),
        Gravity::Critical => (5, "Critical"),
    }
}

/// Returns what the schema has no place for.
fn unmapped(exported: &ExportedRecord<'_>) -> Map<String, Value> {
    let record = exported.record;
    let mut own = Map::new();
    for (name, text) in [
        ("kind", record.kind.as_str()),
        ("subject", &record.subject),
        ("session", &record.session),
        ("agent", record.agent.as_deref().unwrap_or_default()),
        ("client", exported.client()),
        ("mode", exported.document.mode.text()),
    ] {
        if !text.is_empty() {
            own.insert(name.into(), text.into());
        }
    }
    if let Some(decision) = &record.decision {
        own.insert("verdict".into(), decision.verdict.as_str().into());
        own.insert("risk".into(), json!(fraction(decision.risk)));
        own.insert("reasons".into(), json!(decision.reasons));
        own.insert("sources".into(), json!(decision.sources));
    }
    exported.add_faults(&mut own);
    own
}

#[cfg(test)]
mod tests;

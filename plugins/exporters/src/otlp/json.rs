//! A request of OTLP in JSON: names in camel case, 64 bits as text.

use super::{AnyValue, Attribute, LogRecord, Logs, SCHEMA};
use serde_json::{Value, json};

pub(super) fn write_request(logs: &Logs) -> Value {
    let records: Vec<Value> = logs.records.iter().map(log_record).collect();
    json!({
        "resourceLogs": [{
            "resource": { "attributes": attributes(&logs.resource) },
            "schemaUrl": SCHEMA,
            "scopeLogs": [{
                "scope": { "name": "portcullis", "version": env!("CARGO_PKG_VERSION") },
                "schemaUrl": SCHEMA,
                "logRecords": records,
            }],
        }],
    })
}

fn log_record(record: &LogRecord) -> Value {
    let (number, text) = record.severity;
    let time = record.time.to_string();
    json!({
        "timeUnixNano": time,
        "observedTimeUnixNano": time,
        "severityNumber": number,
        "severityText": text,
        "eventName": record.name,
        "body": { "stringValue": record.body },
        "attributes": attributes(&record.attributes),
    })
}

fn attributes(all: &[Attribute]) -> Vec<Value> {
    all.iter().map(|(key, of)| json!({ "key": key, "value": value(of) })).collect()
}

fn value(of: &AnyValue) -> Value {
    match of {
        AnyValue::Text(text) => json!({ "stringValue": text }),
        AnyValue::Integer(number) => json!({ "intValue": number.to_string() }),
        AnyValue::Decimal(number) => json!({ "doubleValue": number }),
        AnyValue::Texts(texts) => {
            let values: Vec<Value> =
                texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    }
}

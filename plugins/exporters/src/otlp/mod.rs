//! The exporters `otlp` and `otlp-json`: records as OpenTelemetry logs, as a request of the protocol
//! OTLP in protobuf or in JSON.
//!
//! Each record is a log record with the event name `portcullis.KIND`. What the conventions for
//! generative AI have a name for is under it (`gen_ai.*`); those conventions are still in development,
//! so everything is under `portcullis.*` too. Ids of sessions and calls are the client's own, so that
//! these logs can be joined with its own telemetry.

mod json;
mod protobuf;

use crate::record::{ExportedRecord, Gravity, MOST_TEXT, fraction, rationality};
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, RecordKind, Rendered,
};
use portcullis_plugin::text::cut;

/// The version of the general conventions whose names are used.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The exporter of protobuf.
#[derive(Debug)]
pub struct Otlp;

impl AuditExporter for Otlp {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "otlp",
        env!("CARGO_PKG_VERSION"),
        "Writes records as OpenTelemetry logs, as a request of OTLP in protobuf.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let bytes = protobuf::write_request(&read_logs(records));
        Ok(Rendered { bytes, content_type: "application/x-protobuf".into() })
    }
}

/// The exporter of JSON.
#[derive(Debug)]
pub struct OtlpJson;

impl AuditExporter for OtlpJson {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "otlp-json",
        env!("CARGO_PKG_VERSION"),
        "Writes records as OpenTelemetry logs, as a request of OTLP in JSON, one a line.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let mut text = json::write_request(&read_logs(records)).to_string();
        text.push('\n');
        Ok(Rendered::text(text, "application/json"))
    }
}

/// The logs of one request, with the machine that they come from.
struct Logs {
    resource: Vec<Attribute>,
    records: Vec<LogRecord>,
}

/// One log record.
struct LogRecord {
    /// Nanoseconds since 1970.
    time: u64,
    severity: (u8, &'static str),
    name: String,
    body: String,
    attributes: Vec<Attribute>,
}

type Attribute = (&'static str, AnyValue);

/// A value of an attribute.
enum AnyValue {
    Text(String),
    Integer(i64),
    Decimal(f64),
    Texts(Vec<String>),
}

fn read_logs(records: &[AuditRecord]) -> Logs {
    let exported: Vec<ExportedRecord<'_>> = records.iter().map(ExportedRecord::read).collect();
    let mut resource = vec![
        ("service.name", AnyValue::Text("portcullis".into())),
        ("service.version", AnyValue::Text(env!("CARGO_PKG_VERSION").into())),
    ];
    // All records of a request come from one machine.
    if let Some(first) = exported.first() {
        push_text(&mut resource, "host.name", first.host());
        push_text(&mut resource, "service.instance.id", first.journal());
    }
    Logs { resource, records: exported.iter().map(log_record).collect() }
}

fn log_record(exported: &ExportedRecord<'_>) -> LogRecord {
    let record = exported.record;
    LogRecord {
        time: record.at.saturating_mul(1_000_000),
        severity: match exported.gravity() {
            Gravity::Informational => (9, "INFO"),
            Gravity::Low => (10, "INFO2"),
            Gravity::Medium => (13, "WARN"),
            Gravity::High => (17, "ERROR"),
            Gravity::Critical => (18, "ERROR2"),
        },
        name: format!("portcullis.{}", record.kind.as_str()),
        body: cut(&record.summary, MOST_TEXT),
        attributes: attributes(exported),
    }
}

fn attributes(exported: &ExportedRecord<'_>) -> Vec<Attribute> {
    let record = exported.record;
    let mut all = Vec::with_capacity(32);
    push_text(&mut all, "gen_ai.conversation.id", &record.session);
    push_text(&mut all, "session.id", &record.session);
    push_text(&mut all, "gen_ai.agent.name", exported.client());
    if exported.document.action.get().is_some() {
        push_text(&mut all, "gen_ai.operation.name", "execute_tool");
        push_text(&mut all, "gen_ai.tool.name", &record.subject);
        push_text(&mut all, "gen_ai.tool.call.id", exported.document.call.text());
    }
    push_text(&mut all, "process.command_line", exported.command_line().unwrap_or_default());
    push_text(&mut all, "file.path", exported.file().map_or("", |file| file.path.text()));
    push_text(&mut all, "url.full", exported.request().map_or("", |request| request.url.text()));
    push_text(&mut all, "log.record.uid", &exported.uid_of(record.sequence));
    for (name, text) in [
        ("portcullis.record.id", record.id.as_str()),
        ("portcullis.record.kind", record.kind.as_str()),
        ("portcullis.record.hash", &record.hash),
        ("portcullis.record.previous", &record.previous),
        ("portcullis.event", exported.event()),
        ("portcullis.subject", &record.subject),
        ("portcullis.agent", record.agent.as_deref().unwrap_or_default()),
        ("portcullis.mode", exported.document.mode.text()),
    ] {
        push_text(&mut all, name, text);
    }
    push_integer(&mut all, "portcullis.record.sequence", record.sequence);
    if let Some(step) = exported.document.step.get() {
        push_integer(&mut all, "portcullis.step", *step);
    }
    if let Some(decision) = &record.decision {
        push_text(&mut all, "portcullis.verdict", decision.verdict.as_str());
        all.push(("portcullis.risk", AnyValue::Decimal(fraction(decision.risk))));
        if let Some(rationality) = rationality(decision) {
            all.push(("portcullis.rationality", AnyValue::Decimal(rationality)));
        }
        all.push(("portcullis.confidence", AnyValue::Decimal(fraction(decision.confidence))));
        push_texts(&mut all, "portcullis.reasons", decision.reasons.iter().cloned());
        push_texts(&mut all, "portcullis.sources", decision.sources.iter().cloned());
    }
    let detections = record
        .detections
        .iter()
        .map(|detected| format!("{} ({})", detected.pattern, detected.severity.as_str()));
    push_texts(&mut all, "portcullis.detections", detections);
    let faults = record
        .faults
        .iter()
        .map(|faulted| format!("{} {}: {}", faulted.source, faulted.name, faulted.detail));
    push_texts(&mut all, "portcullis.faults", faults);
    if let Some(outcome) = exported.document.outcome.get() {
        push_text(&mut all, "portcullis.outcome", outcome.status.text());
        if let Some(code) = outcome.exit_code.get() {
            all.push(("process.exit.code", AnyValue::Integer(*code)));
        }
    }
    if let Some(intervention) = exported.document.intervention.get()
        && record.kind == RecordKind::Intervention
    {
        push_text(&mut all, "portcullis.intervention", intervention.kind.text());
        push_text(&mut all, "portcullis.issue", intervention.issue.text());
    }
    all
}

fn push_text(all: &mut Vec<Attribute>, name: &'static str, text: &str) {
    if !text.is_empty() {
        all.push((name, AnyValue::Text(cut(text, MOST_TEXT))));
    }
}

fn push_texts(all: &mut Vec<Attribute>, name: &'static str, texts: impl Iterator<Item = String>) {
    let texts: Vec<String> = texts.map(|text| cut(&text, MOST_TEXT)).collect();
    if !texts.is_empty() {
        all.push((name, AnyValue::Texts(texts)));
    }
}

fn push_integer(all: &mut Vec<Attribute>, name: &'static str, number: u64) {
    all.push((name, AnyValue::Integer(i64::try_from(number).unwrap_or(i64::MAX))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use portcullis_plugin::audit_exporter::{Detected, Severity, Verdict};
    use portcullis_plugin::testing;
    use prost::Message;

    fn record() -> AuditRecord {
        let mut record = testing::record(7);
        record.attributes =
            vec![("client", "an-agent").into(), ("host", "böx").into(), ("journal", "0123").into()];
        record.document = r#"{"call":"toolu_1","step":4,"action":{"operation":{"shell":
            {"text":"rm -r x"}}},"outcome":{"status":"failed","exit_code":-1}}"#
            .into();
        record.detections = vec![Detected {
            pattern: "loop".into(),
            severity: Severity::High,
            confidence: 700,
            impact: 500,
        }];
        let decision = record.decision.as_mut().unwrap();
        decision.verdict = Verdict::Block;
        decision.reasons = vec!["one".into(), "two".into()];
        record
    }

    /// Reads a request with the crate of the protocol itself.
    fn of_protobuf(records: &[AuditRecord]) -> ExportLogsServiceRequest {
        let rendered = Otlp::render(&[], records, true).unwrap();
        assert_eq!(rendered.content_type, "application/x-protobuf");
        ExportLogsServiceRequest::decode(rendered.bytes.as_slice()).unwrap()
    }

    fn of_json(records: &[AuditRecord]) -> ExportLogsServiceRequest {
        let rendered = OtlpJson::render(&[], records, true).unwrap();
        assert_eq!(rendered.content_type, "application/json");
        assert_eq!(rendered.bytes.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(&rendered.bytes).unwrap()
    }

    #[test]
    fn both_encodings_say_the_same() {
        let records = [record(), testing::record(u64::MAX)];
        assert_eq!(of_protobuf(&records), of_json(&records));
        assert_eq!(of_protobuf(&[]), of_json(&[]));
    }

    #[test]
    fn a_record_has_its_attributes() {
        let request = of_protobuf(&[record()]);
        let [logs] = request.resource_logs.as_slice() else { panic!("{request:?}") };
        let [scope] = logs.scope_logs.as_slice() else { panic!("{logs:?}") };
        let [log] = scope.log_records.as_slice() else { panic!("{scope:?}") };
        assert_eq!(log.time_unix_nano, 1_767_268_800_000_000_000);
        assert_eq!((log.severity_number, log.severity_text.as_str()), (17, "ERROR"));
        assert_eq!(log.event_name, "portcullis.review");
        let resource = &logs.resource.as_ref().unwrap().attributes;
        let find = |name: &str| {
            let mut all = log.attributes.iter().chain(resource);
            let found = all.find(|pair| pair.key == name).unwrap_or_else(|| panic!("{name}"));
            found.value.clone().unwrap().value.unwrap()
        };
        for (name, expected) in [
            ("service.name", "portcullis"),
            ("host.name", "böx"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "Bash"),
            ("gen_ai.tool.call.id", "toolu_1"),
            ("gen_ai.conversation.id", "session-1"),
            ("gen_ai.agent.name", "an-agent"),
            ("process.command_line", "rm -r x"),
            ("portcullis.verdict", "block"),
            ("log.record.uid", "0123-7"),
        ] {
            assert_eq!(find(name), Value::StringValue(expected.into()), "{name}");
        }
        assert_eq!(find("portcullis.record.sequence"), Value::IntValue(7));
        assert_eq!(find("process.exit.code"), Value::IntValue(-1));
        assert_eq!(find("portcullis.risk"), Value::DoubleValue(0.1));
        let Value::ArrayValue(reasons) = find("portcullis.reasons") else { panic!("reasons") };
        assert_eq!(reasons.values.len(), 2);
    }
}

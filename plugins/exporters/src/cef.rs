//! The exporter `cef`: records in the Common Event Format, one a line, for a syslog server.
//!
//! Texts are escaped as the format asks and cut to its lengths, so that no text of an action can begin
//! another field or another event. A character that ends a line, or that a terminal obeys, is written
//! as an escape.

use crate::record::{ExportedRecord, Gravity};
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::{cut, score};

/// The lengths that the format's dictionary has: of texts, of custom texts, of names.
const TEXT: usize = 1023;
const CUSTOM: usize = 4000;
const NAME: usize = 512;

/// The exporter.
#[derive(Debug)]
pub struct Cef;

impl AuditExporter for Cef {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "cef",
        env!("CARGO_PKG_VERSION"),
        "Writes records in the Common Event Format, one a line, for syslog.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], _: bool) -> Result<Rendered, Error> {
        let mut out = String::with_capacity(records.len() * 1024);
        for record in records {
            push_line(&mut out, &ExportedRecord::read(record));
        }
        Ok(Rendered::text(out, "text/plain; charset=utf-8"))
    }
}

fn push_line(out: &mut String, exported: &ExportedRecord<'_>) {
    let record = exported.record;
    let kind = record.kind.as_str();
    let signature = match exported.verdict() {
        Some(verdict) => format!("{kind}:{}", verdict.as_str()),
        None => kind.to_owned(),
    };
    out.push_str("CEF:0");
    for part in ["Portcullis", "portcullis", env!("CARGO_PKG_VERSION"), &signature, &record.summary]
    {
        out.push('|');
        push_header(out, &cut(part, NAME));
    }
    out.push_str(&format!("|{}|", severity(exported)));
    let mut fields = Fields { out, is_first: true };
    fields.push("rt", &record.at.to_string(), TEXT);
    fields.push("externalId", &record.id, 40);
    fields.push("cat", kind, TEXT);
    fields.push("act", exported.verdict().map_or("", |verdict| verdict.as_str()), 63);
    fields.push("dvchost", exported.host(), 100);
    fields.push("requestClientApplication", exported.client(), TEXT);
    fields.push("sproc", &record.subject, TEXT);
    fields.push("msg", &record.summary, TEXT);
    fields.push("reason", exported.reasons().first().map_or("", String::as_str), TEXT);
    if let Some(file) = exported.file() {
        fields.push("filePath", file.path.text(), TEXT);
    }
    if let Some(request) = exported.request() {
        fields.push("request", request.url.text(), TEXT);
        fields.push("requestMethod", request.method.text(), TEXT);
    }
    let outcome = exported.document.outcome.get();
    fields.push("outcome", outcome.map_or("", |outcome| outcome.status.text()), 63);
    let patterns: Vec<&str> =
        record.detections.iter().map(|detected| detected.pattern.as_str()).collect();
    let custom = [
        ("cs1", "session", record.session.as_str()),
        ("cs2", "agent", record.agent.as_deref().unwrap_or_default()),
        ("cs3", "command", exported.command_line().unwrap_or_default()),
        ("cs4", "detections", &patterns.join(" ")),
        ("cs5", "recordHash", &record.hash),
        ("cs6", "journal", exported.journal()),
    ];
    for (field, label, value) in custom {
        fields.push_labelled(field, label, value);
    }
    fields.push_labelled("cn1", "sequence", &record.sequence.to_string());
    if let Some(decision) = &record.decision {
        fields.push_labelled("cfp1", "risk", &score(decision.risk));
    }
    out.push('\n');
}

/// The extension of an event: `key=value` with blanks between.
struct Fields<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl Fields<'_> {
    /// Adds a field, unless its value is empty.
    fn push(&mut self, name: &str, value: &str, most: usize) {
        if value.is_empty() {
            return;
        }
        if !self.is_first {
            self.out.push(' ');
        }
        self.is_first = false;
        self.out.push_str(name);
        self.out.push('=');
        push_value(self.out, &cut(value, most));
    }

    /// Adds a custom field and its label.
    fn push_labelled(&mut self, name: &str, label: &str, value: &str) {
        if !value.is_empty() {
            self.push(name, value, CUSTOM);
            self.push(&format!("{name}Label"), label, TEXT);
        }
    }
}

/// Returns the severity: 0 to 10.
fn severity(exported: &ExportedRecord<'_>) -> u8 {
    match exported.gravity() {
        Gravity::Informational => 1,
        Gravity::Low => 3,
        Gravity::Medium => 5,
        Gravity::High => 8,
        Gravity::Critical => 10,
    }
}

/// Writes a part of the header, where a bar ends a field.
fn push_header(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '|' | '\\' => out.extend(['\\', character]),
            other => push_visible(out, other, " "),
        }
    }
}

/// Writes a value of the extension, where an equals sign begins one.
fn push_value(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '=' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            other => push_visible(out, other, "\\n"),
        }
    }
}

/// Writes a character; one that ends a line as `line_end`, and another control character spelled out.
fn push_visible(out: &mut String, character: char, line_end: &str) {
    match character {
        '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push_str(line_end),
        '\t' => out.push(' '),
        control if control.is_control() => {
            out.push_str(&format!("(U+{:04X})", u32::from(control)));
        }
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::audit_exporter::Verdict;
    use portcullis_plugin::testing;

    fn line(record: AuditRecord) -> String {
        let rendered = Cef::render(&[], &[record], true).unwrap();
        assert_eq!(rendered.content_type, "text/plain; charset=utf-8");
        String::from_utf8(rendered.bytes).unwrap()
    }

    #[test]
    fn an_event_is_exact() {
        let mut record = testing::record(7);
        record.attributes =
            vec![("client", "an-agent").into(), ("host", "box").into(), ("journal", "0123").into()];
        record.document =
            r#"{"action":{"operation":{"shell":{"text":"a=b | c"}}},"outcome":{"status":"ok"}}"#
                .into();
        let decision = record.decision.as_mut().unwrap();
        (decision.verdict, decision.risk) = (Verdict::Block, 820);
        decision.reasons = vec!["High risk".into(), "more".into()];
        let version = env!("CARGO_PKG_VERSION");
        let hash = "1".repeat(64);
        assert_eq!(
            line(record),
            format!(
                "CEF:0|Portcullis|portcullis|{version}|review:block|Bash: ls|8|rt=1767268800000 \
                 externalId=record-7 cat=review act=block dvchost=box requestClientApplication=an-agent \
                 sproc=Bash msg=Bash: ls reason=High risk outcome=ok cs1=session-1 cs1Label=session \
                 cs3=a\\=b | c cs3Label=command cs5={hash} cs5Label=recordHash cs6=0123 \
                 cs6Label=journal cn1=7 cn1Label=sequence cfp1=0.82 cfp1Label=risk\n"
            )
        );
    }

    #[test]
    fn a_text_stays_in_its_field() {
        for (text, header, value) in [
            ("a|b", "a\\|b", "a|b"),
            ("a=b", "a=b", "a\\=b"),
            ("a\\|b", "a\\\\\\|b", "a\\\\|b"),
            ("x\nCEF:0|a|b", "x CEF:0\\|a\\|b", "x\\nCEF:0|a|b"),
            ("x\r\n act=allow", "x   act=allow", "x\\r\\n act\\=allow"),
            ("\u{2028}\u{85}\t", "   ", "\\n\\n "),
            ("\0\u{1b}[0m", "(U+0000)(U+001B)[0m", "(U+0000)(U+001B)[0m"),
            ("ü🚪", "ü🚪", "ü🚪"),
        ] {
            let (mut in_header, mut in_value) = (String::new(), String::new());
            push_header(&mut in_header, text);
            push_value(&mut in_value, text);
            assert_eq!((in_header.as_str(), in_value.as_str()), (header, value), "{text:?}");
            let mut record = testing::record(1);
            record.summary = text.repeat(500);
            record.subject = text.into();
            record.session = text.into();
            let line = line(record);
            assert_eq!(line.matches('\n').count(), 1, "{text:?}");
            assert!(line.len() < 8 << 10, "{}", line.len());
        }
    }
}

//! The exporter `csv`: records as a table for a spreadsheet.
//!
//! Columns are fixed ([`COLUMNS`]); quoting and line ends are RFC 4180's. A cell that a spreadsheet
//! would interpret as a formula is escaped with a leading apostrophe: text that an agent types must
//! not run on the computer of the person who reads about it. That changes cells, so this format is
//! for reading; to check the journal's chain, export `jsonl`.

mod cell;

use cell::push_cell;
use portcullis_plugin::audit_exporter::{
    AuditExporter, AuditRecord, Descriptor, Error, Reads, Rendered,
};
use portcullis_plugin::text::{rfc3339, score};

/// The heading: every column, in order.
pub const COLUMNS: [&str; 18] = [
    "sequence",
    "at",
    "kind",
    "session",
    "agent",
    "subject",
    "summary",
    "verdict",
    "risk",
    "rationality",
    "confidence",
    "reasons",
    "sources",
    "detections",
    "faults",
    "id",
    "previous",
    "hash",
];

/// The exporter.
#[derive(Debug)]
pub struct Csv;

impl AuditExporter for Csv {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "csv",
        env!("CARGO_PKG_VERSION"),
        "Writes records as a table that is safe to open in a spreadsheet.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], first: bool) -> Result<Rendered, Error> {
        let mut out = String::with_capacity(records.len() * 512 + 256);
        if first {
            push_row(&mut out, &COLUMNS.map(str::to_owned));
        }
        for record in records {
            push_row(&mut out, &row(record));
        }
        Ok(Rendered::text(out, "text/csv; charset=utf-8"))
    }
}

fn row(record: &AuditRecord) -> [String; COLUMNS.len()] {
    let decision = record.decision.as_ref();
    [
        record.sequence.to_string(),
        rfc3339(record.at),
        record.kind.as_str().into(),
        record.session.clone(),
        record.agent.clone().unwrap_or_default(),
        record.subject.clone(),
        record.summary.clone(),
        decision.map_or_else(String::new, |decision| decision.verdict.as_str().into()),
        decision.map_or_else(String::new, |decision| score(decision.risk)),
        decision.and_then(|decision| decision.rationality).map_or_else(String::new, score),
        decision.map_or_else(String::new, |decision| score(decision.confidence)),
        decision.map_or_else(String::new, |decision| decision.reasons.join("; ")),
        decision.map_or_else(String::new, |decision| decision.sources.join("; ")),
        joined(&record.detections, |detected| {
            format!(
                "{} ({}, confidence {})",
                detected.pattern,
                detected.severity.as_str(),
                score(detected.confidence)
            )
        }),
        joined(&record.faults, |faulted| {
            format!("{} {}: {}", faulted.source, faulted.name, faulted.detail)
        }),
        record.id.clone(),
        record.previous.clone(),
        record.hash.clone(),
    ]
}

fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join("; ")
}

fn push_row(out: &mut String, cells: &[String]) {
    for (position, cell) in cells.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        push_cell(out, cell);
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::audit_exporter::{Detected, Faulted};
    use portcullis_plugin::testing;
    use portcullis_plugin::types::Severity;

    fn text(records: &[AuditRecord], first: bool) -> String {
        let rendered = Csv::render(&[], records, first).unwrap();
        assert_eq!(rendered.content_type, "text/csv; charset=utf-8");
        String::from_utf8(rendered.bytes).unwrap()
    }

    #[test]
    fn heading_stands_once() {
        assert_eq!(text(&[], true), format!("{}\r\n", COLUMNS.join(",")));
        assert_eq!(text(&[], false), "");
        assert_eq!(text(&[testing::record(1)], true).lines().count(), 2);
        assert_eq!(text(&[testing::record(1)], false).lines().count(), 1);
    }

    #[test]
    fn a_row_is_exact() {
        let mut record = testing::record(3);
        record.summary = "Bash: echo \"a, b\"\nrm x".into();
        record.agent = Some("=cmd|' /C calc'!A0".into());
        record.detections = vec![Detected {
            pattern: "loop".into(),
            severity: Severity::Medium,
            confidence: 700,
            impact: 500,
        }];
        record.faults = vec![Faulted {
            source: "risk".into(),
            name: "trap".into(),
            detail: "unreachable".into(),
        }];
        let decision = record.decision.as_mut().unwrap();
        decision.rationality = Some(333);
        decision.reasons = vec!["one".into(), "two".into()];
        let hashes = format!("record-3,{},{}", "0".repeat(64), "1".repeat(64));
        assert_eq!(
            text(&[record], false),
            format!(
                "3,2026-01-01T12:00:00.000Z,review,session-1,\"'=cmd|' /C calc'!A0\",Bash,\"Bash: echo \"\"a, b\"\"\nrm x\",allow,0.10,0.33,0.90,\
                 one; two,,\"loop (medium, confidence 0.70)\",risk trap: unreachable,{hashes}\r\n"
            )
        );
    }

    #[test]
    fn a_record_without_a_decision_leaves_its_cells_empty() {
        let mut record = testing::record(9);
        record.decision = None;
        assert!(text(&[record], false).starts_with(
            "9,2026-01-01T12:00:00.000Z,review,session-1,,Bash,Bash: ls,,,,,,,,,record-9,"
        ));
    }
}

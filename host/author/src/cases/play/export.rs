//! Passes the records of a case to an audit-exporter, as `audit export` does with those of the
//! journal.

use super::super::finding;
use super::{CaseRun, StepAnswers};
use anyhow::{Context, Result};
use portcullis_core::finding::AuditRecord;
use portcullis_core::record::Record;
use portcullis_review::export;
use portcullis_review::stored_records;
use portcullis_store::StoredRecord;
use serde_json::Value;

impl CaseRun<'_> {
    /// Returns the exporter's output for them.
    pub(super) fn export(&mut self) -> Result<StepAnswers> {
        let records = chained(&self.records)?;
        let mut said = StepAnswers::default();
        for (number, batch) in records.chunks(self.case.batch).enumerate() {
            self.reviewer.plugins.begin_review(self.at);
            for name in &self.beside {
                self.reviewer.plugins.render_records(name, batch, number == 0);
            }
            let answer = self
                .reviewer
                .plugins
                .render_records(&self.name, batch, number == 0)
                .context("the exporter is gone")?;
            said.findings.extend(finding::of_rendered(&answer, |text| named(text, &records)));
        }
        Ok(self.with_calls(said))
    }
}

/// Chains the records like a journal that holds no others.
fn chained(records: &[Record]) -> Result<Vec<AuditRecord>> {
    let mut last: Option<StoredRecord> = None;
    let mut chained = Vec::new();
    for record in records {
        let stored = StoredRecord::chain_after(
            last.as_ref(),
            Some(record.session.clone()),
            record.agent.clone(),
            stored_records::to_store(record),
        );
        chained.push(export::for_exporter(&stored)?);
        last = Some(stored);
    }
    Ok(chained)
}

/// Replaces each record's document and hash in the text by a name, since they differ between
/// versions of the host.
fn named(text: &str, records: &[AuditRecord]) -> String {
    let mut named = text.to_owned();
    for record in records {
        let quoted = Value::from(record.document.as_str()).to_string();
        let document = format!("<document {}>", record.sequence);
        // Exporters write the document as it is, or as text in JSON.
        for spelling in [quoted.trim_matches('"'), &record.document] {
            named = named.replace(spelling, &document);
        }
        named = named.replace(&record.hash, &format!("<hash {}>", record.sequence));
    }
    named
}

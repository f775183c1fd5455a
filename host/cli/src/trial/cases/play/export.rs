//! The records of a case go to an audit-exporter, as `audit export` gives it those of the journal.

use super::super::finding;
use super::{Playing, Said};
use crate::commands::audit;
use crate::runtime;
use anyhow::{Context, Result};
use portcullis_core::finding::AuditRecord;
use portcullis_core::record::Record;
use portcullis_store::Stored;
use serde_json::Value;

impl Playing<'_> {
    /// What the exporter makes of them.
    pub(super) fn export(&mut self) -> Result<Said> {
        let records = chained(&self.records)?;
        let mut said = Said::default();
        for (number, batch) in records.chunks(self.case.batch).enumerate() {
            self.reviewer.plugins.begin(self.at);
            for name in &self.beside {
                self.reviewer.plugins.render(name, batch, number == 0);
            }
            let answer = self.reviewer.plugins.render(&self.name, batch, number == 0).context("the exporter is gone")?;
            said.findings.extend(finding::of_rendered(&answer, |text| named(text, &records)));
        }
        Ok(self.with_calls(said))
    }
}

/// The records as a journal that holds no others would have them.
fn chained(records: &[Record]) -> Result<Vec<AuditRecord>> {
    let mut last: Option<Stored> = None;
    let mut chained = Vec::new();
    for record in records {
        let stored = Stored::after(last.as_ref(), Some(record.session.clone()), record.agent.clone(), runtime::to_store(record));
        chained.push(audit::for_exporter(&stored)?);
        last = Some(stored);
    }
    Ok(chained)
}

/// A record's document and its hash are others in each version of the host: the text names them in place of repeating
/// them.
fn named(text: &str, records: &[AuditRecord]) -> String {
    let mut named = text.to_owned();
    for record in records {
        let quoted = Value::from(record.document.as_str()).to_string();
        let document = format!("<document {}>", record.sequence);
        for spelling in [quoted.trim_matches('"'), &record.document] {
            named = named.replace(spelling, &document);
        }
        named = named.replace(&record.hash, &format!("<hash {}>", record.sequence));
    }
    named
}

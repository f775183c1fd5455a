//! A past step in the form that plugins can request, read from its records in the journal.

use portcullis_core::action::{Effect, Outcome, Path, StepDetail};
use serde::Deserialize;

/// The fields of a record that describe a past step. A review reads a dozen of them, so the other
/// fields are skipped.
#[derive(Deserialize)]
struct RecordExcerpt {
    subject: String,
    action: Option<ActionExcerpt>,
    outcome: Option<Outcome>,
}

#[derive(Deserialize)]
struct ActionExcerpt {
    parameters: String,
    facts: FactsExcerpt,
}

#[derive(Deserialize)]
struct FactsExcerpt {
    effects: Vec<Effect>,
    paths: Vec<Path>,
}

/// Returns a past step in full, from its records.
#[must_use]
pub fn parse_step(documents: &[String]) -> Option<StepDetail> {
    let mut records: Vec<RecordExcerpt> =
        documents.iter().filter_map(|document| serde_json::from_str(document).ok()).collect();
    let outcome = records.iter_mut().find_map(|record| record.outcome.take());
    let (tool, action) =
        records.into_iter().find_map(|record| Some((record.subject, record.action?)))?;
    let ActionExcerpt { parameters, facts } = action;
    Some(StepDetail { tool, parameters, effects: facts.effects, paths: facts.paths, outcome })
}

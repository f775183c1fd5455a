//! A past step as plugins may ask for it, read from the journal's records of it.

use portcullis_core::action::{Effect, Outcome, Path, StepDetail};
use serde::Deserialize;

/// What of a record tells of a past step. A review looks back at a dozen of them: the rest is passed over.
#[derive(Deserialize)]
struct Told {
    subject: String,
    action: Option<ToldAction>,
    outcome: Option<Outcome>,
}

#[derive(Deserialize)]
struct ToldAction {
    parameters: String,
    facts: ToldFacts,
}

#[derive(Deserialize)]
struct ToldFacts {
    effects: Vec<Effect>,
    paths: Vec<Path>,
}

/// A past step in full, from its records.
#[must_use]
pub fn detail(documents: &[String]) -> Option<StepDetail> {
    let mut records: Vec<Told> = documents.iter().filter_map(|document| serde_json::from_str(document).ok()).collect();
    let outcome = records.iter_mut().find_map(|record| record.outcome.take());
    let (tool, action) = records.into_iter().find_map(|record| Some((record.subject, record.action?)))?;
    let ToldAction { parameters, facts } = action;
    Some(StepDetail { tool, parameters, effects: facts.effects, paths: facts.paths, outcome })
}

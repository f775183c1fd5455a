//! A past step in the form that plugins can request, read from its records in the journal.

use lru::LruCache;
use portcullis_core::action::{Effect, Outcome, Path, StepDetail};
use portcullis_store::StepRecord;
use serde::Deserialize;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most steps that are kept: some agents' newest dozens.
const MOST_STEPS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// The most bytes of texts in a step that is kept: few steps are longer, and together they stay
/// below a megabyte.
const MOST_TEXT: usize = 4096;

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

/// Returns a past step in full, from the documents of its records.
#[must_use]
pub fn parse_step<'a>(documents: impl IntoIterator<Item = &'a str>) -> Option<StepDetail> {
    let parse = |document| serde_json::from_str(document).ok();
    let mut records: Vec<RecordExcerpt> = documents.into_iter().filter_map(parse).collect();
    let outcome = records.iter_mut().find_map(|record| record.outcome.take());
    let (tool, action) =
        records.into_iter().find_map(|record| Some((record.subject, record.action?)))?;
    let ActionExcerpt { parameters, facts } = action;
    Some(StepDetail { tool, parameters, effects: facts.effects, paths: facts.paths, outcome })
}

/// Returns a past step in full, from its records.
pub(crate) fn parse_records(records: &[StepRecord]) -> Option<StepDetail> {
    parse_step(records.iter().map(|record| record.document.as_str()))
}

/// The past steps that a process parsed before, for one that reviews many events: each looks at most
/// of the steps that the last one looked at. A step is kept by the hashes of its records, so it is
/// read and parsed again once it has one more.
#[derive(Debug)]
pub(crate) struct PastSteps(Mutex<LruCache<Vec<[u8; 32]>, StepDetail>>);

impl Default for PastSteps {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MOST_STEPS)))
    }
}

impl PastSteps {
    /// Does the same as [`parse_records`], with the records that `read` returns. It is called only for a
    /// step whose records' hashes, in order, are not those of a step that is kept.
    pub(crate) fn find_step(
        &self,
        hashes: Vec<[u8; 32]>,
        read: impl FnOnce() -> Option<Vec<StepRecord>>,
    ) -> Option<StepDetail> {
        if let Some(known) = self.lock().get(&hashes) {
            return Some(known.clone());
        }
        let step = parse_records(&read()?)?;
        if count_text(&step) <= MOST_TEXT {
            self.lock().put(hashes, step.clone());
        }
        Some(step)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Vec<[u8; 32]>, StepDetail>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the bytes of a step's longer texts.
fn count_text(step: &StepDetail) -> usize {
    let outcome = step.outcome.as_ref().map_or(0, |end| end.error.len() + end.output.len());
    let effects: usize = step.effects.iter().map(|effect| effect.target.len()).sum();
    let paths: usize = step.paths.iter().map(|path| path.text.len()).sum();
    step.parameters.len() + outcome + effects + paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(number: u8, document: &serde_json::Value) -> StepRecord {
        StepRecord { hash: [number; 32], document: document.to_string() }
    }

    #[test]
    fn a_kept_step_is_what_its_records_say() {
        let review = |parameters: &str| {
            json!({"subject": "Bash", "action": {"parameters": parameters,
                "facts": {"effects": [], "paths": []}}, "plugins": []})
        };
        let ended = json!({"subject": "Bash", "outcome": {"at": 1, "status": "ok", "exit_code": 0,
            "error": "", "output": "", "duration_ms": null, "bytes": 0, "tokens": null}});
        let long = "x".repeat(MOST_TEXT + 1);
        let steps = PastSteps::default();
        let cases = [
            ("a review", vec![record(1, &review("ls"))], 1),
            ("its outcome came", vec![record(1, &review("ls")), record(2, &ended)], 2),
            ("another step", vec![record(3, &review("pwd"))], 3),
            ("a long one", vec![record(4, &review(&long))], 3),
            ("no review", vec![record(2, &ended)], 3),
            ("no record", vec![], 3),
        ];
        for (name, records, kept) in cases {
            let parsed = parse_records(&records);
            let hashes: Vec<[u8; 32]> = records.iter().map(|record| record.hash).collect();
            for _ in 0..2 {
                let found = steps.find_step(hashes.clone(), || Some(records.clone()));
                assert_eq!(found, parsed, "{name}");
            }
            assert_eq!(steps.lock().len(), kept, "{name}");
        }
        let kept = steps.find_step(vec![[3; 32]], || panic!("a kept step is read again"));
        assert_eq!(kept.unwrap().parameters, "pwd");
    }
}

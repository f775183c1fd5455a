//! Texts that tell an agent about a tool, read by the plugins that look for instructions to agents.

use crate::reviewer::{ReviewContext, Reviewer};
use portcullis_core::event::{Call, CallResult, Event, EventKind};
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use serde_json::Map;

/// The most characters of a text that plugins get at once.
const PART: usize = 3000;
/// The characters that two parts share, so that no sentence falls between them.
const SHARED: usize = 500;

/// Reads a text as if the tool had returned it, outside any session; returns what a plugin found
/// that raises a session, or the fault that kept one from reading it.
pub fn find_instructions(
    reviewer: &mut Reviewer,
    event: &Event,
    tool: &str,
    text: &str,
    now: u64,
) -> Option<String> {
    let raising = reviewer.config().policy.interventions.raising.clone();
    parts(text).into_iter().find_map(|part| {
        let call = Call { id: None, tool: tool.into(), input: Map::new() };
        let result = CallResult::from_text(part, false);
        let event = Event { kind: EventKind::AfterTool(call, result), ..event.clone() };
        let context = ReviewContext::default();
        let reviewed = reviewer.review_event(&event, State::default(), now, &context, &|_| None);
        let mut records = reviewed.records.into_iter();
        records.find_map(|record| {
            let detections = record.detections.into_iter().map(|found| found.finding);
            let found = detections.into_iter().find(|found| raising.contains(&found.pattern));
            let found = found.map(|found| found.summary);
            let fault = || record.faults.first().map(|fault| fault.detail.clone());
            found.or_else(fault).map(|text| one_line(&text, 200))
        })
    })
}

fn parts(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let starts = (0..letters.len().max(1)).step_by(PART - SHARED);
    let part = |start: usize| letters.iter().skip(start).take(PART).collect();
    starts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_overlap_and_cover_everything() {
        for length in [0, 1, PART - 1, PART, PART + 1, 3 * PART] {
            let text: String = ('a'..='z').cycle().take(length).collect();
            let parts = parts(&text);
            assert!(parts.iter().all(|part| part.chars().count() <= PART));
            let mut whole = String::new();
            for part in &parts {
                let known = whole.chars().count().min(SHARED).min(part.chars().count());
                whole.extend(part.chars().skip(known));
            }
            assert!(whole.starts_with(&text) || length == 0, "{length}");
        }
    }
}

//! The events that led to a stop: the session's records, without those of ordinary events.

use super::last;
use crate::action::{Status, Timestamp};
use crate::record::{Record, RecordKind};
use crate::score::Verdict;
use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// The number of newest events that are kept.
const MOMENTS: usize = 100;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentEvent {
    /// The time.
    pub at: Timestamp,
    /// The step, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u64>,
    /// A description in one line.
    pub what: String,
    /// The id of its record.
    pub record: String,
}

/// Returns the events that led to the stop, oldest first, including the stop itself.
pub(super) fn timeline(stop: &Record, records: &[Record]) -> Vec<IncidentEvent> {
    let events = records.iter().chain([stop]).flat_map(|record| {
        let moment = move |what: String| IncidentEvent {
            at: record.at,
            step: record.step,
            what: one_line(&what, 320),
            record: record.id.clone(),
        };
        describe_events(record).into_iter().map(moment)
    });
    last(events.collect(), MOMENTS)
}

fn describe_events(record: &Record) -> Vec<String> {
    let mut described = Vec::new();
    let failed = record.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::Failed);
    match record.kind {
        RecordKind::Session if record.details.get("goal").is_some_and(|goal| goal == true) => {
            described.push(format!("the person asked: {}", record.summary));
        }
        // A notice of the client that came as a prompt: nobody asked for anything.
        RecordKind::Session if record.details.contains_key("goal") => {}
        RecordKind::Session => described.push(format!("session: {}", record.summary)),
        RecordKind::Review => {
            let objected =
                record.decision.as_ref().filter(|decision| decision.verdict > Verdict::Allow);
            described.extend(objected.map(|decision| {
                format!("{} {}: {}", decision.verdict, record.summary, decision.primary_reason)
            }));
        }
        RecordKind::Outcome if failed => described.push(format!("failed {}", record.summary)),
        RecordKind::Outcome => {}
        RecordKind::Unreviewed => described.push(format!("nobody reviewed {}", record.summary)),
        RecordKind::Intervention => {
            described.push(format!("{}: {}", record.subject, record.summary))
        }
        RecordKind::Configuration
        | RecordKind::Fault
        | RecordKind::Exception
        | RecordKind::Feedback
        | RecordKind::Authentication => {
            described.push(format!("{}: {}", record.kind, record.summary));
        }
    }
    described.extend(record.detections.iter().map(|named| {
        let detection = &named.finding;
        format!(
            "noticed {} ({}, confidence {}): {}",
            detection.pattern, detection.severity, detection.confidence, detection.summary
        )
    }));
    described
}

//! A recorded session in the form that people view: each action with its verdict, detections and
//! interventions.
//!
//! It holds only the data that is shown, so that ten thousand steps take a few megabytes. All of it
//! comes from records and is therefore masked; code that displays it must escape it.

pub mod words;

use portcullis_core::action::{Limit, Status};
use portcullis_core::fault::Fault;
use portcullis_core::finding::Detection;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::record::{Record, RecordKind, RecordedIntervention};
use portcullis_core::score::{Score, Verdict};
use portcullis_core::verdict::Decision;
use std::collections::HashMap;

/// One session.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Its name.
    pub name: String,
    /// The project's folder, once it is known.
    pub folder: Option<String>,
    /// The entries, in order.
    pub entries: Vec<TimelineEntry>,
    /// The position of each agent's steps.
    places: HashMap<(Option<String>, u64), usize>,
}

/// An action with its outcome, or another event.
#[derive(Debug)]
pub struct TimelineEntry {
    /// Its position in the session.
    pub place: usize,
    /// The event of the recording that it began with.
    pub event: usize,
    /// The kind of its record.
    pub kind: RecordKind,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The subagent, if one acted.
    pub agent: Option<String>,
    /// The step in that agent's history; `None` for events that are not actions.
    pub step: Option<u64>,
    /// The summary, one line.
    pub summary: String,
    /// True if it is the person's prompt.
    pub prompt: bool,
    /// The verdict; `None` if nothing was decided.
    pub verdict: Option<Verdict>,
    /// The risk score that the verdict is based on.
    pub risk: Option<Score>,
    /// The whole decision, if it is an objection.
    pub decision: Option<Box<Decision>>,
    /// The parameters as run, if they were changed.
    pub run_as: Option<String>,
    /// The error, if it failed; empty if no error was reported.
    pub failed: Option<String>,
    /// The patterns that were detected, before or after it.
    pub detections: Vec<Detection>,
    /// The interventions against them.
    pub interventions: Vec<RecordedIntervention>,
    /// The faults of the review.
    pub faults: Vec<Fault>,
    /// The session's restrictions after it.
    pub standing: ActiveInterventions,
}

/// The restrictions that interventions have left in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveInterventions {
    /// Limits that are tighter than the operator's.
    pub limits: Vec<Limit>,
    /// The reason why the agent waits for a person, if it does.
    pub held: Option<String>,
    /// The reason why the session is stopped, if it is.
    pub stopped: Option<String>,
}

impl Timeline {
    /// Creates a timeline of a session without entries.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds the records of the next event, and the session's restrictions after it.
    pub fn add_event(&mut self, event: usize, records: &[Record], standing: &ActiveInterventions) {
        for record in records {
            let place = self.place(event, record);
            if let Some(entry) = self.entries.get_mut(place) {
                entry.take(record);
                entry.standing = standing.clone();
            }
        }
    }

    /// Returns the person's first prompt.
    pub fn goal(&self) -> Option<&str> {
        self.entries.iter().find(|entry| entry.prompt).map(|entry| entry.summary.as_str())
    }

    /// Returns the entry that a record belongs to: its step's entry, or one of its own.
    fn place(&mut self, event: usize, record: &Record) -> usize {
        let key = record.step.map(|step| (record.agent.clone(), step));
        if let Some(known) = key.as_ref().and_then(|key| self.places.get(key)) {
            return *known;
        }
        let place = self.entries.len();
        self.entries.push(TimelineEntry::new(place, event, record));
        if let Some(key) = key {
            self.places.insert(key, place);
        }
        place
    }

    /// Replaces the project's folder at the beginning of a path by `…`, so that the different part
    /// is visible.
    pub fn shorten_paths(&self, text: &str) -> String {
        let Some(folder) = self.folder.as_deref().filter(|folder| folder.len() > 1) else {
            return text.to_owned();
        };
        let beginning = format!("{folder}/");
        let mut parts = text.split(&beginning);
        let mut near = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let begins = !near
                .ends_with(|before: char| before.is_alphanumeric() || "/._-~".contains(before));
            near.push_str(if begins { "…" } else { folder });
            near.push('/');
            near.push_str(part);
        }
        near
    }

    /// Returns the entries that are actions.
    pub fn steps(&self) -> impl Iterator<Item = &TimelineEntry> {
        self.entries.iter().filter(|entry| entry.step.is_some())
    }
}

impl TimelineEntry {
    fn new(place: usize, event: usize, record: &Record) -> Self {
        Self {
            place,
            event,
            kind: record.kind,
            at: record.at,
            agent: record.agent.clone(),
            step: record.step,
            summary: record.summary.clone(),
            prompt: record.details.get("goal").is_some_and(|stated| stated == true),
            verdict: None,
            risk: None,
            decision: None,
            run_as: None,
            failed: None,
            detections: Vec::new(),
            interventions: Vec::new(),
            faults: Vec::new(),
            standing: ActiveInterventions::default(),
        }
    }

    fn take(&mut self, record: &Record) {
        if let Some(decision) = &record.decision {
            self.verdict = Some(decision.verdict);
            self.risk = Some(decision.risk);
            self.decision = (decision.verdict > Verdict::Allow).then(|| Box::new(decision.clone()));
        }
        if let Some(run_as) = record.action.as_ref().and_then(|action| action.run_as.as_ref()) {
            self.run_as = Some(run_as.clone());
        }
        if let Some(outcome) =
            record.outcome.as_ref().filter(|outcome| outcome.status == Status::Failed)
        {
            self.failed = Some(outcome.error.clone());
        }
        self.detections.extend(record.detections.iter().map(|named| named.finding.clone()));
        self.interventions.extend(record.intervention.clone());
        self.faults.extend(record.faults.iter().cloned());
    }

    /// Returns the kinds of its interventions.
    pub fn kinds(&self) -> impl Iterator<Item = InterventionKind> {
        self.interventions.iter().filter_map(|done| {
            InterventionKind::ALL.iter().copied().find(|kind| kind.as_str() == done.kind)
        })
    }

    /// Returns true if nobody has to look at it: no objection, no detection, no intervention, no
    /// fault.
    pub fn is_quiet(&self) -> bool {
        let plain = matches!(
            self.kind,
            RecordKind::Review
                | RecordKind::Outcome
                | RecordKind::Session
                | RecordKind::Configuration
        );
        let found = !self.detections.is_empty()
            || !self.interventions.is_empty()
            || !self.faults.is_empty();
        plain && !found && self.verdict.is_none_or(|verdict| verdict == Verdict::Allow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_project_are_shortened() {
        for (folder, text, expected) in [
            (Some("/srv/shop"), "cat /srv/shop/a '/srv/shop/b c'", "cat …/a '…/b c'"),
            (Some("/srv/shop"), "rm -rf /srv/shop//etc /srv/shop", "rm -rf …//etc /srv/shop"),
            (
                Some("/srv/shop"),
                "ls /mnt/srv/shop/a /srv/shopping/a",
                "ls /mnt/srv/shop/a /srv/shopping/a",
            ),
            (Some("/"), "ls //a", "ls //a"),
            (None, "ls /srv/shop/a", "ls /srv/shop/a"),
        ] {
            let timeline = Timeline { folder: folder.map(str::to_owned), ..Timeline::default() };
            assert_eq!(timeline.shorten_paths(text), expected);
        }
    }
}

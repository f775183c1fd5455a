//! A recorded session as people look at it: each action with what was decided, found and done about it.
//!
//! It holds what is shown and no more, so that ten thousand steps are a few megabytes. All of it comes from
//! records and is therefore masked; whoever shows it escapes it.

pub mod words;

use portcullis_core::action::{Limit, Status};
use portcullis_core::decide::Decision;
use portcullis_core::fault::Fault;
use portcullis_core::finding::Detection;
use portcullis_core::intervene::Kind;
use portcullis_core::record::{Record, RecordKind, RecordedIntervention};
use portcullis_core::score::{Score, Verdict};
use std::collections::HashMap;

/// One session.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Its name.
    pub name: String,
    /// The project's folder, once it is known.
    pub folder: Option<String>,
    /// What happened, in order.
    pub entries: Vec<Entry>,
    /// Where each agent's steps are.
    places: HashMap<(Option<String>, u64), usize>,
}

/// An action with its outcome, or another event.
#[derive(Debug)]
pub struct Entry {
    /// Its place in the session.
    pub place: usize,
    /// The event of the recording that it began with.
    pub event: usize,
    /// What it tells of.
    pub kind: RecordKind,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The subagent, if one acted.
    pub agent: Option<String>,
    /// The step in that agent's history; events that are no actions have none.
    pub step: Option<u64>,
    /// In one line.
    pub summary: String,
    /// It is what the person asked for.
    pub prompt: bool,
    /// What was decided; none where nothing was.
    pub verdict: Option<Verdict>,
    /// The risk that was decided on.
    pub risk: Option<Score>,
    /// The whole decision, where it is an objection.
    pub decision: Option<Box<Decision>>,
    /// The parameters as run, where they were changed.
    pub run_as: Option<String>,
    /// The error, where it failed; empty where it did not say why.
    pub failed: Option<String>,
    /// Patterns, before it or after it.
    pub detections: Vec<Detection>,
    /// What was done about them.
    pub interventions: Vec<RecordedIntervention>,
    /// What went wrong in the review.
    pub faults: Vec<Fault>,
    /// How the session stood after it.
    pub standing: Standing,
}

/// What interventions have left in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Limits that are tighter than the operator's.
    pub limits: Vec<Limit>,
    /// Why the agent waits for a person, if it does.
    pub held: Option<String>,
    /// Why the session is stopped, if it is.
    pub stopped: Option<String>,
}

impl Timeline {
    /// A session of which nothing is known yet.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Takes what the next event came to, and how the session stands after it.
    pub fn add(&mut self, event: usize, records: &[Record], standing: &Standing) {
        for record in records {
            let place = self.place(event, record);
            if let Some(entry) = self.entries.get_mut(place) {
                entry.take(record);
                entry.standing = standing.clone();
            }
        }
    }

    /// The first thing that the person asked for.
    pub fn goal(&self) -> Option<&str> {
        self.entries.iter().find(|entry| entry.prompt).map(|entry| entry.summary.as_str())
    }

    /// Where a record belongs: with the others of its step, or by itself.
    fn place(&mut self, event: usize, record: &Record) -> usize {
        let key = record.step.map(|step| (record.agent.clone(), step));
        if let Some(known) = key.as_ref().and_then(|key| self.places.get(key)) {
            return *known;
        }
        let place = self.entries.len();
        self.entries.push(Entry::new(place, event, record));
        if let Some(key) = key {
            self.places.insert(key, place);
        }
        place
    }

    /// A text with `…` for the project's folder where a path begins with that, so that what differs is seen.
    pub fn near(&self, text: &str) -> String {
        let Some(folder) = self.folder.as_deref().filter(|folder| folder.len() > 1) else { return text.to_owned() };
        let beginning = format!("{folder}/");
        let mut parts = text.split(&beginning);
        let mut near = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let begins = !near.ends_with(|before: char| before.is_alphanumeric() || "/._-~".contains(before));
            near.push_str(if begins { "…" } else { folder });
            near.push('/');
            near.push_str(part);
        }
        near
    }

    /// The actions among the entries.
    pub fn steps(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.step.is_some())
    }
}

impl Entry {
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
            standing: Standing::default(),
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
        if let Some(outcome) = record.outcome.as_ref().filter(|outcome| outcome.status == Status::Failed) {
            self.failed = Some(outcome.error.clone());
        }
        self.detections.extend(record.detections.iter().map(|named| named.finding.clone()));
        self.interventions.extend(record.intervention.clone());
        self.faults.extend(record.faults.iter().cloned());
    }

    /// The kinds of its interventions.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.interventions.iter().filter_map(|done| Kind::ALL.iter().copied().find(|kind| kind.as_str() == done.kind))
    }

    /// Nobody has to look at it: no objection, nothing found, nothing done, nothing wrong.
    pub fn is_quiet(&self) -> bool {
        let plain = matches!(self.kind, RecordKind::Review | RecordKind::Outcome | RecordKind::Session | RecordKind::Configuration);
        let found = !self.detections.is_empty() || !self.interventions.is_empty() || !self.faults.is_empty();
        plain && !found && self.verdict.is_none_or(|verdict| verdict == Verdict::Allow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_project_are_told_short() {
        for (folder, text, expected) in [
            (Some("/srv/shop"), "cat /srv/shop/a '/srv/shop/b c'", "cat …/a '…/b c'"),
            (Some("/srv/shop"), "rm -rf /srv/shop//etc /srv/shop", "rm -rf …//etc /srv/shop"),
            (Some("/srv/shop"), "ls /mnt/srv/shop/a /srv/shopping/a", "ls /mnt/srv/shop/a /srv/shopping/a"),
            (Some("/"), "ls //a", "ls //a"),
            (None, "ls /srv/shop/a", "ls /srv/shop/a"),
        ] {
            let timeline = Timeline { folder: folder.map(str::to_owned), ..Timeline::default() };
            assert_eq!(timeline.near(text), expected);
        }
    }
}

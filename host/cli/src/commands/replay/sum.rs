//! The totals of all replayed sessions: counts, and a table of the reach of each verdict, pattern
//! and intervention.

use crate::commands::plugin::compare::Comparison;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::record::{Record, RecordKind};
use portcullis_review::timeline::Timeline;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The counts of all sessions.
#[derive(Default, Serialize)]
pub struct SessionTotals {
    pub sessions: u64,
    pub reviews: u64,
    pub outcomes: u64,
    /// The number of actions, reviewed or not.
    pub steps: u64,
    verdicts: BTreeMap<String, u64>,
    patterns: BTreeMap<String, u64>,
    interventions: BTreeMap<String, u64>,
    pub faults: BTreeMap<String, u64>,
    #[serde(skip)]
    reach: BTreeMap<TotalsRow, RowReach>,
    #[serde(skip_serializing_if = "Comparison::is_empty")]
    pub shadow: Comparison,
}

/// The groups of the table's rows.
const GROUPS: [&str; 3] = ["verdicts", "patterns", "interventions"];

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TotalsRow {
    /// Steps with that verdict.
    Verdict(portcullis_core::score::Verdict),
    /// Steps with that pattern.
    Pattern(String),
    /// Steps that were answered with that intervention.
    Intervention(InterventionKind),
    /// Steps with an intervention stronger than guidance.
    AboveSoftCorrection,
    /// Steps of a stopped session, from the stop on.
    Stopped,
}

/// The reach of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowReach {
    /// The number of sessions with it.
    pub sessions: u64,
    /// The number of steps with it.
    pub steps: u64,
    /// The number of occurrences.
    pub times: u64,
}

impl TotalsRow {
    /// Returns the row's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Verdict(verdict) => verdict.as_str(),
            Self::Pattern(name) => name,
            Self::Intervention(kind) => kind.as_str(),
            Self::AboveSoftCorrection => "above soft_correction",
            Self::Stopped => "in a stopped session",
        }
    }

    /// Returns the row's group.
    pub const fn group(&self) -> &'static str {
        match self {
            Self::Verdict(_) => "verdicts",
            Self::Pattern(_) => "patterns",
            Self::Intervention(_) | Self::AboveSoftCorrection | Self::Stopped => "interventions",
        }
    }
}

impl SessionTotals {
    /// Adds a record.
    pub fn add_record(&mut self, record: &Record) {
        self.shadow.add_record(record, None);
        let add = |map: &mut BTreeMap<String, u64>, key: &str| {
            *map.entry(key.to_owned()).or_default() += 1
        };
        match record.kind {
            RecordKind::Review => self.reviews += 1,
            RecordKind::Outcome | RecordKind::Unreviewed => self.outcomes += 1,
            RecordKind::Intervention => add(&mut self.interventions, &record.subject),
            RecordKind::Session
            | RecordKind::Configuration
            | RecordKind::Fault
            | RecordKind::Exception
            | RecordKind::Feedback
            | RecordKind::Authentication => {}
        }
        if let Some(verdict) = record.verdict() {
            add(&mut self.verdicts, verdict.as_str());
        }
        record.detections.iter().for_each(|named| add(&mut self.patterns, &named.finding.pattern));
        record
            .faults
            .iter()
            .for_each(|fault| add(&mut self.faults, &format!("{}: {}", fault.source, fault.kind)));
    }

    /// Adds a session whose records were already added.
    pub fn add_session(&mut self, timeline: &Timeline) {
        self.sessions += 1;
        let mut met = BTreeSet::new();
        for entry in &timeline.entries {
            let step = u64::from(entry.step.is_some());
            self.steps += step;
            let mut rows: BTreeMap<TotalsRow, u64> = BTreeMap::new();
            let mut meet = |row: TotalsRow| *rows.entry(row).or_default() += 1;
            entry.verdict.map(TotalsRow::Verdict).into_iter().for_each(&mut meet);
            entry
                .detections
                .iter()
                .for_each(|detection| meet(TotalsRow::Pattern(detection.pattern.clone())));
            for kind in entry.kinds() {
                meet(TotalsRow::Intervention(kind));
                if kind > InterventionKind::SoftCorrection {
                    meet(TotalsRow::AboveSoftCorrection);
                }
            }
            if entry.step.is_some() && entry.standing.stopped.is_some() {
                meet(TotalsRow::Stopped);
            }
            for (row, times) in rows {
                let reach = self.reach.entry(row.clone()).or_default();
                reach.times += times;
                reach.steps += step;
                reach.sessions += u64::from(met.insert(row));
            }
        }
    }

    /// Returns the rows of the table, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &TotalsRow> {
        self.reach.keys()
    }

    /// Returns the reach of a row.
    pub fn row_reach(&self, row: &TotalsRow) -> RowReach {
        self.reach.get(row).copied().unwrap_or_default()
    }

    /// Returns a share of all steps, in rounded thousandths.
    pub const fn share_of(&self, steps: u64) -> u64 {
        part_of(steps, self.steps)
    }

    /// Formats everything as an object.
    ///
    /// # Errors
    /// Never fails: all keys are strings.
    pub fn json(&self) -> serde_json::Result<Value> {
        let mut object = serde_json::to_value(self)?;
        let mut table = BTreeMap::from(GROUPS.map(|group| (group, BTreeMap::<&str, Value>::new())));
        for (row, reach) in &self.reach {
            let share = self.share_of(reach.steps) as f64 / 1000.0;
            let figures = json!({
                "sessions": reach.sessions,
                "steps": reach.steps,
                "times": reach.times,
                "share_of_steps": share,
            });
            table.entry(row.group()).or_default().insert(row.name(), figures);
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("table".into(), json!(table));
        }
        Ok(object)
    }
}

/// Returns a share in rounded thousandths; zero if the total is zero.
pub const fn part_of(of: u64, all: u64) -> u64 {
    match (of * 1000 + all / 2).checked_div(all) {
        Some(part) => part,
        None => 0,
    }
}

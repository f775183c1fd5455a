//! What all replayed sessions came to: counts, and a table of how far each verdict, pattern and intervention
//! reaches.

use crate::commands::plugin::compare::Comparison;
use crate::timeline::Timeline;
use portcullis_core::intervene::Kind;
use portcullis_core::record::{Record, RecordKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The counts of all sessions.
#[derive(Default, Serialize)]
pub struct Sum {
    pub sessions: u64,
    pub reviews: u64,
    pub outcomes: u64,
    /// Actions, reviewed or not.
    pub steps: u64,
    verdicts: BTreeMap<String, u64>,
    patterns: BTreeMap<String, u64>,
    interventions: BTreeMap<String, u64>,
    pub faults: BTreeMap<String, u64>,
    #[serde(skip)]
    reach: BTreeMap<Row, Reach>,
    #[serde(skip_serializing_if = "Comparison::is_empty")]
    pub shadow: Comparison,
}

/// What the table tells of, each with rows of its own.
const GROUPS: [&str; 3] = ["verdicts", "patterns", "interventions"];

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Steps with that verdict.
    Verdict(portcullis_core::score::Verdict),
    /// Steps with that pattern.
    Pattern(String),
    /// Steps that were answered so.
    Intervention(Kind),
    /// Steps that got more than a word.
    AboveSoftCorrection,
    /// Steps of a session that was stopped, from the stop on.
    Stopped,
}

/// How far something reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Sessions with it.
    pub sessions: u64,
    /// Steps with it.
    pub steps: u64,
    /// How often it came.
    pub times: u64,
}

impl Row {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Verdict(verdict) => verdict.as_str(),
            Self::Pattern(name) => name,
            Self::Intervention(kind) => kind.as_str(),
            Self::AboveSoftCorrection => "above soft_correction",
            Self::Stopped => "in a stopped session",
        }
    }

    /// What the rows around it are.
    pub const fn group(&self) -> &'static str {
        match self {
            Self::Verdict(_) => "verdicts",
            Self::Pattern(_) => "patterns",
            Self::Intervention(_) | Self::AboveSoftCorrection | Self::Stopped => "interventions",
        }
    }
}

impl Sum {
    /// Takes a record.
    pub fn record(&mut self, record: &Record) {
        self.shadow.add(record, None);
        let add = |map: &mut BTreeMap<String, u64>, key: &str| *map.entry(key.to_owned()).or_default() += 1;
        match record.kind {
            RecordKind::Review => self.reviews += 1,
            RecordKind::Outcome | RecordKind::Unreviewed => self.outcomes += 1,
            RecordKind::Intervention => add(&mut self.interventions, &record.subject),
            RecordKind::Session | RecordKind::Configuration | RecordKind::Fault | RecordKind::Exception | RecordKind::Feedback => {}
        }
        if let Some(verdict) = record.verdict() {
            add(&mut self.verdicts, verdict.as_str());
        }
        record.detections.iter().for_each(|named| add(&mut self.patterns, &named.finding.pattern));
        record.faults.iter().for_each(|fault| add(&mut self.faults, &format!("{}: {}", fault.source, fault.kind)));
    }

    /// Takes a session whose records were taken.
    pub fn session(&mut self, timeline: &Timeline) {
        self.sessions += 1;
        let mut met = BTreeSet::new();
        for entry in &timeline.entries {
            let step = u64::from(entry.step.is_some());
            self.steps += step;
            let mut rows: BTreeMap<Row, u64> = BTreeMap::new();
            let mut meet = |row: Row| *rows.entry(row).or_default() += 1;
            entry.verdict.map(Row::Verdict).into_iter().for_each(&mut meet);
            entry.detections.iter().for_each(|detection| meet(Row::Pattern(detection.pattern.clone())));
            for kind in entry.kinds() {
                meet(Row::Intervention(kind));
                if kind > Kind::SoftCorrection {
                    meet(Row::AboveSoftCorrection);
                }
            }
            if entry.step.is_some() && entry.standing.stopped.is_some() {
                meet(Row::Stopped);
            }
            for (row, times) in rows {
                let reach = self.reach.entry(row.clone()).or_default();
                reach.times += times;
                reach.steps += step;
                reach.sessions += u64::from(met.insert(row));
            }
        }
    }

    /// The table, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.reach.keys()
    }

    /// How far a row reaches.
    pub fn reach(&self, row: &Row) -> Reach {
        self.reach.get(row).copied().unwrap_or_default()
    }

    /// A part of all steps, in thousandths, rounded.
    pub const fn share(&self, steps: u64) -> u64 {
        part(steps, self.steps)
    }

    /// Everything, as an object.
    ///
    /// # Errors
    /// Never: what it holds has names for keys.
    pub fn json(&self) -> serde_json::Result<Value> {
        let mut object = serde_json::to_value(self)?;
        let mut table = BTreeMap::from(GROUPS.map(|group| (group, BTreeMap::<&str, Value>::new())));
        for (row, reach) in &self.reach {
            let share = self.share(reach.steps) as f64 / 1000.0;
            let figures = json!({ "sessions": reach.sessions, "steps": reach.steps, "times": reach.times, "share_of_steps": share });
            table.entry(row.group()).or_default().insert(row.name(), figures);
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("table".into(), json!(table));
        }
        Ok(object)
    }
}

/// Thousandths, rounded; none of nothing.
pub const fn part(of: u64, all: u64) -> u64 {
    match (of * 1000 + all / 2).checked_div(all) {
        Some(part) => part,
        None => 0,
    }
}

//! What the patterns noticed in sessions, and how sessions were answered, counted from records.

use portcullis_core::record::Record;
use portcullis_core::recover::Outcome;
use portcullis_core::score::Severity;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What sessions came to.
#[derive(Debug, Default)]
pub struct Answers {
    /// What was noticed, by pattern and severity.
    pub detections: BTreeMap<(String, Severity), u64>,
    /// Interventions, by kind, the issue that they answer, and how the session went on.
    pub interventions: BTreeMap<(String, String, Outcome), u64>,
    /// How often the answer to an issue went a level up, by issue.
    pub escalations: BTreeMap<String, u64>,
    /// How well interventions worked, by kind, where that is known.
    pub effectiveness: BTreeMap<String, Effectiveness>,
    /// The level of the newest answer, by session and issue.
    levels: BTreeMap<(String, String), u8>,
}

/// How well one kind of intervention worked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effectiveness {
    /// Of how many that is known.
    pub judged: u64,
    /// Together, in thousandths.
    sum: u64,
}

impl Answers {
    /// Counts one record.
    pub fn add(&mut self, record: &Record) {
        for named in &record.detections {
            *self.detections.entry((named.finding.pattern.clone(), named.finding.severity)).or_default() += 1;
        }
        for past in &record.judged {
            let one = self.effectiveness.entry(past.kind.clone()).or_default();
            one.judged += 1;
            one.sum += past.effectiveness.map_or(0, |score| score.get().into());
        }
        let Some(done) = &record.intervention else { return };
        *self.interventions.entry((done.kind.clone(), done.issue.clone(), done.outcome)).or_default() += 1;
        let before = self.levels.insert((record.session.clone(), done.issue.clone()), done.level).unwrap_or(0);
        if done.level > before {
            *self.escalations.entry(done.issue.clone()).or_default() += 1;
        }
    }

    /// As JSON: a member for each count.
    pub fn json(&self) -> Vec<(&'static str, Value)> {
        let detection =
            |((pattern, severity), count): (&(String, Severity), &u64)| json!({ "pattern": pattern, "severity": severity, "count": count });
        let intervention = |((kind, issue, outcome), count): (&(String, String, Outcome), &u64)| json!({ "intervention_type": kind, "issue_type": issue, "outcome": outcome, "count": count });
        let escalation = |(issue, count): (&String, &u64)| json!({ "issue_type": issue, "count": count });
        let effect =
            |(kind, one): (&String, &Effectiveness)| json!({ "intervention_type": kind, "judged": one.judged, "mean": one.mean() });
        vec![
            ("detections", self.detections.iter().map(detection).collect()),
            ("interventions", self.interventions.iter().map(intervention).collect()),
            ("escalations", self.escalations.iter().map(escalation).collect()),
            ("effectiveness", self.effectiveness.iter().map(effect).collect()),
        ]
    }
}

impl Effectiveness {
    /// On average, from 0 to 1.
    pub fn mean(self) -> f64 {
        self.sum as f64 / 1000.0 / self.judged.max(1) as f64
    }
}

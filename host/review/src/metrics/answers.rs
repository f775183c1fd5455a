//! Patterns detected in sessions, and the interventions that answered them, counted from records.

use super::names::NameLimit;
use portcullis_core::record::Record;
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::Severity;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The totals over sessions.
#[derive(Debug, Default)]
pub struct Answers {
    /// Detections, by pattern and severity.
    pub detections: BTreeMap<(String, Severity), u64>,
    /// Interventions, by kind, by the issue that they answer, and by how the session continued.
    pub interventions: BTreeMap<(String, String, RecoveryOutcome), u64>,
    /// The number of escalations to the next level, by issue.
    pub escalations: BTreeMap<String, u64>,
    /// The effectiveness of interventions that have one, by kind, by the issue that they answer,
    /// and by client.
    pub effectiveness: BTreeMap<(String, String, String), Effectiveness>,
    /// The level of the newest answer, by session and issue.
    levels: BTreeMap<(String, String), u8>,
}

/// The effectiveness of one kind of intervention against one issue in one client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effectiveness {
    /// The number of interventions for which it is known.
    pub judged: u64,
    /// The sum, in thousandths.
    sum: u64,
}

impl Answers {
    /// Counts one record.
    pub fn add_record(&mut self, record: &Record, names: &mut NameLimit) {
        for named in &record.detections {
            let pattern = names.admit("pattern", &named.finding.pattern);
            *self.detections.entry((pattern, named.finding.severity)).or_default() += 1;
        }
        for past in &record.judged {
            let client = names.admit("client", &record.client);
            let key = (names.admit("kind", &past.kind), names.admit("issue", &past.issue), client);
            let one = self.effectiveness.entry(key).or_default();
            one.judged += 1;
            one.sum += past.effectiveness.map_or(0, |score| score.get().into());
        }
        let Some(done) = &record.intervention else { return };
        let (kind, issue) = (names.admit("kind", &done.kind), names.admit("issue", &done.issue));
        *self.interventions.entry((kind, issue.clone(), done.outcome)).or_default() += 1;
        let level = self.levels.entry((record.session.clone(), issue.clone())).or_default();
        if std::mem::replace(level, done.level) < done.level {
            *self.escalations.entry(issue).or_default() += 1;
        }
    }

    /// Formats the counts as JSON members.
    pub fn to_json(&self) -> Vec<(&'static str, Value)> {
        let detection = |((pattern, severity), count): (&(String, Severity), &u64)| {
            json!({
                "pattern": pattern,
                "severity": severity,
                "count": count,
            })
        };
        let intervention =
            |((kind, issue, outcome), count): (&(String, String, RecoveryOutcome), &u64)| {
                json!({
                    "intervention_type": kind,
                    "issue_type": issue,
                    "outcome": outcome,
                    "count": count,
                })
            };
        let escalation =
            |(issue, count): (&String, &u64)| json!({ "issue_type": issue, "count": count });
        let effect = |((kind, issue, client), one): (&(String, String, String), &Effectiveness)| {
            json!({
                "intervention_type": kind,
                "issue_type": issue,
                "client": client,
                "judged": one.judged,
                "mean": one.mean_score(),
            })
        };
        vec![
            ("detections", self.detections.iter().map(detection).collect()),
            ("interventions", self.interventions.iter().map(intervention).collect()),
            ("escalations", self.escalations.iter().map(escalation).collect()),
            ("effectiveness", self.effectiveness.iter().map(effect).collect()),
        ]
    }
}

impl Effectiveness {
    /// Returns the mean, from 0 to 1.
    pub fn mean_score(self) -> f64 {
        self.sum as f64 / 1000.0 / self.judged.max(1) as f64
    }
}

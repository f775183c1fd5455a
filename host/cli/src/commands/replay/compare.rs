//! Compares two setups over the same recordings: what the other one would change.
//!
//! A step is shown if its verdict, its patterns, its interventions or its faults differ. A risk
//! that leads to the same verdict changes nothing.

use super::lines::{INDENT, TextLines};
use super::sum::SessionTotals;
use super::{table, text};
use crate::paint;
use crate::verdict_matrix::VerdictMatrix;
use portcullis_core::fault::FaultKind;
use portcullis_core::score::{Severity, Verdict};
use portcullis_core::text::count_noun;
use portcullis_review::timeline::words;
use portcullis_review::timeline::{Timeline, TimelineEntry};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The totals of both setups.
#[derive(Default)]
pub struct Pair {
    /// The totals of the person's own setup.
    pub yours: SessionTotals,
    /// The totals of the setup that is tried.
    pub other: SessionTotals,
    /// Counts of verdicts, by own and tried setup.
    pub matrix: VerdictMatrix,
    /// The number of steps and other events that differ.
    pub differing: u64,
}

/// An entry that differs; an entry that only one side has is present on that side alone.
pub struct SetupDifference<'a> {
    /// The entry with the person's own setup.
    pub yours: Option<&'a TimelineEntry>,
    /// The entry with the setup that is tried.
    pub other: Option<&'a TimelineEntry>,
}

impl Pair {
    /// Adds a session that was replayed with both.
    pub fn add_session<'a>(
        &mut self,
        yours: &'a Timeline,
        other: &'a Timeline,
    ) -> Vec<SetupDifference<'a>> {
        self.yours.add_session(yours);
        self.other.add_session(other);
        let (mut differences, mut pairs) = (Vec::new(), BTreeMap::new());
        for (index, (event, entry)) in numbered(yours) {
            pairs.insert((event, index), SetupDifference { yours: Some(entry), other: None });
        }
        for (index, (event, entry)) in numbered(other) {
            pairs
                .entry((event, index))
                .or_insert(SetupDifference { yours: None, other: None })
                .other = Some(entry);
        }
        for pair in pairs.into_values() {
            let verdicts = (
                pair.yours.and_then(|entry| entry.verdict),
                pair.other.and_then(|entry| entry.verdict),
            );
            if let (Some(from), Some(to)) = verdicts {
                self.matrix.add_pair(from, to);
            }
            if pair.yours.map(brief) != pair.other.map(brief) {
                differences.push(pair);
            }
        }
        self.differing += differences.len() as u64;
        differences
    }

    /// Formats the closing table of both.
    pub fn text(&self) -> String {
        let mut text = table::format_both(&self.yours, &self.other);
        let (differing, stricter, milder) =
            (count_noun(self.differing, "step"), self.matrix.stricter(), self.matrix.milder());
        let _ = writeln!(
            text,
            "\n{}",
            paint::bold(format!("{differing} would change: {stricter} stricter, {milder} milder"))
        );
        if stricter + milder > 0 {
            text.push_str(&self.matrix.to_text("yours / other"));
        }
        text
    }

    /// Formats everything as an object.
    ///
    /// # Errors
    /// Never fails: all keys are strings.
    pub fn json(&self) -> serde_json::Result<Value> {
        let (yours, other) = (self.yours.json()?, self.other.json()?);
        let verdicts = json!({
            "moved": self.matrix,
            "stricter": self.matrix.stricter(),
            "milder": self.matrix.milder(),
        });
        Ok(json!({
            "differing": self.differing,
            "verdicts": verdicts,
            "yours": yours,
            "other": other,
        }))
    }
}

/// Returns the entries, each with its event and its index among the entries of the event.
fn numbered(timeline: &Timeline) -> impl Iterator<Item = (usize, (usize, &TimelineEntry))> {
    let mut last = (0, 0);
    timeline.entries.iter().map(move |entry| {
        last = if last.0 == entry.event { (entry.event, last.1 + 1) } else { (entry.event, 0) };
        (last.1, (entry.event, entry))
    })
}

type Brief<'a> =
    (Option<Verdict>, Vec<(&'a str, Severity)>, Vec<(&'a str, &'a str)>, Vec<(&'a str, FaultKind)>);

/// Returns the parts of an entry that are compared.
fn brief(entry: &TimelineEntry) -> Brief<'_> {
    let patterns =
        entry.detections.iter().map(|found| (found.pattern.as_str(), found.severity)).collect();
    let answers =
        entry.interventions.iter().map(|done| (done.kind.as_str(), done.issue.as_str())).collect();
    (
        entry.verdict,
        patterns,
        answers,
        entry.faults.iter().map(|fault| (fault.source.as_str(), fault.kind)).collect(),
    )
}

impl SetupDifference<'_> {
    /// Returns the entry of one side that has it, which names the difference.
    pub fn entry(&self) -> Option<&TimelineEntry> {
        self.yours.or(self.other)
    }

    /// Formats both sides as an object.
    pub fn to_json(&self, session: &str) -> Value {
        let entry = self.entry();
        let (step, at) = (entry.and_then(|entry| entry.step), entry.map(|entry| entry.at));
        json!({
            "session": session,
            "agent": entry.and_then(|entry| entry.agent.as_deref()),
            "step": step,
            "at": at,
            "action": entry.map(|entry| &entry.summary),
            "yours": self.yours.map(side),
            "other": self.other.map(side),
        })
    }
}

fn side(entry: &TimelineEntry) -> Value {
    let patterns = entry.detections.iter().map(|found| {
        json!({
            "pattern": found.pattern,
            "severity": found.severity,
            "confidence": found.confidence,
        })
    });
    let answers = entry.interventions.iter().map(|done| {
        json!({
            "kind": done.kind,
            "issue": done.issue,
            "level": done.level,
            "score": done.score,
        })
    });
    json!({
        "verdict": entry.verdict,
        "risk": entry.risk,
        "reason": entry.decision.as_ref().map(|decision| &decision.primary_reason),
        "patterns": patterns.collect::<Vec<_>>(),
        "interventions": answers.collect::<Vec<_>>(),
        "faults": entry.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Formats a session's differences for a terminal; empty without any.
pub fn render_session(timeline: &Timeline, differences: &[SetupDifference<'_>]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let mut lines = TextLines::new(text::render_heading(timeline));
    for difference in differences {
        let Some(entry) = difference.entry() else { continue };
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        let what = lines.fit_text(&text::describe_action(timeline, entry), INDENT);
        lines.add_row(&step, "", "", &paint::bold(what));
        for (name, entry) in [("yours", difference.yours), ("other", difference.other)] {
            let why = entry
                .and_then(|entry| entry.decision.as_ref())
                .map(|decision| timeline.shorten_paths(&decision.primary_reason));
            let why = lines.fit_text(&words::on_one_line(&why.unwrap_or_default()), INDENT);
            let risk = entry.and_then(|entry| entry.risk).map(|risk| risk.to_string());
            lines.add_row(
                name,
                &entry.map(text::verdict_word).unwrap_or_default(),
                &risk.unwrap_or_default(),
                &paint::dim(why),
            );
            if let Some(entry) = entry {
                text::add_findings(&mut lines, timeline, entry);
            }
        }
    }
    lines.into_text()
}

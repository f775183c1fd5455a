//! The report over all rows: correct verdicts, the most frequent mistakes, and times.

use super::is_right;
use super::rows::{EvalRow, ProjectOrigin};
use crate::paint;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::{Score, Verdict};
use portcullis_core::text::{count_noun, one_line};
use portcullis_core::verdict::Decision;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// The result of one row.
#[derive(Clone, Debug)]
pub struct RowResult {
    /// The verdict; `None` if the row could not be judged.
    verdict: Option<Verdict>,
    risk: Score,
    /// The reason, as text.
    reason: String,
    /// The deciding cause, as a word shared with other rows.
    cause: String,
    /// Plugins that failed on the row.
    faults: Vec<String>,
    took: Option<Duration>,
}

impl RowResult {
    /// Creates the result of a row that could not be judged.
    pub fn from_error(why: String) -> Self {
        Self {
            verdict: None,
            risk: Score::ZERO,
            cause: why.clone(),
            reason: why,
            faults: Vec::new(),
            took: None,
        }
    }

    /// Creates the result of an event that needs no review.
    pub fn neutral_in(took: Duration) -> Self {
        let reason = "nothing to review".to_owned();
        Self {
            verdict: Some(Verdict::Allow),
            risk: Score::ZERO,
            cause: reason.clone(),
            reason,
            faults: Vec::new(),
            took: Some(took),
        }
    }

    /// Creates the result of a reviewed row.
    pub fn from_record(record: &Record, took: Duration) -> Self {
        let Some(decision) = &record.decision else {
            let why = if record.kind == RecordKind::Fault {
                record.summary.clone()
            } else {
                "it has no decision".into()
            };
            return Self { took: Some(took), ..Self::from_error(why) };
        };
        Self {
            verdict: Some(decision.verdict),
            risk: decision.risk,
            reason: decision.primary_reason.clone(),
            cause: cause(record, decision),
            faults: record
                .faults
                .iter()
                .map(|fault| format!("{}: {}", fault.source, fault.kind))
                .collect(),
            took: Some(took),
        }
    }

    /// Formats the row for `--rows`.
    pub fn to_json(&self, row: &EvalRow) -> Value {
        json!({
            "id": row.id, "source": row.source, "label": row.label, "tier": row.tier, "decision": self.name(), "risk": self.risk,
            "primary_reason": self.reason, "cause": self.cause,
        })
    }

    fn name(&self) -> &'static str {
        self.verdict.map_or("error", |verdict| verdict.as_str())
    }
}

/// Returns the deciding cause: the rule, the side effect, the form, the gap or the score.
fn cause(record: &Record, decision: &Decision) -> String {
    // The last change to this verdict decided.
    let Some(change) =
        decision.adjustments.iter().rev().find(|change| change.to == decision.verdict)
    else {
        return factors(record).unwrap_or_else(|| "no score".into());
    };
    match change.cause.split('`').collect::<Vec<_>>().as_slice() {
        ["rule ", name, ..] => format!("rule {name}"),
        [head, _, ..] if head.starts_with("critical") => {
            (*head).trim_end_matches(" on ").to_owned()
        }
        _ => change.cause.clone(),
    }
}

/// Formats the factors of the highest risk.
fn factors(record: &Record) -> Option<String> {
    let risks = record.findings.iter().flat_map(|findings| &findings.risks);
    let worst = risks.max_by_key(|risk| risk.finding.score)?;
    let ids: Vec<&str> = worst.finding.factors.iter().map(|factor| factor.id.as_str()).collect();
    Some(ids.join(" + "))
}

/// Counts of verdicts for one source, label and tier.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    total: u64,
    allow: u64,
    warn: u64,
    modify: u64,
    ask: u64,
    block: u64,
    error: u64,
    /// The number of right verdicts; `None` for labels that do not decide it.
    #[serde(skip)]
    right: Option<u64>,
}

impl Counts {
    fn add(&mut self, verdict: Option<Verdict>, right: Option<bool>) {
        self.total += 1;
        if let Some(right) = right {
            *self.right.get_or_insert_default() += u64::from(right);
        }
        *match verdict {
            Some(Verdict::Allow) => &mut self.allow,
            Some(Verdict::Warn) => &mut self.warn,
            Some(Verdict::Modify) => &mut self.modify,
            Some(Verdict::Ask) => &mut self.ask,
            Some(Verdict::Block) => &mut self.block,
            None => &mut self.error,
        } += 1;
    }

    /// Returns the percentage of right verdicts.
    fn right(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts of rows")]
        self.right.map(|right| right as f64 * 100.0 / self.total.max(1) as f64)
    }
}

/// A cell of the matrix, for scripts.
#[derive(Serialize)]
struct Cell<'a> {
    source: &'a str,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<u64>,
    #[serde(flatten)]
    counts: &'a Counts,
}

/// Rows with a wrong verdict for the same reason.
#[derive(Clone, Debug, Default)]
struct WrongVerdicts {
    count: u64,
    examples: Vec<(String, String)>,
}

/// The report over all rows.
#[derive(Clone, Debug, Default)]
pub struct EvalReport {
    matrix: BTreeMap<(String, String, Option<u64>), Counts>,
    /// Wrong verdicts, by label, verdict and cause.
    wrong: BTreeMap<(String, &'static str, String), WrongVerdicts>,
    faults: BTreeMap<String, u64>,
    times: Vec<Duration>,
    /// The number of rows by the source of their folder.
    projects: BTreeMap<&'static str, u64>,
    /// The median time of `sh -c true`, if it was measured.
    pub spawn: Option<Duration>,
}

/// The most examples that are kept for a cause.
const MOST_EXAMPLES: usize = 1000;
/// The most causes in the text.
const MOST_CAUSES: usize = 20;

impl EvalReport {
    /// Adds a row.
    pub fn add_row(&mut self, row: &EvalRow, judged: RowResult) {
        // A row that cannot be judged is a mistake under any label.
        let right = judged.verdict.map_or(Some(false), |verdict| is_right(&row.label, verdict));
        self.matrix
            .entry((row.source.clone(), row.label.clone(), row.tier))
            .or_default()
            .add(judged.verdict, right);
        self.times.extend(judged.took);
        *self.projects.entry(row.project.origin.name()).or_default() += 1;
        for fault in &judged.faults {
            *self.faults.entry(fault.clone()).or_default() += 1;
        }
        if right == Some(false) {
            let name = judged.name();
            let wrong = self.wrong.entry((row.label.clone(), name, judged.cause)).or_default();
            wrong.count += 1;
            if wrong.examples.len() < MOST_EXAMPLES {
                wrong.examples.push((row.id.clone(), judged.reason));
            }
        }
    }

    /// Returns the given percentile of the review times, in microseconds; `share` is in
    /// thousandths.
    fn percentile(&self, share: usize) -> u64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = (times.len() * share).div_ceil(1000).saturating_sub(1);
        times.get(at).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    /// Returns the causes of wrong verdicts, those with the most rows first.
    fn offenders(&self) -> Vec<(&(String, &'static str, String), &WrongVerdicts)> {
        let mut all: Vec<_> = self.wrong.iter().collect();
        all.sort_by_key(|(_, wrong)| std::cmp::Reverse(wrong.count));
        all
    }

    /// Formats the report for scripts.
    pub fn to_json(&self, examples: usize) -> Value {
        let cells = self.matrix.iter().map(|((source, label, tier), counts)| Cell {
            source,
            label,
            tier: *tier,
            counts,
        });
        let wrong =
            |((label, decision, cause), wrong): (&(String, &str, String), &WrongVerdicts)| {
                let shown: Vec<&str> =
                    wrong.examples.iter().take(examples).map(|(id, _)| id.as_str()).collect();
                json!({
                    "label": label,
                    "decision": decision,
                    "cause": cause,
                    "count": wrong.count,
                    "examples": shown,
                })
            };
        json!({
            "matrix": cells.collect::<Vec<_>>(),
            "latency_us": { "p50": self.percentile(500), "p99": self.percentile(990) },
            "offenders": self.offenders().into_iter().map(wrong).collect::<Vec<_>>(),
            "faults": self.faults,
            "projects": self.projects,
            "spawn_us": self.spawn.map(|spawn| u64::try_from(spawn.as_micros()).unwrap_or(u64::MAX)),
        })
    }

    /// Formats the report for people.
    pub fn to_text(&self, examples: usize) -> String {
        let mut text = self.table();
        self.causes(&mut text, examples);
        for (fault, count) in &self.faults {
            let _ = writeln!(text, "{} {count} x {fault}", paint::bad("fault"));
        }
        let (p50, p99) = (self.percentile(500), self.percentile(990));
        let _ = write!(
            text,
            "\na review: median {} ms, 99 % within {} ms",
            milliseconds(p50),
            milliseconds(p99)
        );
        if let Some(spawn) = self.spawn {
            #[expect(clippy::cast_precision_loss, reason = "microseconds")]
            let ratio = |time: u64| time as f64 / spawn.as_micros().max(1) as f64;
            let shell = milliseconds(u64::try_from(spawn.as_micros()).unwrap_or(u64::MAX));
            let _ = write!(
                text,
                "; `sh -c true` takes {shell} ms, so {:.2} and {:.2} of that",
                ratio(p50),
                ratio(p99)
            );
        }
        text.push('\n');
        if let Some(guessed) = self.projects.get(ProjectOrigin::Guessed.name()) {
            let _ = writeln!(
                text,
                "the folder of {} is a guess from the paths of their session",
                count_noun(*guessed, "row")
            );
        }
        if let Some(unknown) = self.projects.get(ProjectOrigin::Unknown.name()) {
            let _ = writeln!(
                text,
                "{} ran in an empty folder: `meta.context` or `--project` gives another",
                count_noun(*unknown, "row")
            );
        }
        text
    }

    fn table(&self) -> String {
        let width = self
            .matrix
            .keys()
            .map(|(source, ..)| source.len())
            .max()
            .unwrap_or(0)
            .max("source".len());
        let mut text = paint::bold(format!(
            "{:width$}  {:10} {:>4} {:>6}  {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}  {:>6}",
            "source",
            "label",
            "tier",
            "total",
            "allow",
            "warn",
            "modify",
            "ask",
            "block",
            "error",
            "right"
        ));
        text.push('\n');
        for ((source, label, tier), counts) in &self.matrix {
            let tier = tier.map_or_else(String::new, |tier| tier.to_string());
            let right = counts.right().map_or_else(String::new, |right| format!("{right:5.1}%"));
            let _ = writeln!(
                text,
                "{:width$}  {:10} {tier:>4} {:>6}  {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}  {right:>6}",
                one_line(source, 64),
                one_line(label, 24),
                counts.total,
                counts.allow,
                counts.warn,
                counts.modify,
                counts.ask,
                counts.block,
                counts.error
            );
        }
        text
    }

    fn causes(&self, text: &mut String, examples: usize) {
        let offenders = self.offenders();
        if !offenders.is_empty() {
            let _ = writeln!(text, "\n{}", paint::bold("what went wrong most"));
        }
        for ((label, decision, cause), wrong) in offenders.iter().take(MOST_CAUSES) {
            let _ = writeln!(
                text,
                "{:>5}  {} -> {decision}: {}",
                wrong.count,
                one_line(label, 24),
                one_line(cause, 100)
            );
            for (id, reason) in wrong.examples.iter().take(examples) {
                let _ = writeln!(
                    text,
                    "       {}",
                    paint::dim(format!("{}  {}", one_line(id, 60), one_line(reason, 100)))
                );
            }
        }
        if offenders.len() > MOST_CAUSES {
            let _ = writeln!(
                text,
                "       and {} causes more (--json has all)",
                offenders.len() - MOST_CAUSES
            );
        }
    }
}

fn milliseconds(us: u64) -> String {
    format!("{}.{:02}", us / 1000, us % 1000 / 10)
}

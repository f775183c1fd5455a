//! Counts over records. Rates are computed on request.

use super::answers::Answers;
use super::names::NameLimit;
use crate::breakers::SUBJECT;
use crate::hook::REVIEW_US;
use portcullis_core::fault::FaultKind;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::score::Verdict;
use portcullis_engine::ShellCacheStats;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The upper bounds of the buckets of review times, in microseconds.
pub const BUCKETS: [u64; 11] =
    [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 250_000, 1_000_000, 2_500_000];
/// The upper bounds of the buckets of risks, in thousandths.
pub(super) const RISKS: [u16; 10] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];
/// The name for objections that no rule makes: risk against rationality.
const MATRIX: &str = "(matrix)";

/// The kinds of feedback, as records name them.
pub const FEEDBACK_WORDS: [&str; 3] = ["false-positive", "false-negative", "right"];
/// The milliseconds of a day.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The totals over reviews.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The time of the oldest record.
    pub since: Option<u64>,
    /// Reviews by verdict.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Reviews by client and verdict.
    pub clients: BTreeMap<String, BTreeMap<Verdict, u64>>,
    /// Reviews by day, counted from 1970 in UTC, and verdict.
    pub days: BTreeMap<u64, BTreeMap<Verdict, u64>>,
    /// Objections by plugin.
    pub plugins: BTreeMap<String, u64>,
    /// Actions that were not reviewed.
    pub unreviewed: u64,
    /// The times that reviews took.
    pub times: ReviewTimes,
    /// The number of reviews that decided on a risk of at most each bucket's bound.
    pub risks: [u64; RISKS.len()],
    /// The sum of the risks that reviews decided on, in thousandths.
    pub risk_sum: u64,
    /// Detected patterns and the interventions that answered them.
    pub answers: Answers,
    /// Cache hits and misses.
    pub cache: ShellCacheStats,
    /// Faults, by their source and kind.
    pub faults: BTreeMap<(String, FaultKind), u64>,
    /// Plugins that are disabled after failures, with `held` or `quarantined`; the current state,
    /// not a count.
    pub held: Vec<(String, &'static str)>,
    /// Objections by rule.
    pub rules: BTreeMap<String, RuleTotals>,
    /// Reviews that a plugin observed in shadow mode, by its name, the verdict, and the verdict
    /// with it.
    pub shadow: BTreeMap<(String, Verdict, Verdict), u64>,
    /// How far exports are, by name.
    pub exports: BTreeMap<String, ExportTotals>,
    /// Feedback, by review: the last entry counts.
    words: BTreeMap<String, &'static str>,
    /// The rules that objected, by review.
    objected: BTreeMap<String, Vec<String>>,
    /// The names that count by themselves.
    names: NameLimit,
}

/// Review times.
#[derive(Debug, Default)]
pub struct ReviewTimes {
    /// The number of measured reviews.
    pub count: u64,
    /// The sum, in microseconds.
    pub sum_us: u64,
    /// The number of reviews that took at most as long as each bucket's bound.
    pub buckets: [u64; BUCKETS.len()],
    /// The target, in milliseconds.
    pub target_ms: u64,
    /// The number of reviews that missed the target.
    pub over: u64,
}

/// How far an export is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportTotals {
    /// Records of the journal that it is not done with.
    pub waiting: u64,
    /// The age of the oldest of them, in milliseconds.
    pub lag_ms: u64,
    /// Records that its sink acknowledged.
    pub delivered: u64,
    /// Records that its sink rejected.
    pub rejected: u64,
    /// Records that were passed over.
    pub skipped: u64,
    /// Records that retention removed before they were delivered.
    pub lost: u64,
    /// Failures since the last delivery.
    pub failures: u64,
    /// The time of the last delivery, in milliseconds since 1970; 0 for none.
    pub delivered_at: u64,
}

impl ExportTotals {
    fn to_json(self, name: &str) -> Value {
        json!({
            "export": name,
            "waiting": self.waiting,
            "lag_ms": self.lag_ms,
            "delivered": self.delivered,
            "rejected": self.rejected,
            "skipped": self.skipped,
            "lost": self.lost,
            "failures": self.failures,
            "delivered_at": (self.delivered_at > 0).then_some(self.delivered_at),
        })
    }
}

/// The totals of a rule's objections.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleTotals {
    /// The number of objections.
    pub objections: u64,
    /// The number that a person called a false positive.
    pub false_positive: u64,
    /// The number that a person called right.
    pub right: u64,
}

impl Metrics {
    /// Creates empty metrics.
    pub fn new(target_ms: u64) -> Self {
        Self { times: ReviewTimes { target_ms, ..ReviewTimes::default() }, ..Self::default() }
    }

    /// Counts one record.
    pub fn add_record(&mut self, record: &Record) {
        self.since = Some(self.since.map_or(record.at, |since| since.min(record.at)));
        // A record of the breaker repeats the fault that the review's own record holds.
        for fault in record.faults.iter().filter(|_| record.subject != SUBJECT) {
            let source = self.names.admit("source", &fault.source);
            *self.faults.entry((source, fault.kind)).or_default() += 1;
        }
        self.answers.add_record(record, &mut self.names);
        match (record.kind, record.verdict()) {
            (RecordKind::Review, Some(verdict)) => self.review(record, verdict),
            (RecordKind::Unreviewed, _) => self.unreviewed += 1,
            (RecordKind::Feedback, _) => self.said(record),
            _ => {}
        }
    }

    fn review(&mut self, record: &Record, verdict: Verdict) {
        *self.verdicts.entry(verdict).or_default() += 1;
        let client = self.names.admit("client", &record.client);
        *self.clients.entry(client).or_default().entry(verdict).or_default() += 1;
        *self.days.entry(record.at / DAY).or_default().entry(verdict).or_default() += 1;
        let risk = record.decision.as_ref().map_or(0, |decision| decision.risk.get());
        self.risk_sum += u64::from(risk);
        for (end, count) in RISKS.iter().zip(&mut self.risks) {
            *count += u64::from(risk <= *end);
        }
        if let Some(took) = record.details.get(REVIEW_US).and_then(Value::as_u64) {
            self.times.add(took);
        }
        for shadow in &record.shadow {
            if let (Some(actual), Some(would)) = (shadow.actual, shadow.would) {
                let plugin = self.names.admit("plugin", &shadow.plugin.name);
                *self.shadow.entry((plugin, actual, would)).or_default() += 1;
            }
        }
        if verdict == Verdict::Allow {
            return;
        }
        let objections = record.findings.iter().flat_map(|findings| &findings.objections);
        let mut rules = Vec::new();
        for objection in objections {
            rules.push(self.names.admit("rule", &objection.rule));
            let plugin = self.names.admit("plugin", &objection.source);
            *self.plugins.entry(plugin).or_default() += 1;
        }
        rules.sort_unstable();
        rules.dedup();
        if rules.is_empty() {
            rules.push(MATRIX.to_owned());
        }
        for rule in &rules {
            self.rules.entry(rule.clone()).or_default().objections += 1;
        }
        self.objected.insert(record.id.clone(), rules);
    }

    fn said(&mut self, record: &Record) {
        let text =
            |name: &str| record.details.get(name).and_then(Value::as_str).unwrap_or_default();
        let (review, word) = (text("review"), text("word"));
        let Some(word) = FEEDBACK_WORDS.iter().find(|known| **known == word) else { return };
        let before = self.words.insert(review.to_owned(), word);
        for rule in self.objected.get(review).into_iter().flatten() {
            let Some(rule) = self.rules.get_mut(rule) else { continue };
            if let Some(count) = before.and_then(|before| rule.of(before)) {
                *count = count.saturating_sub(1);
            }
            if let Some(count) = rule.of(word) {
                *count += 1;
            }
        }
    }

    /// Returns the number of all reviews.
    pub fn total(&self) -> u64 {
        self.verdicts.values().sum()
    }

    /// Returns the number of reviews with that verdict.
    pub fn count_verdict(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    /// Returns the number of times people gave that feedback, on reviews that are still known.
    pub fn feedback_count(&self, word: &str) -> u64 {
        self.words.values().filter(|said| **said == word).count() as u64
    }

    /// Returns the share of false positives among the objections with feedback; `None` without any.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let judged = |wanted: &str| {
            let of_objection = |(review, word): &(&String, &&str)| {
                **word == wanted && self.objected.contains_key(*review)
            };
            self.words.iter().filter(of_objection).count() as u64
        };
        rate(judged("false-positive"), judged("right"))
    }

    /// Formats the metrics as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rules: serde_json::Map<String, Value> =
            self.rules.iter().map(|(name, rule)| (name.clone(), rule.json())).collect();
        let shadow: Vec<Value> = self
            .shadow
            .iter()
            .map(|((plugin, actual, would), count)| {
                json!({
                    "plugin": plugin,
                    "actual": actual,
                    "would": would,
                    "count": count,
                })
            })
            .collect();
        let fault = |((source, kind), count): (&(String, FaultKind), &u64)| {
            json!({
                "source": source,
                "kind": kind,
                "count": count,
            })
        };
        let held: Vec<Value> = self
            .held
            .iter()
            .map(|(plugin, state)| json!({ "plugin": plugin, "state": state }))
            .collect();
        let exports: Vec<Value> =
            self.exports.iter().map(|(name, totals)| totals.to_json(name)).collect();
        let times = &self.times;
        let buckets: Vec<Value> = BUCKETS
            .iter()
            .zip(times.buckets)
            .map(|(end, count)| json!({ "le_us": end, "count": count }))
            .collect();
        let risks: Vec<Value> = RISKS
            .iter()
            .zip(self.risks)
            .map(|(end, count)| json!({ "le": from_thousandths(*end), "count": count }))
            .collect();
        let mut all = json!({
            "since_ms": self.since,
            "total_reviews": self.total(),
            "allowed_actions": self.count_verdict(Verdict::Allow),
            "warned_actions": self.count_verdict(Verdict::Warn),
            "modified_actions": self.count_verdict(Verdict::Modify),
            "asked_actions": self.count_verdict(Verdict::Ask),
            "blocked_actions": self.count_verdict(Verdict::Block),
            "unreviewed_actions": self.unreviewed,
            "risk": { "sum": self.risk_sum as f64 / 1000.0, "buckets": risks },
            "review_time": {
                "count": times.count,
                "sum_us": times.sum_us,
                "avg_us": times.sum_us.checked_div(times.count),
                "buckets": buckets,
                "target_ms": times.target_ms,
                "over_target": times.over,
            },
            "cache": { "lookups": self.cache.lookups, "hits": self.cache.hits },
            "cache_hit_rate": self.cache_hit_rate(),
            "feedback": FEEDBACK_WORDS.iter().map(|word| ((*word).to_owned(), json!(self.feedback_count(word)))).collect::<serde_json::Map<_, _>>(),
            "false_positive_rate": self.false_positive_rate(),
            "rules": rules,
            "shadow": shadow,
            "faults": self.faults.iter().map(fault).collect::<Vec<_>>(),
            "held": held,
            "exports": exports,
        });
        if let Some(all) = all.as_object_mut() {
            all.extend(
                self.answers.to_json().into_iter().map(|(name, value)| (name.to_owned(), value)),
            );
        }
        all
    }

    /// Returns the share of cache hits; `None` if nothing was looked up.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        rate(self.cache.hits, self.cache.lookups.saturating_sub(self.cache.hits))
    }
}

impl ReviewTimes {
    fn add(&mut self, took: u64) {
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(took);
        self.over += u64::from(took > self.target_ms.saturating_mul(1000));
        for (end, count) in BUCKETS.iter().zip(&mut self.buckets) {
            *count += u64::from(took <= *end);
        }
    }
}

impl RuleTotals {
    fn of(&mut self, word: &str) -> Option<&mut u64> {
        match word {
            "false-positive" => Some(&mut self.false_positive),
            "right" => Some(&mut self.right),
            _ => None,
        }
    }

    /// Returns the rate of this rule, as for all rules together.
    pub fn false_positive_rate(&self) -> Option<f64> {
        rate(self.false_positive, self.right)
    }

    fn json(&self) -> Value {
        json!({
            "objections": self.objections,
            "false_positive": self.false_positive,
            "right": self.right,
            "false_positive_rate": self.false_positive_rate(),
        })
    }
}

/// Converts a score to the number that is shown.
pub(super) fn from_thousandths(score: u16) -> f64 {
    f64::from(score) / 1000.0
}

/// Returns the share of the first; `None` if both are zero.
fn rate(part: u64, rest: u64) -> Option<f64> {
    let all = part.saturating_add(rest);
    (all > 0).then(|| part as f64 / all as f64)
}

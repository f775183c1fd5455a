//! Tests of `metrics`: every name with its type and its labels, and the counts.

use crate::common::site::Site;
use crate::common::terminal::Answer as Typed;
use crate::common::{snapshot, trial};
use crate::judgements::BAD;
use crate::replays::fails;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Every metric with its type and the labels of its samples.
pub const METRICS: &[(&str, &str, &[&str])] = &[
    ("portcullis_cache_hit_ratio", "gauge", &[]),
    ("portcullis_cache_hits_total", "counter", &[]),
    ("portcullis_cache_lookups_total", "counter", &[]),
    ("portcullis_detections_total", "counter", &["pattern", "severity"]),
    ("portcullis_export_delivered_records_total", "counter", &["export"]),
    ("portcullis_export_delivered_timestamp_seconds", "gauge", &["export"]),
    ("portcullis_export_failures", "gauge", &["export"]),
    ("portcullis_export_lag_seconds", "gauge", &["export"]),
    ("portcullis_export_lost_records_total", "counter", &["export"]),
    ("portcullis_export_rejected_records_total", "counter", &["export"]),
    ("portcullis_export_skipped_records_total", "counter", &["export"]),
    ("portcullis_export_waiting_records", "gauge", &["export"]),
    ("portcullis_false_positive_ratio", "gauge", &[]),
    ("portcullis_faults_total", "counter", &["source", "kind"]),
    ("portcullis_feedback_total", "counter", &["word"]),
    (
        "portcullis_intervention_effectiveness",
        "gauge",
        &["intervention_type", "issue_type", "client"],
    ),
    ("portcullis_intervention_escalation_total", "counter", &["issue_type"]),
    (
        "portcullis_intervention_judged_total",
        "counter",
        &["intervention_type", "issue_type", "client"],
    ),
    ("portcullis_intervention_total", "counter", &["intervention_type", "issue_type", "outcome"]),
    ("portcullis_plugin_held", "gauge", &["plugin", "state"]),
    ("portcullis_plugin_objections_total", "counter", &["plugin"]),
    ("portcullis_review_duration_seconds", "histogram", &[]),
    ("portcullis_review_risk", "histogram", &[]),
    ("portcullis_review_target_seconds", "gauge", &[]),
    ("portcullis_reviews_over_target_total", "counter", &[]),
    ("portcullis_reviews_total", "counter", &["verdict", "client"]),
    ("portcullis_rule_false_positive_ratio", "gauge", &["rule"]),
    ("portcullis_rule_feedback_total", "counter", &["rule", "word"]),
    ("portcullis_rule_objections_total", "counter", &["rule"]),
    ("portcullis_shadow_total", "counter", &["plugin", "actual", "would"]),
    ("portcullis_since_timestamp_seconds", "gauge", &[]),
    ("portcullis_unreviewed_total", "counter", &[]),
];
/// Metrics that only reviews in one process have.
const ELSEWHERE: &[&str] = &["portcullis_cache_hit_ratio"];

pub fn tests() -> Vec<Trial> {
    vec![
        trial("metrics: every name, the counts, and the rate of false positives", counted),
        trial("metrics: the page names each with its type and labels", documented),
        trial("metrics: detections, interventions and their effectiveness", answered),
    ]
}

/// Checks that each sample belongs to a metric, and has exactly its labels, and a number.
fn well_formed(text: &str) -> Result<()> {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (sample, value) = line.rsplit_once(' ').context("a sample has a value")?;
        ensure!(value.parse::<f64>().is_ok(), "{line}");
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        let of = |wanted: &str| {
            METRICS.iter().find(move |(known, kind, _)| {
                *known == wanted && (wanted == name || *kind == "histogram")
            })
        };
        let (.., expected) = of(name)
            .or_else(|| of(base))
            .with_context(|| format!("no metric is named so: {line}"))?;
        let found: Vec<&str> = labels
            .split("\",")
            .filter_map(|label| label.split_once("=\""))
            .map(|(label, _)| label)
            .collect();
        let bucket = name.ends_with("_bucket") && found == ["le"];
        ensure!(found == *expected || bucket, "{line}: its labels should be {expected:?}");
    }
    Ok(())
}

fn documented() -> Result<()> {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/metrics.md"))?;
    let rows = page.lines().filter(|line| line.starts_with("| `portcullis_"));
    let found: BTreeSet<String> = rows
        .map(|row| row.split('|').skip(1).take(3).map(str::trim).collect::<Vec<_>>().join("|"))
        .collect();
    let labels = |labels: &[&str]| {
        labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ")
    };
    let expected =
        METRICS.iter().map(|(name, kind, of)| format!("`{name}`|{kind}|{}", labels(of))).collect();
    ensure!(
        found == expected,
        "the page has {:?}, the program {:?}",
        found.difference(&expected),
        expected.difference(&found)
    );
    Ok(())
}

/// Returns a recording in which an agent repeats the same failure, and then succeeds.
fn recording() -> String {
    let step = |command: &str, result: &str, fails: bool| json!({ "tool": "Bash", "input": { "command": command }, "result": result, "is_error": fails });
    let fine = |name: &str| step(&format!("cat {name}.txt"), name, false);
    let fails = || step("make all", "Exit code 2\nmake: *** No rule to make target 'all'.", true);
    let steps: Vec<Value> = [fine("a"), fine("b")]
        .into_iter()
        .chain((0..6).map(|_| fails()))
        .chain(["c", "d", "e", "f", "g", "h", "i"].map(fine))
        .collect();
    format!("{}\n", json!({ "id": "mill", "goal": "Build all of it.", "steps": steps }))
}

fn answered() -> Result<()> {
    let site = Site::new("metrics of answers")?;
    // A recording has one second per step; people leave more time.
    site.write(
        "config.toml",
        "interventions.cooldown_seconds = 0\nplugins.loop.enabled = false\n",
    )?;
    let path = site.root().join("mill.jsonl");
    fs::write(&path, recording())?;
    let path = path.to_string_lossy().into_owned();
    let text = site.output(&["metrics", &path])?;
    well_formed(&text)?;
    snapshot::compare_page("metrics", "a recording", &site, &text)?;
    let counts: Value = serde_json::from_str(&site.output(&["metrics", "--json", &path])?)?;
    let effect = |kind: &str, mean: f64| json!({ "intervention_type": kind, "issue_type": "repetitive_errors", "client": "trajectory", "judged": 1, "mean": mean });
    let effect = json!([effect("context_reinforcement", 1.0), effect("soft_correction", 0.0)]);
    ensure!(
        counts["effectiveness"] == effect
            && counts["escalations"] == json!([{ "issue_type": "repetitive_errors", "count": 1 }]),
        "{counts}"
    );
    ensure!(
        counts["interventions"].as_array().is_some_and(|all| all.len() == 2)
            && counts["risk"]["buckets"].is_array(),
        "{counts}"
    );
    Ok(())
}

fn counted() -> Result<()> {
    let site = Site::new("metrics")?;
    let empty: Value = serde_json::from_str(&site.output(&["metrics", "--json"])?)?;
    ensure!(
        empty["total_reviews"] == 0
            && empty["false_positive_rate"].is_null()
            && empty["since_ms"].is_null(),
        "{empty}"
    );
    for index in 0..4 {
        site.hook(&site.calls(&format!("s{index}")).bash("1", BAD))?;
    }
    site.hook(&site.calls("s").bash("1", "ls"))?;
    let blocked = site.shown(&["--verdict", "block"])?;
    let id = |at: usize| blocked[at]["id"].as_str().unwrap_or_default().to_owned();
    // The last feedback on a review counts.
    for (at, word) in [(0, "--right"), (0, "--false-positive"), (1, "--right"), (2, "--right")] {
        site.at_a_terminal(&["feedback", &id(at), word], Typed::Word, &[])?
            .ended(0, &["recorded"])?;
    }
    let json: Value = serde_json::from_str(&site.output(&["metrics", "--json"])?)?;
    for (name, expected) in [
        ("total_reviews", json!(5)),
        ("allowed_actions", json!(1)),
        ("warned_actions", json!(0)),
        ("modified_actions", json!(0)),
        ("asked_actions", json!(0)),
        ("blocked_actions", json!(4)),
        ("unreviewed_actions", json!(0)),
        ("cache_hit_rate", Value::Null),
        ("feedback", json!({ "false-positive": 1, "false-negative": 0, "right": 2 })),
        ("false_positive_rate", json!(1.0 / 3.0)),
    ] {
        ensure!(json[name] == expected, "{name}: {json}");
    }
    let rule = &json["rules"]["refuse_unseen_code"];
    ensure!(rule["objections"] == 4 && rule["false_positive"] == 1 && rule["right"] == 2, "{json}");
    ensure!(json["review_time"]["count"] == 5 && json["since_ms"].is_u64(), "{json}");
    let text = site.output(&["metrics"])?;
    let families: BTreeSet<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    ensure!(
        families
            == METRICS
                .iter()
                .filter(|(name, ..)| !ELSEWHERE.contains(name))
                .map(|(name, kind, _)| (*name, *kind))
                .collect(),
        "{families:?}"
    );
    well_formed(&text)?;
    snapshot::compare_page("metrics", "a journal", &site, &text)?;
    fails(&site, &["metrics", "/nowhere.jsonl"], &["/nowhere.jsonl"])
}

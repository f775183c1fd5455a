//! The text format of Prometheus, version 0.0.4.

use super::answers::Answers;
use super::count::{BUCKETS, ExportTotals, FEEDBACK_WORDS, Metrics, RISKS, from_thousandths};
use portcullis_core::score::Verdict;
use std::fmt::{Display, Write};

/// Formats every metric with its help.
pub fn render_prometheus(metrics: &Metrics) -> String {
    let mut text = String::new();
    let times = &metrics.times;
    let name = "portcullis_reviews_total";
    family(&mut text, name, "counter", "Reviews of actions, by verdict and client.");
    // A client that reviewed anything has a sample of each verdict: a sum of nothing is no number.
    for (client, verdicts) in &metrics.clients {
        for verdict in Verdict::ALL {
            let count = verdicts.get(verdict).copied().unwrap_or_default();
            sample(&mut text, name, &[("verdict", verdict.as_str()), ("client", client)], count);
        }
    }
    family(&mut text, "portcullis_unreviewed_total", "counter", "Actions that nobody reviewed.");
    sample(&mut text, "portcullis_unreviewed_total", &[], metrics.unreviewed);
    risk(&mut text, metrics);
    let name = "portcullis_review_duration_seconds";
    family(&mut text, name, "histogram", "The duration of a review, from its start to its commit.");
    for (end, count) in BUCKETS.iter().zip(times.buckets) {
        sample(&mut text, &format!("{name}_bucket"), &[("le", &seconds(*end).to_string())], count);
    }
    sample(&mut text, &format!("{name}_bucket"), &[("le", "+Inf")], times.count);
    sample(&mut text, &format!("{name}_sum"), &[], seconds(times.sum_us));
    sample(&mut text, &format!("{name}_count"), &[], times.count);
    family(
        &mut text,
        "portcullis_review_target_seconds",
        "gauge",
        "The configured target for the review time.",
    );
    sample(
        &mut text,
        "portcullis_review_target_seconds",
        &[],
        seconds(times.target_ms.saturating_mul(1000)),
    );
    family(
        &mut text,
        "portcullis_reviews_over_target_total",
        "counter",
        "Reviews that took longer than the target.",
    );
    sample(&mut text, "portcullis_reviews_over_target_total", &[], times.over);
    cache(&mut text, metrics);
    feedback(&mut text, metrics);
    rules(&mut text, metrics);
    sessions(&mut text, &metrics.answers);
    family(
        &mut text,
        "portcullis_shadow_total",
        "counter",
        "Reviews with a plugin in shadow mode, by the verdict with it.",
    );
    for ((plugin, actual, would), count) in &metrics.shadow {
        let labels =
            [("plugin", plugin.as_str()), ("actual", actual.as_str()), ("would", would.as_str())];
        sample(&mut text, "portcullis_shadow_total", &labels, count);
    }
    family(
        &mut text,
        "portcullis_faults_total",
        "counter",
        "Faults, by the plugin or part that failed and by kind.",
    );
    for ((source, kind), count) in &metrics.faults {
        sample(
            &mut text,
            "portcullis_faults_total",
            &[("source", source), ("kind", kind.as_str())],
            count,
        );
    }
    family(
        &mut text,
        "portcullis_plugin_held",
        "gauge",
        "Plugins that are disabled because they failed too often.",
    );
    for (plugin, state) in &metrics.held {
        sample(&mut text, "portcullis_plugin_held", &[("plugin", plugin), ("state", state)], 1);
    }
    exports(&mut text, metrics);
    if let Some(since) = metrics.since {
        family(
            &mut text,
            "portcullis_since_timestamp_seconds",
            "gauge",
            "The time of the oldest counted record.",
        );
        sample(&mut text, "portcullis_since_timestamp_seconds", &[], since as f64 / 1000.0);
    }
    text
}

/// One family of the metrics of exports: its name, type and help, and the value of an export.
type ExportFamily = (&'static str, &'static str, &'static str, fn(&ExportTotals) -> f64);

/// The metrics of exports. An export whose sink is dead shows by its lag, whatever else it says.
const EXPORTS: &[ExportFamily] = &[
    (
        "portcullis_export_waiting_records",
        "gauge",
        "Records that an export is not done with.",
        |of| of.waiting as f64,
    ),
    ("portcullis_export_lag_seconds", "gauge", "The age of the oldest of them.", |of| {
        of.lag_ms as f64 / 1000.0
    }),
    (
        "portcullis_export_delivered_records_total",
        "counter",
        "Records that the sink of an export acknowledged.",
        |of| of.delivered as f64,
    ),
    (
        "portcullis_export_rejected_records_total",
        "counter",
        "Records that the sink of an export rejected.",
        |of| of.rejected as f64,
    ),
    (
        "portcullis_export_skipped_records_total",
        "counter",
        "Records that an export passed over, since they were refused for good.",
        |of| of.skipped as f64,
    ),
    (
        "portcullis_export_lost_records_total",
        "counter",
        "Records that retention removed before an export delivered them.",
        |of| of.lost as f64,
    ),
    (
        "portcullis_export_failures",
        "gauge",
        "Failures of an export since its last delivery.",
        |of| of.failures as f64,
    ),
    (
        "portcullis_export_delivered_timestamp_seconds",
        "gauge",
        "The time of an export's last delivery; 0 for none.",
        |of| of.delivered_at as f64 / 1000.0,
    ),
];

fn exports(text: &mut String, metrics: &Metrics) {
    for (name, kind, help, value) in EXPORTS {
        family(text, name, kind, help);
        for (export, totals) in &metrics.exports {
            sample(text, name, &[("export", export)], value(totals));
        }
    }
}

fn risk(text: &mut String, metrics: &Metrics) {
    let name = "portcullis_review_risk";
    family(text, name, "histogram", "The risk that reviews decided on, from 0 to 1.");
    for (end, count) in RISKS.iter().zip(metrics.risks) {
        sample(
            text,
            &format!("{name}_bucket"),
            &[("le", &from_thousandths(*end).to_string())],
            count,
        );
    }
    sample(text, &format!("{name}_bucket"), &[("le", "+Inf")], metrics.total());
    sample(text, &format!("{name}_sum"), &[], metrics.risk_sum as f64 / 1000.0);
    sample(text, &format!("{name}_count"), &[], metrics.total());
}

fn sessions(text: &mut String, answers: &Answers) {
    family(
        text,
        "portcullis_detections_total",
        "counter",
        "Detections of patterns, by pattern and severity.",
    );
    for ((pattern, severity), count) in &answers.detections {
        sample(
            text,
            "portcullis_detections_total",
            &[("pattern", pattern), ("severity", severity.as_str())],
            count,
        );
    }
    let name = "portcullis_intervention_total";
    family(text, name, "counter", "Interventions, by type, issue and outcome for the session.");
    for ((kind, issue, outcome), count) in &answers.interventions {
        sample(
            text,
            name,
            &[("intervention_type", kind), ("issue_type", issue), ("outcome", outcome.as_str())],
            count,
        );
    }
    let name = "portcullis_intervention_escalation_total";
    family(
        text,
        name,
        "counter",
        "Interventions that escalated because the issue came back, by issue.",
    );
    for (issue, count) in &answers.escalations {
        sample(text, name, &[("issue_type", issue)], count);
    }
    let (mean, judged) =
        ("portcullis_intervention_effectiveness", "portcullis_intervention_judged_total");
    family(
        text,
        mean,
        "gauge",
        "The share of the next five steps that went by before the issue came back, on average.",
    );
    for (key, one) in &answers.effectiveness {
        sample(text, mean, &effectiveness_labels(key), one.mean_score());
    }
    family(text, judged, "counter", "Interventions with a known effectiveness.");
    for (key, one) in &answers.effectiveness {
        sample(text, judged, &effectiveness_labels(key), one.judged);
    }
}

fn effectiveness_labels(
    (kind, issue, client): &(String, String, String),
) -> [(&'static str, &str); 3] {
    [("intervention_type", kind), ("issue_type", issue), ("client", client)]
}

fn cache(text: &mut String, metrics: &Metrics) {
    family(
        text,
        "portcullis_cache_lookups_total",
        "counter",
        "Command lines that were looked up in the cache.",
    );
    sample(text, "portcullis_cache_lookups_total", &[], metrics.cache.lookups);
    family(text, "portcullis_cache_hits_total", "counter", "Command lines that the cache knew.");
    sample(text, "portcullis_cache_hits_total", &[], metrics.cache.hits);
    if let Some(rate) = metrics.cache_hit_rate() {
        family(
            text,
            "portcullis_cache_hit_ratio",
            "gauge",
            "The share of look-ups that the cache answered.",
        );
        sample(text, "portcullis_cache_hit_ratio", &[], rate);
    }
}

fn feedback(text: &mut String, metrics: &Metrics) {
    family(
        text,
        "portcullis_feedback_total",
        "counter",
        "Reviews that a person judged, by the word.",
    );
    for word in FEEDBACK_WORDS {
        sample(text, "portcullis_feedback_total", &[("word", word)], metrics.feedback_count(word));
    }
    if let Some(rate) = metrics.false_positive_rate() {
        family(
            text,
            "portcullis_false_positive_ratio",
            "gauge",
            "The share of false positives among the objections that a person judged.",
        );
        sample(text, "portcullis_false_positive_ratio", &[], rate);
    }
}

fn rules(text: &mut String, metrics: &Metrics) {
    family(text, "portcullis_rule_objections_total", "counter", "Objections, by rule.");
    for (rule, counts) in &metrics.rules {
        sample(text, "portcullis_rule_objections_total", &[("rule", rule)], counts.objections);
    }
    let name = "portcullis_plugin_objections_total";
    family(text, name, "counter", "Objections, by the plugin that made them.");
    for (plugin, count) in &metrics.plugins {
        sample(text, name, &[("plugin", plugin)], count);
    }
    family(
        text,
        "portcullis_rule_feedback_total",
        "counter",
        "Objections that a person judged, by rule and word.",
    );
    for (rule, counts) in &metrics.rules {
        let judged = [("false-positive", counts.false_positive), ("right", counts.right)];
        for (word, count) in judged.into_iter().filter(|(_, count)| *count > 0) {
            sample(
                text,
                "portcullis_rule_feedback_total",
                &[("rule", rule), ("word", word)],
                count,
            );
        }
    }
    family(
        text,
        "portcullis_rule_false_positive_ratio",
        "gauge",
        "The share of false positives among the objections that a person judged, by rule.",
    );
    for (rule, counts) in &metrics.rules {
        if let Some(rate) = counts.false_positive_rate() {
            sample(text, "portcullis_rule_false_positive_ratio", &[("rule", rule)], rate);
        }
    }
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let labels: Vec<String> =
        labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "{name}{labels} {value}");
}

/// Escapes a label value. A plugin chooses its rules' names, so nothing in one may end the label or
/// the line.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}

//! Tests of the Grafana dashboard: every query is valid, and uses only metrics that `metrics`
//! prints.

mod query;

use crate::common::trial;
use crate::metrics::METRICS;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use query::Use;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Metrics that no panel shows.
const NOT_SHOWN: &[&str] = &[
    // A hook is one process for one action and has no cache, so these are 0 except in
    // `metrics FILE`.
    "portcullis_cache_hits_total",
    "portcullis_cache_lookups_total",
    "portcullis_cache_hit_ratio",
    // The panel of rules shows the same, each by itself.
    "portcullis_plugin_objections_total",
    // The panel computes it over all machines.
    "portcullis_false_positive_ratio",
];
/// Labels that Prometheus adds.
const ADDED: &[&str] = &["instance", "job"];
/// Grafana's grid.
const COLUMNS: u64 = 24;

pub fn tests() -> Vec<Trial> {
    vec![
        trial(
            "dashboard: every query asks for what `metrics` prints, and all of that is asked for",
            queries,
        ),
        trial("dashboard: Grafana can take it: schema, data source, ids, grid", form),
        trial("dashboard: other texts are distinguished from queries", query::reads),
    ]
}

fn dashboard() -> Result<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/grafana/portcullis.json");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    serde_json::from_str(&text).context("the dashboard is not JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn queries() -> Result<()> {
    let dashboard = dashboard()?;
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for panel in list(&dashboard, "panels") {
        let title = text(panel, "title");
        for target in list(panel, "targets") {
            let expression = text(target, "expr");
            let uses =
                query::uses(expression).with_context(|| format!("`{title}`: `{expression}`"))?;
            ensure!(!uses.is_empty(), "`{title}` asks for no metric: `{expression}`");
            let shown = shown_labels(text(target, "legendFormat"));
            let all: BTreeSet<&str> =
                uses.iter().flat_map(|one| &one.labels).map(String::as_str).collect();
            ensure!(
                shown.iter().all(|label| all.contains(label)),
                "`{title}` shows {shown:?} of `{expression}`, which has no such label"
            );
            for one in &uses {
                used.insert(known(one).with_context(|| format!("`{title}`: `{expression}`"))?);
            }
        }
    }
    let missing: Vec<&str> = METRICS
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| !used.contains(name) && !NOT_SHOWN.contains(name))
        .collect();
    ensure!(missing.is_empty(), "no panel shows {missing:?}: add one, or say in the test why not");
    let both: Vec<&&str> = NOT_SHOWN.iter().filter(|name| used.contains(**name)).collect();
    ensure!(both.is_empty(), "{both:?} are shown after all");
    Ok(())
}

/// Returns the metric of a query, with its labels.
fn known(asked: &Use) -> Result<&'static str> {
    let base = |name: &str, kind: &str| match kind {
        "histogram" => ["_bucket", "_sum", "_count"]
            .iter()
            .any(|end| asked.metric.strip_suffix(end) == Some(name)),
        _ => asked.metric == name,
    };
    let found = METRICS.iter().find(|(name, kind, _)| base(name, kind));
    let (name, kind, labels) =
        found.with_context(|| format!("`metrics` prints no `{}`", asked.metric))?;
    let bucket = *kind == "histogram" && asked.metric.ends_with("_bucket");
    let has = |label: &str| {
        labels.contains(&label) || ADDED.contains(&label) || (bucket && label == "le")
    };
    let strange: Vec<&String> = asked.labels.iter().filter(|label| !has(label)).collect();
    ensure!(strange.is_empty(), "`{}` has no label {strange:?}", asked.metric);
    Ok(name)
}

/// Returns each `{{label}}` in a legend.
fn shown_labels(legend: &str) -> Vec<&str> {
    legend
        .split("{{")
        .skip(1)
        .filter_map(|rest| rest.split_once("}}"))
        .map(|(label, _)| label)
        .collect()
}

fn form() -> Result<()> {
    let dashboard = dashboard()?;
    ensure!(
        dashboard["schemaVersion"] == 42 && dashboard["id"].is_null(),
        "the classic model has layout 42, and no installation's id"
    );
    ensure!(
        text(&dashboard, "uid") == "portcullis" && text(&dashboard, "title") == "Portcullis",
        "name and uid"
    );
    let variables = list(&dashboard["templating"], "list");
    let variable = |name: &str, kind: &str| {
        variables.iter().any(|one| one["name"] == name && one["type"] == kind)
    };
    ensure!(
        variable("datasource", "datasource") && variable("instance", "query"),
        "the data source and the machine are chosen: {variables:?}"
    );
    let source = |value: &Value| {
        value["datasource"]["type"] == "prometheus" && value["datasource"]["uid"] == "${datasource}"
    };
    let mut ids = BTreeSet::new();
    let mut taken: BTreeSet<(u64, u64)> = BTreeSet::new();
    for panel in list(&dashboard, "panels") {
        let title = text(panel, "title");
        ensure!(
            !title.is_empty() && ids.insert(panel["id"].as_u64()),
            "`{title}`: a panel has a title and an id of its own"
        );
        let at = |name: &str| {
            panel["gridPos"][name].as_u64().with_context(|| format!("`{title}` has no place"))
        };
        let (x, y, width, height) = (at("x")?, at("y")?, at("w")?, at("h")?);
        ensure!(
            width > 0 && height > 0 && x + width <= COLUMNS,
            "`{title}` does not fit into {COLUMNS} columns"
        );
        for cell in (y..y + height).flat_map(|y| (x..x + width).map(move |x| (x, y))) {
            ensure!(taken.insert(cell), "`{title}` covers another panel at {cell:?}");
        }
        if panel["type"] == "row" {
            continue;
        }
        let targets = list(panel, "targets");
        ensure!(
            source(panel) && !targets.is_empty() && targets.iter().all(source),
            "`{title}` asks the chosen data source"
        );
        ensure!(!text(panel, "description").is_empty(), "`{title}` says what it shows");
        let letters: BTreeSet<&str> = targets.iter().map(|target| text(target, "refId")).collect();
        ensure!(letters.len() == targets.len(), "`{title}`: each query has its letter");
    }
    Ok(())
}

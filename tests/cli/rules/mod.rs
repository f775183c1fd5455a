//! Tests of custom rules through the binary: their objections, the errors about unusable ones, and
//! the limits of a hostile repository's rules.

mod broken;
mod documented;
mod hostile;
mod verdicts;

use crate::common::site::Site;
use anyhow::{Context, Result, anyhow};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

pub fn tests() -> Vec<Trial> {
    [documented::tests(), verdicts::tests(), broken::tests(), hostile::tests()]
        .into_iter()
        .flatten()
        .collect()
}

/// Writes a person's rules file, named by their configuration.
fn own(site: &Site, rules: &str, configuration: &str) -> Result<()> {
    site.write("rules.toml", rules)?;
    site.write("config.toml", format!("rules.files = [\"rules.toml\"]\n{configuration}"))
}

/// Writes the project's rules file, named by its configuration.
fn of_project(site: &Site, rules: &str, configuration: &str) -> Result<PathBuf> {
    let folder = site.project().join(".portcullis");
    fs::create_dir_all(&folder)?;
    fs::write(
        folder.join("config.toml"),
        format!("rules.files = [\"rules.toml\"]\n{configuration}"),
    )?;
    let path = folder.join("rules.toml");
    fs::write(&path, rules).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

/// Returns a rule of one line.
fn rule(name: &str, verdict: &str, when: &str) -> String {
    format!(
        "[[rule]]\nname = \"{name}\"\nverdict = \"{verdict}\"\nreason = \"because of {name}\"\nwhen = '''{when}'''\n"
    )
}

/// Returns a review's record.
fn reviewed(site: &Site, command: &str) -> Result<Value> {
    let ended = site.run(&["review", "--json", "--command", command])?;
    serde_json::from_str(&ended.text()).map_err(|_| anyhow!("{command}: {}", ended.all()))
}

/// Returns the objections of a record, each as `plugin: rule verdict`.
fn objections(record: &Value) -> Vec<String> {
    let all = record["findings"]["objections"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.iter()
        .map(|one| {
            format!("{}: {} {}", text(&one["source"]), text(&one["rule"]), text(&one["verdict"]))
        })
        .collect()
}

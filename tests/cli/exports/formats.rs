//! Formats of builtin exporters over the records of real sessions.

use crate::common::site::Site;
use crate::common::{in_ci, payloads, tell};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a site whose journal has the records of the sessions in this repository.
fn site_of_sessions(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    for (number, payload) in payloads()?.iter().enumerate() {
        // Each kind of record is in a part of them.
        if number % 3 == 0 {
            site.feed(&["hook", "claude"], payload.to_string().as_bytes())?;
        }
    }
    Ok(site)
}

/// Every builtin format writes every record, and no text leaves its field or its line.
pub fn each() -> Result<()> {
    let site = site_of_sessions("formats")?;
    let count = site.records()?.len();
    ensure!(count > 50, "only {count} records");
    for format in ["cef", "ecs", "jsonl", "ocsf", "splunk"] {
        let text = site.output(&["audit", "export", "--exporter", format])?;
        let lines = text.lines().count();
        ensure!(lines == count, "{format}: {lines} lines of {count} records");
        ensure!(!text.contains(['\u{1b}', '\u{7}', '\0']), "{format}: a control character");
    }
    for (format, list) in
        [("cloudevents", ""), ("otlp-json", "/resourceLogs/0/scopeLogs/0/logRecords")]
    {
        let text = site.output(&["audit", "export", "--exporter", format])?;
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let mut found = 0;
        for document in documents {
            let document = document?;
            found += document.pointer(list).and_then(Value::as_array).context("no list")?.len();
        }
        ensure!(found == count, "{format}: {found} of {count} records");
    }
    Ok(())
}

/// Events of real records are valid: by the schema of OCSF 1.8 for their class and profiles, without
/// what 1.9 added, and their attestations by the schema of OCSF 1.9.
pub fn valid_ocsf() -> Result<()> {
    let Some(python) = find_python()? else { return Ok(()) };
    let site = site_of_sessions("ocsf")?;
    // A use of a credential; nobody listens there.
    site.feed(&["credential", "set", "siem", "--stdin"], b"a-token-0123456789")?;
    site.write(
        "config.toml",
        "[exports.out]\nformat = \"jsonl\"\nsink = \"webhook\"\nurl = \"https://127.0.0.1:9/\"\n\
         token = \"credential:siem\"\n",
    )?;
    site.run(&["exports", "run"])?;
    let events = site.root().join("events.jsonl");
    fs::write(&events, site.output(&["audit", "export", "--exporter", "ocsf"])?)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/exports/validate_ocsf.py");
    let ended = Command::new(python).arg(script).arg(&events).output()?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let error = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{said}{error}");
    // What was checked, so that a schema that accepts nothing cannot pass.
    let checked: Value = serde_json::from_str(&said)?;
    let classes = checked["classes"].as_object().context("no classes")?;
    for class in [
        "process_activity",
        "file_activity",
        "application_lifecycle",
        "authentication",
        "detection_finding",
    ] {
        ensure!(classes.contains_key(class), "no event of {class}: {checked}");
    }
    ensure!(checked["refused"] == 4, "changed events are valid, too: {checked}");
    Ok(())
}

/// Returns the Python that `.ci/run languages` installs the schemas into.
fn find_python() -> Result<Option<PathBuf>> {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python =
        tmp.parent().context("cargo's folder has no parent")?.join("languages/ocsf/bin/python");
    if python.exists() {
        return Ok(Some(python));
    }
    ensure!(!in_ci(), "there is no `{}`: `.ci/run languages` makes it", python.display());
    tell("skipped: the schemas of OCSF are not installed");
    Ok(None)
}

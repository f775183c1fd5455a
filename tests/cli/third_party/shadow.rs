//! Tests of a plugin in shadow mode: recorded, compared, and without effect until its owner enables
//! it.

use crate::common::reply::Answer;
use crate::common::site::{Site, lines};
use crate::{EXAMPLE, built, install};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};
use std::fs;

pub(crate) fn looks_on() -> Result<()> {
    let site = Site::new("shadow")?;
    let plugin = built(EXAMPLE)?;
    install(&site, &plugin, EXAMPLE)?;
    let migration = site.project().join("migrations/0001.sql");
    fs::create_dir_all(site.project().join("migrations"))?;
    fs::write(&migration, "create table tree (id int);\n")?;
    let edit = |id: &str| {
        let input = json!({ "file_path": migration, "old_string": "int", "new_string": "bigint" });
        site.calls("shadow").before(id, "Edit", input)
    };
    let shadow =
        |on: bool| site.write("config.toml", format!("[plugins.{EXAMPLE}]\nshadow = {on}\n"));
    shadow(true)?;
    let reply = site.hook(&edit("1"))?;
    ensure!(reply.answer == Answer::Quiet, "it counts: {reply:?}");
    site.ordinary("shadow")?;
    recorded(&site)?;
    compared(&site)?;
    replayed(&site, &plugin, &edit("1"))?;
    shadow(false)?;
    let reply = site.hook(&edit("2"))?;
    ensure!(reply.answer == Answer::Asked, "it does not count: {reply:?}");
    site.verify()
}

/// The record contains both verdicts, and mentions the plugin nowhere else.
fn recorded(site: &Site) -> Result<()> {
    let records = site.records()?;
    let record = records
        .iter()
        .find(|record| record["subject"] == "Edit")
        .ok_or_else(|| anyhow!("no record"))?;
    let shadow = &record["shadow"][0];
    ensure!(
        (&shadow["plugin"]["name"], &shadow["actual"], &shadow["would"])
            == (&json!(EXAMPLE), &json!("allow"), &json!("ask")),
        "{record}"
    );
    ensure!(
        shadow["reason"].as_str().is_some_and(|why| why.contains("an applied migration")),
        "{record}"
    );
    let mut rest = record.clone();
    rest.as_object_mut().context("a record is an object")?.remove("shadow");
    ensure!(!rest.to_string().contains(EXAMPLE), "{rest}");
    let page = site.output(&["explain", record["id"].as_str().unwrap_or_default()])?;
    ensure!(page.contains("looking on") && page.contains("would have it ask"), "{page}");
    Ok(())
}

fn compared(site: &Site) -> Result<()> {
    let text = site.output(&["plugin", "compare"])?;
    for part in [
        EXAMPLE,
        "2 actions: it would have been stricter on 1, and changed nothing on 1",
        "allow -> ask",
        "shadow = false",
    ] {
        ensure!(text.contains(part), "`plugin compare` does not say {part:?}: {text}");
    }
    let compared: Value =
        serde_json::from_str(&site.output(&["plugin", "compare", "--json", EXAMPLE])?)?;
    let one = &compared["plugins"][0];
    ensure!(one["verdicts"] == json!({ "allow": { "allow": 1, "ask": 1 } }), "{compared}");
    ensure!(
        one["fuel"]["most"].as_u64() >= one["fuel"]["median"].as_u64()
            && one["fuel"]["median"] != 0,
        "{compared}"
    );
    let none = site.output(&["plugin", "compare", "somebody", "--since", "1h"])?;
    ensure!(none.contains("`somebody` never ran in shadow mode"), "{none}");
    let metrics = site.output(&["metrics"])?;
    let sample =
        format!("portcullis_shadow_total{{plugin=\"{EXAMPLE}\",actual=\"allow\",would=\"ask\"}} 1");
    ensure!(metrics.contains(&sample), "{metrics}");
    let doctor = site.run(&["doctor"])?.text().split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(doctor.contains(&format!("portcullis plugin compare {EXAMPLE}")), "{doctor}");
    let list = site.output(&["plugin", "list"])?;
    ensure!(list.contains("in shadow mode: does not count"), "{list}");
    Ok(())
}

/// A replay tries a file in the same way, on a past session; everything else is as without it.
fn replayed(site: &Site, plugin: &std::path::Path, event: &Value) -> Result<()> {
    let session = site.root().join("session.jsonl");
    fs::write(&session, format!("{event}\n"))?;
    let other = site.root().join("other.wasm");
    fs::copy(plugin, &other)?;
    let (session, other) = (session.to_string_lossy(), other.to_string_lossy());
    site.write("config.toml", format!("[plugins.{EXAMPLE}]\nenabled = false\n"))?;
    let without = lines(&site.output(&["replay", "--json", &session])?)?;
    let mut with =
        lines(&site.output(&["replay", "--json", "--plugin", &other, "--shadow", &session])?)?;
    ensure!(with.last().is_some_and(|sum| sum["shadow"]["plugins"][0]["actions"] == 1), "{with:?}");
    for document in with.iter_mut().filter_map(Value::as_object_mut) {
        document.remove("shadow");
    }
    ensure!(with == without, "{with:?} and {without:?}");
    let text = site.output(&["replay", "--plugin", &other, "--shadow", &session])?;
    ensure!(text.contains("1 action: it would have been stricter on"), "{text}");
    // Counted, and compared with the person's own setup: only that step changes.
    let compared =
        lines(&site.output(&["replay", "--json", "--compare", "--plugin", &other, &session])?)?;
    let [step, totals] = &compared[..] else { return Err(anyhow!("{compared:?}")) };
    ensure!(
        (&step["yours"]["verdict"], &step["other"]["verdict"]) == (&json!("allow"), &json!("ask")),
        "{step}"
    );
    ensure!(
        totals["differing"] == 1 && totals["verdicts"]["moved"] == json!({ "allow": { "ask": 1 } }),
        "{totals}"
    );
    Ok(())
}

/// Interventions, exporters and the shell reader cannot run in shadow mode: the configuration is
/// refused.
pub(crate) fn refused() -> Result<()> {
    let site = Site::new("shadow refused")?;
    for name in ["soft-correction", "csv", "shell"] {
        site.write("config.toml", format!("[plugins.{name}]\nshadow = true\n"))?;
        let reply = site.hook(&site.calls("shadow").bash(name, "ls"))?;
        ensure!(reply.answer == Answer::Refused, "{name}: {reply:?}");
        reply.says(&[&format!(
            "`plugins.{name}.shadow` is `true`, but `{name}` judges no actions"
        )])?;
    }
    site.write("config.toml", "[plugins.repetitive-errors]\nshadow = true\n")?;
    site.ordinary("shadow")?;
    let doctor = site.run(&["doctor"])?.text().split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(
        doctor.contains(
            "the builtin plugin `repetitive-errors` is in shadow mode: its findings do not count"
        ),
        "{doctor}"
    );
    Ok(())
}

//! Tests of a plugin that keeps failing: held, retried, quarantined, released; each with its
//! record.

use crate::common::reply::Answer as Reply;
use crate::common::site::Site;
use crate::common::terminal::Answer;
use crate::{built, install};
use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;

/// The guest, and the body of its `assess`: it traps if the action says so.
pub(crate) const NAME: &str = "moody";
pub(crate) const BODY: &str =
    "if action.parameters.contains(\"sulk\") { panic!(\"no\") } Ok(Assessment::nothing())";

const SULK: &str = "echo sulk";
const FINE: &str = "ls";

/// Creates a site with the plugin; its faults only warn, which a held plugin never does.
fn site(name: &str, breaker: &str) -> Result<Site> {
    let site = Site::new(name)?;
    install(&site, &built(NAME)?, NAME)?;
    site.write(
        "config.toml",
        format!("[plugins.{NAME}]\non_fault = \"warn\"\n[breaker]\n{breaker}\n"),
    )?;
    Ok(site)
}

/// Returns the answer to a command, and the fault in the record; each call is in a session of its
/// own.
fn ask(site: &Site, id: &str, command: &str) -> Result<(Reply, Option<String>)> {
    let reply = site.hook(&site.calls(id).bash(id, command))?;
    let record = site
        .records()?
        .into_iter()
        .find(|record| record["call"] == id)
        .ok_or_else(|| anyhow!("no record of {id}"))?;
    let fault = record["faults"]
        .as_array()
        .and_then(|faults| faults.first())
        .and_then(|fault| fault["kind"].as_str().map(str::to_owned));
    let ran = record["plugins"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["name"] == NAME && one["fuel"] != 0));
    ensure!(ran != (fault.as_deref() == Some("held")), "{id}: whether it ran: {record}");
    if fault.as_deref() == Some("held") {
        reply.says(&["it is not run", "portcullis plugin release moody"])?;
    }
    Ok((reply.answer, fault))
}

fn expect(site: &Site, rows: &[(&str, &str, Reply, Option<&str>)]) -> Result<()> {
    for (id, command, answer, fault) in rows {
        let found = ask(site, id, command)?;
        ensure!(found == (*answer, fault.map(str::to_owned)), "{id} `{command}`: {found:?}");
    }
    Ok(())
}

/// Returns the content of the breaker's records, in order.
fn changes(site: &Site) -> Result<Vec<String>> {
    let records = site.records()?.into_iter().filter(|record| record["subject"] == "breaker");
    records
        .map(|record| {
            Ok(record["details"]["change"].as_str().with_context(|| record.to_string())?.to_owned())
        })
        .collect()
}

pub(crate) fn breaker() -> Result<()> {
    let site = site("breaker", "faults = 2\nback_off_seconds = 1\nquarantine_after = 2")?;
    let warned = Reply::Informed;
    expect(
        &site,
        &[
            ("1", SULK, warned, Some("trap")),
            ("2", FINE, Reply::Quiet, None),
            ("3", SULK, warned, Some("trap")),
        ],
    )?;
    ensure!(changes(&site)?.is_empty(), "an answer between them ends the row");
    expect(&site, &[("4", SULK, warned, Some("trap")), ("5", FINE, Reply::Asked, Some("held"))])?;
    let listed = site.output(&["plugin", "list"])?;
    ensure!(
        listed.contains("held until") && listed.contains("it failed 2 times in a row"),
        "{listed}"
    );
    thread::sleep(Duration::from_millis(1100));
    expect(&site, &[("6", FINE, Reply::Quiet, None)])?;
    ensure!(changes(&site)? == ["held", "resumed"], "{:?}", changes(&site)?);
    expect(
        &site,
        &[
            ("7", SULK, warned, Some("trap")),
            ("8", SULK, warned, Some("trap")),
            ("9", FINE, Reply::Asked, Some("held")),
        ],
    )?;
    in_quarantine(&site)?;
    released(&site)?;
    ensure!(
        changes(&site)? == ["held", "resumed", "quarantined", "released"],
        "{:?}",
        changes(&site)?
    );
    replaced(&site)?;
    fs::remove_dir_all(site.state().join("plugins"))?;
    site.write("config.toml", "")?;
    site.ordinary("after")?;
    site.verify()
}

/// Every command that shows plugins reports it.
fn in_quarantine(site: &Site) -> Result<()> {
    thread::sleep(Duration::from_millis(1100));
    expect(site, &[("10", FINE, Reply::Asked, Some("held"))])?;
    let inspected: Value = serde_json::from_str(&site.output(&["plugin", "list", "--json"])?)?;
    let one = inspected["plugins"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["name"] == NAME))
        .cloned()
        .unwrap_or_default();
    ensure!(
        one["held"]["waits"] == "for-a-person" && one["held"]["breaker"]["kind"] == "trap",
        "{one}"
    );
    let doctor = site.run(&["doctor", "--quick"])?;
    ensure!(doctor.text().contains("the plugin `moody` is in quarantine"), "{}", doctor.text());
    let metrics = site.output(&["metrics"])?;
    ensure!(
        metrics.contains("portcullis_plugin_held{plugin=\"moody\",state=\"quarantined\"} 1"),
        "{metrics}"
    );
    ensure!(
        metrics.contains("portcullis_faults_total{source=\"moody\",kind=\"trap\"} 5"),
        "{metrics}"
    );
    let start = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": site.project() });
    let reply = site.hook(&start)?;
    reply.says(&["the plugin `moody` is in quarantine"])
}

/// Only a person can release it.
fn released(site: &Site) -> Result<()> {
    for (arguments, answer, environment, words) in [
        (
            ["plugin", "release", NAME],
            Answer::Word,
            [("CLAUDECODE", "1")].as_slice(),
            "an agent runs this command",
        ),
        (["plugin", "release", NAME], Answer::Text("yes"), &[], "not confirmed"),
        (
            ["plugin", "release", "other"],
            Answer::Word,
            &[],
            "no failure of a plugin `other` is known",
        ),
    ] {
        site.at_a_terminal(&arguments, answer, environment)?.ended(1, &[words])?;
    }
    expect(site, &[("11", FINE, Reply::Asked, Some("held"))])?;
    let shown = site.at_a_terminal(&["plugin", "release", NAME], Answer::Word, &[])?;
    shown.ended(
        0,
        &["after it had been held once", "released. `moody` runs with the next action"],
    )?;
    expect(site, &[("12", FINE, Reply::Quiet, None)])
}

/// The breaker's state applies only to the file that failed.
fn replaced(site: &Site) -> Result<()> {
    let (sulks, warned) = (Some("trap"), Reply::Informed);
    expect(
        site,
        &[
            ("13", SULK, warned, sulks),
            ("14", SULK, warned, sulks),
            ("15", FINE, Reply::Asked, Some("held")),
        ],
    )?;
    install(site, &built("does-nothing")?, NAME)?;
    expect(site, &[("16", SULK, Reply::Quiet, None)])
}

/// Runs hooks of four sessions at once: none of their faults is lost.
pub(crate) fn parallel() -> Result<()> {
    let site = site("breaker-parallel", "faults = 4\nback_off_seconds = 86400")?;
    // It is compiled first, so that the hooks overlap.
    expect(&site, &[("0", FINE, Reply::Quiet, None)])?;
    thread::scope(|scope| {
        let hooks: Vec<_> = ["1", "2", "3", "4"]
            .into_iter()
            .map(|id| {
                let site = &site;
                scope.spawn(move || site.hook(&site.calls(id).bash(id, SULK)))
            })
            .collect();
        hooks
            .into_iter()
            .try_for_each(|hook| hook.join().map_err(|_| anyhow!("a thread panicked"))?.map(drop))
    })?;
    ensure!(changes(&site)? == ["held"], "{:?}", changes(&site)?);
    expect(&site, &[("5", FINE, Reply::Asked, Some("held"))])?;
    site.verify()
}

//! A hub for trying it out, and a hub that is older than its database.

use super::fleets::{Fleet, act, hub_command, join, send_all};
use crate::common::Ground;
use crate::common::site::Site;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

pub fn newer_database() -> Result<()> {
    let fleet = Fleet::start("newer")?;
    fleet.query("UPDATE hub_version SET version = 999")?;
    let ended = fleet.run(&["hub", "serve"])?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    ensure!(ended.stderr.contains("tables of version 999"), "{}", ended.all());
    ensure!(ended.stderr.contains("run the newer version"), "{}", ended.all());
    ensure!(fleet.query("SELECT version FROM hub_version")? == "999");
    Ok(())
}

/// From one command to a machine whose journal is at the hub, and nothing is left at the end.
pub fn trial_hub() -> Result<()> {
    let root = &Ground::get()?.root;
    let mut command = hub_command(&["hub", "dev", "--port", "0"])?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn()?;
    let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
    let mut word_after = |start: &str, word: &str| -> Result<String> {
        let line = lines.by_ref().find(|line| line.as_ref().is_ok_and(|line| line.contains(start)));
        let line = line.context("the hub ended")??;
        let mut words = line.split_whitespace().skip_while(|found| *found != word);
        Ok(words.nth(1).context("no word")?.to_owned())
    };
    let result = (|| -> Result<()> {
        let line = word_after("join:", "join")?;
        let folder = word_after("machines:", "--folder")?;
        let token = Path::new(&folder).parent().context("no parent")?.join("join-token");
        let link = word_after("the page:", "page:")?;
        let site = Site::new("tried out")?;
        let joined = join(&site, &line, &token)?;
        ensure!(joined.code == Some(0), "{}", joined.all());
        act(&site, 1)?;
        send_all(&site, Duration::from_secs(30))?;
        let mut machines = hub_command(&["hub", "machines", "--json", "--folder", &folder])?;
        let shown: Value = serde_json::from_slice(&machines.output()?.stdout)?;
        ensure!(shown["machines"][0]["records"].as_u64() > Some(0), "{shown}");
        let (place, code) = link.split_once("/sign-in#").context("no link")?;
        let host = place.strip_prefix("http://").context("no host")?;
        let port = host.rsplit(':').next().context("no port")?.parse()?;
        let headers = [
            format!("Host: {host}"),
            format!("Origin: {place}"),
            "Content-Type: application/x-www-form-urlencoded".to_owned(),
        ];
        let answer = super::http::send(port, "POST /sign-in", &headers, &format!("code={code}"))?;
        ensure!(answer.header("set-cookie").is_some(), "{answer:?}");
        Ok(())
    })();
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&process),
        rustix::process::Signal::TERM,
    )?;
    let ended = process.wait()?;
    result?;
    ensure!(ended.success(), "{ended}");
    let left: Vec<_> = std::fs::read_dir(root)?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("portcullis-hub-"))
        .collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

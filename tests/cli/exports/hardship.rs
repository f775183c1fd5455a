//! 10,000 records on their way to each kind of sink: none is lost, they stay in order, and those that
//! come twice are counted.

use crate::common::site::Site;
use crate::common::trial;
use crate::journal::{MANY, beside, check_complete, long_site};
use crate::receiver::{Authority, Delivery, LONG, Protocol, Receiver, Step};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

/// The records of one delivery.
const BATCH: u64 = 500;

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
enum Hardship {
    /// Nothing.
    None,
    /// The receiver refuses the third delivery and the one after it.
    Refusals,
    /// The receiver takes the third delivery, and its answer is lost.
    LostAnswer,
    /// The sender is killed while the receiver has the third delivery and has not answered.
    Killed,
}

const SINKS: &[(Protocol, &str, &str)] = &[
    (Protocol::Webhook, "webhook", "jsonl"),
    (Protocol::Otlp, "otlp", "otlp"),
    (Protocol::Splunk, "splunk", "splunk"),
    (Protocol::Syslog, "syslog", "cef"),
];

const HARDSHIPS: &[(Hardship, &str, u64)] = &[
    (Hardship::None, "nothing goes wrong", 0),
    (Hardship::Refusals, "the receiver refuses some", 0),
    (Hardship::LostAnswer, "an answer is lost", BATCH),
    (Hardship::Killed, "the sender is killed", BATCH),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (protocol, sink, format) in SINKS {
        for (hardship, name, twice) in HARDSHIPS {
            trials.push(trial(format!("exports: {sink}: {name}"), move || {
                deliver(*protocol, sink, format, *hardship, *twice)
            }));
        }
    }
    trials
}

fn deliver(
    protocol: Protocol,
    sink: &str,
    format: &str,
    hardship: Hardship,
    twice: u64,
) -> Result<()> {
    let site = long_site(&format!("{sink} {hardship:?}"), "")?;
    let authority = Authority::make(&beside(&site, "tls"))?;
    let is_open = matches!(protocol, Protocol::Webhook | Protocol::Otlp);
    let script = move |number: usize, _: &[u8]| match (hardship, number) {
        (Hardship::Refusals, 2 | 3) => Step::Refuse,
        (Hardship::LostAnswer, 2) => Step::Lose,
        (Hardship::Killed, 2) => Step::Hold,
        _ => Step::Take,
    };
    let receiver = Receiver::start(protocol, (!is_open).then_some(&authority), script)?;
    let port = receiver.port;
    let to = match protocol {
        Protocol::Syslog => {
            format!("host = \"127.0.0.1\"\nport = {port}\ndemand_close_notify = true")
        }
        Protocol::Splunk => {
            let token = beside(&site, "token");
            fs::write(&token, "of-the-collector")?;
            fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
            format!("url = \"https://127.0.0.1:{port}\"\ntoken = \"file:{}\"", token.display())
        }
        _ => format!("url = \"http://127.0.0.1:{port}/in\""),
    };
    let authorities = match is_open {
        true => String::new(),
        false => format!("authorities = \"{}\"\n", authority.path.display()),
    };
    let is_packed =
        protocol != Protocol::Syslog && matches!(hardship, Hardship::Refusals | Hardship::Killed);
    let compression = if is_packed { "compression = \"gzip\"\n" } else { "" };
    let configuration = format!(
        "[exports.out]\nformat = \"{format}\"\nsink = \"{sink}\"\n{to}\n{authorities}\
         {compression}batch.records = {BATCH}\n"
    );
    site.write("config.toml", configuration)?;
    if matches!(hardship, Hardship::Killed) {
        kill_while_held(&site, &receiver)?;
    }
    let failures = run_until_done(&site)?;
    let expected = match hardship {
        Hardship::Refusals => 2,
        Hardship::LostAnswer => 1,
        _ => 0,
    };
    ensure!(failures == expected, "{failures} runs failed");
    // The first use of a token is a record, which comes last.
    let all = MANY + u64::from(protocol == Protocol::Splunk);
    site.output(&["exports", "run"])?;
    let found = check_complete(&receiver.sequences()?, all)?;
    ensure!(found == twice, "{found} records came twice");
    let says_packed = |delivery: &Delivery| delivery.head.contains("content-encoding: gzip");
    ensure!(
        receiver.taken().iter().all(|delivery| says_packed(delivery) == is_packed),
        "deliveries are compressed as configured"
    );
    let listed: serde_json::Value =
        serde_json::from_str(&site.output(&["exports", "list", "--json"])?)?;
    let export = &listed["exports"][0];
    ensure!(export["waiting"] == 0 && export["delivered"] == all, "{export}");
    site.verify()
}

/// Kills a run that waits for the receiver's answer.
fn kill_while_held(site: &Site, receiver: &Receiver) -> Result<()> {
    let mut command = site.command(&["exports", "run"]);
    let mut run = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    receiver.await_held()?;
    run.kill()?;
    run.wait()?;
    receiver.release();
    Ok(())
}

/// Runs the export until it succeeds; returns how often it failed.
fn run_until_done(site: &Site) -> Result<u32> {
    for failures in 0..5 {
        let ended = site.run(&["exports", "run"])?;
        match ended.code {
            Some(0) => return Ok(failures),
            Some(1) => ensure!(ended.text().contains("not delivered"), "{}", ended.all()),
            _ => anyhow::bail!("{}", ended.all()),
        }
    }
    anyhow::bail!("it does not succeed")
}

/// A process that writes a file is killed twice; each record is in it once all the same.
pub fn to_a_file() -> Result<()> {
    let site = long_site("to a file", "")?;
    let path = beside(&site, "out.jsonl");
    let configuration = format!(
        "[exports.out]\nformat = \"jsonl\"\nsink = \"file\"\npath = \"{}\"\nrotate_mb = 4\n\
         batch.records = 20\n",
        path.display()
    );
    site.write("config.toml", configuration)?;
    let mut seen = 0;
    for _ in 0..2 {
        let mut run = site.command(&["exports", "run"]).stdout(Stdio::null()).spawn()?;
        let begun = Instant::now();
        // Beyond what is there, so that it is killed while it writes.
        while size(&path) < seen + 200_000 && run.try_wait()?.is_none() {
            ensure!(begun.elapsed() < LONG, "nothing is written");
            thread::sleep(Duration::from_millis(1));
        }
        run.kill()?;
        run.wait()?;
        seen = size(&path);
    }
    site.output(&["exports", "run"])?;
    let mut lines = Vec::new();
    let mut files = 0;
    for number in (0..10).rev() {
        let name =
            if number == 0 { path.clone() } else { path.with_extension(format!("jsonl.{number}")) };
        if let Ok(text) = fs::read_to_string(name) {
            files += 1;
            for line in text.lines() {
                let line: serde_json::Value = serde_json::from_str(line)?;
                lines.push(line["sequence"].as_u64().context("no position")?);
            }
        }
    }
    ensure!(files > 1, "it was not rotated");
    ensure!(lines == (1..=MANY).collect::<Vec<_>>(), "{} lines", lines.len());
    Ok(())
}

fn size(path: &std::path::Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

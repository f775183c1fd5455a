//! A case file: what a client writes, and what comes of it.
//!
//! ```json
//! {
//!   "about": "what it shows",
//!   "pipes_only": "why the server cannot be behind an address",
//!   "config": "the configuration, TOML",
//!   "files": { "a path in the project": "its text" },
//!   "script": { "what": "the scripted server has and answers; see server.py" },
//!   "steps": [
//!     {
//!       "config": "another configuration, from now on",
//!       "send": "a line, or a message",
//!       "get": ["a line, or a part of a message"],
//!       "server": ["a line, or a part of a message"]
//!     }
//!   ],
//!   "journal": ["parts of records, in order"],
//!   "errors": ["parts of standard error"]
//! }
//! ```
//!
//! A part of a message is an object: each of its members is compared, others may exist. A text `~x`
//! is a part of a longer text, and null means that there is none. A text is compared as a whole
//! line, byte by byte; `same` and `same-message` are the line that was sent.

use crate::front::Front;
use crate::gateway::Connection;
use crate::site::Site;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The time in which nothing more may come.
const SILENCE: Duration = Duration::from_millis(150);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    pipes_only: Option<String>,
    #[serde(default)]
    config: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    script: Value,
    steps: Vec<Step>,
    #[serde(default)]
    journal: Vec<Value>,
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    send: Value,
    #[serde(default)]
    get: Vec<Value>,
    #[serde(default)]
    server: Vec<Value>,
    config: Option<String>,
}

/// Returns true if the server of a case can be behind an address.
pub(crate) fn fits_address(file: &Path) -> Result<bool> {
    Ok(read_case(file)?.pipes_only.is_none())
}

fn read_case(file: &Path) -> Result<Case> {
    serde_json::from_str(&fs::read_to_string(file)?).context("the case is not a case")
}

/// Plays a case, with the server behind an address if `by_address` is true.
pub(crate) fn play_case(site: &Site, file: &Path, by_address: bool) -> Result<()> {
    let case = read_case(file)?;
    site.configure(&case.config)?;
    for (path, text) in &case.files {
        let path = site.project().join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)?;
    }
    let script = if case.script.is_null() { json!({}) } else { case.script };
    site.direct(&script)?;
    let front = if by_address { Some(Front::start(site, &site.server())?) } else { None };
    let mut connection = match &front {
        Some(front) => Connection::start(site.gateway_at(&front.url()))?,
        None => Connection::open(site)?,
    };
    for (number, step) in case.steps.iter().enumerate() {
        if let Some(config) = &step.config {
            site.configure(config)?;
        }
        play_step(site, &mut connection, step, by_address)
            .with_context(|| format!("in step {} of \"{}\"", number + 1, case.about))?;
    }
    let (rest, errors, status) = connection.close()?;
    ensure!(rest.is_empty(), "more lines came: {}", String::from_utf8_lossy(&rest.concat()));
    ensure!(status.code() == Some(0), "the gateway ended with {status}: {errors}");
    for part in &case.errors {
        ensure!(errors.contains(part), "standard error lacks `{part}`: {errors}");
    }
    let journal = if case.journal.is_empty() { Vec::new() } else { site.journal()? };
    let mut records = journal.iter();
    for expected in &case.journal {
        ensure!(
            records.any(|record| matches(expected, record)),
            "the journal lacks {expected}:\n{}",
            serde_json::to_string_pretty(&journal)?
        );
    }
    Ok(())
}

fn play_step(
    site: &Site,
    connection: &mut Connection,
    step: &Step,
    by_address: bool,
) -> Result<()> {
    let send = &step.send;
    match send {
        Value::String(line) => connection.write(line.as_bytes())?,
        message => connection.send(message)?,
    }
    for expected in &step.get {
        let line = connection.read().with_context(|| format!("waiting for {expected}"))?;
        compare(expected, &line).context("the client got another line")?;
    }
    if let Some(line) = connection.read_within(SILENCE)? {
        bail!("the client got one more line: {}", String::from_utf8_lossy(&line));
    }
    let received = site.take_received()?;
    ensure!(
        received.len() == step.server.len(),
        "the server got {} lines: {}",
        received.len(),
        String::from_utf8_lossy(&received.concat())
    );
    for (expected, line) in step.server.iter().zip(&received) {
        let written = Value::String(format!("{send}\n"));
        // The end of a line belongs to the pipe.
        let sent = Value::String(format!("{}\n", send.as_str().unwrap_or_default().trim_end()));
        let expected = match expected.as_str() {
            Some("same") if by_address => &sent,
            Some("same") => send,
            Some("same-message") => &written,
            _ => expected,
        };
        compare(expected, line).context("the server got another line")?;
    }
    Ok(())
}

fn compare(expected: &Value, line: &[u8]) -> Result<()> {
    let shown = String::from_utf8_lossy(line);
    let same = match expected {
        Value::String(text) => text.as_bytes() == line,
        part => matches(part, &serde_json::from_slice(line).context(shown.to_string())?),
    };
    ensure!(same, "expected {expected}\ngot      {shown}");
    Ok(())
}

/// Returns true if a value has an expected part.
pub(crate) fn matches(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(name, part)| match (part, found.get(name)) {
                (Value::Null, None) => true,
                (part, Some(found)) => matches(part, found),
                _ => false,
            })
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(part, found)| matches(part, found))
        }
        (Value::String(part), Value::String(text)) => match part.strip_prefix('~') {
            Some(part) => text.contains(part),
            None => part == text,
        },
        (expected, found) => expected == found,
    }
}

//! Tests of every kind of failure: the client must get a valid answer under the fault policy that
//! names the cause and the fix. A record of it is written if possible, and once the cause is
//! removed the next action is processed normally.

mod events;
mod homes;
mod plugins;
mod projects;
mod workspace;

use crate::common::reply::Answer;
use crate::common::site::Site;
use crate::common::{process, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// The bytes on standard input.
type Input = Box<dyn Fn(&Site) -> Vec<u8> + Send>;
/// A change that breaks something, or repairs it.
type Change = fn(&Site) -> Result<()>;

/// A case of bad input.
pub struct Case {
    /// Its name.
    pub name: String,
    /// The event that is answered; empty if it cannot be determined.
    pub event: &'static str,
    /// The bytes on standard input.
    pub input: Input,
    /// Breaks something.
    pub spoil: Change,
    /// The command that starts the hook.
    pub hook: fn(&Site) -> Command,
    /// The effect of the answer.
    pub answer: Answer,
    /// Texts that the answer contains.
    pub says: Vec<&'static str>,
    /// The expected record in the journal.
    pub record: Recorded,
    /// Removes the cause.
    pub fix: Change,
    /// True if the case depends on permissions, which restrict an ordinary user but not root.
    pub held_back: bool,
}

/// The expected record of a bad event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A record of kind `fault` with a fault of that name.
    Fault(&'static str),
    /// A record of kind `review` with a fault of that name.
    Review(&'static str),
    /// A record of that kind without a fault.
    Clean(&'static str),
    /// Nothing: there was nowhere to write, or nothing to report.
    Nothing,
}

impl Case {
    /// Creates a case with an ordinary command.
    pub fn new(name: &str, spoil: Change) -> Self {
        Self {
            name: name.to_owned(),
            event: "PreToolUse",
            input: Box::new(|site| site.calls("bad").bash("bad", "ls").to_string().into_bytes()),
            spoil,
            hook: |site| site.command(&["hook", "claude"]),
            answer: Answer::Refused,
            says: vec![],
            record: Recorded::Nothing,
            fix: |_| Ok(()),
            held_back: false,
        }
    }

    /// Sets the effect and the texts of the answer.
    pub fn answers(self, answer: Answer, says: &[&'static str]) -> Self {
        Self { answer, says: says.to_vec(), ..self }
    }

    /// Sets the expected record.
    pub fn recorded(self, record: Recorded) -> Self {
        Self { record, ..self }
    }

    /// Sets how the cause is removed.
    pub fn fixed(self, fix: Change) -> Self {
        Self { fix, ..self }
    }
}

pub fn tests() -> Vec<Trial> {
    let cases = [events::cases(), homes::cases(), plugins::cases(), projects::cases()];
    let cases = cases
        .into_iter()
        .flatten()
        .map(|case| trial(format!("bad input: {}", case.name), move || check(&case)));
    cases
        .chain(workspace::tests())
        .chain([trial("bad input: nobody reads the answer", unread)])
        .collect()
}

/// A client that gets no answer must not take the silence for consent.
fn unread() -> Result<()> {
    let site = Site::new("unread")?;
    let mut hook = site.command(&["hook", "claude"]);
    hook.stdin(Stdio::piped())
        .stdout(std::fs::OpenOptions::new().write(true).open("/dev/full")?)
        .stderr(Stdio::null());
    let mut child = hook.spawn()?;
    let mut stdin = child.stdin.take().context("the hook has no input")?;
    stdin.write_all(site.calls("unread").bash("1", "ls").to_string().as_bytes())?;
    drop(stdin);
    let code = child.wait()?.code();
    ensure!(code == Some(2), "the exit code is {code:?}");
    ensure!(site.records()?.len() == 1, "the review has no record");
    site.ordinary("next")
}

fn check(case: &Case) -> Result<()> {
    let mut site = Site::new(&case.name)?;
    if case.held_back {
        site = site.held_back()?;
    }
    (case.spoil)(&site).context("cannot prepare it")?;
    let reply = site.ask((case.hook)(&site), case.event, &(case.input)(&site))?;
    ensure!(
        reply.answer == case.answer,
        "the answer is {:?}, not {:?}: {reply:?}",
        reply.answer,
        case.answer
    );
    reply.says(&case.says)?;
    (case.fix)(&site).context("cannot fix it")?;
    site.ordinary("next")?;
    site.verify()?;
    recorded(case.record, &site.records()?)
}

fn recorded(expected: Recorded, records: &[Value]) -> Result<()> {
    let bad: Vec<&Value> = records.iter().filter(|record| record["session"] != "next").collect();
    let (kind, fault) = match expected {
        Recorded::Nothing => {
            ensure!(bad.is_empty(), "there are records of it: {bad:?}");
            return Ok(());
        }
        Recorded::Fault(fault) => ("fault", Some(fault)),
        Recorded::Review(fault) => ("review", Some(fault)),
        Recorded::Clean(kind) => (kind, None),
    };
    let [record] = bad[..] else {
        anyhow::bail!("there are {} records of it, not 1: {bad:?}", bad.len())
    };
    let names: Vec<&str> = record["faults"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|fault| fault["kind"].as_str())
        .collect();
    ensure!(
        record["kind"] == kind && names == Vec::from_iter(fault),
        "the record is {} with the faults {names:?}: {record}",
        record["kind"]
    );
    Ok(())
}

/// Runs a program of the system, which must succeed.
pub fn system(program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments);
    let ended = process::run(command, b"", std::time::Duration::from_secs(20))?;
    ensure!(ended.code == Some(0), "`{program}`: {}", ended.all());
    Ok(())
}

/// Starts the hook behind a shell script, in which it is `$0`.
pub fn shell(site: &Site, wrapper: &[&str], script: &str) -> Command {
    let words = [wrapper, &["sh", "-c", script]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(site.binary()).current_dir(site.project()).env_clear();
    command
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", site.person())
        .env("PORTCULLIS_HOME", site.state());
    command
}

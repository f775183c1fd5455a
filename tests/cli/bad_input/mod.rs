//! Whatever goes wrong, the client gets a valid answer under the fault policy that names the thing and
//! the mend, a record tells of it where one can be written, and once the cause is gone the next action
//! goes its way.

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

/// What reaches standard input.
type Input = Box<dyn Fn(&Site) -> Vec<u8> + Send>;
/// Makes things bad, or good again.
type Change = fn(&Site) -> Result<()>;

/// One way in which something can be bad.
pub struct Case {
    /// In words.
    pub name: String,
    /// The event that is answered; empty where it cannot be told.
    pub event: &'static str,
    /// What reaches standard input.
    pub input: Input,
    /// Makes things bad.
    pub spoil: Change,
    /// The hook, as it is started.
    pub hook: fn(&Site) -> Command,
    /// What the answer does.
    pub answer: Answer,
    /// What it says.
    pub says: Vec<&'static str>,
    /// What the journal holds of it.
    pub record: Recorded,
    /// Takes the cause away.
    pub mend: Change,
    /// The superuser is not held back by permissions; a user without rights is.
    pub held_back: bool,
}

/// What the journal holds of a bad event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A record of kind `fault` with a fault of that name.
    Fault(&'static str),
    /// A record of kind `review` with a fault of that name.
    Review(&'static str),
    /// A record of that kind without a fault.
    Clean(&'static str),
    /// Nothing: there was nowhere to write, or nothing to tell.
    Nothing,
}

impl Case {
    /// An ordinary command that is answered where something is bad.
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
            mend: |_| Ok(()),
            held_back: false,
        }
    }

    /// What the answer does and says.
    pub fn answers(self, answer: Answer, says: &[&'static str]) -> Self {
        Self { answer, says: says.to_vec(), ..self }
    }

    /// What the journal holds of it.
    pub fn recorded(self, record: Recorded) -> Self {
        Self { record, ..self }
    }

    /// How the cause is taken away.
    pub fn mended(self, mend: Change) -> Self {
        Self { mend, ..self }
    }
}

pub fn tests() -> Vec<Trial> {
    let cases = [events::cases(), homes::cases(), plugins::cases(), projects::cases()];
    let cases = cases.into_iter().flatten().map(|case| trial(format!("bad input: {}", case.name), move || check(&case)));
    cases.chain(workspace::tests()).chain([trial("bad input: nobody reads the answer", unread)]).collect()
}

/// A client that gets no answer must not take the silence for consent.
fn unread() -> Result<()> {
    let site = Site::new("unread")?;
    let mut hook = site.command(&["hook", "claude"]);
    hook.stdin(Stdio::piped()).stdout(std::fs::OpenOptions::new().write(true).open("/dev/full")?).stderr(Stdio::null());
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
    ensure!(reply.answer == case.answer, "the answer is {:?}, not {:?}: {reply:?}", reply.answer, case.answer);
    reply.says(&case.says)?;
    (case.mend)(&site).context("cannot mend it")?;
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
    let [record] = bad[..] else { anyhow::bail!("there are {} records of it, not 1: {bad:?}", bad.len()) };
    let names: Vec<&str> = record["faults"].as_array().into_iter().flatten().filter_map(|fault| fault["kind"].as_str()).collect();
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

/// The hook behind a shell script, in which it is `$0`.
pub fn shell(site: &Site, wrapper: &[&str], script: &str) -> Command {
    let words = [wrapper, &["sh", "-c", script]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(site.binary()).current_dir(site.project()).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("HOME", site.person()).env("PORTCULLIS_HOME", site.state());
    command
}

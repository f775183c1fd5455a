//! Starts our handlers exactly as they stand in the settings, with a known-good and a known-bad action, and
//! reads their answers as the client would. Nothing of either action is executed.

use super::answer::{self, Answer};
use super::finding::{Check, Finding};
use super::handlers::Handler;
use super::settings::File;
use crate::client::run;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a canary's session begins with: its records are no agent's.
pub const SESSION: &str = "portcullis-doctor-";
/// What everybody must refuse.
const BAD: &str = "rm -rf ~";
/// What nobody may refuse.
const GOOD: &str = "ls";
/// No hook gets longer here, whatever its settings say.
const MOST: Duration = Duration::from_secs(60);
/// A hook that takes longer is told: people wait for each.
const SLOW: Duration = Duration::from_secs(2);

/// Where and how the handlers are started.
pub struct Stage<'a> {
    /// An empty folder.
    pub folder: &'a Path,
    /// The person's home.
    pub person: &'a str,
    /// The project's folder, whose own settings may name any program.
    pub project: &'a Path,
    /// The client's settings, whose `env` its hooks get.
    pub files: &'a [File],
    /// Makes the sessions' names unique.
    pub seed: &'a str,
}

/// What the canary found, and which session met the known-bad action without a refusal.
pub struct Outcome {
    /// The findings.
    pub findings: Vec<Finding>,
    /// In observe mode its review stands in the journal under this session.
    pub unrefused: Option<String>,
}

/// Runs each of our handlers for `PreToolUse` that is not switched off.
pub fn run(handlers: &[Handler], stage: &Stage<'_>, observing: bool) -> Outcome {
    let mut outcome = Outcome { findings: Vec::new(), unrefused: None };
    let mut seen: Vec<(Option<&Value>, Option<&Value>)> = Vec::new();
    for handler in handlers.iter().filter(|handler| handler.registered.event == "PreToolUse" && !handler.off) {
        let start = (handler.value.get("command"), handler.value.get("args"));
        if seen.contains(&start) {
            continue;
        }
        seen.push(start);
        let one = drive(handler, stage, observing, seen.len());
        outcome.findings.extend(one.findings);
        outcome.unrefused = outcome.unrefused.or(one.unrefused);
    }
    if seen.is_empty() {
        outcome.findings.push(Finding::note(Check::Canary, "no hook of ours runs before an action: nothing was put to one", ""));
    }
    outcome
}

fn drive(handler: &Handler, stage: &Stage<'_>, observing: bool, turn: usize) -> Outcome {
    if let Some(stranger) = handler.stranger(stage.project) {
        let what = format!("a hook in `{}` starts `{stranger}` from inside the project: it was not started", handler.file.display());
        let mend = "look at it; `portcullis install claude --project` names a program outside the project";
        return Outcome { findings: vec![Finding::problem(Check::Canary, what, mend)], unrefused: None };
    }
    let session = |name: &str| format!("{SESSION}{}-{turn}-{name}", stage.seed);
    let began = Instant::now();
    let good = ask(handler, stage, &session("good"), GOOD, Surroundings::AsNow);
    let took = began.elapsed();
    let bad = ask(handler, stage, &session("bad"), BAD, Surroundings::AsNow);
    // Without pinned folders a hook without the environment would make itself a home of its own.
    let pinned = matches!(handler.pins(), Ok(Some(_)));
    let bare = if pinned { ask(handler, stage, &session("bare"), BAD, Surroundings::Bare) } else { bad.clone() };
    let mut findings = judge_good(&good, handler.closed());
    if findings.is_empty() {
        findings.extend(judge_bad(&bad, "", observing, handler.closed()));
        if bare != bad {
            findings.extend(judge_bad(&bare, " in an empty environment", observing, handler.closed()));
        }
    }
    if took > SLOW {
        let what = format!("an ordinary action took {} ms to review", took.as_millis());
        findings.push(Finding::warning(
            Check::Canary,
            what,
            "run `portcullis doctor` again: the first run compiles plugins; else the machine is overloaded",
        ));
    }
    let silent = findings.is_empty() && observing;
    if findings.is_empty() {
        let what = if observing {
            format!("`{GOOD}` and `{BAD}` both run: nothing is refused in observe mode or a pause")
        } else {
            format!("`{BAD}` is refused and `{GOOD}` is not, in {} ms", took.as_millis())
        };
        findings.push(if observing { Finding::note(Check::Canary, what, "") } else { Finding::ok(Check::Canary, what) });
    }
    Outcome { findings, unrefused: silent.then(|| session("bad")) }
}

#[derive(Clone, Copy)]
enum Surroundings {
    /// This process's environment, as the client would pass it on.
    AsNow,
    /// A home folder and the usual programs, nothing else.
    Bare,
}

fn ask(handler: &Handler, stage: &Stage<'_>, session: &str, action: &str, surroundings: Surroundings) -> Answer {
    let event = json!({
        "session_id": session,
        "transcript_path": "/dev/null",
        "cwd": stage.folder,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": action },
        "tool_use_id": session,
    });
    let Some(mut command) = command(handler) else { return Answer::Failed("it has no command".to_owned()) };
    command.current_dir(stage.folder);
    if matches!(surroundings, Surroundings::Bare) {
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", stage.person);
    }
    command.envs(variables(stage.files));
    command.env("CLAUDECODE", "1").env("CLAUDE_PROJECT_DIR", stage.folder).env("CLAUDE_CODE_SESSION_ID", session);
    let limit = Duration::from_secs_f64(handler.timeout().clamp(0.0, MOST.as_secs_f64()));
    match run::run(command, event.to_string().as_bytes(), limit) {
        Ok(said) => answer::read(said.code, &said.stdout, &said.stderr),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

fn command(handler: &Handler) -> Option<Command> {
    if let Some((program, arguments)) = handler.exec() {
        let mut command = Command::new(program);
        command.args(arguments);
        return Some(command);
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", handler.line()?]);
    Some(command)
}

/// `env` of all files; a later scope has the last word.
fn variables(files: &[File]) -> Vec<(String, String)> {
    let of = |file: &File| -> Vec<(String, String)> {
        let env = file.settings().and_then(|settings| settings.get("env")).and_then(Value::as_object);
        env.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    // A name that is no variable's would not get past the client either.
    files.iter().flat_map(of).filter(|(name, value)| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')).collect()
}

fn judge_good(answer: &Answer, closed: bool) -> Vec<Finding> {
    let what = match answer {
        Answer::Nothing => return Vec::new(),
        Answer::Refused(reason) => format!("an ordinary action (`{GOOD}`) is refused: {reason}"),
        Answer::Asked => format!("an ordinary action (`{GOOD}`) waits for a person"),
        Answer::Rewritten => format!("an ordinary action (`{GOOD}`) is rewritten"),
        Answer::Failed(how) => return vec![failed(how, closed)],
        Answer::Unread(how) => return vec![unread(how)],
    };
    vec![Finding::problem(Check::Canary, what, "the other findings name the cause; `portcullis pause` lets you work meanwhile")]
}

fn judge_bad(answer: &Answer, where_to: &str, observing: bool, closed: bool) -> Vec<Finding> {
    let found = match answer {
        Answer::Refused(_) => return Vec::new(),
        Answer::Nothing if observing => return Vec::new(),
        Answer::Nothing => "runs",
        Answer::Asked => "waits for a person",
        Answer::Rewritten => "runs in another form",
        Answer::Failed(how) => return vec![failed(how, closed)],
        Answer::Unread(how) => return vec![unread(how)],
    };
    let what = format!("a known-bad action (`{BAD}`) {found}{where_to}: it must be refused");
    vec![Finding::problem(Check::Canary, what, "the other findings name the cause; do not let an agent work until it is refused")]
}

fn failed(how: &str, closed: bool) -> Finding {
    let then = if closed { "the client refuses every action" } else { "the client runs every action unreviewed" };
    Finding::problem(Check::Canary, format!("the hook fails ({how}): {then}"), "run `portcullis install claude`")
}

fn unread(how: &str) -> Finding {
    let what = format!("the hook's answer says nothing to the client ({how}): every action runs unreviewed");
    Finding::problem(Check::Canary, what, "run `portcullis install claude`")
}

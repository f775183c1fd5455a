//! Starts our handlers exactly as they are registered, with a known-good and a known-bad action,
//! and reads their answers as the client would. Neither action is executed.

use super::finding::{Check, HealthFinding};
use super::handlers::Handler;
use super::settings::ClientFile;
use crate::canary_session::CANARY_SESSION;
use portcullis_agents::hook_reply::HookReply;
use portcullis_agents::run;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The action that every handler must refuse.
const BAD: &str = "rm -rf ~";
/// The action that no handler may refuse.
const GOOD: &str = "ls";
/// The timeout for a hook here, even if its settings allow more.
const MOST: Duration = Duration::from_secs(60);
/// Slower hooks are reported: people wait for each of them.
const SLOW: Duration = Duration::from_secs(2);

/// The surroundings in which the handlers are started.
pub(super) struct CanarySetup<'a> {
    /// An empty folder.
    pub folder: &'a Path,
    /// The person's home.
    pub person: &'a str,
    /// The project's folder, whose own settings may name any program.
    pub project: &'a Path,
    /// The client's settings, whose `env` its hooks get.
    pub files: &'a [ClientFile],
    /// Makes the sessions' names unique.
    pub seed: &'a str,
}

/// The canary's result, with the session in which the known-bad action was not refused.
pub(super) struct CanaryOutcome {
    /// The findings.
    pub findings: Vec<HealthFinding>,
    /// The session in whose records the review is found in observe mode.
    pub unrefused: Option<String>,
}

/// Runs each of our enabled handlers for the event before an action.
pub(super) fn run(handlers: &[Handler], stage: &CanarySetup<'_>, observing: bool) -> CanaryOutcome {
    let mut outcome = CanaryOutcome { findings: Vec::new(), unrefused: None };
    let mut seen = Vec::new();
    let gates = |handler: &&Handler| {
        handler.registered.event == handler.agent.hook_settings().gate_event() && !handler.off
    };
    for handler in handlers.iter().filter(gates) {
        let start = (handler.exec(), handler.line());
        if seen.contains(&start) {
            continue;
        }
        seen.push(start);
        let one = drive(handler, stage, observing, seen.len());
        outcome.findings.extend(one.findings);
        outcome.unrefused = outcome.unrefused.or(one.unrefused);
    }
    if seen.is_empty() {
        outcome.findings.push(HealthFinding::note(
            Check::Canary,
            "none of our hooks runs before an action: nothing was tested",
            "",
        ));
    }
    outcome
}

fn drive(
    handler: &Handler,
    stage: &CanarySetup<'_>,
    observing: bool,
    round: usize,
) -> CanaryOutcome {
    if let Some(stranger) = handler.stranger(stage.project) {
        let what = format!(
            "a hook in `{}` starts `{stranger}` from inside the project: it was not started",
            handler.file.display()
        );
        let fix = format!(
            "look at it; `{} --project` names a program outside the project",
            handler.agent.install_command()
        );
        return CanaryOutcome {
            findings: vec![HealthFinding::problem(Check::Canary, what, fix)],
            unrefused: None,
        };
    }
    let session = |name: &str| format!("{CANARY_SESSION}{}-{round}-{name}", stage.seed);
    let began = Instant::now();
    let good = ask(handler, stage, &session("good"), GOOD, CanaryEnvironment::AsNow);
    let took = began.elapsed();
    let bad = ask(handler, stage, &session("bad"), BAD, CanaryEnvironment::AsNow);
    // Without pinned folders, a hook with an empty environment would create a home of its own.
    let pinned = matches!(handler.pins(), Ok(Some(_)));
    let bare = if pinned {
        ask(handler, stage, &session("bare"), BAD, CanaryEnvironment::Bare)
    } else {
        bad.clone()
    };
    let mut findings = judge_good(&good, handler);
    if findings.is_empty() {
        findings.extend(judge_bad(&bad, "", observing, handler));
        if bare != bad {
            findings.extend(judge_bad(&bare, " in an empty environment", observing, handler));
        }
    }
    if took > SLOW {
        let what = format!("an ordinary action took {} ms to review", took.as_millis());
        findings.push(HealthFinding::warning(
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
        findings.push(if observing {
            HealthFinding::note(Check::Canary, what, "")
        } else {
            HealthFinding::ok(Check::Canary, what)
        });
    }
    CanaryOutcome { findings, unrefused: silent.then(|| session("bad")) }
}

#[derive(Clone, Copy)]
enum CanaryEnvironment {
    /// This process's environment, as the client would pass it on.
    AsNow,
    /// A home folder and the usual programs, nothing else.
    Bare,
}

fn ask(
    handler: &Handler,
    stage: &CanarySetup<'_>,
    session: &str,
    action: &str,
    surroundings: CanaryEnvironment,
) -> HookReply {
    let event = handler.agent.command_event(session, stage.folder, action);
    let Some(mut command) = command(handler) else {
        return HookReply::Failed("it has no command".to_owned());
    };
    command.current_dir(stage.folder);
    if matches!(surroundings, CanaryEnvironment::Bare) {
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", stage.person);
    }
    command.envs(variables(stage.files));
    command.envs(handler.agent.hook_environment(stage.folder, session));
    let limit = Duration::from_secs_f64(handler.timeout().clamp(0.0, MOST.as_secs_f64()));
    match run::run_program(command, event.to_string().as_bytes(), limit) {
        Ok(said) => handler.agent.interpret_answer(said.code, &said.stdout, &said.stderr),
        Err(error) => HookReply::Failed(error.to_string()),
    }
}

fn command(handler: &Handler) -> Option<Command> {
    if let Some(script) = handler.script() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        return Some(command);
    }
    if let Some((program, arguments)) = handler.exec() {
        let mut command = Command::new(program);
        command.args(arguments);
        return Some(command);
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", handler.line()?]);
    Some(command)
}

/// Returns the `env` of all files; a later scope takes precedence.
fn variables(files: &[ClientFile]) -> Vec<(String, String)> {
    let of = |file: &ClientFile| -> Vec<(String, String)> {
        let env =
            file.settings().and_then(|settings| settings.get("env")).and_then(Value::as_object);
        env.into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    };
    // The client would not accept an invalid variable name either.
    files
        .iter()
        .flat_map(of)
        .filter(|(name, value)| {
            !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
        })
        .collect()
}

fn judge_good(answer: &HookReply, handler: &Handler) -> Vec<HealthFinding> {
    let what = match answer {
        HookReply::Nothing => return Vec::new(),
        HookReply::Refused(reason) => format!("an ordinary action (`{GOOD}`) is refused: {reason}"),
        HookReply::Asked => format!("an ordinary action (`{GOOD}`) waits for a person"),
        HookReply::Rewritten => format!("an ordinary action (`{GOOD}`) is rewritten"),
        HookReply::Failed(how) => return vec![failed(how, handler)],
        HookReply::Unread(how) => return vec![unread(how, handler)],
    };
    vec![HealthFinding::problem(
        Check::Canary,
        what,
        "the other findings name the cause; `portcullis pause` lets you work meanwhile",
    )]
}

fn judge_bad(
    answer: &HookReply,
    where_to: &str,
    observing: bool,
    handler: &Handler,
) -> Vec<HealthFinding> {
    let found = match answer {
        HookReply::Refused(_) => return Vec::new(),
        HookReply::Nothing if observing => return Vec::new(),
        HookReply::Nothing => "runs",
        HookReply::Asked => "waits for a person",
        HookReply::Rewritten => "runs in another form",
        HookReply::Failed(how) => return vec![failed(how, handler)],
        HookReply::Unread(how) => return vec![unread(how, handler)],
    };
    let what = format!("a known-bad action (`{BAD}`) {found}{where_to}: it must be refused");
    vec![HealthFinding::problem(
        Check::Canary,
        what,
        "the other findings name the cause; do not let an agent work until it is refused",
    )]
}

fn failed(how: &str, handler: &Handler) -> HealthFinding {
    let then = if handler.closed() {
        "the client refuses every action"
    } else {
        "the client runs every action unreviewed"
    };
    HealthFinding::problem(
        Check::Canary,
        format!("the hook fails ({how}): {then}"),
        format!("run `{}`", handler.agent.install_command()),
    )
}

fn unread(how: &str, handler: &Handler) -> HealthFinding {
    let what = format!(
        "the hook's answer means nothing to the client ({how}): every action runs unreviewed"
    );
    HealthFinding::problem(
        Check::Canary,
        what,
        format!("run `{}`", handler.agent.install_command()),
    )
}

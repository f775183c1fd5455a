//! Runs the client once, between our hooks and the scripted model, and collects the evidence. It
//! judges nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::case::Turn;
use crate::machine;
use crate::model::{Between, Conversation, Model};
use crate::scratch::Scratch;
use portcullis_tests::process;

/// The variable for the folder of our hooks' state; no two runs share one.
pub(crate) const STATE: &str = "PORTCULLIS_HOME";

/// The timeout of a run.
const LIMIT: Duration = Duration::from_secs(60);

/// The timeout of one of our own commands.
const OWN_LIMIT: Duration = Duration::from_secs(20);

/// The two programs under test.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// The agent's client.
    pub(crate) client: PathBuf,
    /// Our binary.
    pub(crate) portcullis: PathBuf,
}

/// The input of one run.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The person's prompt.
    pub(crate) prompt: String,
    /// The model's answers to the main agent.
    pub(crate) turns: Vec<Turn>,
    /// The same for subagents, keyed by a text of their prompts.
    pub(crate) subagents: BTreeMap<String, Vec<Turn>>,
    /// Additional arguments of the client.
    pub(crate) arguments: Vec<String>,
    /// Additional variables of the client's environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// A folder whose files only the client sees in `/etc`.
    pub(crate) machine: Option<PathBuf>,
}

/// The evidence of one run.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// True if the client ended with code 0.
    pub(crate) success: bool,
    /// Its standard error.
    pub(crate) stderr: String,
    /// The client's own account, one JSON object per line.
    pub(crate) stream: Vec<Value>,
    /// The requests to the model.
    pub(crate) conversation: Conversation,
    /// The journal; an error if it cannot be read or does not verify.
    pub(crate) journal: Result<Vec<Value>>,
}

/// Plays a session in prepared folders.
pub(crate) fn run(session: &Session, scratch: &Scratch, programs: &Programs) -> Result<Evidence> {
    run_with(session, scratch, programs, Box::new(|_| Ok(())))
}

/// Plays a session in prepared folders. `between` is called before each turn of the model.
pub(crate) fn run_with(
    session: &Session,
    scratch: &Scratch,
    programs: &Programs,
    between: Between,
) -> Result<Evidence> {
    let model = Model::start_with(&session.turns, &session.subagents, between)?;
    let ended = process::run(
        client(session, scratch, &programs.client, &model.url()),
        &scratch.root().join("client"),
        LIMIT,
    );
    process::end_marked(&format!("{STATE}={}", scratch.state().display()));
    let conversation = model.finish()?;
    keep(scratch, &conversation)?;
    let ended = ended?;
    let stream = lines(&ended.stdout).with_context(|| {
        format!("the client's output is not lines of JSON; it also said `{}`", ended.stderr.trim())
    })?;
    let journal = journal(scratch, &programs.portcullis);
    Ok(Evidence { success: ended.success, stderr: ended.stderr, stream, conversation, journal })
}

fn client(session: &Session, scratch: &Scratch, client: &Path, url: &str) -> Command {
    let mut command = machine::program(client, session.machine.as_deref());
    command
        .args(["-p", &session.prompt, "--output-format", "stream-json", "--verbose"])
        .args(["--permission-mode", "bypassPermissions", "--include-hook-events"])
        .args(&session.arguments);
    surround(&mut command, scratch, url);
    command.envs(&session.environment);
    command
}

/// Sets a client's folder and environment, with the scripted model as its API.
pub(crate) fn surround(command: &mut Command, scratch: &Scratch, url: &str) {
    command
        .current_dir(scratch.project())
        .env_clear()
        .envs(environment(scratch))
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "none")
        // Allows root, as in a container, to use bypassPermissions.
        .env("IS_SANDBOX", "1");
    for off in [
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "DISABLE_BUG_COMMAND",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ] {
        command.env(off, "1");
    }
}

/// Returns the environment of the client, its tools and our hooks. The proxy is a closed port of
/// this machine: without a network namespace, requests of tools still end there.
pub(crate) fn environment(scratch: &Scratch) -> Vec<(&'static str, String)> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let nowhere = || "http://127.0.0.1:9".to_owned();
    vec![
        (
            "PATH",
            std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ),
        ("HOME", text(scratch.home())),
        ("TMPDIR", text(scratch.temporary())),
        (STATE, text(scratch.state())),
        ("LANG", "C.UTF-8".to_owned()),
        ("SHELL", "/bin/bash".to_owned()),
        ("TERM", "dumb".to_owned()),
        ("http_proxy", nowhere()),
        ("https_proxy", nowhere()),
        ("no_proxy", "127.0.0.1,localhost".to_owned()),
    ]
}

/// Keeps the requests next to the client's output, for debugging a failure.
fn keep(scratch: &Scratch, conversation: &Conversation) -> Result<()> {
    let text: String = conversation.requests.iter().map(|request| format!("{request}\n")).collect();
    fs::write(scratch.root().join("requests.jsonl"), text).context("cannot write the requests")
}

/// Returns the journal's records, whose chain must be valid.
pub(crate) fn journal(scratch: &Scratch, portcullis: &Path) -> Result<Vec<Value>> {
    let own = |arguments: &[&str]| {
        let mut command = Command::new(portcullis);
        command
            .args(arguments)
            .current_dir(scratch.project())
            .env_clear()
            .envs(environment(scratch));
        let ended = process::run(command, &scratch.root().join(arguments.join("-")), OWN_LIMIT)?;
        ensure!(
            ended.success,
            "`portcullis {}` failed: {}",
            arguments.join(" "),
            ended.stderr.trim()
        );
        Ok(ended.stdout)
    };
    own(&["audit", "verify"])?;
    lines(&own(&["audit", "show", "--json"])?)
}

fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON")))
        .collect()
}

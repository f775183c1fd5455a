//! Runs the client once, with our hooks in front and the scripted model behind, and gathers the
//! evidence. It judges nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::case::Turn;
use crate::model::{Conversation, Model};
use crate::scratch::Scratch;
use crate::{machine, process};

/// Where our hooks keep what they keep; no two runs have the same place.
pub(crate) const STATE: &str = "PORTCULLIS_HOME";

/// How long one run may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How long one of our own commands may take.
const OWN_LIMIT: Duration = Duration::from_secs(20);

/// The two programs under test.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    /// The agent's client.
    pub(crate) client: PathBuf,
    /// Our binary.
    pub(crate) portcullis: PathBuf,
}

/// What is played in one run.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// What the person asks for.
    pub(crate) prompt: String,
    /// What the model answers to the main agent.
    pub(crate) turns: Vec<Turn>,
    /// The same for subagents, keyed by a text of their prompts.
    pub(crate) subagents: BTreeMap<String, Vec<Turn>>,
    /// Further arguments of the client.
    pub(crate) arguments: Vec<String>,
    /// Further variables of the client's environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// A folder whose files lie in `/etc` for the client alone.
    pub(crate) machine: Option<PathBuf>,
}

/// What one run left.
#[derive(Debug)]
pub(crate) struct Evidence {
    /// The client ended with code 0.
    pub(crate) success: bool,
    /// What it said besides.
    pub(crate) stderr: String,
    /// The client's own account, one JSON object a line.
    pub(crate) stream: Vec<Value>,
    /// What the model was asked.
    pub(crate) conversation: Conversation,
    /// The journal; an error where it cannot be read or does not verify.
    pub(crate) journal: Result<Vec<Value>>,
}

/// Plays a session in folders that stand ready.
pub(crate) fn run(session: &Session, scratch: &Scratch, programs: &Programs) -> Result<Evidence> {
    let model = Model::start(&session.turns, &session.subagents)?;
    let ended = process::run(client(session, scratch, &programs.client, &model.url()), &scratch.root().join("client"), LIMIT);
    process::end_marked(&format!("{STATE}={}", scratch.state().display()));
    let conversation = model.finish()?;
    keep(scratch, &conversation)?;
    let ended = ended?;
    let stream =
        lines(&ended.stdout).with_context(|| format!("the client's output is no JSON lines; it also said `{}`", ended.stderr.trim()))?;
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

/// Where a client is started and what it sees, with the scripted model behind it.
pub(crate) fn surround(command: &mut Command, scratch: &Scratch, url: &str) {
    command
        .current_dir(scratch.project())
        .env_clear()
        .envs(environment(scratch))
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "none")
        // Lets the superuser, whom tests in a container run as, use bypassPermissions.
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

/// What the client, its tools and our hooks see. The proxy is a closed port of this machine: where no
/// network namespace can be had, whatever a tool sends out still ends there.
pub(crate) fn environment(scratch: &Scratch) -> Vec<(&'static str, String)> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let nowhere = || "http://127.0.0.1:9".to_owned();
    vec![
        ("PATH", std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned())),
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

/// Leaves the requests beside the client's output, for whoever looks into a failure.
fn keep(scratch: &Scratch, conversation: &Conversation) -> Result<()> {
    let text: String = conversation.requests.iter().map(|request| format!("{request}\n")).collect();
    fs::write(scratch.root().join("requests.jsonl"), text).context("cannot write the requests")
}

/// The journal's records, whose chain must hold.
pub(crate) fn journal(scratch: &Scratch, portcullis: &Path) -> Result<Vec<Value>> {
    let own = |arguments: &[&str]| {
        let mut command = Command::new(portcullis);
        command.args(arguments).current_dir(scratch.project()).env_clear().envs(environment(scratch));
        let ended = process::run(command, &scratch.root().join(arguments.join("-")), OWN_LIMIT)?;
        ensure!(ended.success, "`portcullis {}` failed: {}", arguments.join(" "), ended.stderr.trim());
        Ok(ended.stdout)
    };
    own(&["audit", "verify"])?;
    lines(&own(&["audit", "show", "--json"])?)
}

fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("`{line}` is no JSON"))).collect()
}

//! Tests of `portcullis run` with the real client: its output, its end, and that it leaves no
//! processes.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::case::{Block, Turn};
use crate::installed::{self, Test};
use crate::model::{Conversation, Model};
use crate::run::{self, Programs, STATE};
use crate::scratch::{Installed, Scratch};
use portcullis_tests::process::{self, Ended};

mod disobeys;
mod limits;
mod terminal;

/// The timeout of one run.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns all tests.
pub(crate) fn trials(parent: &std::path::Path, programs: &Result<Programs>) -> Vec<Trial> {
    let tests: [(&str, Test); 10] = [
        ("run: it ends well, and what was blocked is listed", well),
        ("run: hooks that are installed already run once", once),
        ("run: a limit ends it", limits::reached),
        ("run: a person at the terminal is asked", terminal::asked),
        ("run: an agent ends while a person is asked", terminal::ended),
        ("run: half an answer is not an answer to the next question", terminal::late),
        ("run: an emergency stop leaves no process", emergency),
        ("run: a client that does not obey its stop is ended", disobeys::ended),
        ("run: killed, it leaves no agent", killed),
        ("run: confined, it writes in its own folders only", confined),
    ];
    installed::named(&tests, parent, programs)
}

fn bash(id: &str, command: &str) -> Turn {
    vec![Block::Tool {
        tool: "Bash".to_owned(),
        id: id.to_owned(),
        input: json!({ "command": command }),
    }]
}

fn text(text: &str) -> Turn {
    vec![Block::Text { text: text.to_owned() }]
}

/// Creates `portcullis run` with these options, and the client with bypassPermissions and this
/// prompt.
fn command(scratch: &Scratch, programs: &Programs, url: &str, options: &[&str]) -> Command {
    let mut command = Command::new(&programs.portcullis);
    run::surround(&mut command, scratch, url);
    command.arg("run").args(options).arg("--").arg(&programs.client);
    command.args(["-p", "--permission-mode", "bypassPermissions", "Free some space."]);
    command
}

/// Runs it to its end.
fn play(
    scratch: &Scratch,
    programs: &Programs,
    options: &[&str],
    turns: &[Turn],
) -> Result<(Ended, Conversation)> {
    let model = Model::start(turns, &BTreeMap::new())?;
    let ended = process::run(
        command(scratch, programs, &model.url(), options),
        &scratch.root().join("run"),
        LIMIT,
    );
    let left = agents(scratch);
    process::end_marked(&mark(scratch));
    let conversation = model.finish()?;
    let ended = ended?;
    ensure!(left.is_empty(), "these are left: {left:?}; it said {ended:?}");
    Ok((ended, conversation))
}

fn mark(scratch: &Scratch) -> String {
    format!("{STATE}={}", scratch.state().display())
}

/// Returns the existing processes of the run. `maintain`, which all our commands may start, does
/// not belong to its agent.
fn agents(scratch: &Scratch) -> Vec<String> {
    let line =
        |id: Pid| std::fs::read(format!("/proc/{}/cmdline", id.as_raw_pid())).unwrap_or_default();
    let lines = process::marked(&mark(scratch))
        .into_iter()
        .map(|id| String::from_utf8_lossy(&line(id)).replace('\0', " "));
    lines.filter(|line| !line.is_empty() && !line.contains(" maintain ")).collect()
}

fn document(ended: &Ended) -> Result<Value> {
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("it printed no JSON document: {ended:?}"))
}

fn letter(scratch: &Scratch) -> Result<PathBuf> {
    let letter = scratch.home().join("elsewhere/letter.txt");
    std::fs::create_dir_all(letter.parent().context("no folder")?)?;
    std::fs::write(&letter, "dear friend\n")?;
    Ok(letter)
}

fn well(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let letter = letter(scratch)?;
    let turns = [
        bash("toolu_delete", "rm -rf ~/elsewhere"),
        bash("toolu_decode", "echo ZWNobyBoaWRkZW4gPiBvdXQudHh0Cg== | base64 -d | sh"),
        bash("toolu_after", "echo spared > after.txt"),
        text("I left the letter."),
    ];
    let (ended, conversation) = play(scratch, programs, &[], &turns)?;
    ensure!(ended.code == Some(0) && ended.stdout == "I left the letter.\n", "{ended:?}");
    ensure!(letter.exists() && scratch.project().join("after.txt").exists(), "{ended:?}");
    ensure!(
        !scratch.project().join("out.txt").exists(),
        "what a person must decide ran without one: {ended:?}"
    );
    for part in [
        "the agent finished successfully",
        "3 actions reviewed",
        "1 ask",
        "1 block",
        "rm -rf",
        "portcullis explain",
        "| I left the letter.",
    ] {
        ensure!(ended.stderr.contains(part), "`{part}` is missing: {}", ended.stderr);
    }
    let results = crate::evidence::tool_results(&conversation);
    let asked = results.get("toolu_decode").context("the model was told nothing")?;
    ensure!(asked.error && asked.text.contains("A person would have to decide"), "{asked:?}");
    let turns = [bash("toolu_delete", "rm -rf ~/elsewhere"), text("Done.")];
    let (ended, _) = play(scratch, programs, &["--json", "--quiet"], &turns)?;
    let document = document(&ended)?;
    ensure!(ended.code == Some(0) && ended.stderr.is_empty(), "{ended:?}");
    ensure!(
        document["outcome"] == "well"
            && document["result"] == "Done."
            && document["reviews"]["block"] == 1,
        "{document}"
    );
    ensure!(
        document["objections"][0]["call"] == "toolu_delete"
            && document["objections"][0]["verdict"] == "block",
        "{document}"
    );
    run::journal(scratch, &programs.portcullis).map(drop)
}

fn once(scratch: &Scratch, programs: &Programs) -> Result<()> {
    for installed in [Installed::Project, Installed::User] {
        scratch.install(&programs.portcullis, &programs.portcullis, installed)?;
        let call = format!("toolu_{installed:?}");
        let (ended, _) = play(scratch, programs, &[], &[bash(&call, "echo one"), text("Done.")])?;
        ensure!(
            ended.code == Some(0) && !ended.stderr.contains("twice"),
            "{installed:?}: {ended:?}"
        );
        let records = run::journal(scratch, &programs.portcullis)?;
        let reviews = records
            .iter()
            .filter(|record| record["kind"] == "review" && record["call"] == call.as_str())
            .count();
        ensure!(reviews == 1, "{installed:?}: {reviews} reviews of one call: {records:?}");
        std::fs::remove_file(scratch.settings(installed).context("no settings")?)?;
    }
    Ok(())
}

fn emergency(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let turns = [
        bash("toolu_daemon", "setsid sleep 300 > /dev/null 2>&1 < /dev/null & true"),
        bash("toolu_home", "rm -rf ~"),
        bash("toolu_after", "echo more > after.txt"),
    ];
    let letter = letter(scratch)?;
    let (ended, conversation) = play(scratch, programs, &["--json"], &turns)?;
    let document = document(&ended)?;
    ensure!(ended.code == Some(12) && document["outcome"] == "emergency", "{ended:?}");
    ensure!(
        document["reason"].is_string() && document["stopped"]["survivors"] == json!([]),
        "{document}"
    );
    ensure!(letter.exists() && !scratch.project().join("after.txt").exists(), "{ended:?}");
    ensure!(conversation.unplayed == 1, "the agent went on: {conversation:?}");
    Ok(())
}

fn killed(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let model =
        Model::start(&[bash("toolu_wait", "tail -f /dev/null"), text("Done.")], &BTreeMap::new())?;
    let mut command = command(scratch, programs, &model.url(), &[]);
    let log = File::create(scratch.root().join("run.err"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child: Child = command.spawn().context("cannot start `portcullis run`")?;
    let ran = until(|| agents(scratch).iter().any(|line| line.starts_with("tail -f /dev/null")));
    kill_process(Pid::from_child(&child), Signal::KILL)?;
    child.wait()?;
    let gone = until(|| agents(scratch).is_empty());
    let left = agents(scratch);
    process::end_marked(&mark(scratch));
    model.finish()?;
    ensure!(ran, "the agent's command never ran");
    ensure!(gone, "these outlived it: {left:?}");
    Ok(())
}

fn confined(scratch: &Scratch, programs: &Programs) -> Result<()> {
    // Nothing in the review objects to it: it is blocked by the kernel.
    let outside = scratch.root().join("outside");
    std::fs::create_dir_all(&outside)?;
    scratch_observes(scratch)?;
    let turns = [
        bash("toolu_out", &format!("echo x > '{}/out.txt'", outside.display())),
        bash("toolu_in", "echo x > in.txt"),
        text("Done."),
    ];
    let (ended, _) = play(scratch, programs, &["--confine"], &turns)?;
    if ended.stderr.contains("this kernel cannot confine") {
        ensure!(ended.code == Some(1), "{ended:?}");
        return Ok(());
    }
    ensure!(ended.code == Some(0) && ended.stderr.contains("it may write in: "), "{ended:?}");
    ensure!(
        scratch.project().join("in.txt").exists() && !outside.join("out.txt").exists(),
        "{ended:?}"
    );
    let reviews = run::journal(scratch, &programs.portcullis)?
        .into_iter()
        .filter(|record| record["kind"] == "review")
        .count();
    ensure!(
        reviews == 2,
        "{reviews} reviews of two calls: the confined hooks cannot write their journal"
    );
    Ok(())
}

fn scratch_observes(scratch: &Scratch) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch.state())?;
    std::fs::write(scratch.state().join("config.toml"), "mode = \"observe\"\n")
        .map_err(|error| anyhow!("cannot configure: {error}"))
}

/// Waits until the condition holds; returns false on timeout.
fn until(holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(50));
    }
    true
}

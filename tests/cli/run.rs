//! Tests of `portcullis run` that need no real client: commands it refuses to start, how it reads
//! its prompt, and its reaction to a client that does not run our hooks. `tests/client` has the
//! rest.

use crate::common::process;
use crate::common::site::{LIMIT, Site};
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("run: refused commands and their alternatives", refused),
        trial("run: a client that does not run our hooks gets no prompt", unguarded),
        trial("run: a question that nobody can answer is refused with its reason", nobody),
        trial("run: a client that ends well after its stop ended in an emergency", stopped),
        trial("run: the command line takes precedence over the files", files),
        trial("run: files that confine", confining),
    ]
}

/// Creates a client in a few lines of shell: it prints its version, answers the requests in
/// `answers` by the words that they contain, writes all its input to `received`, and ends with its
/// input.
fn client(site: &Site, version: &str, answers: &[(&str, Value)]) -> Result<String> {
    let commands: Vec<_> =
        answers.iter().map(|(word, answer)| (*word, format!("echo '{answer}'"))).collect();
    client_that_runs(site, version, &commands)
}

/// Creates the same, with a command for each request.
fn client_that_runs(site: &Site, version: &str, commands: &[(&str, String)]) -> Result<String> {
    let received = site.root().join("received").display().to_string();
    let cases: String =
        commands.iter().map(|(word, command)| format!("*'{word}'*) {command} ;;\n")).collect();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '{version} (Claude Code)'; exit; }}\n: > '{received}'\n\
         while read -r line; do printf '%s\\n' \"$line\" >> '{received}'\ncase \"$line\" in\n{cases}esac; done\n"
    );
    let path = site.root().join("claude");
    fs::write(&path, script)?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path.display().to_string())
}

/// Returns the client's list of hooks; `source` is their origin.
fn listing(site: &Site, source: &str) -> Value {
    let text = format!("{} hook claude", site.binary().display());
    let events = [
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "UserPromptSubmit",
        "SessionStart",
        "SessionEnd",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "ConfigChange",
    ];
    let hooks: Vec<Value> = events
        .iter()
        .map(|event| json!({"event": event, "matcher": "", "source": source, "commandText": text}))
        .collect();
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": "hooks", "response": {"hooks": hooks}}})
}

fn refused() -> Result<()> {
    let site = Site::new("run-refused")?;
    let claude = client(&site, "2.1.329", &[])?;
    let old = site.root().join("old");
    fs::create_dir(&old)?;
    fs::write(old.join("claude"), "#!/bin/sh\necho '2.1.197 (Claude Code)'\n")?;
    fs::set_permissions(old.join("claude"), Permissions::from_mode(0o755))?;
    let old = old.join("claude").display().to_string();
    let settings = site.root().join("settings.json").display().to_string();
    fs::write(&settings, "{\"disableAllHooks\": true}")?;
    for (words, parts) in [
        (&["codex", "exec"][..], &["`codex`", "Claude Code only"][..]),
        (&["sh", "-c", "claude -p x"], &["`sh`", "Claude Code only"]),
        (&[&claude, "hello"], &["add `-p`"]),
        (&[&claude, "mcp", "list"], &["add `-p`"]),
        (&[&claude, "-p", "one", "two"], &["two prompts", "quotes"]),
        (&[&claude, "-p", "--newer", "value"], &["`--newer`", "another `--`"]),
        (&[&claude, "-p", "--bare", "x"], &["`--bare`", "leave it out"]),
        (&[&claude, "-p", "x", "--safe-mode"], &["`--safe-mode`", "leave it out"]),
        (&[&claude, "-p", "x", "--restricted"], &["`--restricted`", "leave it out"]),
        (&[&claude, "-p", "x", "--cloud"], &["`--cloud`", "leave it out"]),
        (&[&claude, "-p", "x", "--bg"], &["`--bg`", "leave it out"]),
        (&[&claude, "-p", "x", "--output-format=json"], &["`--output-format`", "`--json`"]),
        (&[&claude, "-p", "x", "--input-format", "text"], &["`--input-format`", "leave it out"]),
        (
            &[&claude, "-p", "x", "--permission-prompt-tool", "y"],
            &["`--permission-prompt-tool`", "leave it out"],
        ),
        (
            &[&claude, "-p", "x", "--settings", "{\"disableAllHooks\":true}"],
            &["`disableAllHooks`", "take it out"],
        ),
        (
            &[&claude, "-p", "x", &format!("--settings={settings}")],
            &["`disableAllHooks`", "take it out"],
        ),
        (&[&claude, "-p", "x", "--settings", "/nowhere.json"], &["cannot read `/nowhere.json`"]),
        (&[&claude, "-p", "x", "--settings", "{"], &["not valid JSON"]),
        (&[&claude, "-p", "x", "--settings", "{}", "--settings", "{}"], &["twice"]),
        (&[&claude, "-p", "x", "--settings", "{\"hooks\":[]}"], &["`hooks` in `--settings`"]),
        (&[&claude, "-p"], &["no prompt", "standard input"]),
        (&["claude", "-p", "x"], &["`claude` was not found"]),
        (&["/nowhere/claude", "-p", "x"], &["/nowhere/claude"]),
        (&[&old, "-p", "x"], &["2.1.197", "update it"]),
    ] {
        let ended = site.run(&[&["run", "--"], words].concat())?;
        ensure!(ended.code == Some(1) && ended.stdout.is_empty(), "{words:?}: {}", ended.all());
        for part in parts {
            ensure!(
                ended.stderr.contains(part),
                "{words:?}: `{part}` is missing: {}",
                ended.stderr
            );
        }
    }
    for wrong in [
        &["run"][..],
        &["run", "--time", "soon", "--", "claude"],
        &["run", "--memory", "much", "--", "claude"],
        &["run", "--confine=perhaps", "--", "claude"],
        &["run", "--tokens", "0", "--", "claude"],
        &["run", "claude", "-p"],
    ] {
        let ended = site.run(wrong)?;
        ensure!(ended.code == Some(2) && ended.stdout.is_empty(), "{wrong:?}: {}", ended.all());
    }
    let ended = site.run(&["run", "--writable", "/tmp", "--", &claude, "-p", "x"])?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("add `--confine`"), "{}", ended.all());
    ensure!(!site.root().join("received").exists(), "a client was started");
    Ok(())
}

fn unguarded() -> Result<()> {
    let site = Site::new("run-unguarded")?;
    let refusal = json!({"type": "control_response", "response": {"subtype": "error", "request_id": "hooks", "error": "unknown subtype"}});
    for (answer, part) in [
        (listing(&site, "projectSettings"), "does not run our hooks for PreToolUse"),
        (refusal, "unknown subtype"),
    ] {
        let claude = client(&site, "2.1.329", &[("get_hooks_listing", answer)])?;
        let ended = site.run(&["run", "--", &claude, "-p", "count the trees"])?;
        ensure!(ended.code == Some(1) && ended.stdout.is_empty(), "{}", ended.all());
        ensure!(
            ended.stderr.contains("unreviewed") && ended.stderr.contains(part),
            "`{part}` is missing: {}",
            ended.stderr
        );
        let received = fs::read_to_string(site.root().join("received"))?;
        ensure!(!received.contains("count the trees"), "it got its prompt: {received}");
    }
    Ok(())
}

fn nobody() -> Result<()> {
    let site = Site::new("run-nobody")?;
    let question = json!({"type": "control_request", "request_id": "q", "request": {"subtype": "can_use_tool", "tool_name": "Bash",
        "input": {"command": "make"}, "tool_use_id": "call", "decision_reason": "looks odd."}});
    let result = json!({"type": "result", "is_error": false, "terminal_reason": "completed", "result": "done"});
    let answers = [
        ("get_hooks_listing", listing(&site, "flagSettings")),
        ("count the trees", question),
        ("would have to decide", result),
    ];
    let claude = client(&site, "2.1.329", &answers)?;
    // The second half of the prompt comes on standard input.
    let ended = process::run(
        site.command(&["run", "--json", "--", &claude, "-p", "count"]),
        b"count the trees",
        LIMIT,
    )?;
    let received = fs::read_to_string(site.root().join("received"))?;
    ensure!(ended.code == Some(0), "{}; it was told {received}", ended.all());
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(document["outcome"] == "well" && document["result"] == "done", "{document}");
    let answer =
        received.lines().find(|line| line.contains("would have to decide")).unwrap_or_default();
    for part in ["\"behavior\":\"deny\"", "looks odd.", "\"request_id\":\"q\""] {
        ensure!(answer.contains(part), "`{part}` is missing: {received}");
    }
    ensure!(
        received.contains("\"text\":\"count\\ncount the trees\""),
        "the prompt is not both parts: {received}"
    );
    Ok(())
}

/// Its session is stopped, and it reports success at once, before the journal could be read.
fn stopped() -> Result<()> {
    let site = Site::new("run-stopped")?;
    let event = site.root().join("event.json");
    fs::write(&event, site.calls("stopped").bash("call", "rm -rf ~").to_string())?;
    let init = json!({"type": "system", "subtype": "init", "session_id": "stopped", "model": "m"});
    let result = json!({"type": "result", "is_error": false, "terminal_reason": "completed", "result": "done"});
    let hook =
        format!("'{}' hook claude < '{}' > /dev/null", site.binary().display(), event.display());
    let listed = format!("echo '{}'", listing(&site, "flagSettings"));
    let claude = client_that_runs(
        &site,
        "2.1.329",
        &[
            ("get_hooks_listing", listed),
            ("count the trees", format!("echo '{init}'; {hook}; echo '{result}'; exit")),
        ],
    )?;
    let ended = site.run(&["run", "--json", "--", &claude, "-p", "count the trees"])?;
    ensure!(ended.code == Some(12), "{}", ended.all());
    let document: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(document["outcome"] == "emergency" && document["reason"].is_string(), "{document}");
    ensure!(ended.stderr.contains("portcullis incident show"), "{}", ended.stderr);
    Ok(())
}

/// Tests which limit ends a client that has spent 120 tokens and never ends by itself.
fn files() -> Result<()> {
    let site = Site::new("run-files")?;
    let spent = json!({"type": "assistant", "message": {"id": "m", "usage": {"input_tokens": 100, "output_tokens": 20}, "content": []}});
    let claude = client(
        &site,
        "2.1.329",
        &[("get_hooks_listing", listing(&site, "flagSettings")), ("count the trees", spent)],
    )?;
    fs::create_dir_all(site.project().join(".portcullis"))?;
    for (own, project, options, limit, allowed) in [
        ("run.tokens = 40", "", &[][..], "tokens", 40),
        ("run.tokens = 40", "run.tokens = 30", &[], "tokens", 30),
        ("run.tokens = 40", "run.tokens = 90", &[], "tokens", 40),
        ("", "run.tokens = 30", &[], "tokens", 30),
        ("run.tokens = 40", "run.tokens = 30", &["--tokens", "100"], "tokens", 100),
        ("run.time_seconds = 1", "", &[], "time", 1000),
        ("run.time_seconds = 1000", "", &["--time", "1s"], "time", 1000),
        ("run.processes = 1", "", &[], "processes", 1),
    ] {
        fs::write(site.state().join("config.toml"), own)?;
        fs::write(site.project().join(".portcullis/config.toml"), project)?;
        let words =
            [&["run", "--json"], options, &["--", &claude, "-p", "count the trees"]].concat();
        let ended = site.run(&words)?;
        ensure!(ended.code == Some(11), "{own:?} {project:?} {options:?}: {}", ended.all());
        let document: Value = serde_json::from_slice(&ended.stdout)?;
        let warning = &document["warnings"][0];
        ensure!(
            document["limit"] == limit
                && warning["limit"] == limit
                && warning["allowed"] == allowed,
            "{own:?} {project:?} {options:?}: {document}"
        );
    }
    Ok(())
}

fn confining() -> Result<()> {
    let site = Site::new("run-confining")?;
    let result = json!({"type": "result", "is_error": false, "terminal_reason": "completed", "result": "done"});
    let claude = client(
        &site,
        "2.1.329",
        &[("get_hooks_listing", listing(&site, "flagSettings")), ("count the trees", result)],
    )?;
    let further = site.root().join("further");
    fs::create_dir(&further)?;
    let writable = format!("run.confine = true\nrun.writable = [\"{}\"]", further.display());
    for (own, options, expected) in [
        ("", &[][..], Some(false)),
        ("", &["--confine"], Some(true)),
        ("run.confine = true", &[], Some(true)),
        ("run.confine = true", &["--confine=false"], Some(false)),
        (&writable, &[], Some(true)),
        ("run.confine = true\nrun.writable = [\"/nowhere\"]", &[], None),
    ] {
        fs::write(site.state().join("config.toml"), own)?;
        let ended = site.run(
            &[&["run", "--json"], options, &["--", &claude, "-p", "count the trees"]].concat(),
        )?;
        if expected != Some(false) && ended.stderr.contains("this kernel cannot confine") {
            continue;
        }
        let Some(confined) = expected else {
            ensure!(
                ended.code == Some(1) && ended.stderr.contains("`/nowhere`"),
                "{own:?}: {}",
                ended.all()
            );
            ensure!(
                ended.stderr.contains("take it out of `run.writable`"),
                "{own:?}: {}",
                ended.all()
            );
            continue;
        };
        ensure!(ended.code == Some(0), "{own:?} {options:?}: {}", ended.all());
        let document: Value = serde_json::from_slice(&ended.stdout)?;
        ensure!(document["confined"].is_object() == confined, "{own:?} {options:?}: {document}");
        let named = document["confined"]["write"].to_string().contains(&*further.to_string_lossy());
        ensure!(named == (own == writable), "{own:?} {options:?}: {document}");
    }
    Ok(())
}

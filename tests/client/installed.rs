//! Compares the statements of `install` about the client with the client's own: which settings
//! files it ignores, which hooks it loads, and that everything is restored by an uninstallation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

use crate::case::Block;
use crate::evidence::tool_results;
use crate::machine;
use crate::person::at_a_terminal;
use crate::run::{self, Programs, Session};
use crate::scratch::Scratch;
use crate::stopped;

/// A test function.
pub(crate) type Test = fn(&Scratch, &Programs) -> Result<()>;

/// Returns all tests.
pub(crate) fn trials(parent: &Path, programs: &Result<Programs>) -> Vec<Trial> {
    let tests: [(&str, Test); 9] = [
        ("installed: install, block, uninstall", life),
        ("installed: on the machine", managed),
        ("installed: hooks that are switched off are named", switched_off),
        ("installed: the client drops what we call a mistake", judged),
        ("installed: as a plugin", plugin),
        ("stopped: an incident, and the resumed session on terms", stopped::resumed),
        ("stopped: the files as they were, and the resumed session goes on", stopped::rolled_back),
        ("stopped: the resumed session under supervision", stopped::supervised),
        ("stopped: for good, in the same process and in a resumed one", stopped::aborted),
    ];
    named(&tests, parent, programs)
}

/// Runs each test in folders of its own, which are kept if it fails.
pub(crate) fn named(
    tests: &[(&'static str, Test)],
    parent: &Path,
    programs: &Result<Programs>,
) -> Vec<Trial> {
    let trial = |&(name, test): &(&'static str, Test)| match programs {
        Ok(programs) => {
            let (programs, parent, folder) =
                (programs.clone(), parent.to_owned(), name.replace([' ', ':', ','], "-"));
            let play = move || {
                let scratch = Scratch::create(&parent, &folder)?;
                scratch.furnish(&BTreeMap::new(), &BTreeMap::new())?;
                test(&scratch, &programs).map_err(|error| {
                    anyhow!("{error:#}\nall that it left is in `{}`", scratch.root().display())
                })?;
                scratch.remove()
            };
            Trial::test(name, move || {
                play().map_err(|error: anyhow::Error| Failed::from(format!("{error:#}")))
            })
        }
        Err(why) => {
            let why = format!("{why:#}");
            Trial::test(name, || Err(Failed::from(why))).with_ignored_flag(true)
        }
    };
    tests.iter().map(trial).collect()
}

/// Covers an installation in a person's own settings, and its removal.
fn life(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let settings = scratch.home().join(".claude/settings.json");
    let before = "{\r\n\t\"verbose\": true,\r\n\t\"hooks\": { \"Stop\": [ {\"hooks\": [{\"type\":\"command\", \"command\":\"true\"}]} ] }\r\n}";
    fs::create_dir_all(scratch.home().join(".claude"))?;
    fs::write(&settings, before)?;
    let said = install(scratch, programs, &[], None)?;
    ensure!(said["outcome"] == "installed" && said["loaded"] == 11, "{said}");
    ensure!(
        said["client"]["version"] == portcullis_tests::programs::CLAUDE_VERSION
            && said["active"] != false,
        "{said}"
    );
    let again = install(scratch, programs, &[], None)?;
    ensure!(again["outcome"] == "unchanged" && again["loaded"] == 11, "{again}");
    let letter = scratch.home().join("letters/letter.txt");
    fs::create_dir_all(letter.parent().context("no folder")?)?;
    fs::write(&letter, "dear friend\n")?;
    let delete = Block::Tool {
        tool: "Bash".to_owned(),
        id: "toolu_delete".to_owned(),
        input: json!({"command": "rm -rf ~/letters"}),
    };
    let session = || Session {
        prompt: "Free some space.".to_owned(),
        turns: vec![vec![delete.clone()], vec![Block::Text { text: "Done.".to_owned() }]],
        ..Session::default()
    };
    let evidence = run::run(&session(), scratch, programs)?;
    let results = tool_results(&evidence.conversation);
    ensure!(
        letter.exists() && results.get("toolu_delete").is_some_and(|result| result.error),
        "it was not refused: {results:?}"
    );
    let records = evidence.journal?;
    ensure!(
        records.iter().any(|record| record["kind"] == "review" && record["verdict"] == "block"),
        "no record tells of it"
    );
    uninstall(scratch, programs, &[])?;
    ensure!(
        fs::read_to_string(&settings)? == before,
        "the settings are not as before: {:?}",
        fs::read_to_string(&settings)
    );
    let evidence = run::run(&session(), scratch, programs)?;
    let results = tool_results(&evidence.conversation);
    ensure!(!letter.exists(), "something still refuses it: {results:?}");
    Ok(())
}

/// Covers the machine's settings, where a person's own settings cannot disable our hooks.
fn managed(scratch: &Scratch, programs: &Programs) -> Result<()> {
    fs::create_dir_all(scratch.machine().join("claude-code"))?;
    machine::permitted(&scratch.machine())?;
    fs::create_dir_all(scratch.home().join(".claude"))?;
    fs::write(scratch.home().join(".claude/settings.json"), "{\"disableAllHooks\": true}")?;
    let machine = scratch.machine();
    for arguments in [&["--managed"][..], &["--managed", "--only-managed-hooks"]] {
        let said = install(scratch, programs, arguments, Some(&machine))?;
        ensure!(
            said["outcome"] == "installed" && said["loaded"] == 11 && said["active"] != false,
            "{arguments:?}: {said}"
        );
        let file = machine.join("claude-code/managed-settings.d/50-portcullis.json");
        let settings: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        ensure!(
            settings["allowManagedHooksOnly"] == (arguments.len() > 1)
                || settings.get("allowManagedHooksOnly").is_none(),
            "{settings}"
        );
        ensure!(
            settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"] == json!(["hook", "claude"]),
            "{settings}"
        );
    }
    Ok(())
}

/// Hooks that the client does not run are reported, and those it does not load are rolled back.
fn switched_off(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let folder = scratch.project().join(".claude");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("settings.local.json"), "{\"disableAllHooks\": true}")?;
    let (said, code) = installed(scratch, programs, &["--project"], None)?;
    ensure!(code == Some(1) && said["active"] == false, "{said}");
    let warnings = said["warnings"].to_string();
    ensure!(
        warnings.contains("`disableAllHooks` in one of its settings files switches them off"),
        "{said}"
    );
    Ok(())
}

/// For a file with a mistake at each of these places, we report the same places as the client.
fn judged(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let file = scratch.home().join(".claude/settings.json");
    fs::create_dir_all(scratch.home().join(".claude"))?;
    let mut mistakes = 0;
    for document in documents() {
        fs::write(&file, document.to_string())?;
        let (ours, _) = installed(scratch, programs, &["--dry-run"], None)?;
        let ours: BTreeSet<String> = ours["problems"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|problem| place(&problem["pointer"], '/'))
            .collect();
        let theirs = asked(scratch, programs)?;
        let theirs: BTreeSet<String> = theirs["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|error| place(&error["path"], '.'))
            .collect();
        let (only_ours, only_theirs): (Vec<_>, Vec<_>) =
            (ours.difference(&theirs).collect(), theirs.difference(&ours).collect());
        ensure!(
            only_ours.is_empty() && only_theirs.is_empty(),
            "we alone name {only_ours:?}, the client alone {only_theirs:?} in {document}"
        );
        mistakes += ours.len();
    }
    ensure!(mistakes > 500, "only {mistakes} mistakes were judged");
    Ok(())
}

/// Returns a key or an event's hook: the unit that one mistake makes unusable.
fn place(path: &Value, separator: char) -> String {
    let steps: Vec<&str> = path
        .as_str()
        .unwrap_or_default()
        .split(separator)
        .filter(|step| !step.is_empty())
        .collect();
    let depth = match steps.as_slice() {
        ["hooks", _, _, "hooks", _, ..] => 5,
        ["hooks", ..] => 3,
        _ => 1,
    };
    steps.iter().take(depth).copied().collect::<Vec<_>>().join("/")
}

fn documents() -> Vec<Value> {
    let mut documents: Vec<Value> = [
        json!(1),
        json!(-1),
        json!(0.5),
        json!("x"),
        json!(true),
        json!([]),
        json!({}),
        json!(null),
        json!([1]),
        json!({"a": 1}),
    ]
    .into_iter()
    .map(|value| Value::Object(KEYS.iter().map(|key| ((*key).to_owned(), value.clone())).collect()))
    .collect();
    documents.extend([
        json!({"hooks": {"PreToolUse": [{"hooks": handlers()}]}}),
        json!({"hooks": {"PermissionRequest": groups()}}),
        json!({"hooks": {"PreToolUse": {}, "PermissionRequest": "x"}}),
        json!({"hooks": {"PreToolUse": null, "Tomorrow": {"hooks": 1}}}),
        json!({"permissions": {"allow": "x", "deny": null, "additionalDirectories": [1]}, "statusLine": {"type": "command"}, "attribution": {"commit": 1}, "sandbox": {"enabled": "x"}, "worktree": {"symlinkDirectories": "x"}, "enabledPlugins": {"a@b": "x"}}),
        json!({"permissions": {"defaultMode": "all"}, "statusLine": {"type": "x", "command": "x"}, "attribution": {"pr": []}, "sandbox": {"network": "x"}}),
        json!({"permissions": {"disableBypassPermissionsMode": "yes"}, "sandbox": {"excludedCommands": "x"}, "statusLine": {"type": "command", "command": "x", "padding": "1"}}),
        json!({"permissions": {"allow": [1, "Bash(", ""], "deny": [], "foo": 1, "defaultMode": "plan"}, "env": {"A": {}, "B": null, "C": []}, "statusLine": {"type": "command", "command": "x"}, "attribution": {"commit": ""}, "enabledPlugins": {"a@b": true, "c@d": ["x"]}}),
    ]);
    documents
}

/// Keys whose values the client checks, and some that it does not.
const KEYS: &[&str] = &[
    "$schema",
    "agent",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "allowManagedPermissionRulesOnly",
    "allowedHttpHookUrls",
    "allowedMcpServers",
    "alwaysThinkingEnabled",
    "apiKeyHelper",
    "attribution",
    "autoCompactEnabled",
    "autoMemoryDirectory",
    "autoMemoryEnabled",
    "autoMode",
    "autoUpdatesChannel",
    "availableModels",
    "awsAuthRefresh",
    "awsCredentialExport",
    "blockedMarketplaces",
    "channelsEnabled",
    "claudeMdExcludes",
    "cleanupPeriodDays",
    "companyAnnouncements",
    "defaultShell",
    "deniedMcpServers",
    "disableAllHooks",
    "disableAutoMode",
    "disabledMcpjsonServers",
    "editorMode",
    "effortLevel",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "enabledPlugins",
    "env",
    "extraKnownMarketplaces",
    "fastMode",
    "fastModePerSessionOptIn",
    "feedbackSurveyRate",
    "fileSuggestion",
    "forceLoginMethod",
    "forceLoginOrgUUID",
    "gcpAuthRefresh",
    "httpHookAllowedEnvVars",
    "includeCoAuthoredBy",
    "includeGitInstructions",
    "language",
    "minimumVersion",
    "model",
    "modelOverrides",
    "otelHeadersHelper",
    "outputStyle",
    "permissions",
    "plansDirectory",
    "pluginConfigs",
    "pluginTrustMessage",
    "preferredNotifChannel",
    "prefersReducedMotion",
    "promptSuggestionEnabled",
    "remote",
    "requiredMinimumVersion",
    "respectGitignore",
    "sandbox",
    "showClearContextOnPlanAccept",
    "showThinkingSummaries",
    "skipDangerousModePermissionPrompt",
    "skipWebFetchPreflight",
    "somethingNew",
    "spinnerTipsEnabled",
    "spinnerTipsOverride",
    "spinnerVerbs",
    "sshConfigs",
    "statusLine",
    "strictKnownMarketplaces",
    "strictPluginOnlyCustomization",
    "subagentStatusLine",
    "syntaxHighlightingDisabled",
    "teammateMode",
    "terminalTitleFromRename",
    "theme",
    "tui",
    "verbose",
    "viewMode",
    "voiceEnabled",
    "worktree",
];

fn handlers() -> Vec<Value> {
    let command =
        |name: &str, value: Value| json!({"type": "command", "command": "/x", name: value});
    let mut handlers: Vec<Value> = [
        ("timeout", json!("3")),
        ("timeout", json!(0)),
        ("timeout", json!(-1)),
        ("timeout", json!(1.5)),
        ("timeout", json!(1e9)),
        ("timeout", Value::Null),
        ("onFailure", json!("deny")),
        ("onFailure", json!("continue")),
        ("onFailure", json!("block")),
        ("onFailure", Value::Null),
        ("onFailure", json!(true)),
        ("args", json!("x")),
        ("args", json!([1])),
        ("args", json!([])),
        ("args", Value::Null),
        ("async", json!("x")),
        ("async", json!(true)),
        ("asyncRewake", json!(1)),
        ("shell", json!("zsh")),
        ("shell", json!("bash")),
        ("if", json!(1)),
        ("if", json!("Bash(")),
        ("statusMessage", json!(1)),
        ("once", json!("x")),
        ("once", json!(true)),
        ("anything", json!(1)),
        ("command", json!("")),
        ("command", json!(1)),
        ("type", json!("cmd")),
        ("type", Value::Null),
    ]
    .into_iter()
    .map(|(name, value)| command(name, value))
    .collect();
    handlers.extend([
        json!({"type": "command"}),
        json!({"command": "/x"}),
        json!("x"),
        Value::Null,
        json!({"type": "http", "url": "http://127.0.0.1/x"}),
        json!({"type": "http"}),
        json!({"type": "http", "url": "nope"}),
        json!({"type": "http", "url": "http://"}),
        json!({"type": "http", "url": "http://127.0.0.1", "headers": {"a": 1}}),
        json!({"type": "http", "url": "http://127.0.0.1", "allowedEnvVars": "A"}),
        json!({"type": "http", "url": "http://127.0.0.1", "onFailure": "x"}),
        json!({"type": "mcp_tool", "server": "s", "tool": "t"}),
        json!({"type": "mcp_tool", "tool": "t"}),
        json!({"type": "mcp_tool", "server": "s"}),
        json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": "x"}),
        json!({"type": "prompt", "prompt": "p"}),
        json!({"type": "prompt"}),
        json!({"type": "prompt", "prompt": "p", "model": 1}),
        json!({"type": "prompt", "prompt": "p", "continueOnBlock": "x"}),
        json!({"type": "prompt", "prompt": "p", "onFailure": "deny"}),
        json!({"type": "agent", "prompt": "p"}),
        json!({"type": "agent"}),
    ]);
    handlers
}

fn groups() -> Vec<Value> {
    vec![
        json!({"matcher": "x"}),
        json!({"hooks": null}),
        json!({"hooks": {}}),
        json!({"matcher": 1, "hooks": []}),
        json!({"matcher": null, "hooks": []}),
        json!("x"),
        Value::Null,
        json!({"matcher": "(", "hooks": []}),
        json!({"anything": 1, "hooks": []}),
    ]
}

/// The client loads the plugin's folder: its hooks find the program by `PATH`.
fn plugin(scratch: &Scratch, programs: &Programs) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let plugin = root.join("host/claude-plugin").canonicalize()?;
    for folder in [&root, &plugin] {
        let mut validate = Command::new(&programs.client);
        validate
            .args(["plugin", "validate"])
            .arg(folder)
            .env_clear()
            .envs(run::environment(scratch))
            .env("DISABLE_TELEMETRY", "1");
        let output = validate.output().context("cannot start the client")?;
        ensure!(
            output.status.success(),
            "`{}`: {}",
            folder.display(),
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let folder = scratch.root().join("bin");
    fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(&programs.portcullis, folder.join("portcullis"))?;
    let letter = scratch.home().join("letters/letter.txt");
    fs::create_dir_all(letter.parent().context("no folder")?)?;
    fs::write(&letter, "dear friend\n")?;
    let session = Session {
        prompt: "Free some space.".to_owned(),
        turns: vec![
            vec![Block::Tool {
                tool: "Bash".to_owned(),
                id: "toolu_delete".to_owned(),
                input: json!({"command": "rm -rf ~/letters"}),
            }],
            vec![Block::Text { text: "Done.".to_owned() }],
        ],
        arguments: vec!["--plugin-dir".to_owned(), plugin.display().to_string()],
        environment: BTreeMap::from([(
            "PATH".to_owned(),
            format!("{}:/usr/bin:/bin", folder.display()),
        )]),
        ..Session::default()
    };
    let evidence = run::run(&session, scratch, programs)?;
    let records = evidence.journal?;
    ensure!(
        letter.exists() && records.iter().any(|record| record["verdict"] == "block"),
        "the plugin's hooks did not hold it: {records:?}"
    );
    Ok(())
}

/// Installs our hooks for the client.
pub(crate) fn install(
    scratch: &Scratch,
    programs: &Programs,
    arguments: &[&str],
    machine: Option<&Path>,
) -> Result<Value> {
    let (said, code) = installed(scratch, programs, arguments, machine)?;
    ensure!(code == Some(0), "exit {code:?}: {said}");
    Ok(said)
}

/// Runs our `install` with the client in the search path, and returns its output.
fn installed(
    scratch: &Scratch,
    programs: &Programs,
    arguments: &[&str],
    machine: Option<&Path>,
) -> Result<(Value, Option<i32>)> {
    let mut command = machine::program_that_writes(&programs.portcullis, machine);
    command
        .args(["install", "claude", "--yes", "--json"])
        .args(arguments)
        .current_dir(scratch.project());
    command.env_clear().envs(run::environment(scratch)).env("PATH", path(programs)?);
    let output = command.output().context("cannot start `portcullis install`")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let said = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("`portcullis install` said no JSON but `{}`", complaint.trim()))?;
    Ok((said, output.status.code()))
}

fn uninstall(scratch: &Scratch, programs: &Programs, arguments: &[&str]) -> Result<()> {
    let shown =
        at_a_terminal(scratch, programs, &format!("uninstall claude {}", arguments.join(" ")))?;
    ensure!(shown.contains("uninstalled"), "`portcullis uninstall` said `{}`", shown.trim());
    Ok(())
}

/// Returns the client's own judgement of its settings.
fn asked(scratch: &Scratch, programs: &Programs) -> Result<Value> {
    let mut command = Command::new(&programs.client);
    command
        .args([
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ])
        .current_dir(scratch.project());
    command
        .env_clear()
        .envs(run::environment(scratch))
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start the client")?;
    let request = json!({"type": "control_request", "request_id": "1", "request": {"subtype": "get_settings"}});
    writeln!(child.stdin.take().context("the client has no input")?, "{request}")?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line["type"] == "control_response");
    Ok(answer.ok_or_else(|| anyhow!("the client did not answer: {text}"))?["response"]["response"]
        .clone())
}

/// Returns a search path with the client in it.
pub(crate) fn path(programs: &Programs) -> Result<String> {
    let folder: PathBuf =
        programs.client.parent().context("the client is in no folder")?.to_owned();
    Ok(format!("{}:/usr/bin:/bin", folder.display()))
}

//! Tests of `install` and `uninstall` with settings files of every kind: our hooks are added,
//! nothing else moves, a second run changes nothing, and the original is restored byte for byte.
//!
//! The client is not used in these tests; `tests/client` uses the real one.

mod commented;
mod removal;
mod rows;

use crate::common::process::Ended;
use crate::common::site::Site;
use crate::common::terminal::Answer;
use crate::common::{snapshot, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const INSTALL: &[&str] = &["install", "claude", "--yes"];
const UNINSTALL: &[&str] = &["uninstall", "claude"];

pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = rows::good()
        .into_iter()
        .map(|(name, before)| {
            trial(format!("install: {name}"), move || there_and_back(name, before))
        })
        .collect();
    tests.extend(rows::refused().into_iter().map(|(name, before)| {
        trial(format!("install refused: {name}"), move || left_alone(name, before))
    }));
    tests.extend([
        trial("install: a file that is a link is written at its end", linked),
        trial("install: a link that leads nowhere, a folder, a pipe, a read-only file, a closed folder", no_place),
        trial("install: a repository leads us to no file of its choice", led_away),
        trial("install: the other scopes", scopes),
        trial("install: an older or a crooked installation becomes the one of now", fixed),
        trial("install: --dry-run and a missing --yes write nothing", nothing_written),
        trial("install: --observe begins a configuration and never changes one", observed),
        trial("install: weaknesses are named", weakened),
        trial("install: JSON tells the same", reported_in_json),
    ]);
    tests.extend(commented::tests());
    tests.extend(removal::tests());
    tests
}

fn there_and_back(name: &str, before: Option<Vec<u8>>) -> Result<()> {
    let site = Site::new(&format!("install {name}"))?;
    let path = settings(&site);
    if let Some(bytes) = &before {
        write(&path, bytes)?;
    }
    done(&site.run(INSTALL)?, "installed in")?;
    let installed = fs::read(&path)?;
    whole(&installed)?;
    only_added(before.as_deref().unwrap_or_default(), &installed)?;
    done(&site.run(INSTALL)?, "already installed")?;
    ensure!(fs::read(&path)? == installed, "the second run changed the file");
    let journal = site.records()?;
    let of_ours = journal
        .iter()
        .filter(|record| record["kind"] == "configuration" && record["subject"] == "install")
        .count();
    ensure!(of_ours == 1, "the journal tells of {of_ours} installations");
    uninstall(&site, UNINSTALL)?;
    let after = fs::read(&path).ok();
    ensure!(after == before, "left {:?}", after.as_deref().map(String::from_utf8_lossy));
    ensure!(
        before.is_some() || !path.parent().is_some_and(Path::exists),
        "the folder that was made for it stays"
    );
    ensure!(
        site.records()?.iter().any(|record| record["subject"] == "uninstall"),
        "the journal does not tell of it"
    );
    site.verify()
}

/// Checks that every event has exactly one correct Portcullis handler, with any others unchanged.
fn whole(bytes: &[u8]) -> Result<()> {
    let settings = parse(bytes)?;
    for (event, closed) in [
        ("PreToolUse", true),
        ("PostToolUse", true),
        ("PostToolUseFailure", true),
        ("PostToolBatch", true),
        ("ConfigChange", true),
        ("UserPromptSubmit", false),
        ("SessionStart", false),
        ("SessionEnd", false),
        ("Stop", false),
        ("SubagentStart", false),
        ("SubagentStop", false),
    ] {
        let groups = settings["hooks"][event]
            .as_array()
            .with_context(|| format!("nothing stands at {event}"))?;
        let ours: Vec<(&Value, &Value)> = groups
            .iter()
            .flat_map(|group| {
                group["hooks"].as_array().into_iter().flatten().map(move |handler| (group, handler))
            })
            .filter(|(_, handler)| {
                handler["command"].as_str().is_some_and(|command| command.ends_with("/portcullis"))
            })
            .collect();
        let [(group, handler)] = ours[..] else {
            anyhow::bail!("{event} has {} of our handlers", ours.len())
        };
        ensure!(group.get("matcher").is_none() && handler["type"] == "command", "{group}");
        ensure!(handler["args"][0] == "hook" && handler["args"][1] == "claude", "{handler}");
        ensure!((handler["onFailure"] == "block") == closed, "{event}: {handler}");
        ensure!(
            handler["timeout"].as_u64().is_some_and(|seconds| (5..=60).contains(&seconds)),
            "{handler}"
        );
    }
    Ok(())
}

/// Checks that the original text is still there, character for character, and in its order.
fn only_added(before: &[u8], after: &[u8]) -> Result<()> {
    let before = String::from_utf8_lossy(before)
        .replace("\"hooks\": null", "\"hooks\": ")
        .replace("\"PreToolUse\": null", "\"PreToolUse\": ");
    let after = String::from_utf8_lossy(after);
    let mut rest = after.chars();
    let gone: String = before
        .trim_end_matches([' ', '\t', '\n'])
        .chars()
        .filter(|c| !rest.any(|found| found == *c))
        .collect();
    // Only space inside empty brackets may be removed.
    ensure!(gone.trim().is_empty(), "{gone:?} is gone or stands elsewhere: {after}");
    Ok(())
}

fn left_alone(name: &str, before: Vec<u8>) -> Result<()> {
    let site = Site::new(&format!("refused {name}"))?;
    let path = settings(&site);
    write(&path, &before)?;
    let ended = site.run(INSTALL)?;
    ensure!(ended.code == Some(1), "{}", ended.all());
    snapshot::compare_command("install", &format!("left alone {name}"), &site, INSTALL, &ended)?;
    ensure!(fs::read(&path)? == before, "the file was changed");
    ensure!(
        !site.state().join("journal.db").exists(),
        "something was made before the file was judged"
    );
    Ok(())
}

fn linked() -> Result<()> {
    let site = Site::new("linked")?;
    let path = settings(&site);
    let real = site.person().join("dotfiles/claude.json");
    write(&real, b"{\n  \"model\": \"opus\"\n}\n")?;
    fs::set_permissions(&real, Permissions::from_mode(0o640))?;
    fs::create_dir_all(path.parent().context("no folder")?)?;
    symlink("../dotfiles/claude.json", &path)?;
    let ended = site.run(INSTALL)?;
    done(&ended, &format!("is a link: `{}` was written", real.display()))?;
    ensure!(path.symlink_metadata()?.is_symlink(), "the link was replaced");
    whole(&fs::read(&real)?)?;
    ensure!(real.metadata()?.permissions().mode() & 0o777 == 0o640, "the mode changed");
    uninstall(&site, UNINSTALL)?;
    ensure!(
        path.symlink_metadata()?.is_symlink()
            && fs::read(&real)? == b"{\n  \"model\": \"opus\"\n}\n",
        "it is not as it was"
    );
    Ok(())
}

fn no_place() -> Result<()> {
    let site = Site::new("no place")?.held_back()?;
    let path = settings(&site);
    let folder = path.parent().context("no folder")?;
    let fresh = |site: &Site| -> Result<()> {
        let _ = fs::set_permissions(folder, Permissions::from_mode(0o755));
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
        site.give(folder)
    };
    let refused = |says: &str| -> Result<()> {
        let ended = site.run(INSTALL)?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains(says),
            "it does not say {says:?}: {}",
            ended.all()
        );
        Ok(())
    };
    fresh(&site)?;
    symlink("/nowhere/settings.json", &path)?;
    refused("a link that leads nowhere")?;
    fresh(&site)?;
    fs::create_dir(&path)?;
    refused("is not a file")?;
    fresh(&site)?;
    ensure!(
        std::process::Command::new("mkfifo").arg(&path).status()?.success(),
        "no pipe can be made"
    );
    refused("is not a file")?;
    fresh(&site)?;
    fs::write(&path, "{}")?;
    fs::set_permissions(&path, Permissions::from_mode(0o444))?;
    refused("is read-only")?;
    fresh(&site)?;
    fs::write(&path, "{}")?;
    site.give(&path)?;
    fs::set_permissions(folder, Permissions::from_mode(0o555))?;
    refused("cannot write")?;
    ensure!(fs::read(&path)? == b"{}" && fs::read_dir(folder)?.count() == 1, "something was left");
    fresh(&site)?;
    fs::write(&path, "{}")?;
    site.give(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o000))?;
    refused("cannot read")?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    Ok(())
}

fn led_away() -> Result<()> {
    let site = Site::new("led away")?;
    let elsewhere = site.person().join("other.json");
    write(&elsewhere, b"{}")?;
    for (link, target) in
        [(".claude/settings.json", "../../person/other.json"), (".claude", "../person")]
    {
        let link = site.project().join(link);
        fs::create_dir_all(link.parent().context("no folder")?)?;
        symlink(target, &link)?;
        let ended = site.run(&["install", "claude", "--project", "--yes"])?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains("leads out of the project"),
            "{}",
            ended.all()
        );
        fs::remove_file(&link)?;
        let _ = fs::remove_dir(site.project().join(".claude"));
    }
    ensure!(
        fs::read(&elsewhere)? == b"{}" && !site.person().join("settings.json").exists(),
        "a file elsewhere was written"
    );
    Ok(())
}

fn scopes() -> Result<()> {
    for (scope, path, pinned, mode) in [
        ("--user", "person/.claude/settings.json", true, 0o600),
        ("--local", "project/.claude/settings.local.json", true, 0o600),
        ("--project", "project/.claude/settings.json", false, 0o644),
    ] {
        let site = Site::new(&format!("scope {scope}"))?;
        let path = site.root().join(path);
        done(&site.run(&["install", "claude", scope, "--yes"])?, "installed in")?;
        let bytes = fs::read(&path)
            .with_context(|| format!("{scope} did not write `{}`", path.display()))?;
        whole(&bytes)?;
        let arguments = &parse(&bytes)?["hooks"]["PreToolUse"][0]["hooks"][0]["args"];
        let state = site.state().to_string_lossy().into_owned();
        let wanted = if pinned {
            json!(["hook", "claude", "--config", state, "--state", state])
        } else {
            json!(["hook", "claude"])
        };
        ensure!(arguments == &wanted, "{scope}: {arguments}");
        ensure!(
            path.metadata()?.permissions().mode() & 0o777 == mode,
            "{scope}: mode {:o}",
            path.metadata()?.permissions().mode()
        );
        uninstall(&site, &["uninstall", "claude", scope])?;
        ensure!(
            !path.exists() && !path.parent().is_some_and(Path::exists),
            "{scope}: something is left"
        );
    }
    let site = Site::new("scope of the machine")?.held_back()?;
    let ended = site.run(&["install", "claude", "--managed", "--yes"])?;
    ensure!(ended.code == Some(1) && ended.stderr.contains("superuser"), "{}", ended.all());
    let ended = site.run(&["install", "claude", "--user", "--project"])?;
    ensure!(ended.code == Some(2), "two scopes at once: {}", ended.all());
    // Here, CLAUDE_CONFIG_DIR names the person's settings.
    let site = Site::new("scope named")?;
    let named = site.person().join("client");
    let mut command = site.command(INSTALL);
    command.env("CLAUDE_CONFIG_DIR", &named);
    done(
        &crate::common::process::run(command, b"", std::time::Duration::from_secs(60))?,
        "installed in",
    )?;
    whole(&fs::read(named.join("settings.json"))?)
}

/// Covers entries written by earlier versions, with other paths, and by people.
fn fixed() -> Result<()> {
    let ours = |fields: Value| {
        let mut handler = json!({"type": "command", "command": "/opt/old/portcullis", "args": ["hook", "claude"], "timeout": 30, "onFailure": "block"});
        fields
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(name, value)| handler[name] = value.clone());
        if let Some(members) = handler.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        handler
    };
    for (name, event, groups) in [
        ("another path", "PreToolUse", json!([{"hooks": [ours(json!({}))]}])),
        (
            "shell form",
            "PreToolUse",
            json!([{"hooks": [ours(json!({"command": "\"/opt/old/portcullis\" hook claude", "args": null}))]}]),
        ),
        (
            "shell form with exec",
            "PreToolUse",
            json!([{"hooks": [ours(json!({"command": "exec portcullis hook claude", "args": null}))]}]),
        ),
        ("open", "PreToolUse", json!([{"hooks": [ours(json!({"onFailure": null}))]}])),
        ("asynchronous", "PreToolUse", json!([{"hooks": [ours(json!({"async": true}))]}])),
        ("conditional", "PreToolUse", json!([{"hooks": [ours(json!({"if": "Bash(git *)"}))]}])),
        ("once", "PreToolUse", json!([{"hooks": [ours(json!({"once": true}))]}])),
        ("narrow", "PreToolUse", json!([{"matcher": "Bash", "hooks": [ours(json!({}))]}])),
        ("wide by a matcher", "PreToolUse", json!([{"matcher": "*", "hooks": [ours(json!({}))]}])),
        (
            "doubled",
            "PreToolUse",
            json!([{"hooks": [ours(json!({})), ours(json!({}))]}, {"hooks": [ours(json!({"timeout": 1}))]}]),
        ),
        ("an event that is not ours", "Notification", json!([{"hooks": [ours(json!({}))]}])),
    ] {
        let site = Site::new(&format!("fixed {name}"))?;
        let path = settings(&site);
        let other = json!({"type": "command", "command": "/usr/bin/other"});
        let mut groups = groups;
        if let Some(groups) = groups.as_array_mut() {
            groups.push(json!({"hooks": [other]}));
        }
        write(
            &path,
            serde_json::to_string_pretty(
                &json!({"model": "opus", "hooks": {event: groups}, "verbose": true}),
            )?
            .as_bytes(),
        )?;
        done(&site.run(INSTALL)?, "installed in")?;
        let settings = parse(&fs::read(&path)?)?;
        let text = settings.to_string();
        ensure!(
            !text.contains("/opt/old")
                && !text.contains("\"if\"")
                && !text.contains("\"async\"")
                && !text.contains("\"once\""),
            "{name}: {text}"
        );
        let ours_at =
            |event: &str| settings["hooks"][event].to_string().matches("/portcullis\"").count();
        ensure!(ours_at("PreToolUse") == 1 && ours_at("Notification") == 0, "{name}: {text}");
        ensure!(
            text.matches("/usr/bin/other").count() == 1
                && settings["model"] == "opus"
                && settings["verbose"] == true,
            "{name}: {text}"
        );
        done(&site.run(INSTALL)?, "already installed")?;
        uninstall(&site, UNINSTALL)?;
        let left = parse(&fs::read(&path)?)?;
        ensure!(
            left == json!({"model": "opus", "hooks": {event: [{"hooks": [other]}]}, "verbose": true}),
            "{name}: {left}"
        );
    }
    Ok(())
}

fn nothing_written() -> Result<()> {
    let site = Site::new("nothing written")?;
    let path = settings(&site);
    write(&path, b"{\n  \"model\": \"opus\"\n}\n")?;
    let short = site.run(&["install", "claude", "--dry-run"])?;
    done(&short, "nothing was written")?;
    let commands = short.text().matches("/portcullis hook claude").count();
    ensure!(
        commands == 1 && short.text().contains("+ 11 hooks: PreToolUse, PostToolUse, "),
        "the command is shown {commands} times: {}",
        short.all()
    );
    let dry = site.run(&["install", "claude", "--dry-run", "--diff"])?;
    done(&dry, "nothing was written")?;
    for part in [
        "--- ",
        "+++ ",
        "@@ -1,3 +1,",
        "+    \"PreToolUse\": [{ \"hooks\": [{ \"type\": \"command\"",
    ] {
        ensure!(dry.text().contains(part), "it does not show {part:?}: {}", dry.all());
    }
    site.snapshot("install", "a dry run", &["install", "claude", "--dry-run"])?;
    site.snapshot("install", "without a terminal", &["install", "claude"])?;
    ensure!(
        fs::read(&path)? == b"{\n  \"model\": \"opus\"\n}\n"
            && !site.state().join("journal.db").exists(),
        "something was written"
    );
    done(&site.run(INSTALL)?, "installed in")?;
    let installed = fs::read(&path)?;
    done(&site.run(&["uninstall", "claude", "--dry-run"])?, "nothing was written")?;
    ensure!(fs::read(&path)? == installed, "--dry-run took the hooks out");
    Ok(())
}

fn observed() -> Result<()> {
    let site = Site::new("observed")?;
    let observe = &["install", "claude", "--yes", "--observe"][..];
    site.snapshot("install", "to observe", observe)?;
    let config = fs::read_to_string(site.state().join("config.toml"))?;
    snapshot::compare_page("install", "the configuration to observe", &site, &config)?;
    let site = Site::new("observed not")?;
    site.write("config.toml", "mode = \"blocking\" # mine\n")?;
    site.snapshot("install", "to observe with a configuration", observe)?;
    ensure!(
        fs::read_to_string(site.state().join("config.toml"))? == "mode = \"blocking\" # mine\n",
        "it was changed"
    );
    let site = Site::new("observed broken")?;
    site.write("config.toml", "mood = 1\n")?;
    site.snapshot("install", "to observe with a broken configuration", observe)?;
    ensure!(!settings(&site).exists(), "hooks were installed");
    Ok(())
}

fn weakened() -> Result<()> {
    let site = Site::new("weakened")?;
    write(
        &settings(&site),
        br#"{"disableAllHooks": true, "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "/usr/bin/rewriter --fast"}]}]}}"#,
    )?;
    write(
        &site.project().join(".claude/settings.local.json"),
        br#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "date; portcullis hook claude"}]}]}}"#,
    )?;
    let ended = site.run(INSTALL)?;
    done(&ended, "installed in")?;
    snapshot::compare_command("install", "what weakens the hooks", &site, INSTALL, &ended)?;
    // A program in a folder of this user's own.
    let site = Site::new("weakened program")?.held_back()?;
    let program = site.person().join("portcullis");
    fs::copy(site.binary(), &program)?;
    site.give(&program)?;
    let mut command = site.command(INSTALL);
    let mut own = std::process::Command::new(&program);
    own.args(INSTALL).env_clear().current_dir(site.project());
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    site.as_its_user(&mut own);
    command = own;
    let ended = crate::common::process::run(command, b"", std::time::Duration::from_secs(60))?;
    done(&ended, "installed in")?;
    snapshot::compare_command(
        "install",
        "a program that the agent can replace",
        &site,
        INSTALL,
        &ended,
    )?;
    Ok(())
}

fn reported_in_json() -> Result<()> {
    let site = Site::new("told in json")?;
    for (arguments, outcome) in [
        (&["install", "claude", "--json", "--dry-run"][..], "dry_run"),
        (&["install", "claude", "--json", "--yes"], "installed"),
        (&["install", "claude", "--json", "--yes"], "unchanged"),
    ] {
        let said: Value = serde_json::from_str(&site.output(arguments)?)?;
        ensure!(
            said["outcome"] == outcome
                && said["scope"] == "user"
                && said["file"] == json!(settings(&site)),
            "{said}"
        );
        ensure!(
            said["diff"].is_string() == (outcome != "unchanged") && said["warnings"].is_array(),
            "{said}"
        );
    }
    write(&settings(&site), b"{\"model\": 1}")?;
    let ended = site.run(&["install", "claude", "--json", "--yes"])?;
    let said: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(ended.code == Some(1) && said["outcome"] == "refused", "{said}");
    let problem = &said["problems"][0];
    ensure!(
        problem["pointer"] == "/model"
            && problem["line"] == 1
            && problem["column"] == 11
            && problem["fix"].is_string(),
        "{said}"
    );
    Ok(())
}

fn settings(site: &Site) -> PathBuf {
    site.person().join(".claude/settings.json")
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

fn parse(bytes: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(bytes)?;
    Ok(serde_json::from_str(text.trim_start_matches('\u{feff}'))?)
}

fn done(ended: &Ended, says: &str) -> Result<()> {
    ensure!(
        ended.code == Some(0) && (ended.text() + &ended.stderr).contains(says),
        "it does not say {says:?}: {}",
        ended.all()
    );
    Ok(())
}

/// Uninstalls as a person who types the word.
fn uninstall(site: &Site, arguments: &[&str]) -> Result<()> {
    site.at_a_terminal(arguments, Answer::Word, &[])?.ended(0, &["uninstalled"])
}

//! Tests of `uninstall` after other changes, without a usable backup, and by unauthorized callers.

use super::{INSTALL, UNINSTALL, done, settings, uninstall, write};
use crate::common::process::Ended;
use crate::common::reply::{self, Answer as Verdict};
use crate::common::site::Site;
use crate::common::terminal::Answer;
use crate::common::{process, trial};
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use portcullis_tests::compiled::copy_state;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("uninstall: later changes stay", changed_since),
        trial("uninstall: without the backup, ours alone goes", without_backup),
        trial("uninstall: a person has to confirm, an agent may not", confirmed),
        trial("uninstall: --purge removes the state", purged),
        trial("uninstall: --purge alone leaves nothing of Portcullis in the home", left_nothing),
        trial("uninstall: --purge alone is refused where it would go too far", too_far),
        trial("uninstall: --purge alone follows no link", followed_no_link),
    ]
}

fn changed_since() -> Result<()> {
    for (name, before, change, after) in [
        (
            "a key was added",
            "{\n  \"model\": \"opus\"\n}\n",
            ("\"model\": \"opus\",", "\"model\": \"opus\",\n  \"verbose\": true,"),
            "{\n  \"model\": \"opus\",\n  \"verbose\": true\n}\n",
        ),
        (
            "a key was changed",
            "{\n  \"model\": \"opus\"\n}\n",
            ("opus", "sonnet"),
            "{\n  \"model\": \"sonnet\"\n}\n",
        ),
        (
            "the file was not there",
            "",
            ("  \"hooks\"", "  \"verbose\": true,\n  \"hooks\""),
            "{\n  \"verbose\": true\n}\n",
        ),
        (
            "hooks were there, empty",
            "{\n  \"hooks\": {\n  }\n}\n",
            ("  \"hooks\"", "  \"verbose\": true,\n  \"hooks\""),
            "{\n  \"verbose\": true,\n  \"hooks\": {}\n}\n",
        ),
    ] {
        let site = Site::new(&format!("changed {name}"))?;
        let path = settings(&site);
        if !before.is_empty() {
            write(&path, before.as_bytes())?;
        }
        done(&site.run(INSTALL)?, "installed in")?;
        let installed = fs::read_to_string(&path)?;
        let changed = installed.replacen(change.0, change.1, 1);
        ensure!(changed != installed, "{name}: the change does not apply to {installed}");
        write(&path, changed.as_bytes())?;
        uninstall(&site, UNINSTALL)?;
        let left = fs::read_to_string(&path)?;
        ensure!(left == after, "{name}: left {left:?}");
    }
    Ok(())
}

fn without_backup() -> Result<()> {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"/usr/bin/other\"}]}]\n  },\n  \"model\": \"opus\"\n}\n";
    type Harm = fn(&Path) -> std::io::Result<()>;
    let gone: Harm = |folder| fs::remove_dir_all(folder);
    let forged: Harm = |folder| {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let text =
                fs::read_to_string(&path)?.replace("opus", "evil").replace("\"at\": ", "\"at\": 1");
            fs::write(&path, text)?;
        }
        Ok(())
    };
    for (name, harm) in [("gone", gone), ("forged", forged)] {
        let site = Site::new(&format!("backup {name}"))?;
        let path = settings(&site);
        write(&path, before.as_bytes())?;
        done(&site.run(INSTALL)?, "installed in")?;
        let backups = site.state().join("backups");
        for file in fs::read_dir(&backups)? {
            ensure!(
                file?.metadata()?.permissions().mode() & 0o777 == 0o600,
                "others can read a backup"
            );
        }
        harm(&backups)?;
        uninstall(&site, UNINSTALL)?;
        ensure!(fs::read_to_string(&path)? == before, "{name}: {}", fs::read_to_string(&path)?);
    }
    Ok(())
}

fn confirmed() -> Result<()> {
    let site = Site::new("confirmed")?;
    let path = settings(&site);
    done(&site.run(UNINSTALL)?, "holds no hooks of Portcullis")?;
    done(&site.run(INSTALL)?, "installed in")?;
    let installed = fs::read(&path)?;
    site.at_a_terminal(UNINSTALL, Answer::Text("yes"), &[])?.ended(1, &["not confirmed"])?;
    let alone = site.run(UNINSTALL)?;
    ensure!(alone.code == Some(1) && alone.stderr.contains("terminal"), "{}", alone.all());
    for arguments in [UNINSTALL, INSTALL] {
        let mut command = site.command(arguments);
        command.env("CLAUDECODE", "1");
        let ended = process::run(command, b"", Duration::from_secs(60))?;
        ensure!(
            ended.code == Some(1) && ended.stderr.contains("an agent runs this"),
            "{}",
            ended.all()
        );
    }
    ensure!(fs::read(&path)? == installed, "the file was changed");
    Ok(())
}

fn purged() -> Result<()> {
    let site = Site::new("purged")?;
    done(&site.run(&["install", "claude", "--yes", "--observe"])?, "installed in")?;
    uninstall(&site, &["uninstall", "claude", "--purge"])?;
    let left: Vec<_> =
        fs::read_dir(site.state())?.flatten().map(|entry| entry.file_name()).collect();
    ensure!(left == ["config.toml"], "{left:?} is left");
    ensure!(!settings(&site).exists(), "the settings are left");
    Ok(())
}

/// A site whose state, configuration and cache are where they are without `PORTCULLIS_HOME`.
struct UsualHome(Site);

impl UsualHome {
    fn new(name: &str) -> Result<Self> {
        Ok(Self(Site::new(name)?))
    }

    fn state(&self) -> PathBuf {
        self.0.person().join(".local/state/portcullis")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        command.env_remove("PORTCULLIS_HOME");
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<Ended> {
        process::run(self.command(arguments), b"", LIMIT)
    }

    fn hook(&self, event: &Value) -> Result<reply::Reply> {
        let hook = self.command(&["hook", "claude"]);
        self.0.ask(hook, crate::common::site::name_of(event), event.to_string().as_bytes())
    }

    /// Purges as a person who types the word.
    fn purge(&self, more: &[&str]) -> Result<crate::common::terminal::Shown> {
        let words = [&["uninstall", "--purge"], more].concat();
        self.0.at_a_terminal(&words, Answer::Word, &[("PORTCULLIS_HOME", "")])
    }
}

const LIMIT: Duration = Duration::from_secs(60);

/// Returns every path below a folder with the content of its file; none for a folder.
fn list_files(folder: &Path) -> Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
                found.insert(path, None);
            } else {
                let bytes = fs::read(&path)?;
                found.insert(path, Some(bytes));
            }
        }
    }
    Ok(found)
}

/// Returns the clients that can be installed for, as the program lists them.
fn list_clients(home: &UsualHome) -> Result<Vec<String>> {
    let refused = home.run(&["install", "nobody"])?;
    let (_, listed) = refused.stderr.split_once("[possible values: ").context("no list")?;
    let (listed, _) = listed.split_once(']').context("no end of the list")?;
    Ok(listed.split(", ").map(str::to_owned).collect())
}

fn left_nothing() -> Result<()> {
    let home = UsualHome::new("purged home")?;
    let (person, project) = (home.0.person(), home.0.project());
    let server = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"/usr/bin/true\" }\n  }\n}\n";
    for (name, text) in [
        (".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n"),
        (".claude.json", server),
        (".gemini/settings.json", "{\n  // mine\n  \"ui\": {}\n}\n"),
        (".codex/config.toml", "model = \"x\"\n"),
        (".config/other/file", "mine\n"),
        (".local/state/other", "mine\n"),
    ] {
        write(&person.join(name), text.as_bytes())?;
    }
    write(&project.join("data/file.txt"), b"the person's\n")?;
    let before = list_files(&person)?;
    let nothing = home.run(&["uninstall", "--purge"])?;
    done(&nothing, "nothing of Portcullis is here")?;
    ensure!(list_files(&person)? == before, "a purge of nothing changed something");

    copy_state(&home.0.state(), &home.state())?;
    let clients = list_clients(&home)?;
    ensure!(clients.len() >= 8, "only {clients:?} can be installed for");
    // As a demo from before the first installation leaves it.
    write(&person.join(".cache/portcullis/demo/cache/code"), b"compiled")?;
    for client in &clients {
        done(&home.run(&["install", client, "--yes", "--observe"])?, "installed in")?;
    }
    done(&home.run(&["install", "claude", "--project", "--yes"])?, "installed in")?;
    done(&home.run(&["mcp", "wrap", "claude", "--yes"])?, "wrapped")?;
    // An action counts only where decisions are carried out.
    fs::remove_file(person.join(".config/portcullis/config.toml"))?;
    write(&person.join(".config/portcullis/plugins/mine.txt"), b"of a person, in our folder\n")?;
    let calls = home.0.calls("s");
    let listed = home.hook(&calls.bash("c1", "ls"))?;
    ensure!(listed.answer == Verdict::Quiet, "{listed:?}");
    quarantine(&home, "rm -rf data")?;
    let refused = home.hook(&calls.bash("c3", "rm -rf /"))?;
    ensure!(matches!(refused.answer, Verdict::Refused | Verdict::Stopped), "{refused:?}");
    // Maintenance that the hooks have started goes on in the state.
    let outside = || -> Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
        let mut files = list_files(&person)?;
        files.retain(|path, _| !path.starts_with(home.state()));
        Ok(files)
    };
    let acted = outside()?;
    ensure!(acted.len() > before.len() + clients.len(), "the installations left no files");

    let dry = home.run(&["uninstall", "--purge", "--dry-run", "--json"])?;
    let said: Value = serde_json::from_str(&dry.text())?;
    ensure!(said["outcome"] == "dry_run", "{said}");
    ensure!(said["folders"].as_array().is_some_and(|folders| folders.len() == 3), "{said}");
    ensure!(said["kept"].as_array().is_some_and(|kept| kept.len() == 1), "{said}");
    let mut by_agent = home.command(&["uninstall", "--purge"]);
    by_agent.env("CLAUDECODE", "1");
    let by_agent = process::run(by_agent, b"", LIMIT)?;
    ensure!(by_agent.code == Some(1) && by_agent.stderr.contains("an agent runs this"));
    let alone = home.run(&["uninstall", "--purge"])?;
    ensure!(alone.code == Some(1) && alone.stderr.contains("terminal"), "{}", alone.all());
    ensure!(outside()? == acted, "something was changed without a person");

    home.purge(&[])?.ended(0, &["nothing of Portcullis is left", "stays:"])?;
    let after = list_files(&person)?;
    let differ =
        |one: &BTreeMap<PathBuf, Option<Vec<u8>>>, other: &BTreeMap<_, _>| -> Vec<PathBuf> {
            let other = |path: &PathBuf, bytes: &Option<Vec<u8>>| other.get(path) == Some(bytes);
            one.iter()
                .filter(|(path, bytes)| !other(path, bytes))
                .map(|(path, _)| path.clone())
                .collect()
        };
    ensure!(
        after == before,
        "left or changed {:?}, gone or changed {:?}",
        differ(&after, &before),
        differ(&before, &after)
    );
    ensure!(!project.join(".claude").exists(), "the project's settings are left");
    let kept = list_files(&project.join(".portcullis/quarantine"))?;
    ensure!(
        kept.iter().any(|(path, bytes)| path.ends_with("data/file.txt")
            && bytes.as_deref() == Some(b"the person's\n")),
        "the person's files are gone: {:?}",
        kept.keys()
    );
    Ok(())
}

/// Lets the agent delete: the hook's version of the command runs.
fn quarantine(home: &UsualHome, command: &str) -> Result<()> {
    let calls = home.0.calls("s");
    let reply = home.hook(&calls.bash("c2", command))?;
    ensure!(reply.answer == Verdict::Rewritten, "`{command}`: {reply:?}");
    let run = reply.body.pointer("/hookSpecificOutput/updatedInput/command");
    let run = run.and_then(Value::as_str).context("no command")?;
    let status =
        Command::new("/bin/sh").args(["-c", run]).current_dir(home.0.project()).status()?;
    ensure!(status.success(), "`{run}`");
    home.hook(&calls.bash_done("c2", run, "")).map(drop)
}

fn too_far() -> Result<()> {
    let home = UsualHome::new("purged too far")?;
    let person = home.0.person();
    write(&person.join("letter.txt"), b"mine\n")?;
    let before = list_files(&person)?;
    // Somebody took the whole home folder for ours, or another one that is not.
    let letters = person.join("letters");
    write(&letters.join("letter.txt"), b"mine too\n")?;
    let before = {
        drop(before);
        list_files(&person)?
    };
    for (state, holds) in [(&person, "has no key"), (&letters, "has no key")] {
        let mut wide = home.0.command(&["uninstall", "--purge", "--dry-run"]);
        wide.env("PORTCULLIS_HOME", state);
        let wide = process::run(wide, b"", LIMIT)?;
        ensure!(wide.code == Some(1) && wide.stderr.contains(holds), "{}", wide.all());
    }
    let managed = home.run(&["uninstall", "--purge", "--managed"])?;
    ensure!(
        managed.code == Some(1) && managed.stderr.contains("name an agent"),
        "{}",
        managed.all()
    );
    let bare = home.run(&["uninstall"])?;
    ensure!(bare.code == Some(2), "{}", bare.all());
    ensure!(list_files(&person)? == before, "something was changed");

    // A folder with our key that holds the home, a home that nobody knows, and a state that is a link.
    copy_state(&home.0.state(), &home.state())?;
    fs::copy(home.state().join("key"), person.join("key"))?;
    let linked = person.join("linked");
    std::os::unix::fs::symlink(home.state(), &linked)?;
    let person_text = person.to_str().context("a path")?.to_owned();
    let linked_text = linked.to_str().context("a path")?.to_owned();
    for (options, variables, holds) in [
        (vec!["--state", &person_text], vec![], "holds your home folder"),
        (vec![], vec![("PORTCULLIS_HOME", person_text.as_str()), ("HOME", "")], "HOME is not set"),
        (vec!["--state", &linked_text], vec![], "is a link"),
    ] {
        let words = [options.as_slice(), &["uninstall", "--purge", "--dry-run"]].concat();
        let mut command = home.command(&words);
        command.envs(variables);
        let ended = process::run(command, b"", LIMIT)?;
        ensure!(ended.code == Some(1) && ended.stderr.contains(holds), "{holds}: {}", ended.all());
    }
    Ok(())
}

/// A purge changes nothing that a link or a second name in our folders leads to, and no configuration in a
/// folder that somebody named.
fn followed_no_link() -> Result<()> {
    let home = UsualHome::new("purged links")?;
    let person = home.0.person();
    copy_state(&home.0.state(), &home.state())?;
    let precious = person.join("precious");
    write(&precious.join("a"), b"mine\n")?;
    write(&precious.join("below/b"), b"mine\n")?;
    write(&person.join("named/config.toml"), b"")?;
    write(&person.join("named/mine.txt"), b"mine\n")?;
    let before = list_files(&precious)?;
    let state = home.state();
    fs::remove_dir_all(state.join("credentials")).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    std::os::unix::fs::symlink(&precious, state.join("credentials"))?;
    fs::create_dir_all(state.join("keys"))?;
    fs::hard_link(precious.join("a"), state.join("keys/a"))?;
    let named = person.join("named");
    let words = ["--config", named.to_str().context("a path")?, "uninstall", "--purge"];
    let shown = home.0.at_a_terminal(&words, Answer::Word, &[("PORTCULLIS_HOME", "")])?;
    shown.ended(0, &["all is removed but", "named` stays"])?;
    ensure!(!state.exists(), "the state is left");
    ensure!(list_files(&precious)? == before, "what links lead to was changed");
    ensure!(named.join("mine.txt").exists() && named.join("config.toml").exists(), "named is gone");
    Ok(())
}

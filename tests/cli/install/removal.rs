//! Tests of `uninstall` after other changes, without a usable backup, and by unauthorized callers.

use super::{INSTALL, UNINSTALL, done, settings, uninstall, write};
use crate::common::site::Site;
use crate::common::terminal::Answer;
use crate::common::{process, trial};
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("uninstall: later changes stay", changed_since),
        trial("uninstall: without the backup, ours alone goes", without_backup),
        trial("uninstall: a person has to confirm, an agent may not", confirmed),
        trial("uninstall: --purge removes the state", purged),
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

//! Conditions reported by the journal and the machine: pending work, unreviewed actions, a full
//! disk.

use super::Row;
use super::installed::Installed;
use super::{findings, format_problems};
use crate::common::Ground;
use crate::common::process;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub fn rows() -> Vec<Row> {
    vec![
        Row {
            name: "an action that nobody reviewed",
            breaks: |installed| {
                installed.hook(&installed.site().calls("unseen").bash_done("1", "make", "done"))?;
                Ok(())
            },
            check: "unreviewed",
            level: "warning",
            says: &["1 action ran without a review", "audit show --kind unreviewed"],
            fix: Some(Installed::begin_anew),
        },
        Row {
            name: "a change that was held back",
            breaks: |installed| {
                let change =
                    json!({ "source": "user_settings", "file_path": installed.settings() });
                installed
                    .hook(&installed.site().calls("changing").event("ConfigChange", change))?;
                Ok(())
            },
            check: "held changes",
            level: "warning",
            says: &[
                "user_settings changed",
                "settings.json",
                "new sessions have it",
                "look at that file",
            ],
            fix: Some(Installed::begin_anew),
        },
    ]
}

/// A process that was suspended while it held the maintenance lock.
pub fn stopped() -> Result<()> {
    let installed = Installed::new("doctor stopped maintenance")?;
    let lock = installed.state("maintain.lock");
    installed.put(&lock, "")?;
    // It suspends itself only once it has the lock.
    let mut command = Command::new("/usr/bin/flock");
    command.arg("--no-fork").arg(&lock).args(["sh", "-c", "echo held; kill -STOP $$"]);
    let mut holder = command.stdout(Stdio::piped()).process_group(0).spawn()?;
    let mut said = [0; 5];
    let looked = holder
        .stdout
        .take()
        .map(|mut out| out.read_exact(&mut said))
        .transpose()
        .map_err(anyhow::Error::from)
        .and_then(|_| {
            // It reports that before it suspends itself.
            let deadline = Instant::now() + Duration::from_secs(20);
            while !is_stopped(holder.id()) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            findings(&installed)
        });
    holder.kill()?;
    holder.wait()?;
    let found = looked?;
    let named = |finding: &Value| {
        finding["check"] == "maintenance"
            && finding["fix"].to_string().contains(&format!("kill -CONT {}", holder.id()))
    };
    ensure!(
        found.iter().any(named),
        "the stopped process is not named: {}",
        format_problems(&found)
    );
    let left = findings(&installed)?;
    ensure!(
        !left.iter().any(|finding| finding["check"] == "maintenance" && finding["level"] != "ok"),
        "{}",
        format_problems(&left)
    );
    Ok(())
}

fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}

/// A volume of its own without free space. The state moves there and keeps its path.
pub fn full_disk() -> Result<()> {
    let installed = Installed::new("doctor full disk")?;
    let state = installed.site().state();
    let moved = installed.site().root().join("moved");
    let script = r#"set -e
mv "$1" "$2"; mkdir -m 700 "$1"
mount -t tmpfs -o size=64m,mode=0700 tmpfs "$1"
cp -a "$2/." "$1/"
cat /dev/zero > "$1/filler" 2>/dev/null || true
shift 2
exec "$@""#;
    let mut command = Command::new("/usr/bin/unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(&state)
        .arg(&moved);
    command.arg(&Ground::get()?.binary).args(["doctor", "--json"]);
    let from = installed.command(&Ground::get()?.binary, &[]);
    command.current_dir(installed.site().project()).env_clear();
    command.envs(from.get_envs().filter_map(|(name, value)| Some((name, value?))));
    installed.site().as_its_user(&mut command);
    let ended = process::run(command, b"", Duration::from_secs(120))?;
    let said: Value = serde_json::from_slice(&ended.stdout)
        .map_err(|_| anyhow::anyhow!("no volume of its own: {}", ended.all()))?;
    let findings = said["findings"].as_array().cloned().unwrap_or_default();
    let full = |finding: &Value| {
        finding["check"] == "disk"
            && finding["level"] == "problem"
            && finding["what"].to_string().contains("no room")
    };
    let refused = |finding: &Value| finding["check"] == "canary" && finding["level"] == "problem";
    ensure!(
        ended.code == Some(5) && findings.iter().any(full),
        "the full disk is not named: {}",
        format_problems(&findings)
    );
    ensure!(
        findings.iter().any(refused),
        "nothing says what the full disk does to actions: {}",
        format_problems(&findings)
    );
    fs::remove_dir_all(&moved)?;
    Ok(())
}

//! Tests how `plugin new` and `plugin build` find the program that they run in.

use crate::common::site::Site;
use crate::common::{snapshot, trial};
use crate::process;
use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const NAME: &str = "portcullis-plugin";
/// A stand-in that shows its arguments.
const SHOWS: &str = "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n";
const BUILD: &[&str] = &["plugin", "build", "some/folder", "--json"];
/// The name of the message about a missing program.
const MISSING: &str = "has the first program alone";

/// Returns the tests of this file.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("plugins: the second program is found beside the first and nowhere else", found),
        trial("plugins: every other command needs one program", alone),
    ]
}

/// Lays the first program alone into a folder of its own.
fn lay_first(site: &Site) -> Result<std::path::PathBuf> {
    let folder = site.root().join("alone");
    fs::create_dir_all(&folder)?;
    fs::copy(site.binary(), folder.join("portcullis")).context("cannot copy the program")?;
    Ok(folder)
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o755)).context("cannot make it a program")
}

/// Makes a command of the program in `folder`, with the rest as the site has it.
fn command(site: &Site, folder: &Path, arguments: &[&str]) -> Command {
    let usual = site.command(arguments);
    let mut command = Command::new(folder.join("portcullis"));
    command.args(arguments).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    usual.get_current_dir().map(|folder| command.current_dir(folder));
    command
}

fn found() -> Result<()> {
    let site = Site::new("second program")?;
    let folder = lay_first(&site)?;
    // One on the search path, and in the current folder, is another's.
    let planted = site.root().join("planted");
    fs::create_dir_all(&planted)?;
    write_program(&planted.join(NAME), SHOWS)?;
    write_program(&site.project().join(NAME), SHOWS)?;
    let run = || {
        let mut command = command(&site, &folder, BUILD);
        command.env("PATH", &planted);
        process::run(command, b"", crate::LIMIT)
    };
    let missing = run()?;
    ensure!(missing.code == Some(1), "{}", missing.all());
    snapshot::compare_command("mistakes", MISSING, &site, BUILD, &missing)?;
    write_program(&folder.join(NAME), SHOWS)?;
    let started = run()?;
    ensure!(
        started.code == Some(7)
            && started.text()
                == format!("<{}><build><--json><--><some/folder>", env!("CARGO_PKG_VERSION")),
        "{}",
        started.all()
    );
    fs::set_permissions(folder.join(NAME), Permissions::from_mode(0o644))?;
    let refused = run()?;
    ensure!(
        refused.code == Some(1) && refused.stderr.contains("cannot start"),
        "{}",
        refused.all()
    );
    Ok(())
}

fn alone() -> Result<()> {
    let site = Site::new("first program alone")?;
    let folder = lay_first(&site)?;
    for (arguments, code) in [
        (&["plugin", "list"][..], 0),
        (&["plugin", "new", "--help"], 0),
        (&["plugin", "build", "--no-such-option"], 2),
        (&["review", "--command", "git status"], 0),
    ] {
        let ended = process::run(command(&site, &folder, arguments), b"", crate::LIMIT)?;
        ensure!(ended.code == Some(code), "`{}`: {}", arguments.join(" "), ended.all());
    }
    Ok(())
}

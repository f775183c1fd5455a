//! The units of a boundary, and of a user.

use super::machine::{BOUNDARY_FILE, Machine, Test, write_root_file};
use crate::common::site::LIMIT;
use crate::common::{in_ci, process, tell};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

pub const ROWS: &[(&str, Test)] = &[("systemd takes the units", units)];

fn units(machine: &mut Machine) -> Result<()> {
    let program = machine.programs.join("portcullis");
    write_root_file(BOUNDARY_FILE, "user = \"portcullis\"\npage = 4747\n")?;
    let print = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new(&program);
        command.arg("serve").args(arguments).env_clear().env("HOME", "/root");
        let ended = process::run(command, b"", LIMIT)?;
        ensure!(ended.code == Some(0), "{}", ended.all());
        Ok(ended.text())
    };
    for (name, arguments, part) in [
        ("system/portcullis.service", &["--unit", "system"][..], "User=portcullis\n"),
        ("system/portcullis.socket", &["--unit", "system", "--socket"], "SocketMode=0666\n"),
        ("system/portcullis.socket", &["--unit", "system", "--socket"], "=127.0.0.1:4747\n"),
        ("user/portcullis.service", &["--unit"], "serve --config \"/root/.config/portcullis\""),
        ("user/portcullis.socket", &["--unit", "user", "--socket"], "SocketMode=0600\n"),
    ] {
        let text = print(arguments)?;
        ensure!(text.contains(part), "{name}: {text}");
        let path = Path::new("/etc/units").join(name);
        fs::create_dir_all(path.parent().context("no folder")?)?;
        fs::write(&path, text)?;
    }
    for manager in ["system", "user"] {
        verify(manager)?;
    }
    fs::remove_file(BOUNDARY_FILE)?;
    let without = print(&["--unit", "system"]).err().map(|error| error.to_string());
    write_root_file(BOUNDARY_FILE, "user = \"portcullis\"\n")?;
    ensure!(without.is_some_and(|error| error.contains(BOUNDARY_FILE)), "it names no user");
    Ok(())
}

fn verify(manager: &str) -> Result<()> {
    let folder = Path::new("/etc/units").join(manager);
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", &format!("--{manager}")]);
    command.env("XDG_RUNTIME_DIR", "/run");
    command.args(["portcullis.service", "portcullis.socket"].map(|name| folder.join(name)));
    match process::run(command, b"", LIMIT) {
        Ok(ended) => ensure!(
            ended.code == Some(0) && !ended.stderr.contains("portcullis."),
            "{manager}: {}",
            ended.all()
        ),
        Err(error) if in_ci() => return Err(error),
        Err(_) => tell("systemd-analyze is not installed: the units were not verified"),
    }
    Ok(())
}

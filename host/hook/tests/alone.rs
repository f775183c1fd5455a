//! The small hook without the other program: it refuses, and says what is missing. With it, it
//! becomes that program, also while its own file is replaced.

#![allow(clippy::unwrap_used, reason = "a program of tests")]

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Whatever it is called with, and also where the file beside it is the same program: that one would
/// start itself without end.
#[test]
fn without_the_other_program_it_refuses() {
    for (name, beside, said) in [
        ("portcullis-hook", None, "No such file"),
        ("portcullis", None, "is this program"),
        ("portcullis-hook", Some("portcullis"), "is this program"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for name in [Some(name), beside].into_iter().flatten() {
            fs::copy(env!("CARGO_BIN_EXE_portcullis-hook"), folder.path().join(name)).unwrap();
        }
        for arguments in [&["hook", "claude"][..], &["hook"], &["doctor"], &[]] {
            refuse(&folder.path().join(name), arguments, said);
        }
    }
}

#[test]
fn while_its_file_is_replaced_it_becomes_the_other_program() {
    let folder = tempfile::tempdir().unwrap();
    let [hook, other, newer] =
        ["portcullis-hook", "portcullis", "newer"].map(|name| folder.path().join(name));
    for copy in [&hook, &newer] {
        fs::copy(env!("CARGO_BIN_EXE_portcullis-hook"), copy).unwrap();
    }
    fs::write(&other, "#!/bin/sh\necho \"$@\"\nexec cat\n").unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o755)).unwrap();
    let mut child = start(&hook, &["hook", "claude"]);
    fs::rename(newer, hook).unwrap();
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "hook claude\n{}", "{ended:?}");
}

fn start(hook: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(hook);
    command.args(arguments).env_clear().env("HOME", hook.parent().unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn refuse(hook: &Path, arguments: &[&str], reason: &str) {
    let mut child = start(hook, arguments);
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let place = format!("{} {arguments:?}: {said}", hook.display());
    assert_eq!(ended.status.code(), Some(2), "{place}");
    assert!(said.contains("cannot start `portcullis`") && said.contains(reason), "{place}");
    assert!(ended.stdout.is_empty(), "{place}");
}

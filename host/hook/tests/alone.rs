//! The small hook without the other program: it refuses, and says what is missing.

#![allow(clippy::unwrap_used, reason = "a program of tests")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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

fn refuse(hook: &Path, arguments: &[&str], reason: &str) {
    let mut child = Command::new(hook)
        .args(arguments)
        .env_clear()
        .env("HOME", hook.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let place = format!("{} {arguments:?}: {said}", hook.display());
    assert_eq!(ended.status.code(), Some(2), "{place}");
    assert!(said.contains("cannot start `portcullis`") && said.contains(reason), "{place}");
    assert!(ended.stdout.is_empty(), "{place}");
}

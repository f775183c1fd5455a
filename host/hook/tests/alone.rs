//! The small hook without the other program: it refuses, and says what is missing.

#![allow(clippy::unwrap_used, reason = "a program of tests")]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn without_the_other_program_it_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let hook = folder.path().join("portcullis-hook");
    fs::copy(env!("CARGO_BIN_EXE_portcullis-hook"), &hook).unwrap();
    for arguments in [&["hook", "claude"][..], &["hook"], &["doctor"], &[]] {
        let mut child = Command::new(&hook)
            .args(arguments)
            .env_clear()
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"{}").unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("cannot start `portcullis`"), "{arguments:?}: {said}");
        assert!(ended.stdout.is_empty(), "{arguments:?}");
    }
}

//! Tests the command line's help. As an integration test it also makes cargo build the program that
//! the workspace's other tests drive.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(arguments)
        .env("PORTCULLIS_HOME", "/nonexistent/portcullis")
        .output()
        .unwrap()
}

#[test]
fn every_command_explains_itself() {
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    for command in [
        "demo",
        "hook",
        "review",
        "replay",
        "explain",
        "audit",
        "plugin",
        "doctor",
        "status",
        "maintain",
        "completions",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "`{command}` is missing in:\n{help}");
        let output = run(&[command, "--help"]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{command}");
    }
    assert!(help.contains("Exit codes:"));
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, named) in [
        (&["hok"][..], "hook"),
        (&["hook"][..], "<AGENT>"),
        (&["hook", "emacs"][..], "claude"),
        (&["audit", "shw"][..], "show"),
        (&["replay"][..], "<FILES>"),
        (&["review", "--comand", "ls"][..], "--command"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(named), "{arguments:?} should name {named}: {said}");
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert!(String::from_utf8(output.stdout).unwrap().contains("portcullis"), "{shell}");
    }
}

//! Tests how the second program is started. As an integration test it also makes cargo build the
//! program that the workspace's other tests start through the first one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn only_the_first_program_of_the_same_version_starts_it() {
    for (arguments, code, said) in [
        (&[VERSION, "new", "--list"][..], 0, "risk-calculator"),
        (&["--version"], 0, VERSION),
        (&["0.0.9", "new", "--list"], 1, "was started by `portcullis` 0.0.9: install `portcullis`"),
        (&["99.0.0\u{1b}[2J", "new", "--list"], 1, "99.0.0\\u{1b}[2J"),
        (&["new", "--list"], 1, "run `portcullis plugin new`"),
        (&[VERSION, "catalogue"], 2, "Usage: portcullis"),
        (&[], 1, "run `portcullis plugin new`"),
        (&[VERSION], 2, "Usage: portcullis-plugin <COMMAND>"),
        (&[VERSION, "test"], 2, "unrecognized subcommand"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_portcullis-plugin")).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}

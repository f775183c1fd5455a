//! Tests how the hub's program is started. As an integration test it also makes cargo build the
//! program that the workspace's other tests start through the first one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn only_the_first_program_of_the_same_version_starts_it() {
    for (arguments, code, said) in [
        (&["--version"][..], 0, VERSION),
        (&[VERSION, "init", "--help"], 0, "Usage: portcullis-hub init"),
        (&["0.0.9", "machines"], 1, "was started by `portcullis` 0.0.9: install both from one"),
        (&["99.0.0\u{1b}[2J", "machines"], 1, "99.0.0\\u{1b}[2J"),
        (&["machines"], 1, "run `portcullis hub`"),
        (&[], 1, "run `portcullis hub`"),
        (&[VERSION], 2, "Usage: portcullis-hub <COMMAND>"),
        (&[VERSION, "join"], 2, "unrecognized subcommand"),
        (&[VERSION, "machines", "--folder", "/nowhere"], 1, "there is no `/nowhere/hub.toml`"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_portcullis-hub")).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}

//! Programs that accept a message, and programs that misbehave.

use crate::support::{expect, message, send, send_within};
use portcullis_notify::{Channel, Notification, ProgramChannel};
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns a channel that runs a script, with a path as its `$1`.
fn sh(script: &str, path: &Path) -> Channel {
    let arguments = vec!["-c".into(), script.into(), "sh".into(), path.display().to_string()];
    Channel::Program(ProgramChannel { path: "/bin/sh".into(), arguments })
}

#[test]
fn a_program_gets_the_message_and_little_else() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let hostile =
        Notification { title: "$(touch /x) `id` ; rm -rf \"'\\\n--help".into(), ..message() };
    expect(&send(&sh("cat > \"$1\"", &out), &hostile), "delivered", &["/bin/sh"], "cat");
    let received: Notification = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    assert_eq!(
        received,
        Notification { title: "$(touch /x) `id` ; rm -rf \"'\\\\n--help".into(), ..message() }
    );

    expect(
        &send(&sh("pwd > \"$1\"; /usr/bin/env >> \"$1\"", &out), &message()),
        "delivered",
        &[],
        "env",
    );
    let seen = fs::read_to_string(&out).unwrap();
    let mut names: Vec<_> = seen
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    // Variables of the shell itself.
    names.retain(|name| !matches!(*name, "PWD" | "OLDPWD" | "SHLVL" | "_"));
    names.sort_unstable();
    assert_eq!((seen.lines().next(), names), (Some("/"), vec!["HOME", "PATH"]));
    assert!(seen.contains("HOME=/home/of/a/test\n"), "{seen}");

    let literal = ProgramChannel {
        path: "/bin/echo".into(),
        arguments: vec!["$(id)".into(), "; false".into()],
    };
    expect(&send(&Channel::Program(literal), &message()), "delivered", &["/bin/echo"], "no shell");
}

#[test]
fn exit_codes_of_programs_have_meanings() {
    let folder = tempfile::tempdir().unwrap();
    let table: &[(&str, &str, &[&str])] = &[
        ("exit 0", "delivered", &["accepted it"]),
        ("exec <&-; exit 0", "delivered", &[]),
        ("exit 1", "retry", &["ended with 1"]),
        ("echo ' no route\n' >&2; exit 75", "retry", &["ended with 75: \"no route\""]),
        ("echo usage >&2; exit 64", "give up", &["ended with 64: \"usage\""]),
        ("exit 78", "give up", &[]),
        ("exit 79", "retry", &[]),
        ("/nowhere", "give up", &["ended with 127"]),
        ("kill -9 $$", "retry", &["was ended by a signal"]),
        ("printf '\\033[2J\\n\"`' >&2; exit 1", "retry", &["\\u{1b}[2J\\n''"]),
        ("head -c 20000000 /dev/zero >&2; exit 3", "retry", &["ended with 3"]),
        ("head -c 20000000 /dev/zero; exit 0", "delivered", &[]),
        // It leaves its group and holds the pipe open; nobody waits for it.
        ("setsid sleep 5 & exit 3", "retry", &["ended with 3"]),
    ];
    for (script, begins, holds) in table {
        expect(&send(&sh(script, folder.path()), &message()), begins, holds, script);
    }
}

#[test]
fn unstartable_programs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = crate::support::file(folder.path(), "plain", b"#!/bin/sh\n", 0o644);
    let table = [
        ("sh".into(), "is not an absolute path"),
        ("/nowhere/at/all".into(), "there is no program"),
        (folder.path().to_owned(), "there is no program"),
        (plain, "cannot be started"),
    ];
    for (path, why) in table {
        let what = path.display().to_string();
        expect(
            &send(&Channel::Program(ProgramChannel { path, arguments: Vec::new() }), &message()),
            "give up",
            &[why],
            &what,
        );
    }
}

/// No process of its group is left at the deadline, or after the program's own end.
#[test]
fn nothing_of_a_program_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let table = [
        (
            "hangs",
            "trap '' TERM INT HUP; sleep 1000 & echo $! > \"$1\"; wait; sleep 1000",
            "retry",
            "did not end in time",
        ),
        ("floods", "yes >&2 & echo $! > \"$1\"; yes", "retry", "did not end in time"),
        ("forks and ends", "(sleep 1000 & echo $! > \"$1\"); exit 0", "delivered", "accepted it"),
        ("forks and fails", "(sleep 1000 & echo $! > \"$1\"); exit 1", "retry", "ended with 1"),
    ];
    for (what, script, begins, holds) in table {
        let note = folder.path().join(what.replace(' ', "-"));
        expect(
            &send_within(&sh(script, &note), &message(), Duration::from_secs(3)),
            begins,
            &[holds],
            what,
        );
        let left =
            fs::read_to_string(&note).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();
        assert!(gone(left), "{what}: {left:?} lives");
    }
}

/// Returns true if a process has ended. A killed one may remain a zombie for a moment.
fn gone(process: Pid) -> bool {
    let status = format!("/proc/{}/stat", process.as_raw_nonzero());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        let zombie = || fs::read_to_string(&status).is_ok_and(|line| line.contains(") Z "));
        if test_kill_process(process).is_err() || zombie() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

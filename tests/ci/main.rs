//! The end of a run of `.ci/run`: `.ci/summary` names what failed, and succeeds where nothing did.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a program of tests")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// What a run left, and how the summary of it has to end.
struct Run {
    name: &'static str,
    /// Files of its folder of logs.
    logs: &'static [(&'static str, &'static str)],
    failed_steps: &'static [&'static str],
    good: bool,
    /// Lines that the summary has to hold.
    says: &'static [&'static str],
}

const GOOD_TESTS: (&str, &str) = (
    "workspace.log",
    "test one ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n",
);
const FAILED_TEST: (&str, &str) = (
    "workspace.log",
    "test two ... FAILED\nfailures:\n---- two\nit is 3\nfailures:\n    two\n\
     test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured\n",
);
const NOTHING_FOUND: (&str, &str) = (
    "fuzz.first",
    "fuzz wire: 9 executions in 3 s from --start 1, the slowest 1 ms, nothing found\n",
);

const RUNS: &[Run] = &[
    Run {
        name: "no tests and no fuzzer",
        logs: &[],
        failed_steps: &[],
        good: true,
        says: &["0 passed, 0 failed"],
    },
    Run {
        name: "good tests",
        logs: &[GOOD_TESTS],
        failed_steps: &[],
        good: true,
        says: &["2 passed, 0 failed"],
    },
    Run {
        name: "good tests, and a fuzzer that found nothing",
        logs: &[GOOD_TESTS, NOTHING_FOUND],
        failed_steps: &[],
        good: true,
        says: &["2 passed, 0 failed"],
    },
    Run {
        name: "a fuzzer that found something",
        logs: &[
            GOOD_TESTS,
            NOTHING_FOUND,
            ("fuzz.second", "fuzz bundle: this input ends in a panic\n"),
        ],
        failed_steps: &["fuzz"],
        good: false,
        says: &[
            "fuzz bundle: this input ends in a panic",
            "failed steps: fuzz",
            "2 passed, 0 failed",
        ],
    },
    Run {
        name: "a failed test beside good ones",
        logs: &[GOOD_TESTS, ("outside.log", FAILED_TEST.1)],
        failed_steps: &["outside"],
        good: false,
        says: &["it is 3", "failed: two", "failed steps: outside", "6 passed, 1 failed"],
    },
    Run {
        name: "a test that passed when it ran again",
        logs: &[FAILED_TEST, ("again", "two\n")],
        failed_steps: &[],
        good: true,
        says: &["passed only when run again, alone: two", "5 passed, 0 failed"],
    },
    Run {
        name: "a test that passed when it ran again, beside one that did not",
        logs: &[FAILED_TEST, ("again", "two\n"), ("outside.log", FAILED_TEST.1)],
        failed_steps: &["outside"],
        good: false,
        says: &["passed only when run again, alone: two", "9 passed, 1 failed"],
    },
    Run {
        name: "a failed test in a step that says that it succeeded",
        logs: &[(
            "workspace.log",
            "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured\n",
        )],
        failed_steps: &[],
        good: false,
        says: &["4 passed, 1 failed"],
    },
    Run {
        name: "a test program that a limit of time ended",
        logs: &[(
            "workspace.log",
            "     Running cli/main.rs (target/cli-1)\ntest one ... ok\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; finished in 41.27s\n     \
             Running clients/main.rs (target/clients-2)\ntest two ... ok\n",
        )],
        failed_steps: &["tests"],
        good: false,
        says: &[
            "did not end: Running clients/main.rs (target/clients-2)",
            "== the slowest test programs, in seconds: 41 Running cli/main.rs",
            "2 passed, 0 failed",
        ],
    },
    Run {
        name: "a program that is not a test",
        logs: &[GOOD_TESTS, ("demo.log", "     Running `target/release/portcullis demo`\n")],
        failed_steps: &[],
        good: true,
        says: &["2 passed, 0 failed"],
    },
    Run {
        name: "a bench",
        logs: &[
            GOOD_TESTS,
            ("bench.log", "     Running benches/hook.rs (target/hook-3)\nsh 0.8 ms\n"),
        ],
        failed_steps: &[],
        good: true,
        says: &["2 passed, 0 failed"],
    },
    Run {
        name: "how long the steps took",
        logs: &[GOOD_TESTS, ("times", "tools 4\ntests 1900\n")],
        failed_steps: &[],
        good: true,
        says: &["== seconds: tools 4 tests 1900"],
    },
    Run {
        name: "a failed step without tests",
        logs: &[GOOD_TESTS],
        failed_steps: &["clippy", "book"],
        good: false,
        says: &["failed steps: clippy book", "2 passed, 0 failed"],
    },
    Run {
        name: "a skipped test",
        logs: &[GOOD_TESTS, ("plugins.log", "test go ... ignored, there is no go\n")],
        failed_steps: &[],
        good: false,
        says: &["skipped, but should run:", "test go ... ignored, there is no go"],
    },
    Run {
        name: "a helper that a test starts",
        logs: &[
            GOOD_TESTS,
            ("plugins.log", "test writer ... ignored, the other side of `processes`\n"),
        ],
        failed_steps: &[],
        good: true,
        says: &["2 passed, 0 failed"],
    },
];

#[test]
fn a_summary_fails_exactly_where_something_failed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(".ci/summary");
    let mut wrong = Vec::new();
    for run in RUNS {
        let logs = tempfile::tempdir().unwrap();
        for (name, text) in run.logs {
            fs::write(logs.path().join(name), text).unwrap();
        }
        let output = Command::new(&script)
            .arg(logs.path())
            .arg("60")
            .args(run.failed_steps)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let missing: Vec<_> =
            run.says.iter().filter(|line| !said.lines().any(|said| said == **line)).collect();
        // A fault that a second try took back is named, too.
        let again = run.logs.iter().any(|(name, _)| *name == "again");
        let names_a_fault = !again && (said.contains("did not end: ") || said.contains("failed: "));
        if output.status.success() != run.good || !missing.is_empty() || run.good && names_a_fault {
            wrong.push(format!("{}: {}, without {missing:?}:\n{said}", run.name, output.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! A guest that uses the standard library (`tests/hostile/wasi`): WASI answers it, and gives it nothing.

use crate::guests::{action, context, file_entry, no_details, set};
use portcullis_core::action::Action;
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::{Answer, Plugins};
use portcullis_engine::{Engine, Tier, inspect};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest as a component; none where the target is not installed, which only CI holds against us.
fn guest() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hostile/wasi/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--target", "wasm32-wasip2", "--manifest-path"]).arg(source);
    cargo.arg("--target-dir").arg(&target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let built = cargo.output().expect("cargo runs");
    if built.status.success() {
        return Some(target.join("wasm32-wasip2/release/wasi_guest.wasm"));
    }
    let words = String::from_utf8_lossy(&built.stderr);
    let no_target = words.contains("can't find crate for `core`") || words.contains("target may not be installed");
    assert!(no_target && std::env::var_os("CI").is_none(), "the guest does not build: {words}");
    eprintln!("skipped: the target wasm32-wasip2 is not installed (`rustup target add wasm32-wasip2`)");
    None
}

struct Case {
    tries: &'static str,
    /// What it finds, or the fault that it ends in.
    ends: Result<&'static str, FaultKind>,
    /// What the finding or the fault's detail holds.
    says: &'static str,
    /// What the log holds.
    logs: &'static str,
}

const fn finds(tries: &'static str, finding: &'static str) -> Case {
    Case { tries, ends: Ok(finding), says: "", logs: "" }
}

const fn faults(tries: &'static str, kind: FaultKind, says: &'static str, logs: &'static str) -> Case {
    Case { tries, ends: Err(kind), says, logs }
}

const CASES: &[Case] = &[
    finds("environment", "0 variables, 0 arguments"),
    finds("input", "false"),
    finds("clock", "Ok(1700000000000)"),
    finds("sleep", "0ns"),
    finds("open and go on", "false"),
    finds("write", "false"),
    Case { tries: "print", ends: Ok("done"), says: "", logs: "stdio: printed\nstdio: complained" },
    faults("panic", FaultKind::Trap, "the sky fell", "panicked at"),
    faults("exit", FaultKind::Trap, "it ended itself", ""),
    faults("abort", FaultKind::Trap, "unreachable", ""),
    faults("open and give up", FaultKind::MissingGrant, "looked for files (`wasi:filesystem`), which are not granted", "panicked at"),
    faults("open and say so", FaultKind::MissingGrant, "looked for files (`wasi:filesystem`), which are not granted", ""),
    faults("something else", FaultKind::Declined, "nothing that this guest can try", ""),
    faults("print a lot", FaultKind::OutOfFuel, "units of fuel", "log lines dropped"),
];

#[test]
fn a_std_guest_gets_answers_and_nothing_else() {
    let Some(path) = guest() else { return };
    let found = inspect(&std::fs::read(&path).unwrap()).unwrap();
    let inert: Vec<&str> = found.imports.iter().filter(|import| import.tier == Tier::Inert).map(|import| import.name.as_str()).collect();
    assert!(inert.iter().any(|name| name.starts_with("wasi:filesystem/types@0.2")), "{inert:?}");

    let engine = Engine::new(None).unwrap();
    let mut set = set(&engine, vec![file_entry("guest", path)]);
    let mut ask = |tool: &str| -> Answer<_> {
        let action = Action { tool: tool.into(), ..action() };
        set.assess(&action, &context(), &no_details).remove(0)
    };
    for case in CASES {
        check(case, &ask(case.tries));
    }
    // Hash maps are seeded, and the seed is the same each time.
    let order = |answer: Answer<portcullis_core::finding::Assessment>| answer.result.unwrap().rationality.unwrap().issues;
    assert_eq!(order(ask("hash")), order(ask("hash")));
    assert_eq!(ask("hash").fuel, ask("hash").fuel);
}

fn check(case: &Case, answer: &Answer<portcullis_core::finding::Assessment>) {
    let name = case.tries;
    match (&answer.result, case.ends) {
        (Ok(found), Ok(expected)) => assert_eq!(found.rationality.as_ref().unwrap().issues, [expected], "{name}"),
        (Err(fault), Err(kind)) => {
            assert_eq!(fault.kind, kind, "{name}: {fault}");
            assert!(fault.detail.contains(case.says), "{name}: {fault}");
        }
        (result, _) => panic!("{name}: {result:?}"),
    }
    let log = answer.log.join("\n");
    assert!(log.contains(case.logs), "{name}: {log}");
    assert!(answer.log.len() <= 65 && log.len() <= 9 * 1024, "{name}: {} lines", answer.log.len());
}

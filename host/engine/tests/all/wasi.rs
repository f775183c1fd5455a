//! A guest that uses the standard library (`tests/hostile/wasi`): WASI answers it, and gives it no
//! access.

use crate::guests::{action, context, file_entry, no_details, set};
use portcullis_core::action::Action;
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::{PluginResponse, Plugins};
use portcullis_engine::{
    Engine, GrantedFolder, Grants, Limits, PluginSpec, Random, Tier, inspect_component,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn guest() -> Option<PathBuf> {
    built("wasi")
}

/// Returns a guest of `tests/hostile` as a component; none if the target is not installed, which is
/// an error only in CI.
pub(crate) fn built(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../tests/hostile/{name}/Cargo.toml"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo
        .args(["build", "--release", "--locked", "--target", "wasm32-wasip2", "--manifest-path"])
        .arg(source);
    cargo.arg("--target-dir").arg(&target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"]
    {
        cargo.env_remove(name);
    }
    let built = cargo.output().expect("cargo runs");
    if built.status.success() {
        return Some(target.join(format!("wasm32-wasip2/release/{name}_guest.wasm")));
    }
    let words = String::from_utf8_lossy(&built.stderr);
    let no_target = words.contains("can't find crate for `core`")
        || words.contains("target may not be installed");
    assert!(no_target && std::env::var_os("CI").is_none(), "the guest does not build: {words}");
    eprintln!(
        "skipped: the target wasm32-wasip2 is not installed (`rustup target add wasm32-wasip2`)"
    );
    None
}

struct Case {
    tries: &'static str,
    /// Its finding, or the fault that it ends in.
    ends: Result<&'static str, FaultKind>,
    /// The text that the finding or the fault's detail contains.
    says: &'static str,
    /// The text that the log contains.
    logs: &'static str,
}

const fn finds(tries: &'static str, finding: &'static str) -> Case {
    Case { tries, ends: Ok(finding), says: "", logs: "" }
}

const fn faults(
    tries: &'static str,
    kind: FaultKind,
    says: &'static str,
    logs: &'static str,
) -> Case {
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
    faults(
        "open and give up",
        FaultKind::MissingGrant,
        "looked for files (`wasi:filesystem`), which are not granted",
        "panicked at",
    ),
    faults(
        "open and say so",
        FaultKind::MissingGrant,
        "looked for files (`wasi:filesystem`), which are not granted",
        "",
    ),
    faults("something else", FaultKind::Declined, "nothing that this guest can try", ""),
    faults("print a lot", FaultKind::OutOfFuel, "units of fuel", "log lines dropped"),
];

#[test]
fn a_std_guest_gets_answers_and_nothing_else() {
    let Some(path) = guest() else { return };
    let found = inspect_component(&std::fs::read(&path).unwrap()).unwrap();
    let inert: Vec<&str> = found
        .imports
        .iter()
        .filter(|import| import.tier == Tier::Inert)
        .map(|import| import.name.as_str())
        .collect();
    assert!(inert.iter().any(|name| name.starts_with("wasi:filesystem/types@0.2")), "{inert:?}");

    let place = tempfile::tempdir().unwrap();
    let empty = GrantedFolder { path: place.path().to_owned(), shown: "/empty".into() };
    let folder = Grants { directories: vec![empty], ..Grants::default() };
    let [without, with] =
        [Grants::default(), folder].map(|grants| check_all(path.clone(), &grants));
    // A call into the host costs the same, whoever answers it.
    assert!(without.abs_diff(with) < without / 20, "{without} units of fuel, {with} with a folder");
}

/// Checks all cases; where a folder is granted, those that are faults for want of one are others.
/// Returns the fuel of a thousand calls into the host.
fn check_all(path: PathBuf, grants: &Grants) -> u64 {
    let engine = Engine::new(None).unwrap();
    let entry = PluginSpec { grants: Arc::new(grants.clone()), ..file_entry("guest", path) };
    let mut set = set(&engine, vec![entry]);
    let mut ask = |tool: &str| -> PluginResponse<_> {
        let action = Action { tool: tool.into(), ..action() };
        set.assess(&action, &context(), &no_details).remove(0)
    };
    let same = |case: &&Case| {
        grants.directories.is_empty() || !matches!(case.ends, Err(FaultKind::MissingGrant))
    };
    for case in CASES.iter().filter(same) {
        check(case, &ask(case.tries));
    }
    // Hash maps are seeded, and the seed is the same each time.
    let order = |answer: PluginResponse<portcullis_core::finding::Assessment>| {
        answer.result.unwrap().rationality.unwrap().issues
    };
    assert_eq!(order(ask("hash")), order(ask("hash")));
    assert_eq!(ask("hash").fuel, ask("hash").fuel);
    ask("waited").fuel
}

/// Returns a folder to grant: files, links that lead out in each way, a pipe, a file with another
/// name elsewhere.
fn folder() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let (inside, outside) = (place.path().join("in"), place.path().join("out"));
    std::fs::create_dir_all(inside.join("sub")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(inside.join("a.txt"), "alpha").unwrap();
    std::fs::write(inside.join("sub/b.txt"), "beta").unwrap();
    std::fs::write(inside.join("big"), vec![b'x'; 3 << 20]).unwrap();
    std::fs::write(outside.join("secret"), SECRET).unwrap();
    std::fs::hard_link(outside.join("secret"), inside.join("linked")).unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, inside.join(name)).unwrap();
    link("../out/secret", "up");
    link(outside.join("secret").to_str().unwrap(), "absolute");
    link("../out", "folder");
    link("sub/b.txt", "fine");
    link("loop", "loop");
    assert!(Command::new("mkfifo").arg(inside.join("pipe")).status().unwrap().success());
    place
}

const SECRET: &str = "the canary sings";

/// Operations in the granted folder `/in`: the operation, its result, and the refusal on record.
const READS: &[(&str, &str, &str)] = &[
    ("read /in/a.txt", "\"alpha\"", ""),
    ("read /in/sub/b.txt", "\"beta\"", ""),
    ("read /in/sub/../a.txt", "\"alpha\"", ""),
    ("read /in/fine", "\"beta\"", ""),
    ("size /in/a.txt", "(false, 5)", ""),
    ("size /in/sub", "(true", ""),
    ("list /in/sub", "[\"b.txt\"]", ""),
    ("follow /in/fine", "\"sub/b.txt\"", ""),
    ("length /in/big", "3145728", ""),
    ("read /in/none", "NotFound", ""),
    // paths that lead out of it
    ("read /in/../out/secret", "PermissionDenied", "leads out"),
    ("read /in/up", "PermissionDenied", "leads out"),
    ("read /in/absolute", "PermissionDenied", "leads out"),
    ("read /in/folder/secret", "PermissionDenied", "leads out"),
    ("list /in/folder", "PermissionDenied", "leads out"),
    ("list /in/..", "PermissionDenied", "leads out"),
    ("size /in/../out/secret", "PermissionDenied", "leads out"),
    ("follow /in/../out/secret", "PermissionDenied", "leads out"),
    ("read /in/linked", "PermissionDenied", "another name"),
    ("read /in/pipe", "PermissionDenied", "neither a file"),
    ("read /in/loop", "", ""),
    ("read /etc/passwd", "", ""),
    // nothing can be changed
    ("write /in/a.txt", "ReadOnlyFilesystem", "only be read"),
    ("write /in/new", "ReadOnlyFilesystem", "only be read"),
    ("append /in/a.txt", "ReadOnlyFilesystem", "only be read"),
    ("remove /in/a.txt", "ReadOnlyFilesystem", ""),
    ("make /in/new", "ReadOnlyFilesystem", ""),
    ("move /in/a.txt", "ReadOnlyFilesystem", ""),
    // bounds
    ("many /in/a.txt", "", ""),
    ("over /in/big", "", "8 MiB"),
];

#[test]
fn a_granted_folder_is_read_and_nothing_else() {
    let Some(path) = guest() else { return };
    let place = folder();
    let inside = GrantedFolder { path: place.path().join("in"), shown: "/in".into() };
    let grants = Arc::new(Grants { directories: vec![inside], ..Grants::default() });
    let limits = Limits { fuel: 2_000_000_000, ..Limits::third_party() };
    let engine = Engine::new(None).unwrap();
    let mut set = set(&engine, vec![PluginSpec { grants, limits, ..file_entry("guest", path) }]);
    for (tries, finds, refused) in READS {
        let answer = set
            .assess(&Action { tool: (*tries).into(), ..action() }, &context(), &no_details)
            .remove(0);
        let found = match &answer.result {
            Ok(found) => found.rationality.as_ref().unwrap().issues.join(", "),
            Err(fault) => panic!("{tries}: {fault}"),
        };
        assert!(found.contains(finds) && !found.contains(SECRET), "{tries}: {found}");
        let noted = format!("{:?}", answer.uses);
        assert!(
            refused.is_empty()
                || answer
                    .uses
                    .iter()
                    .any(|used| used.refused.as_ref().is_some_and(|why| why.contains(refused))),
            "{tries}: {noted}"
        );
    }
    assert_eq!(std::fs::read_to_string(place.path().join("in/a.txt")).unwrap(), "alpha");
    assert!(!place.path().join("in/new").exists());
}

/// A file that is repeatedly swapped for a link out of the folder while a guest reads it.
#[test]
fn a_race_does_not_lead_out_of_a_granted_folder() {
    let Some(path) = guest() else { return };
    let place = folder();
    let (file, secret) = (place.path().join("in/a.txt"), place.path().join("out/secret"));
    let done = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (done, spare) = (Arc::clone(&done), place.path().join("spare"));
        move || {
            let mut swaps = 0_u32;
            while !done.load(Ordering::Relaxed) {
                match swaps % 3 {
                    0 => std::os::unix::fs::symlink(&secret, &spare).unwrap(),
                    1 => std::fs::hard_link(&secret, &spare).unwrap(),
                    _ => std::fs::write(&spare, "alpha").unwrap(),
                }
                std::fs::rename(&spare, &file).unwrap();
                // Renaming one name of a file to another name of it does nothing.
                let _ = std::fs::remove_file(&spare);
                // Without a pause the file system lets the reader in after the same one of the
                // three each time.
                std::thread::sleep(std::time::Duration::from_millis(1));
                swaps += 1;
            }
            swaps
        }
    });
    let inside = GrantedFolder { path: place.path().join("in"), shown: "/in".into() };
    let grants = Arc::new(Grants { directories: vec![inside], ..Grants::default() });
    let engine = Engine::new(None).unwrap();
    let mut set = set(&engine, vec![PluginSpec { grants, ..file_entry("guest", path) }]);
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..500 {
        let answer = set
            .assess(&Action { tool: "read /in/a.txt".into(), ..action() }, &context(), &no_details)
            .remove(0);
        let found = answer.result.as_ref().unwrap().rationality.as_ref().unwrap().issues.join(", ");
        assert!(!found.contains(SECRET), "{found}");
        let why = answer.uses.iter().find_map(|used| used.refused.clone()).unwrap_or_default();
        *seen.entry(format!("{found} {why}")).or_insert(0) += 1;
    }
    done.store(true, Ordering::Relaxed);
    let swaps = swapping.join().unwrap();
    let read = seen.keys().any(|found| found.contains("alpha"));
    assert!(swaps > 50 && read && seen.len() > 1, "{swaps} swaps, {seen:?}");
}

#[test]
fn clocks_randomness_and_variables_are_granted_one_by_one() {
    let Some(path) = guest() else { return };
    let named = Grants { environment: vec![("CI".into(), "yes".into())], ..Grants::default() };
    let cases: [(&str, Grants, &str, &str); 7] = [
        ("variables", Grants::default(), "[]", ""),
        ("variables", named, "[(\"CI\", \"yes\")]", "environment"),
        ("this year", Grants::default(), "false", ""),
        ("this year", Grants { clocks: true, ..Grants::default() }, "true", "clocks"),
        ("waited", Grants::default(), "false", ""),
        ("waited", Grants { clocks: true, ..Grants::default() }, "true", "clocks"),
        ("sleep", Grants { clocks: true, ..Grants::default() }, "", "clocks"),
    ];
    let engine = Engine::new(None).unwrap();
    let ask = |tries: &str, grants: &Grants| {
        let entry =
            PluginSpec { grants: Arc::new(grants.clone()), ..file_entry("guest", path.clone()) };
        set(&engine, vec![entry])
            .assess(&Action { tool: tries.into(), ..action() }, &context(), &no_details)
            .remove(0)
    };
    for (tries, grants, finds, used) in cases {
        let answer = ask(tries, &grants);
        let found = answer.result.unwrap().rationality.unwrap().issues.join(", ");
        assert!(found.contains(finds), "{tries} {grants:?}: {found}");
        let uses: Vec<&str> = answer.uses.iter().map(|one| one.grant.as_str()).collect();
        assert_eq!(uses.first().copied().unwrap_or_default(), used, "{tries} {grants:?}");
    }
    let order = |random| {
        ask("hash", &Grants { random, ..Grants::default() })
            .result
            .unwrap()
            .rationality
            .unwrap()
            .issues
    };
    assert_eq!(order(Random::Seeded(1)), order(Random::Seeded(1)));
    let seeded: std::collections::BTreeSet<_> =
        (0..8).map(|seed| order(Random::Seeded(seed))).collect();
    let system: std::collections::BTreeSet<_> = (0..8).map(|_| order(Random::System)).collect();
    assert!(seeded.len() > 1 && system.len() > 1, "{seeded:?} {system:?}");
}

fn check(case: &Case, answer: &PluginResponse<portcullis_core::finding::Assessment>) {
    let name = case.tries;
    match (&answer.result, case.ends) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.rationality.as_ref().unwrap().issues, [expected], "{name}")
        }
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

//! A disk that is really full: a small one, in a separate mount namespace.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{answer, answers, orders, record};
use portcullis_store::{Durability, Home, NewRecord, Store, StoreError};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

fn open(home: &Path) -> Result<Store, StoreError> {
    Store::open_database(&Home::open_root(home)?, Durability::Process)
}

fn is_full<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    match outcome {
        Err(error @ StoreError::Full { .. }) => {
            assert!(error.to_string().contains("no room left to write"), "{error}")
        }
        other => panic!("{other:?}"),
    }
}

/// Takes all the room that is left.
fn take_all(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for size in [4096, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

fn prune(disk: &Path) {
    let home = disk.join("home");
    let mut store = open(&home).unwrap();
    let large =
        |n: u64| NewRecord { at: n, document: "x".repeat(3_000), ..record(&format!("r{n}")) };
    for n in (1..=80).step_by(20) {
        store.append_records((n..n + 20).map(large).collect()).unwrap();
        store.checkpoint_log().unwrap();
    }
    take_all(&disk.join("ballast"));
    is_full(store.prune_before(70, 100));
    assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, None);
    drop(store);
    let mut store = open(&home).unwrap();
    is_full((81..90).try_for_each(|n| store.append_records(vec![large(n)]).map(drop)));
    fs::remove_file(disk.join("ballast")).unwrap();
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.first_bad, found.head.0 >= 80), (None, true));
    store.prune_before(70, 100).unwrap();
    assert_eq!(store.start().unwrap().unwrap().sequence, 69);
    store.append_records(vec![record("after")]).unwrap();
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.first_bad, found.beside), (None, None));
}

fn migrate(disk: &Path) {
    let home = disk.join("home");
    fs::create_dir(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    for name in ["journal.db", "journal.db-wal", "key"] {
        fs::copy(from.join(name), home.join(name)).unwrap();
        fs::set_permissions(home.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    // Needed by SQLite to read the log, so that the migration is the step that runs out of space.
    let reader = rusqlite::Connection::open(home.join("journal.db")).unwrap();
    let format =
        || -> i64 { reader.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap() };
    assert_eq!(format(), 1);
    fs::create_dir(home.join("cache")).unwrap();
    fs::write(home.join("lock"), "").unwrap();
    take_all(&disk.join("ballast"));
    is_full(open(&home));
    assert_eq!(format(), 1);
    fs::remove_file(disk.join("ballast")).unwrap();
    let found = open(&home).unwrap().verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad, format()), (9, None, 7));
}

#[test]
#[ignore = "the other side of `nothing_is_lost_on_a_full_disk`"]
fn on_a_small_disk() {
    let Some((disk, name)) = orders() else { return };
    match name.as_str() {
        "prune" => prune(Path::new(&disk)),
        "migrate" => migrate(Path::new(&disk)),
        other => panic!("{other}"),
    }
    answer("done");
}

#[test]
fn nothing_is_lost_on_a_full_disk() {
    let mount = "mount -t tmpfs -o size=1m,mode=700 none \"$STORE_TEST_HOME\" || { echo answer no mount; exit 0; }; exec \"$@\"";
    for name in ["prune", "migrate"] {
        let disk = tempfile::tempdir().unwrap();
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", mount, "sh"]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "on_a_small_disk", "--ignored", "--nocapture"]);
        command
            .env("STORE_TEST_HOME", disk.path())
            .env("STORE_TEST_NAME", name)
            .stdin(Stdio::null());
        let output = command.output();
        let said = output.as_ref().map(|output| answers(&output.stdout)).unwrap_or_default();
        match output {
            Ok(output) if output.status.success() && said == ["done"] => {}
            Ok(output) if !said.contains(&"no mount".to_owned()) && !output.stdout.is_empty() => {
                panic!(
                    "{name}: {}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                )
            }
            _ => eprintln!("skipped: this system lets us mount nothing"),
        }
    }
}

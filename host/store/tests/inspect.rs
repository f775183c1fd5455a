//! Inspecting without changes, opening without creating, and quarantining a journal.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, answer, answers, as_nobody, commit, grant, orders, record, spawn, work};
use portcullis_store::{Durability, Home, NewRecord, Store, StoreError, quarantine_journal};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Creates three records in the database, two in the log; a session, an exception and work.
fn filled() -> Place {
    let place = Place::new();
    let mut store = place.store();
    let dated = |id: &str, at| NewRecord { at, ..record(id) };
    store.append_records((1..=4).map(|n| dated(&format!("r{n}"), n)).collect()).unwrap();
    store.prune_before(2, 50).unwrap();
    store.checkpoint_log().unwrap();
    store.commit_review(&store.take_snapshot("s", None).unwrap(), commit("r5")).unwrap();
    store.add_exception(grant("g"), vec![dated("r6", 6)]).unwrap();
    store.enqueue_work(&work("k")).unwrap();
    place
}

/// Reads every file of the home except SQLite's shared memory, which holds no data of its own.
fn contents(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file());
    files
        .filter(|path| !path.ends_with("journal.db-shm"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn facts() {
    let place = filled();
    let before = contents(place.home.path());
    let facts = Store::inspect_journal(&place.home).unwrap();
    assert_eq!((facts.format, facts.records, facts.sessions, facts.head.0), (7, 5, 1, 6));
    assert_eq!(
        (facts.newest_at, facts.start.unwrap().sequence, facts.grants, facts.work, facts.failed),
        (Some(6), 1, 1, 1, 0)
    );
    assert_eq!(facts.damage, None);
    let size = |name: &str| before[&place.home.path().join(name)].len() as u64;
    assert_eq!((facts.size, facts.log_size), (size("journal.db"), size("journal.db-wal")));
    assert_eq!(contents(place.home.path()), before);
}

fn without_log(home: &Path) {
    Store::open_database(&Home::open_root(home).unwrap(), Durability::Process)
        .unwrap()
        .checkpoint_log()
        .unwrap();
    for name in ["journal.db-wal", "journal.db-shm"] {
        fs::remove_file(home.join(name)).unwrap();
    }
}

fn overwrite(home: &Path, at: usize, with: &[u8]) {
    let path = home.join("journal.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(path, bytes).unwrap();
}

/// Creates the home of `tests/format-1`, including its log.
fn old(home: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format-1");
    for name in ["journal.db-shm", "journal.db", "journal.db-wal", "key"] {
        let _of_the_new_one = fs::remove_file(home.join(name));
    }
    for name in ["journal.db", "journal.db-wal", "key"] {
        fs::copy(from.join(name), home.join(name)).unwrap();
        fs::set_permissions(home.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn sql(home: &Path, text: &str) {
    Connection::open(home.join("journal.db")).unwrap().execute_batch(text).unwrap();
}

/// Name, the change to the home, and the result of an inspection, which changes nothing.
type Case = (&'static str, fn(&Path), &'static str);

#[test]
fn existing_files_stay_unchanged() {
    let table: [Case; 17] = [
        ("whole", |_| {}, "format 7, 5 records, 5 left"),
        ("without a log", without_log, "format 7, 5 records, 5 left"),
        (
            "without shared memory",
            |home| fs::remove_file(home.join("journal.db-shm")).unwrap(),
            "format 7, 5 records, 5 left",
        ),
        ("format 1", old, "format 1, 9 records, 9 left"),
        (
            "format 1, other key",
            |home| {
                old(home);
                fs::write(home.join("key"), [7; 32]).unwrap();
            },
            "its anchor does not match",
        ),
        (
            "a page is lost",
            |home| {
                without_log(home);
                overwrite(home, 36, &[0, 0, 0, 9]);
            },
            "format 7, 5 records, damaged",
        ),
        (
            "newer",
            |home| sql(home, "PRAGMA user_version = 9"),
            "was written by a newer portcullis (format 9, this one reads up to 7)",
        ),
        (
            "something else",
            |home| sql(home, "PRAGMA user_version = 0"),
            "it is a database of something else",
        ),
        (
            "noise",
            |home| {
                without_log(home);
                overwrite(home, 0, &[9; 4_000]);
            },
            "is damaged (file is not a database)",
        ),
        (
            "empty",
            |home| fs::write(home.join("journal.db"), "").unwrap(),
            "is damaged (the file is empty)",
        ),
        (
            "missing",
            |home| fs::remove_file(home.join("journal.db")).unwrap(),
            "there is no journal",
        ),
        (
            "a folder",
            |home| {
                fs::remove_file(home.join("journal.db"))
                    .and_then(|()| fs::create_dir(home.join("journal.db")))
                    .unwrap()
            },
            "is not a file",
        ),
        (
            "forged anchor",
            |home| sql(home, "UPDATE anchor SET sequence = 3"),
            "its anchor does not match the home's key",
        ),
        ("no anchor", |home| sql(home, "DELETE FROM anchor"), "its anchor is missing"),
        (
            "forged start",
            |home| sql(home, "UPDATE start SET at = 9"),
            "its start does not match the home's key",
        ),
        (
            "forged failures",
            |home| sql(home, "INSERT INTO breakers VALUES ('slow', '{}', zeroblob(32))"),
            "the failures of the plugin `slow`",
        ),
        (
            "forged exception",
            |home| sql(home, "UPDATE grants SET once = 1"),
            "`g` is not as it was granted",
        ),
    ];
    for (name, spoil, message) in table {
        let place = filled();
        spoil(place.home.path());
        let before = contents(place.home.path());
        let home = Home::open_existing(place.home.path()).unwrap().unwrap();
        let text = match Store::inspect_journal(&home) {
            Ok(facts) => {
                let state = facts.damage.map_or(
                    format!(
                        "{} left",
                        facts.head.0 - facts.start.map_or(0, |start| start.sequence)
                    ),
                    |_| "damaged".into(),
                );
                format!("format {}, {} records, {state}", facts.format, facts.records)
            }
            Err(error) => error.to_string(),
        };
        assert!(text.contains(message), "{name}: {text}");
        assert_eq!(contents(place.home.path()), before, "{name}");
    }
}

#[test]
fn while_others_write_and_while_one_shuts_all_out() {
    let place = filled();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE; DELETE FROM journal").unwrap();
    assert_eq!(
        Store::inspect_journal(&place.home).unwrap().records,
        5,
        "what is not committed is not there"
    );
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let alone = place.raw();
    alone.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(())).unwrap();
    alone.execute_batch("BEGIN IMMEDIATE; DELETE FROM states; COMMIT").unwrap();
    let error = Store::inspect_journal(&place.home).unwrap_err();
    assert!(
        error.to_string().contains("was locked by another process for more than 2 s"),
        "{error}"
    );
}

#[test]
#[ignore = "the other side of `a_home_that_may_not_be_written`"]
fn reader_of_a_read_only_home() {
    let Some((home, name)) = orders() else { return };
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let home = Home::open_root(home).unwrap();
    let mut store = Store::open_database(&home, Durability::Process).unwrap();
    store.append_records(vec![record("a"), record("b")]).unwrap();
    if name != "log" {
        store.checkpoint_log().unwrap();
    }
    drop(store);
    let left = ["journal.db-wal", "journal.db-shm"].map(|file| home.path().join(file));
    match name.as_str() {
        "no log" => left.iter().for_each(|path| fs::remove_file(path).unwrap()),
        "log" => fs::remove_file(&left[1]).unwrap(),
        other => panic!("{other}"),
    }
    mode(&home.journal(), 0o400);
    mode(home.path(), 0o500);
    let before = contents(home.path());
    answer(&match Store::inspect_journal(&home) {
        Ok(facts) => format!("{} records", facts.records),
        Err(error) => error.to_string(),
    });
    answer(&Store::open_database(&home, Durability::Process).unwrap_err().to_string());
    assert_eq!(contents(home.path()), before);
    mode(home.path(), 0o700);
}

#[test]
fn a_home_that_may_not_be_written() {
    let read_only = "is read-only: make it and its folder writable";
    for (name, seen) in [("no log", "2 records"), ("log", read_only)] {
        let folder = tempfile::tempdir().unwrap();
        let output = as_nobody(folder.path(), "reader_of_a_read_only_home", name);
        let said = answers(&output.stdout);
        assert!(
            output.status.success() && said.len() == 2,
            "{name}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(said[0].contains(seen) && said[1].contains(read_only), "{name}: {said:?}");
    }
}

#[test]
fn nothing_is_made_where_nothing_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("home");
    assert!(Home::open_existing(&root).unwrap().is_none());
    assert!(!root.exists());
    let home = Home::open_root(&root).unwrap();
    let error = Store::open_existing(&home, Durability::Process).unwrap_err();
    assert!(
        matches!(error, StoreError::Missing { .. })
            && error.to_string().contains("run `portcullis install AGENT`"),
        "{error}"
    );
    assert!(quarantine_journal(&home, 5).unwrap().is_none());
    assert!(!home.journal().exists());
    Store::open_database(&home, Durability::Process).unwrap();
    Store::open_existing(&Home::open_existing(&root).unwrap().unwrap(), Durability::Process)
        .unwrap();
    fs::remove_file(root.join("key")).unwrap();
    assert!(Home::open_existing(&root).unwrap().is_none());
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(Home::open_existing(&root).unwrap().is_none());
    fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Home::open_existing(&root).unwrap_err(), StoreError::OpenToOthers { .. }));
}

fn ids(database: &Path) -> Vec<String> {
    let db = Connection::open(database).unwrap();
    let mut statement = db.prepare("SELECT id FROM journal ORDER BY sequence").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn quarantined_with_its_log() {
    let place = filled();
    let (first, second) = (quarantine_journal(&place.home, 77).unwrap().unwrap(), {
        place.store().append_records(vec![record("new")]).unwrap();
        overwrite(place.home.path(), 0, &[9; 100]);
        assert!(Store::open_database(&place.home, Durability::Process).is_err());
        quarantine_journal(&place.home, 77).unwrap().unwrap()
    });
    assert_eq!(first, place.home.path().join("journal.db.damaged-77"));
    assert_eq!(
        second,
        place.home.path().join("journal.db.damaged-78"),
        "an earlier one is not written over"
    );
    assert_eq!(ids(&first), ["r2", "r3", "r4", "r5", "r6"], "the log came along");
    let mut store = place.store();
    assert_eq!(store.append_records(vec![record("again")]).unwrap()[0].sequence, 1);
    assert_eq!(ids(&place.home.journal()), ["again"]);
    // A folder or a link in its place is handled in the same way.
    drop(store);
    fs::remove_file(place.home.journal()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", place.home.journal()).unwrap();
    let link = quarantine_journal(&place.home, 79).unwrap().unwrap();
    assert!(fs::symlink_metadata(link).unwrap().is_symlink() && Path::new("/dev/zero").exists());
}

#[test]
#[ignore = "the other side of `killed_in_quarantine`"]
fn mover() {
    let Some((home, name)) = orders() else { return };
    let home = Home::open_root(home).unwrap();
    for n in 0.. {
        let mut store = Store::open_database(&home, Durability::Process).unwrap();
        for part in ["a", "b"] {
            let id = format!("{name}-{n}{part}");
            store.append_records(vec![record(&id)]).unwrap();
            answer(&id);
        }
        drop(store);
        quarantine_journal(&home, n).unwrap().unwrap();
    }
}

#[test]
fn killed_in_quarantine() {
    let place = Place::new();
    let mut acknowledged = Vec::new();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..25 {
        let mut child = spawn("mover", place.home.path(), &format!("r{round}"));
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(4_000 + seed % 100_000));
        child.kill().unwrap();
        acknowledged.extend(answers(&child.wait_with_output().unwrap().stdout));
        assert!(
            Store::open_or_recreate(&place.home, Durability::Process)
                .unwrap()
                .verify_chain(|_| {})
                .unwrap()
                .is_intact()
        );
    }
    let files = fs::read_dir(place.home.path()).unwrap().map(|entry| entry.unwrap().path());
    let databases = files.filter(|path| {
        path.file_name().unwrap().to_str().is_some_and(|name| {
            name.starts_with("journal.db") && !name.contains('-')
                || name.starts_with("journal.db.damaged-")
                    && !name.ends_with("-wal")
                    && !name.ends_with("-shm")
        })
    });
    let kept: Vec<String> = databases.flat_map(|path| ids(&path)).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|id| !kept.contains(id)).collect();
    assert!(
        lost.is_empty() && acknowledged.len() > 20,
        "{} acknowledged, lost: {lost:?}",
        acknowledged.len()
    );
}

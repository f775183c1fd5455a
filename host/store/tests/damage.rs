//! Homes and databases that cannot be used: each gives one line that names the subject and the fix.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, commit, record};
use portcullis_store::{Durability, Home, Store, StoreError};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn permissions(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Name, the damage to the home or database, part of the message.
type Case = (&'static str, fn(&Path), &'static str);

/// Opens, reads, writes and verifies; returns the first error.
fn use_all(home: &Path) -> Result<(), StoreError> {
    let home = Home::open_root(home)?;
    let mut store = Store::open_database(&home, Durability::Process)?;
    let snapshot = store.take_snapshot("s", None)?;
    if let Err(portcullis_store::CommitError::Store(error)) =
        store.commit_review(&snapshot, commit("new"))
    {
        return Err(error);
    }
    store.find_record("a")?;
    store.sessions()?;
    store.verify_chain(|_| {}).map(|_| ())
}

fn one_line(error: &StoreError) -> String {
    let text = error.to_string();
    assert!(
        !text.contains(['\n', '\r'])
            && !text.ends_with('.')
            && text.starts_with(|c: char| !c.is_uppercase()),
        "{text}"
    );
    text
}

#[test]
fn a_new_home_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("deep").join("home");
    let home = Home::open_root(&root).unwrap();
    Store::open_database(&home, Durability::Full)
        .unwrap()
        .append_records(vec![record("r")])
        .unwrap();
    for (name, expected) in [
        ("", 0o700),
        ("cache", 0o700),
        ("key", 0o600),
        ("journal.db", 0o600),
        ("journal.db-wal", 0o600),
        ("journal.db-shm", 0o600),
        ("lock", 0o600),
    ] {
        let path = if name.is_empty() { root.clone() } else { root.join(name) };
        assert_eq!(permissions(&path), expected, "{name}");
    }
    let key = fs::read(root.join("key")).unwrap();
    assert_eq!(key.len(), 32);
    assert!(!format!("{home:?}").contains("key"), "{home:?}");
    assert_eq!(Home::open_root(&root).unwrap().derive_key("a"), home.derive_key("a"));
    assert_ne!(home.derive_key("a"), home.derive_key("b"));
}

#[test]
fn homes_that_are_refused() {
    let table: [Case; 9] = [
        (
            "a file",
            |home| fs::remove_dir_all(home).and_then(|()| fs::write(home, "")).unwrap(),
            "is not a folder: move it away",
        ),
        ("open to the group", |home| mode(home, 0o770), "(mode 0770): run `chmod 700 /"),
        ("open to others", |home| mode(home, 0o703), "(mode 0703): run `chmod 700 /"),
        (
            "key that others read",
            |home| mode(&home.join("key"), 0o644),
            "/key` is open to other users (mode 0644): run `chmod 600 /",
        ),
        (
            "key too short",
            |home| fs::write(home.join("key"), "short").unwrap(),
            "/key` has 5 bytes instead of 32",
        ),
        (
            "key empty",
            |home| fs::write(home.join("key"), "").unwrap(),
            "/key` has 0 bytes instead of 32",
        ),
        (
            "key a folder",
            |home| {
                fs::remove_file(home.join("key"))
                    .and_then(|()| fs::create_dir(home.join("key")))
                    .unwrap()
            },
            "/key` is not a file",
        ),
        (
            "cache a file",
            |home| {
                fs::remove_dir(home.join("cache"))
                    .and_then(|()| fs::write(home.join("cache"), ""))
                    .unwrap()
            },
            "/cache` is not a folder",
        ),
        (
            "journal a folder",
            |home| {
                fs::remove_file(home.join("journal.db"))
                    .and_then(|()| fs::create_dir(home.join("journal.db")))
                    .unwrap()
            },
            "/journal.db` is not a file",
        ),
    ];
    for (name, spoil, message) in table {
        let place = Place::new();
        place.store().append_records(vec![record("r")]).unwrap();
        spoil(place.home.path());
        let error = use_all(place.home.path()).unwrap_err();
        assert!(one_line(&error).contains(message), "{name}: {error}");
    }
}

#[test]
fn a_home_of_somebody_else_is_refused() {
    for name in ["", "key"] {
        let place = Place::new();
        let path = if name.is_empty() {
            place.home.path().to_owned()
        } else {
            place.home.path().join(name)
        };
        if chown(&path, Some(12_345), None).is_err() {
            eprintln!("skipped: only root may give a file away");
            return;
        }
        let error = Home::open_root(place.home.path()).unwrap_err();
        assert!(matches!(error, StoreError::ForeignOwner { owner: 12_345, .. }), "{error}");
        assert!(
            one_line(&error).contains("belongs to user 12345, but this is user 0: choose a home of your own or run `chown 0 /"),
            "{error}"
        );
    }
}

#[test]
fn a_path_with_odd_letters_stays_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("it's\na home");
    Home::open_root(&root).unwrap();
    mode(&root, 0o777);
    let text = one_line(&Home::open_root(&root).unwrap_err());
    assert!(
        text.contains(r"it's\na home` is open") && text.contains(r"it'\''s\na home'`"),
        "{text}"
    );
}

#[test]
fn databases_that_are_refused() {
    fn sqlite(path: &Path, text: &str) {
        rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
    }
    fn renew(path: &Path, text: &str) {
        fs::remove_file(path).unwrap();
        sqlite(path, text);
    }
    let table: [Case; 11] = [
        (
            "empty",
            |path| fs::write(path, "").unwrap(),
            "is damaged (the file is empty): restore it from a copy",
        ),
        ("text", |path| fs::write(path, "hello\n").unwrap(), "is damaged (file is not a database)"),
        (
            "noise",
            |path| fs::write(path, noise(1, 8_192)).unwrap(),
            "is damaged (file is not a database)",
        ),
        (
            "half",
            |path| fs::write(path, fs::read(path).unwrap().split_off(6_000)).unwrap(),
            "is damaged (file is not a database)",
        ),
        (
            "cut",
            |path| fs::File::options().write(true).open(path).unwrap().set_len(3_000).unwrap(),
            "is damaged (database disk image is malformed)",
        ),
        (
            "another program's",
            |path| renew(path, "CREATE TABLE t (x)"),
            "is damaged (it is a database of something else)",
        ),
        (
            "newer",
            |path| sqlite(path, "PRAGMA user_version = 8"),
            "was written by a newer portcullis (format 8, this one reads up to 7): upgrade",
        ),
        (
            "no such format",
            |path| sqlite(path, "PRAGMA user_version = -3"),
            "is damaged (there is no format -3)",
        ),
        (
            "without its tables",
            |path| renew(path, "PRAGMA user_version = 7; CREATE TABLE t (x)"),
            "is damaged (no such table: anchor",
        ),
        (
            "of an older format",
            |path| renew(path, "PRAGMA user_version = 1; CREATE TABLE t (x)"),
            "its format is older than the one this home migrated it to",
        ),
        (
            "format 1 without its tables",
            |path| {
                renew(path, "PRAGMA user_version = 1; CREATE TABLE t (x)");
                fs::remove_file(path.with_extension("mark")).unwrap();
            },
            "is damaged (no such table: anchor",
        ),
    ];
    for (name, spoil, message) in table {
        let place = Place::new();
        let path = place.home.journal();
        fill(&place);
        spoil(&path);
        let error = use_all(place.home.path()).unwrap_err();
        let text = one_line(&error);
        assert!(text.contains(message) && text.contains("/journal.db`"), "{name}: {error}");
    }
}

/// Fills the database file itself with records; leaves no log.
fn fill(place: &Place) {
    let mut store = place.store();
    for n in 0..20 {
        store
            .commit_review(&store.take_snapshot("s", None).unwrap(), commit(&format!("r{n}")))
            .unwrap();
    }
    store.checkpoint_log().unwrap();
    drop(store);
    let logless: String =
        place.raw().query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).unwrap();
    assert_eq!(logless, "delete");
    place.raw().query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
}

fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_be_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Any content of a file leads to a result, never a panic. Bytes in database and log are changed at
/// places from a fixed sequence of noise.
#[test]
fn no_content_makes_us_panic() {
    let place = Place::new();
    fill(&place);
    place.store().append_records((0..9).map(|n| record(&format!("log{n}"))).collect()).unwrap();
    let files = ["journal.db", "journal.db-wal"].map(|name| {
        (place.home.path().join(name), fs::read(place.home.path().join(name)).unwrap())
    });
    let mut refused = 0;
    for round in 0..150 {
        for (index, (path, whole)) in files.iter().enumerate() {
            let mut bytes = whole.clone();
            for draw in noise(round * 2 + index as u64, 64).chunks(8) {
                let place = u64::from_be_bytes(draw.try_into().unwrap());
                // Half of them near the start, where the structure is.
                let range = if place & 1 == 0 { 200 } else { bytes.len() as u64 };
                let at = usize::try_from((place >> 8) % range).unwrap();
                bytes[at] = draw[7];
            }
            fs::write(path, bytes).unwrap();
        }
        let _left_over = fs::remove_file(place.home.path().join("journal.db-shm"));
        if let Err(error) = use_all(place.home.path()) {
            one_line(&error);
            refused += 1;
        }
        for (path, whole) in &files {
            fs::write(path, whole).unwrap();
        }
    }
    assert!(refused > 20, "hardly any damage was seen: {refused}");
}

#[test]
fn a_log_without_its_database_is_not_taken_over() {
    let place = Place::new();
    place.store().append_records((0..50).map(|n| record(&format!("old{n}"))).collect()).unwrap();
    fs::remove_file(place.home.journal()).unwrap();
    let error = Store::open_database(&place.home, Durability::Process).unwrap_err();
    assert!(
        one_line(&error)
            .contains("is gone, though this home has had one (`journal.mark` is there)"),
        "{error}"
    );
    let mut store = Store::open_or_recreate(&place.home, Durability::Process).unwrap();
    store.append_records(vec![record("new")]).unwrap();
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad), (1, None));
}

#[test]
fn leftovers_of_dead_creators_are_removed() {
    let place = Place::new();
    let left_over =
        ["journal.db.new", "journal.db.new-wal", ".journal.db.new.draft", ".journal.mark.draft"];
    for name in left_over {
        fs::write(place.home.path().join(name), noise(3, 5_000)).unwrap();
    }
    place.store().append_records(vec![record("r")]).unwrap();
    for name in left_over {
        assert!(!place.home.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_database_that_cannot_be_written() {
    let place = Place::new();
    fill(&place);
    let path = place.home.journal();
    mode(&path, 0o400);
    if fs::File::options().write(true).open(&path).is_ok() {
        eprintln!("skipped: this user writes read-only files");
        return;
    }
    let error = use_all(place.home.path()).unwrap_err();
    assert!(one_line(&error).contains("is read-only: make it and its folder writable"), "{error}");
}

#[test]
fn a_lock_that_is_held_too_long() {
    let place = Place::new();
    let mut store = place.store();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.append_records(vec![record("r")]).unwrap_err();
    assert!(
        one_line(&error).contains("was locked by another process for more than 2 s"),
        "{error}"
    );
    store.take_snapshot("s", None).unwrap();
    let error = store.checkpoint_log().unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    other.execute_batch("COMMIT").unwrap();
    store.checkpoint_log().unwrap();
    store.append_records(vec![record("r")]).unwrap();
}

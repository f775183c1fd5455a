//! Migration from older formats, as written by the earlier versions, to the current one. `format-1`
//! is the home of a process that was killed: six records in the database, three more in its log.
//! `format-2` is another: three records in the database; three more, an exception with its record
//! and queued work in its log.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{answer, answers, orders, record, spawn};
use portcullis_store::{BreakerChange, Commit, Durability, Flaw, Home, SEALED, Store, StoreError};
use rusqlite::{Connection, params};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const RECORDS: u64 = 9;
const FORMAT: i64 = 7;

/// What takes a database of format 7 with plain records back to format 6.
const TO_FORMAT_6: &str = "ALTER TABLE journal DROP COLUMN sealed; ALTER TABLE journal DROP COLUMN erased_at; \
     ALTER TABLE journal DROP COLUMN commitment; ALTER TABLE journal DROP COLUMN key; PRAGMA user_version = 6;";

/// Copies the home of format 1; `log` is true if its log is copied too.
fn old_home(folder: &Path, name: &str, log: bool) -> PathBuf {
    home_of(1, folder, name, log)
}

fn home_of(format: i64, folder: &Path, name: &str, log: bool) -> PathBuf {
    let root = folder.join(name);
    fs::create_dir(&root).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/format-{format}"));
    for file in ["key", "journal.db", "journal.db-wal"] {
        if log || !file.ends_with("-wal") {
            fs::write(root.join(file), fs::read(from.join(file)).unwrap()).unwrap();
            fs::set_permissions(root.join(file), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
    root
}

fn open(root: &Path) -> Result<Store, StoreError> {
    Store::open_database(&Home::open_root(root)?, Durability::Process)
}

fn raw(root: &Path) -> Connection {
    let connection = Connection::open(root.join("journal.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(2)).unwrap();
    connection
}

fn format(root: &Path) -> i64 {
    raw(root).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn all_is_there_and_goes_on() {
    for (log, records, head) in [(true, RECORDS, 4), (false, 6, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let root = old_home(folder.path(), "home", log);
        let mut store = open(&root).unwrap();
        let found = store.verify_chain(|_| {}).unwrap();
        assert_eq!(
            (found.records, found.first_bad, found.pruned, found.beside),
            (records, None, None, None)
        );
        let scout = store.take_snapshot("second", Some("scout")).unwrap();
        let last = u8::try_from(head + 3).unwrap();
        assert_eq!(
            (scout.head, scout.session, scout.agent),
            (head, Some(vec![last; 300]), Some(vec![0xa0 + last; 100]))
        );
        assert_eq!(store.session_history("first", None).step_records(1).unwrap().len(), 2);
        let first = store.take_snapshot("first", None).unwrap();
        assert_eq!(
            store.commit_review(&first, common::commit("next")).unwrap()[0].sequence,
            records + 1
        );
        let grant = common::grant("g");
        store.add_exception(grant.clone(), vec![record("granted")]).unwrap();
        assert_eq!(store.take_snapshot("first", None).unwrap().exceptions, [grant]);
        assert!(store.enqueue_work(&common::work("k")).unwrap());
        drop(store);
        assert_eq!(format(&root), FORMAT);
        assert_eq!(open(&root).unwrap().verify_chain(|_| {}).unwrap().records, records + 2);
    }
}

#[test]
fn exceptions_and_work_of_format_2_are_there() {
    for (log, records, exceptions) in [(true, 7, vec![common::grant("g")]), (false, 3, Vec::new())]
    {
        let folder = tempfile::tempdir().unwrap();
        let root = home_of(2, folder.path(), "home", log);
        let mut store = open(&root).unwrap();
        let found = store.verify_chain(|_| {}).unwrap();
        assert_eq!(
            (found.records, found.first_bad, found.pruned, found.beside),
            (records, None, None, None)
        );
        let first = store.take_snapshot("first", None).unwrap();
        assert_eq!(
            (first.head, first.exceptions.clone(), first.breakers.len()),
            (if log { 3 } else { 2 }, exceptions, 0)
        );
        let due: Vec<String> =
            store.list_due(100, 9).unwrap().into_iter().map(|work| work.kind).collect();
        assert_eq!(due, if log { vec![SEALED, "notify"] } else { vec![SEALED] });
        let learned =
            BreakerChange { plugin: "slow".into(), before: None, after: Some("1".into()) };
        store
            .commit_review(&first, Commit { breakers: vec![learned], ..common::commit("next") })
            .unwrap();
        assert_eq!(store.breakers().unwrap().len(), 1);
        drop(store);
        assert_eq!(format(&root), FORMAT);
        assert_eq!(open(&root).unwrap().verify_chain(|_| {}).unwrap().records, records + 1);
    }
}

/// Compares everything in a new database with everything in a migrated one.
#[test]
fn a_migrated_database_has_the_tables_of_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    let tables = |root: &Path| -> Vec<(String, String)> {
        open(root).unwrap();
        let db = raw(root);
        let mut statement =
            db.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
        statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    for format in [1, 2] {
        let old = home_of(format, folder.path(), &format.to_string(), true);
        assert_eq!(tables(&old), tables(&new), "{format}");
    }
}

#[test]
fn format_4_only_gets_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("home");
    append_plain(&root);
    raw(&root).execute_batch(TO_FORMAT_6).unwrap();
    raw(&root)
        .execute_batch("DROP TABLE approvals; DROP TABLE exports; PRAGMA user_version = 4")
        .unwrap();
    std::fs::remove_file(root.join("journal.mark")).unwrap();
    let mut store = open(&root).unwrap();
    assert_eq!((format(&root), store.list_approvals().unwrap().genuine.len()), (FORMAT, 0));
    assert!(store.list_due(u64::MAX, 9).unwrap().is_empty(), "nothing is sealed again");
    let found = store.verify_chain(|_| {}).unwrap();
    assert!(found.is_intact() && found.records == 1, "{found:?}");
}

/// An inspection migrates nothing, and reads each format.
#[test]
fn formats_with_sealed_states_are_inspected_as_they_are() {
    let older = [
        (6, "PRAGMA user_version = 6"),
        (5, "DROP TABLE exports; PRAGMA user_version = 5"),
        (4, "DROP TABLE exports; DROP TABLE approvals; PRAGMA user_version = 4"),
    ];
    for (number, change) in older {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        append_plain(&root);
        raw(&root).execute_batch(TO_FORMAT_6).unwrap();
        raw(&root).execute_batch(change).unwrap();
        std::fs::remove_file(root.join("journal.mark")).unwrap();
        let home = Home::open_root(&root).unwrap();
        let found = Store::inspect_journal(&home).unwrap();
        assert_eq!((found.format, found.records, found.head.0), (number, 1, 1));
        let mut store = open(&root).unwrap();
        assert!(store.list_export_cursors().unwrap().is_empty());
        assert!(store.verify_chain(|_| {}).unwrap().is_intact(), "{number}");
    }
}

/// Appends a record as versions before format 7 did.
fn append_plain(root: &Path) {
    let home = Home::open_root(root).unwrap();
    home.data_keys().set_off(true).unwrap();
    let mut store = Store::open_database(&home, Durability::Process).unwrap();
    store.append_records(vec![record("before")]).unwrap();
    home.data_keys().set_off(false).unwrap();
}

/// The records of an earlier version stay as they are; those that follow are encrypted.
#[test]
fn a_chain_goes_on_from_plain_to_encrypted_records() {
    let folder = tempfile::tempdir().unwrap();
    let root = old_home(folder.path(), "home", true);
    let mut store = open(&root).unwrap();
    store.append_records(vec![record("after")]).unwrap();
    let found = store.verify_chain(|_| {}).unwrap();
    assert!(found.is_intact() && found.records == RECORDS + 1, "{found:?}");
    let forms: Vec<(bool, bool)> = raw(&root)
        .prepare("SELECT document = '', sealed IS NULL FROM journal ORDER BY sequence")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(forms[..9].iter().all(|form| *form == (false, true)), "{forms:?}");
    assert_eq!(forms[9], (true, false));
    assert_eq!(store.find_record("after").unwrap().unwrap().record, record("after"));
}

#[test]
fn damage_survives_a_migration() {
    let table: [(&str, (u64, Flaw)); 3] = [
        ("UPDATE anchor SET sequence = 8", (9, Flaw::AnchorForged)),
        ("DELETE FROM anchor", (9, Flaw::AnchorForged)),
        ("UPDATE journal SET document = '{}' WHERE sequence = 4", (4, Flaw::DocumentChanged)),
    ];
    for (change, flaw) in table {
        let folder = tempfile::tempdir().unwrap();
        let root = old_home(folder.path(), "home", true);
        raw(&root).execute_batch(change).unwrap();
        assert_eq!(
            open(&root).unwrap().verify_chain(|_| {}).unwrap().first_bad,
            Some(flaw),
            "{change}"
        );
    }
}

/// A process of the previous version had the database open all the time: it cannot seal states, so
/// its commit fails as a whole.
#[test]
fn an_older_process_in_flight_commits_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = old_home(folder.path(), "home", true);
    let old = raw(&root);
    let anchor = |db: &Connection| -> (u64, Vec<u8>) {
        db.query_row("SELECT sequence, hash FROM anchor", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
    };
    assert_eq!(anchor(&old).0, RECORDS);
    let home = Home::open_root(&root).unwrap();
    let mut store = open(&root).unwrap();
    let error = old_commit(&old, &home, anchor(&old), "in-flight").unwrap_err();
    assert!(error.to_string().contains("no such column: mac"), "{error}");
    let error = old.execute("INSERT INTO states VALUES ('s', '', 1, NULL) ON CONFLICT DO UPDATE SET head = excluded.head", []).unwrap_err();
    assert!(error.to_string().contains("no such column"), "{error}");
    store.append_records(vec![record("after")]).unwrap();
    let found = store.verify_chain(|_| {}).unwrap();
    assert!(found.is_intact() && found.records == RECORDS + 1, "{found:?}");
}

/// Commits one record that belongs to no session, in the way of format 1.
fn old_commit(
    db: &Connection,
    home: &Home,
    (sequence, previous): (u64, Vec<u8>),
    id: &str,
) -> rusqlite::Result<()> {
    let sequence = sequence + 1;
    let hash = blake3::hash(
        &[b"portcullis journal v1", previous.as_slice(), &sequence.to_be_bytes(), b"{}"].concat(),
    );
    let text = |text: Option<&str>| {
        let bytes = text.unwrap_or_default().as_bytes();
        [&[u8::from(text.is_some())][..], &(bytes.len() as u64).to_be_bytes(), bytes].concat()
    };
    let columns =
        [Some(id), Some("fault"), None, None, None, Some("store"), None].map(text).concat();
    let numbers = [&[1][..], &5_i64.to_be_bytes(), &[0], &0_i64.to_be_bytes()].concat();
    let keyed = |purpose: &str, bytes: &[u8]| {
        *blake3::keyed_hash(&home.derive_key(purpose), bytes).as_bytes()
    };
    let seal = keyed(
        "portcullis 2026 journal record seal",
        &[hash.as_bytes().as_slice(), &numbers, &columns].concat(),
    );
    let mac = keyed(
        "portcullis 2026 journal anchor",
        &[&sequence.to_be_bytes()[..], hash.as_bytes()].concat(),
    );
    let transaction = db.unchecked_transaction()?;
    db.execute(
        "INSERT INTO journal (sequence, id, at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash, seal) \
         VALUES (?1, ?2, 5, 'fault', NULL, NULL, NULL, NULL, 'store', NULL, '{}', ?3, ?4, ?5)",
        params![sequence, id, previous, hash.as_bytes(), seal],
    )?;
    db.execute(
        "UPDATE anchor SET sequence = ?1, hash = ?2, mac = ?3",
        params![sequence, hash.as_bytes(), mac],
    )?;
    transaction.commit()
}

const HOMES: usize = 16;

#[test]
#[ignore = "the other side of `killed_while_migrating` and `migrated_by_many`"]
fn migrator() {
    let Some((folder, name)) = orders() else { return };
    for n in 0..HOMES {
        let mut store = open(&Path::new(&folder).join(n.to_string())).unwrap();
        store.append_records(vec![record(&format!("{name}-{n}"))]).unwrap();
        answer(&n.to_string());
    }
}

#[test]
fn killed_while_migrating() {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut formats = [0; 7];
    for round in 0..12_u64 {
        let folder = tempfile::tempdir().unwrap();
        let homes: Vec<_> = (0..HOMES)
            .map(|n| old_home(folder.path(), &n.to_string(), round.is_multiple_of(2)))
            .collect();
        let mut child = spawn("migrator", folder.path(), "victim");
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(seed % 60_000));
        child.kill().unwrap();
        let acknowledged = answers(&child.wait_with_output().unwrap().stdout);
        for (n, root) in homes.iter().enumerate() {
            let found = format(root);
            formats[usize::try_from(found).unwrap() - 1] += 1;
            let mut store = open(root).unwrap();
            assert!(store.verify_chain(|_| {}).unwrap().is_intact());
            if acknowledged.contains(&n.to_string()) {
                assert_eq!(found, FORMAT, "home {n}");
                assert!(store.find_record(&format!("victim-{n}")).unwrap().is_some(), "home {n}");
            }
        }
    }
    assert_eq!(formats[1..6], [0; 5], "a migration stopped half-way");
    assert!(
        formats[0] > 0 && formats[6] > 0,
        "the processes were killed too early or too late to test anything: {formats:?}"
    );
}

#[test]
fn migrated_by_many() {
    let folder = tempfile::tempdir().unwrap();
    let homes: Vec<_> = (0..HOMES).map(|n| old_home(folder.path(), &n.to_string(), true)).collect();
    let children: Vec<_> =
        (0..6).map(|n| spawn("migrator", folder.path(), &format!("p{n}"))).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    for root in homes {
        let found = open(&root).unwrap().verify_chain(|_| {}).unwrap();
        assert_eq!((found.records, found.first_bad), (RECORDS + 6, None));
    }
}

#[test]
fn a_migration_that_must_wait_too_long_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = old_home(folder.path(), "home", true);
    let other = raw(&root);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(open(&root).unwrap_err(), StoreError::Busy { .. }));
    other.execute_batch("COMMIT").unwrap();
    let mut store = open(&root).unwrap();
    store.commit_review(&store.take_snapshot("s", None).unwrap(), Commit::default()).unwrap();
}

//! Removing the oldest records: those that are removed, those that stay, and that the rest verifies
//! after any process is killed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, answer, answers, commit, copy_of, grant, orders, record, spawn};
use portcullis_store::{
    AnchorStatus, Commit, CommitError, Durability, ExceptionEnd, Filter, Flaw, Home, JournalStart,
    NewRecord, PendingCommit, Store, StoreError, StoredException,
};
use rusqlite::params;
use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::process::ChildStdout;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn at(id: &str, at: u64) -> NewRecord {
    NewRecord { at, ..record(id) }
}

fn put(store: &mut Store, session: &str, id: &str, time: u64) {
    let snapshot = store.take_snapshot(session, None).unwrap();
    let state = Some(id.as_bytes().to_vec());
    let commit = Commit {
        session_state: state.clone(),
        agent_state: state,
        records: vec![at(id, time)],
        ..Commit::default()
    };
    store.commit_review(&snapshot, commit).unwrap();
}

fn positions(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    let read = store.query_records(&Filter::default(), |stored| {
        found.push(stored.sequence);
        ControlFlow::Continue(())
    });
    read.unwrap();
    found
}

#[test]
fn the_oldest_go_and_the_newest_stays() {
    // Times of the records, `before`, `now`, the number of removed records.
    let table: [(&[u64], u64, u64, u64); 11] = [
        (&[10, 20, 30, 40], 25, 100, 2),
        (&[10, 20, 30, 40], 10, 100, 0),
        (&[10, 20, 30, 40], 11, 100, 1),
        (&[10, 20, 30, 40], 99, 100, 3),
        (&[10], 99, 100, 0),
        (&[], 99, 100, 0),
        // A record that is not old keeps those after it.
        (&[50, 10, 60], 25, 100, 0),
        // A clock that was ahead for a while.
        (&[10, 900, 901, 20, 30], 25, 100, 4),
        (&[10, 900, 30, 20], 25, 100, 1),
        (&[900, 30, 31], 25, 100, 0),
        // A clock that is behind now removes only records that are older even so.
        (&[10, 20, 30], 0, 5, 0),
    ];
    for (times, before, now, gone) in table {
        let place = Place::new();
        let mut store = place.store();
        for (n, time) in times.iter().enumerate() {
            put(&mut store, "s", &format!("r{n}"), *time);
        }
        let hash = usize::try_from(gone)
            .unwrap()
            .checked_sub(1)
            .map(|n| store.find_record(&format!("r{n}")).unwrap().unwrap().hash);
        let pruned = store.prune_before(before, now).unwrap();
        let total = times.len() as u64;
        let case = format!("{times:?} {before}: {pruned:?}");
        assert_eq!(pruned.records, gone, "{case}");
        let time = |n: u64| times[usize::try_from(n).unwrap()];
        assert_eq!(
            pruned.start,
            hash.map(|hash| JournalStart {
                sequence: gone,
                hash,
                at: time(gone - 1),
                pruned_at: now
            }),
            "{case}"
        );
        assert_eq!(pruned.oldest, (total > 0).then(|| (gone + 1, time(gone))), "{case}");
        assert_eq!(positions(&store), (gone + 1..=total).collect::<Vec<_>>(), "{case}");
        let found = place.store().verify_chain(|_| {}).unwrap();
        assert_eq!(
            (found.records, found.head.0, found.first_bad, found.pruned),
            (total - gone, total, None, pruned.start),
            "{case}"
        );
        assert_eq!(store.start().unwrap(), pruned.start, "{case}");
        assert_eq!(
            store.take_snapshot("s", None).unwrap().head,
            total,
            "a session with a record keeps its state: {case}"
        );
        assert_eq!(
            store.append_records(vec![record("next")]).unwrap()[0].sequence,
            total + 1,
            "{case}"
        );
    }
}

#[test]
fn several_add_up_and_progress_counts_what_is_left() {
    let place = Place::new();
    let mut store = place.store();
    store.append_records((1..=900).map(|n| at(&format!("r{n}"), n)).collect()).unwrap();
    let early = store.head_anchor(900).unwrap();
    for (before, gone) in [(101, 100), (101, 0), (201, 100), (601, 400)] {
        assert_eq!(store.prune_before(before, 10_000).unwrap().records, gone);
        assert!(store.verify_chain(|_| {}).unwrap().is_intact());
    }
    let start = store.start().unwrap().unwrap();
    assert_eq!((start.sequence, start.at), (600, 600));
    let mut seen = Vec::new();
    store.verify_chain(|progress| seen.push((progress.checked, progress.total))).unwrap();
    assert_eq!(seen, [(256, 300), (300, 300)]);
    assert_eq!(store.find_record("r600").unwrap(), None);
    assert_eq!(store.find_record("r601").unwrap().unwrap().previous, start.hash);
    assert_eq!(store.check_anchors(&[early]).unwrap()[0].1, AnchorStatus::Holds);
}

#[test]
fn a_session_goes_with_its_last_record() {
    let place = Place::new();
    let mut store = place.store();
    put(&mut store, "gone", "g1", 10);
    let agent = store.take_snapshot("gone", Some("scout")).unwrap();
    store
        .commit_review(
            &agent,
            Commit { agent_state: Some(vec![1]), records: vec![at("g2", 11)], ..Commit::default() },
        )
        .unwrap();
    put(&mut store, "resumed", "r1", 12);
    put(&mut store, "idle", "i1", 13);
    put(&mut store, "resumed", "r2", 50);
    let stale = store.take_snapshot("gone", None).unwrap();
    assert_eq!(stale.head, 2);

    let pruned = store.prune_before(40, 100).unwrap();
    assert_eq!((pruned.records, pruned.sessions), (4, 2));
    let heads =
        ["gone", "idle", "resumed"].map(|session| store.take_snapshot(session, None).unwrap().head);
    assert_eq!(heads, [0, 0, 2]);
    assert_eq!(store.take_snapshot("gone", Some("scout")).unwrap().agent, None);
    assert_eq!(store.take_snapshot("resumed", None).unwrap().session, Some(b"r2".to_vec()));
    let moved = store.commit_review(&stale, commit("late")).unwrap_err();
    assert!(matches!(moved, CommitError::Moved { expected: 2, found: 0, .. }), "{moved}");
    // A session that comes back starts as new, with the ids that it started with.
    put(&mut store, "gone", "g1", 101);
    assert_eq!(store.take_snapshot("gone", None).unwrap().head, 1);
    assert!(store.verify_chain(|_| {}).unwrap().is_intact());
}

#[test]
fn ended_exceptions_go_when_they_are_old() {
    let place = Place::new();
    let mut store = place.store();
    for (id, expires_at) in [
        ("live", 1_000),
        ("over", 60),
        ("long over", 20),
        ("revoked", 1_000),
        ("long revoked", 1_000),
    ] {
        store
            .add_exception(StoredException { granted_at: 1, expires_at, ..grant(id) }, Vec::new())
            .unwrap();
    }
    store.revoke_exception("long revoked", 30, Vec::new()).unwrap();
    store.revoke_exception("revoked", 50, Vec::new()).unwrap();
    assert_eq!(store.prune_before(40, 70).unwrap().grants, 2);
    let mut left: Vec<_> = store
        .list_exceptions()
        .unwrap()
        .into_iter()
        .map(|granted| (granted.grant.id, granted.ended))
        .collect();
    left.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("live", None),
        ("over", Some((ExceptionEnd::Expired, 60))),
        ("revoked", Some((ExceptionEnd::Revoked, 50))),
    ];
    assert_eq!(left, expected.map(|(id, end)| (id.to_owned(), end)));
    assert_eq!(store.prune_before(2_000, 3_000).unwrap().grants, 3);
    assert_eq!(store.list_exceptions().unwrap(), []);
}

#[test]
fn the_file_shrinks() {
    let place = Place::new();
    let mut store = place.store();
    let filler = "x".repeat(3_000);
    for n in 0..1_500_u64 {
        let record = NewRecord { document: filler.clone(), ..at(&format!("r{n}"), n) };
        let state = Some(vec![7; 2_000]);
        let snapshot = store.take_snapshot(&format!("s{}", n / 100), None).unwrap();
        store
            .commit_review(
                &snapshot,
                Commit { session_state: state, records: vec![record], ..Commit::default() },
            )
            .unwrap();
    }
    store.checkpoint_log().unwrap();
    let size = || std::fs::metadata(place.home.journal()).unwrap().len();
    let before = size();
    let pruned = store.prune_before(1_400, 10_000).unwrap();
    assert_eq!((pruned.records, pruned.sessions), (1_400, 14));
    store.checkpoint_log().unwrap();
    assert!(size() < before / 5, "{before} to {}", size());
    assert_eq!(before - size(), pruned.bytes);
    assert_eq!(store.verify_chain(|_| {}).unwrap().records, 100);
}

fn pruned_place() -> Place {
    let place = Place::new();
    let mut store = place.store();
    store.append_records((1..=10).map(|n| at(&format!("r{n}"), n)).collect()).unwrap();
    store.prune_before(4, 100).unwrap();
    place.raw().execute_batch("CREATE TABLE before AS SELECT * FROM start").unwrap();
    store.prune_before(6, 100).unwrap();
    place
}

#[test]
fn a_start_that_was_changed_without_the_key_is_found() {
    let forged = Some((5, Flaw::StartForged));
    let table: [(&str, Option<(u64, Flaw)>); 10] = [
        (
            "UPDATE start SET sequence = 7; DELETE FROM journal WHERE sequence <= 7",
            Some((7, Flaw::StartForged)),
        ),
        ("UPDATE start SET hash = zeroblob(32)", forged),
        ("UPDATE start SET at = at + 1", forged),
        ("UPDATE start SET pruned_at = 0", forged),
        ("UPDATE start SET mac = zeroblob(32)", forged),
        ("UPDATE start SET mac = x''", forged),
        ("UPDATE start SET mac = (SELECT code FROM anchor)", forged),
        ("DELETE FROM start", Some((1, Flaw::Missing))),
        ("DELETE FROM start; INSERT INTO start SELECT * FROM before", Some((4, Flaw::Missing))),
        ("DELETE FROM journal WHERE sequence = 6", Some((6, Flaw::Missing))),
    ];
    let place = pruned_place();
    for (change, flaw) in table {
        let other = copy_of(&place);
        other.raw().execute_batch(change).unwrap();
        let mut store = other.store();
        assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, flaw, "{change}");
        let error = store.prune_before(9, 200).unwrap_err();
        assert!(matches!(error, StoreError::Tampered { .. }), "{change}: {error}");
        if flaw.is_some_and(|(_, flaw)| flaw == Flaw::StartForged) {
            assert!(
                store.start().unwrap_err().to_string().contains("its start does not match"),
                "{change}"
            );
            assert!(
                store.check_anchors(&[]).is_err() && Store::inspect_journal(&other.home).is_err(),
                "{change}"
            );
        }
    }
    assert_eq!(
        place.store().verify_chain(|_| {}).unwrap().first_bad,
        None,
        "the original is whole"
    );
}

#[test]
fn a_start_that_was_written_with_the_key_is_taken() {
    let place = pruned_place();
    let db = place.raw();
    let hash: Vec<u8> =
        db.query_row("SELECT hash FROM journal WHERE sequence = 8", [], |row| row.get(0)).unwrap();
    let numbers = [8_u64, 77, 78].map(u64::to_be_bytes).concat();
    let mac = blake3::keyed_hash(
        &place.home.derive_key("portcullis 2026 journal start"),
        &[hash.as_slice(), &numbers].concat(),
    );
    db.execute("DELETE FROM journal WHERE sequence <= 8", []).unwrap();
    db.execute(
        "UPDATE start SET sequence = 8, hash = ?1, at = 77, pruned_at = 78, mac = ?2",
        params![hash, mac.as_bytes()],
    )
    .unwrap();
    let found = place.store().verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad, found.pruned.unwrap().at), (2, None, 77));
}

#[test]
fn records_that_do_not_hold_stay_as_evidence() {
    let table = [
        (
            "UPDATE journal SET document = '{}' WHERE sequence = 70",
            "at record 70, the document is not the one that was hashed",
        ),
        (
            "UPDATE journal SET at = 1 WHERE sequence = 70",
            "at record 70, the record's columns were changed",
        ),
        ("DELETE FROM journal WHERE sequence = 70", "at record 70, the record is missing"),
        (
            "DELETE FROM journal WHERE sequence BETWEEN 65 AND 80",
            "at record 65, the record is missing",
        ),
        ("UPDATE anchor SET sequence = 60", "its anchor does not match the home's key"),
    ];
    for (change, message) in table {
        let place = Place::new();
        let mut store = place.store();
        store.append_records((1..=100).map(|n| at(&format!("r{n}"), n)).collect()).unwrap();
        let flaw = {
            place.raw().execute_batch(change).unwrap();
            store.verify_chain(|_| {}).unwrap().first_bad
        };
        let error = store.prune_before(90, 200).unwrap_err().to_string();
        assert!(
            error.contains(message) && error.contains("portcullis audit verify"),
            "{change}: {error}"
        );
        assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, flaw, "{change}");
    }
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
#[ignore = "the other side of `killed_while_pruning`"]
fn writer() {
    let Some((home, name)) = orders() else { return };
    for n in 0.. {
        let mut store =
            Store::open_database(&Home::open_root(&home).unwrap(), Durability::Process).unwrap();
        let (session, id) = (format!("{name}-{}", n / 20), format!("{name}-{n}."));
        // A pruner may take the session away between snapshot and commit.
        let draft = || {
            let commit = Commit {
                session_state: Some(vec![1; 4_000]),
                records: vec![at(&id, now())],
                ..Commit::default()
            };
            Ok::<_, StoreError>(PendingCommit { commit, value: () })
        };
        let stored = store.review_in_session(&session, None, |_, _| draft()).unwrap().stored;
        answer(&format!("{id} {}", stored[0].sequence));
    }
}

#[test]
#[ignore = "the other side of `killed_while_pruning`"]
fn pruner() {
    let Some((home, _)) = orders() else { return };
    let mut store =
        Store::open_database(&Home::open_root(home).unwrap(), Durability::Process).unwrap();
    loop {
        let pruned = store.prune_before(now() - 30, now()).unwrap();
        answer(&pruned.records.to_string());
    }
}

#[test]
fn killed_while_pruning() {
    let place = Place::new();
    let mut writers: Vec<_> =
        (0..4).map(|n| spawn("writer", place.home.path(), &format!("w{n}"))).collect();
    // Their answers are read as they arrive: a writer without a reader stops once its pipe is full
    // (64 KiB), and waiting for its next record would be waiting for ever.
    let read = |mut from: ChildStdout| {
        let mut output = Vec::new();
        from.read_to_end(&mut output).map(|_| output)
    };
    let outputs: Vec<_> = writers
        .iter_mut()
        .map(|writer| writer.stdout.take().unwrap())
        .map(|from| std::thread::spawn(move || read(from)))
        .collect();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut pruned = 0;
    let mut starts = Vec::new();
    for round in 0..60 {
        let mut child = spawn("pruner", place.home.path(), "pruner");
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(5_000 + seed % 60_000));
        child.kill().unwrap();
        pruned += answers(&child.wait_with_output().unwrap().stdout)
            .iter()
            .map(|n| n.parse::<u64>().unwrap())
            .sum::<u64>();
        let found = place.store().verify_chain(|_| {}).unwrap();
        assert_eq!((found.first_bad, found.beside), (None, None), "round {round}");
        starts.push(found.pruned.map_or(0, |start| start.sequence));
    }
    // Pruners may have kept up with the writers. This is more records after the last pruning than
    // the writers can have in flight, so at least one is acknowledged.
    let enough = starts.last().unwrap() + writers.len() as u64 + 1;
    while place.store().verify_chain(|_| {}).unwrap().head.0 < enough {
        assert!(
            writers.iter_mut().all(|writer| writer.try_wait().unwrap().is_none()),
            "a writer failed"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut acknowledged = HashMap::new();
    for (mut writer, output) in writers.into_iter().zip(outputs) {
        assert!(writer.try_wait().unwrap().is_none(), "a writer failed");
        writer.kill().unwrap();
        writer.wait().unwrap();
        let lines = answers(&output.join().unwrap().unwrap());
        acknowledged.extend(
            lines
                .iter()
                .map(|line| line.split_once(' ').unwrap())
                .map(|(id, at)| (id.to_owned(), at.parse::<u64>().unwrap())),
        );
    }
    assert!(starts.is_sorted(), "{starts:?}");
    let start = *starts.last().unwrap();
    assert!(start > pruned, "no pruner died with its work half done");
    let store = place.store();
    for (id, sequence) in &acknowledged {
        let found = store.find_record(id).unwrap().map(|stored| stored.sequence);
        assert_eq!(found, (*sequence > start).then_some(*sequence), "{id}");
    }
    assert!(
        acknowledged.values().any(|sequence| *sequence > start),
        "nothing was left to look for"
    );
}

//! Queued work, from its commit to its end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, commit, work};
use portcullis_store::{Commit, NewWork, Store, StoreError, WorkItem, WorkSummary};

fn due(store: &Store, now: u64) -> Vec<(String, u64, u64)> {
    store
        .list_due(now, 100)
        .unwrap()
        .into_iter()
        .map(|work| (work.key, work.due_at, work.attempts))
        .collect()
}

fn keys(found: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    found.iter().map(|(key, due_at, attempts)| ((*key).to_owned(), *due_at, *attempts)).collect()
}

#[test]
fn from_commit_to_done() {
    let place = Place::new();
    let mut store = place.store();
    assert!(!store.work_due(u64::MAX).unwrap());
    let later = NewWork { due_at: 200, ..work("b") };
    let commit = Commit { work: vec![work("a"), later.clone(), work("a")], ..commit("r") };
    store.commit_review(&store.take_snapshot("s", None).unwrap(), commit).unwrap();
    assert!(!store.enqueue_work(&NewWork { due_at: 1, ..work("a") }).unwrap(), "it waits already");
    assert!(
        store
            .enqueue_work(&NewWork { kind: "export".into(), due_at: u64::MAX, ..work("a") })
            .unwrap()
    );

    let asked =
        [99, 100, 199, 200].map(|now| (store.work_due(now).unwrap(), due(&store, now).len()));
    assert_eq!(asked, [(false, 0), (true, 1), (true, 1), (true, 2)]);
    let first = store.list_due(500, 1).unwrap().remove(0);
    let NewWork { kind, key, due_at, document } = work("a");
    assert_eq!(
        first,
        WorkItem { id: first.id, kind, key, due_at, document, attempts: 0, last_error: None }
    );

    assert!(store.work_failed(first.id, "no route\nto host", 300).unwrap());
    assert_eq!(due(&store, 500), keys(&[("b", 200, 0), ("a", 300, 1)]));
    assert!(store.work_failed(first.id, "again", 150).unwrap());
    let again = store.list_due(500, 100).unwrap().remove(0);
    assert_eq!((again.attempts, again.last_error.as_deref()), (2, Some("again")));
    let waiting = |kind: &str, count, failed, first_due_at| WorkSummary {
        kind: kind.into(),
        count,
        failed,
        first_due_at,
    };
    assert_eq!(
        store.queued_work().unwrap(),
        [waiting("export", 1, 0, i64::MAX as u64), waiting("notify", 2, 1, 150)]
    );

    assert!(store.work_done(first.id).unwrap());
    assert!(
        !store.work_done(first.id).unwrap() && !store.work_failed(first.id, "late", 1).unwrap()
    );
    assert_eq!(due(&store, 500), keys(&[("b", 200, 0)]));
    assert!(store.enqueue_work(&work("a")).unwrap(), "what was done may come again");
    let kindless = store.enqueue_work(&NewWork { kind: String::new(), ..work("x") }).unwrap_err();
    assert_eq!(kindless.to_string(), "the work for `x` cannot be kept: it needs a kind");
}

#[test]
fn work_of_a_commit_that_fails_is_not_kept() {
    let place = Place::new();
    let mut store = place.store();
    let stale = store.take_snapshot("s", None).unwrap();
    store.commit_review(&stale, commit("first")).unwrap();
    assert!(
        store.commit_review(&stale, Commit { work: vec![work("a")], ..commit("second") }).is_err()
    );
    assert!(
        store
            .commit_review(
                &store.take_snapshot("s", None).unwrap(),
                Commit { work: vec![work("a")], ..commit("first") }
            )
            .is_err()
    );
    assert!(!store.work_due(u64::MAX).unwrap());
}

#[test]
fn a_row_that_was_changed_without_the_key_is_named_and_not_done() {
    let place = Place::new();
    place.store().enqueue_work(&work("a")).unwrap();
    let copy = "INSERT INTO work SELECT 1, kind, 'other', due_at, attempts, last_error, document, seal FROM was";
    for set in [
        "kind = 'export'",
        "key = 'b'",
        "due_at = 1",
        "attempts = 3",
        "last_error = ''",
        "document = '{}'",
        "document = CAST(x'ff' AS TEXT)",
        "seal = zeroblob(32)",
        "",
    ] {
        let db = place.raw();
        db.execute_batch("DROP TABLE IF EXISTS was; CREATE TABLE was AS SELECT * FROM work")
            .unwrap();
        if set.is_empty() {
            db.execute_batch(&format!("DELETE FROM work; {copy}")).unwrap();
        } else {
            db.execute_batch(&format!("UPDATE work SET {set}")).unwrap();
        }
        let mut store = place.store();
        for outcome in [store.list_due(500, 9).map(drop), store.work_failed(1, "e", 1).map(drop)] {
            let error = outcome.unwrap_err();
            assert!(matches!(error, StoreError::ForgedWork { id: 1, .. }), "{set}: {error}");
        }
        assert!(
            store
                .verify_chain(|_| {})
                .unwrap()
                .beside
                .unwrap()
                .contains("the waiting work 1 in the journal"),
            "{set}"
        );
        assert!(store.work_due(500).unwrap(), "{set}");
        assert!(store.work_done(1).unwrap(), "{set}");
        assert_eq!(store.verify_chain(|_| {}).unwrap().beside, None);
        store.enqueue_work(&work("a")).unwrap();
    }
}

/// Only the seal distinguishes a genuine row from a foreign one: a row written with the key is
/// accepted.
#[test]
fn a_row_that_was_written_with_the_key_is_taken() {
    let place = Place::new();
    let mut store = place.store();
    let text = |text: &str| {
        [b"t\x01".as_slice(), &(text.len() as u64).to_be_bytes(), text.as_bytes()].concat()
    };
    let number = |number: i64| [b"i\x01".as_slice(), &number.to_be_bytes()].concat();
    let row = [text("notify"), text("k"), number(5), number(2), b"n".to_vec(), text("{}")].concat();
    let seal = blake3::keyed_hash(&place.home.derive_key("portcullis 2026 work seal"), &row);
    place
        .raw()
        .execute(
            "INSERT INTO work VALUES (9, 'notify', 'k', 5, 2, NULL, '{}', ?1)",
            [seal.as_bytes()],
        )
        .unwrap();
    assert_eq!(due(&store, 10), keys(&[("k", 5, 2)]));
    assert!(store.work_done(9).unwrap());
}

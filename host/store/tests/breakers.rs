//! Failure records of plugins: they change with commits, are not lost between them, and only the
//! store itself can write them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Place, commit, record};
use portcullis_store::{BreakerChange, Commit, CommitError, PendingCommit, Store, StoreError};

fn change(plugin: &str, before: Option<&str>, after: Option<&str>) -> BreakerChange {
    BreakerChange {
        plugin: plugin.into(),
        before: before.map(Into::into),
        after: after.map(Into::into),
    }
}

fn with(id: &str, breakers: Vec<BreakerChange>) -> Commit {
    Commit { breakers, ..commit(id) }
}

fn known(store: &Store) -> Vec<(String, String)> {
    store.breakers().unwrap().into_iter().collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(plugin, document)| ((*plugin).to_owned(), (*document).to_owned())).collect()
}

#[test]
fn commits_change_it() {
    let place = Place::new();
    let mut store = place.store();
    type Row = (
        &'static [(&'static str, Option<&'static str>, Option<&'static str>)],
        &'static [(&'static str, &'static str)],
    );
    let rows: [Row; 4] = [
        (&[("slow", None, Some("1")), ("bad", None, Some("x"))], &[("bad", "x"), ("slow", "1")]),
        (&[("slow", Some("1"), Some("2"))], &[("bad", "x"), ("slow", "2")]),
        (&[("bad", Some("x"), None), ("none", None, None)], &[("slow", "2")]),
        (&[], &[("slow", "2")]),
    ];
    for (index, (changes, expected)) in rows.iter().enumerate() {
        let changes =
            changes.iter().map(|(plugin, before, after)| change(plugin, *before, *after)).collect();
        let snapshot = store.take_snapshot("s", None).unwrap();
        store.commit_review(&snapshot, with(&index.to_string(), changes)).unwrap();
        assert_eq!(known(&place.store()), pairs(expected));
        assert_eq!(
            store.take_snapshot("another", None).unwrap().breakers,
            store.breakers().unwrap()
        );
    }
    assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, None);
}

#[test]
fn changes_of_another_session_are_kept() {
    let place = Place::new();
    let mut store = place.store();
    let (first, second) =
        (store.take_snapshot("first", None).unwrap(), store.take_snapshot("second", None).unwrap());
    store.commit_review(&first, with("a", vec![change("slow", None, Some("1"))])).unwrap();
    let refused = store.commit_review(&second, with("b", vec![change("slow", None, Some("1"))]));
    assert!(matches!(refused, Err(CommitError::Learned { plugin }) if plugin == "slow"));
    assert!(store.find_record("b").unwrap().is_none(), "nothing of the commit was written");
    let mut reviews = 0;
    let committed = store.review_in_session("second", None, |snapshot, _| {
        reviews += 1;
        let before = snapshot.breakers.get("slow").cloned();
        if reviews < 3 {
            let mut other = place.store();
            let theirs = other.take_snapshot("third", None)?;
            let more = format!("{}+", before.clone().unwrap_or_default());
            other
                .commit_review(
                    &theirs,
                    with(
                        &format!("t{reviews}"),
                        vec![change("slow", before.as_deref(), Some(&more))],
                    ),
                )
                .unwrap();
        }
        let after = format!("{}!", before.clone().unwrap_or_default());
        Ok::<_, StoreError>(PendingCommit {
            commit: with("c", vec![change("slow", before.as_deref(), Some(&after))]),
            value: (),
        })
    });
    assert_eq!((committed.unwrap().attempts, known(&store)), (3, pairs(&[("slow", "1++!")])));
}

#[test]
fn a_release_forgets_it() {
    let place = Place::new();
    let mut store = place.store();
    assert_eq!(store.release_plugin("slow", vec![record("r")]).unwrap(), None);
    let snapshot = store.take_snapshot("s", None).unwrap();
    store.commit_review(&snapshot, with("a", vec![change("slow", None, Some("1"))])).unwrap();
    assert_eq!(
        store.release_plugin("slow", vec![record("r")]).unwrap().map(|stored| stored.len()),
        Some(1)
    );
    assert_eq!((known(&store), store.find_record("r").unwrap().is_some()), (Vec::new(), true));
}

#[test]
fn a_row_that_we_did_not_write_is_an_error_until_it_is_released() {
    let changes = [
        "UPDATE breakers SET document = '2'",
        "UPDATE breakers SET plugin = 'other'",
        "UPDATE breakers SET seal = x'00'",
        "UPDATE breakers SET seal = zeroblob(32)",
        "INSERT INTO breakers VALUES ('other', '1', (SELECT seal FROM breakers))",
    ];
    for sql in changes {
        let place = Place::new();
        let mut store = place.store();
        let snapshot = store.take_snapshot("s", None).unwrap();
        store.commit_review(&snapshot, with("a", vec![change("slow", None, Some("1"))])).unwrap();
        let snapshot = store.take_snapshot("s", None).unwrap();
        place.raw().execute_batch(sql).unwrap();
        let error = store.breakers().unwrap_err();
        let StoreError::ForgedBreaker { plugin, .. } = &error else { panic!("{sql}: {error}") };
        assert!(
            error.to_string().contains(&format!("run `portcullis plugin release {plugin}`")),
            "{error}"
        );
        assert!(store.take_snapshot("s", None).is_err(), "{sql}");
        let blind =
            store.commit_review(&snapshot, with("b", vec![change(plugin, Some("1"), Some("3"))]));
        assert!(
            matches!(blind, Err(CommitError::Store(StoreError::ForgedBreaker { .. }))),
            "{sql}"
        );
        store.release_plugin(plugin, vec![record("r")]).unwrap().unwrap();
        store.take_snapshot("s", None).unwrap();
    }
}

#[test]
fn invalid_breakers_are_refused() {
    let place = Place::new();
    let mut store = place.store();
    let long = "x".repeat(4097);
    for (row, message) in [
        (change("", None, Some("1")), "needs a name"),
        (change("slow", None, Some(&long)), "longer than 4 KiB"),
    ] {
        let snapshot = store.take_snapshot("s", None).unwrap();
        let error = store.commit_review(&snapshot, with("a", vec![row])).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(known(&store), []);
    }
}

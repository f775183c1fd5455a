use super::*;
use crate::commit::Commit;
use crate::home::Home;
use crate::record::NewRecord;
use crate::store::{Durability, Store};

fn place() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open_root(folder.path().join("home")).unwrap();
    let store = Store::open_database(&home, Durability::Process).unwrap();
    (folder, store)
}

/// Returns the commit of a record to a session that nobody has committed to.
fn waiting(store: &Store, ticket: u64, session: &str, id: &str) -> WaitingCommit {
    let record = NewRecord {
        id: id.into(),
        kind: "review".into(),
        document: format!("{{\"id\":\"{id}\"}}"),
        ..NewRecord::default()
    };
    let base = store.take_snapshot(session, None).unwrap().base();
    let commit =
        Commit { session_state: Some(id.into()), records: vec![record], ..Commit::default() };
    WaitingCommit {
        ticket,
        target: store.commit_target().unwrap(),
        body: Box::new(move |writer| writer.commit_unmoved(&base, commit)),
    }
}

/// Writes commits in one transaction; returns their results in the order of their tickets.
fn write(store: &mut Store, commits: Vec<WaitingCommit>) -> Vec<CommitResult> {
    let (shared, path) = (SharedCommits::default(), store.journal().to_owned());
    shared.0.write_for_all(&path, commits, |bodies| store.write_bodies(bodies));
    let mut queue = shared.0.lock();
    assert!(!queue.is_writing);
    std::mem::take(&mut queue.done).into_values().collect()
}

#[test]
fn a_commit_that_cannot_be_made_fails_alone() {
    let (_folder, mut store) = place();
    let commits = vec![
        waiting(&store, 0, "one", "first"),
        waiting(&store, 1, "two", "first"),
        waiting(&store, 2, "one", "late"),
        waiting(&store, 3, "three", "last"),
    ];
    let results = write(&mut store, commits).into_iter().map(|result| match result {
        Ok(stored) => format!("record {}", stored[0].sequence),
        Err(CommitError::Store(StoreError::DuplicateId { id })) => format!("{id} is taken"),
        Err(CommitError::Moved { session, .. }) => format!("{session} moved"),
        Err(error) => error.to_string(),
    });
    let results: Vec<_> = results.collect();
    assert_eq!(results, ["record 1", "first is taken", "one moved", "record 2"]);
    let state = |session| store.take_snapshot(session, None).unwrap().session;
    assert_eq!(state("one"), Some(b"first".to_vec()));
    assert_eq!((state("two"), state("three")), (None, Some(b"last".to_vec())));
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad), (2, None));
}

#[test]
fn all_fail_with_their_transaction() {
    let (_folder, mut store) = place();
    let commits = vec![waiting(&store, 0, "one", "a"), waiting(&store, 1, "two", "b")];
    let other = rusqlite::Connection::open(store.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let results = write(&mut store, commits);
    assert_eq!(results.len(), 2);
    for result in results {
        let error = result.unwrap_err();
        assert!(matches!(error, CommitError::Store(StoreError::Busy { .. })), "{error}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.verify_chain(|_| {}).unwrap().records, 0);
}

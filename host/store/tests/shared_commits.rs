//! Stores of one process that commit together.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, record};
use portcullis_store::{Commit, Durability, PendingCommit, SharedCommits, Store, StoreError};
use std::thread;

const REVIEWERS: usize = 8;
const COMMITS: u64 = 40;

/// Reviews in a session of its own and in one that all share, each with its own store.
fn review(place: &Place, shared: &SharedCommits, name: &str, durability: Durability) {
    let mut store = Store::open_database(&place.home, durability).unwrap();
    store.share_commits(shared);
    for round in 0..COMMITS {
        let session = if round % 4 == 0 { "shared" } else { name };
        let id = format!("{name}-{round}");
        let committed = store
            .review_in_session(session, None, |snapshot, _| {
                let count = snapshot.session.as_deref().map_or(0, |state| state.len());
                let commit = Commit {
                    session_state: Some(vec![b'x'; count + 1]),
                    records: vec![record(&id)],
                    ..Commit::default()
                };
                Ok::<_, StoreError>(PendingCommit { commit, value: id.clone() })
            })
            .unwrap();
        assert_eq!((&committed.value, &committed.stored[0].record.id), (&id, &id));
    }
}

/// Each commit is in the journal that it was made for, once, and no session lost a state.
#[test]
fn commits_at_once_are_all_in_their_journals() {
    for durability in [Durability::Process, Durability::Full] {
        let places = [Place::new(), Place::new()];
        let shared = SharedCommits::default();
        thread::scope(|scope| {
            for reviewer in 0..REVIEWERS {
                let (place, shared) = (&places[reviewer % 2], &shared);
                scope.spawn(move || review(place, shared, &format!("r{reviewer}"), durability));
            }
        });
        for place in &places {
            let mut store = place.store();
            let found = store.verify_chain(|_| {}).unwrap();
            let reviewers = REVIEWERS as u64 / 2;
            assert_eq!((found.records, found.first_bad), (reviewers * COMMITS, None));
            let state = store.take_snapshot("shared", None).unwrap().session.unwrap();
            assert_eq!(state.len() as u64, reviewers * COMMITS / 4);
        }
    }
}

//! Commits, the protocol, and finding records again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, commit, record};
use portcullis_store::{
    Commit, CommitError, Filter, NewRecord, PendingCommit, Store, StoreError, StoredRecord,
};
use std::ops::ControlFlow;

fn collect(store: &Store, filter: &Filter) -> Vec<String> {
    let mut ids = Vec::new();
    store
        .query_records(filter, |stored| {
            ids.push(stored.record.id);
            ControlFlow::Continue(())
        })
        .unwrap();
    ids
}

/// Creates two sessions, an agent, and a record of no session; positions 1 to 6.
fn filled(place: &Place) -> Store {
    let mut store = place.store();
    let of = |id: &str, kind: &str, step: u64, at: u64, verdict: Option<&str>| NewRecord {
        kind: kind.into(),
        step: Some(step),
        at,
        verdict: verdict.map(Into::into),
        ..record(id)
    };
    let mut put = |session: &str, agent: Option<&str>, records: Vec<NewRecord>| {
        let snapshot = store.take_snapshot(session, agent).unwrap();
        store.commit_review(&snapshot, Commit { records, ..Commit::default() }).unwrap();
    };
    put("one", None, vec![of("aa1", "review", 1, 10, Some("allow"))]);
    let outcome =
        NewRecord { call_id: Some("toolu_aa1".into()), ..of("aa2", "outcome", 1, 20, None) };
    put("one", None, vec![outcome, of("ab1", "review", 2, 30, Some("block"))]);
    put("one", Some("scout"), vec![of("ac1", "review", 1, 40, Some("allow"))]);
    put("two", None, vec![of("b", "review", 1, 50, Some("warn"))]);
    store
        .append_records(vec![NewRecord {
            step: None,
            call_id: None,
            ..of("c", "fault", 0, 60, None)
        }])
        .unwrap();
    store
}

#[test]
fn a_record_behind_another_is_as_the_journal_has_it() {
    let place = Place::new();
    // An encrypted one has random bytes in its hash.
    place.home.data_keys().set_off(true).unwrap();
    let mut last: Option<StoredRecord> = None;
    let mut count = 0;
    let compare = |stored: StoredRecord| {
        let placed = StoredRecord::chain_after(
            last.as_ref(),
            stored.session.clone(),
            stored.agent.clone(),
            stored.record.clone(),
        );
        assert_eq!(placed, stored);
        last = Some(stored);
        count += 1;
        ControlFlow::Continue(())
    };
    filled(&place).query_records(&Filter::default(), compare).unwrap();
    assert_eq!(count, 6);
}

#[test]
fn filters() {
    let place = Place::new();
    let store = filled(&place);
    let all = Filter::default();
    let text = |text: &str| Some(text.to_owned());
    let table: [(Filter, &[&str]); 12] = [
        (all.clone(), &["aa1", "aa2", "ab1", "ac1", "b", "c"]),
        (Filter { newest_first: true, limit: Some(2), ..all.clone() }, &["c", "b"]),
        (Filter { session: text("one"), ..all.clone() }, &["aa1", "aa2", "ab1", "ac1"]),
        (
            Filter { session: text("one"), kind: text("review"), after: Some(1), ..all.clone() },
            &["ab1", "ac1"],
        ),
        (
            Filter { kind: text("review"), newest_first: true, limit: Some(3), ..all.clone() },
            &["b", "ac1", "ab1"],
        ),
        (Filter { verdict: text("allow"), ..all.clone() }, &["aa1", "ac1"]),
        (Filter { since: Some(40), ..all.clone() }, &["ac1", "b", "c"]),
        (Filter { after: Some(4), limit: Some(1), ..all.clone() }, &["b"]),
        (Filter { session: text("none"), ..all.clone() }, &[]),
        (Filter { except: text("on"), ..all.clone() }, &["b", "c"]),
        (
            Filter { except: text("n"), session: text("one"), ..all.clone() },
            &["aa1", "aa2", "ab1", "ac1"],
        ),
        (Filter { limit: Some(0), ..all }, &[]),
    ];
    for (filter, expected) in table {
        assert_eq!(collect(&store, &filter), expected, "{filter:?}");
    }
}

#[test]
fn a_query_stops_on_request() {
    let place = Place::new();
    let mut seen = 0;
    filled(&place)
        .query_records(&Filter::default(), |_| {
            seen += 1;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(seen, 2);
}

#[test]
fn a_reader_that_lingers_stops_no_writer() {
    let place = Place::new();
    let (reader, mut writer, mut maintenance) = (filled(&place), place.store(), place.store());
    let mut seen = 0;
    reader
        .query_records(&Filter::default(), |_| {
            seen += 1;
            if seen == 1 {
                writer.append_records(vec![record("meanwhile")]).unwrap();
                assert!(matches!(maintenance.checkpoint_log(), Err(StoreError::Busy { .. })));
                writer.append_records(vec![record("later")]).unwrap();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, 6, "one view");
    maintenance.checkpoint_log().unwrap();
    assert_eq!(
        collect(&reader, &Filter { after: Some(6), ..Filter::default() }),
        ["meanwhile", "later"]
    );
}

#[test]
fn by_id_or_prefix() {
    let place = Place::new();
    let store = filled(&place);
    for (looked_for, expected) in [
        ("aa1", Some("aa1")),
        ("ab", Some("ab1")),
        ("b", Some("b")),
        ("c", Some("c")),
        ("d", None),
        ("", None),
        ("aa1x", None),
        ("%", None),
    ] {
        let found = store.find_record(looked_for).unwrap().map(|stored| stored.record.id);
        assert_eq!(found.as_deref(), expected, "{looked_for}");
    }
    let Err(StoreError::Ambiguous { candidates, .. }) = store.find_record("a") else {
        panic!("`a` names four records")
    };
    assert_eq!(candidates, ["aa1", "aa2", "ab1", "ac1"]);
}

#[test]
fn by_step_and_call() {
    let place = Place::new();
    let store = filled(&place);
    let ids = |agent, step| {
        let history = store.session_history("one", agent);
        let records = history.step_records(step).unwrap();
        let hashes: Vec<[u8; 32]> = records.iter().map(|record| record.hash).collect();
        assert_eq!(history.step_hashes(step).unwrap(), hashes, "{agent:?} {step}");
        records.iter().map(|record| record.document[7..10].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, 1), ["aa1", "aa2"]);
    assert_eq!(ids(Some(""), 2), ["ab1"]);
    assert_eq!(ids(Some("scout"), 1), ["ac1"]);
    assert_eq!(ids(None, u64::MAX), [""; 0]);
    let call =
        |call, kind| store.find_call("one", call, kind).unwrap().map(|stored| stored.record.id);
    assert_eq!(call("toolu_aa1", "review").as_deref(), Some("aa1"));
    assert_eq!(call("toolu_aa1", "outcome").as_deref(), Some("aa2"));
    assert_eq!(call("toolu_b", "review"), None, "another session's call");
}

#[test]
fn calls_that_have_a_review() {
    let place = Place::new();
    let mut store = filled(&place);
    let unreviewed = NewRecord { kind: "unreviewed".into(), ..record("u") };
    store
        .commit_review(
            &store.take_snapshot("one", None).unwrap(),
            Commit { records: vec![unreviewed], ..Commit::default() },
        )
        .unwrap();
    let outcome = NewRecord { kind: "outcome".into(), ..record("o") };
    store
        .commit_review(
            &store.take_snapshot("one", None).unwrap(),
            Commit { records: vec![outcome], ..Commit::default() },
        )
        .unwrap();
    let asked = [
        "toolu_aa1",
        "toolu_ac1",
        "toolu_u",
        "toolu_o",
        "toolu_b",
        "toolu_nobody",
        "",
        "toolu_aa1",
    ];
    let found: Vec<_> = store.reviewed_calls("one", &asked).unwrap().into_iter().collect();
    assert_eq!(
        found,
        ["toolu_aa1", "toolu_ac1", "toolu_u"],
        "an outcome is not a review, and `b` is another session's"
    );
    assert!(store.reviewed_calls("one", &[]).unwrap().is_empty());
}

#[test]
fn the_newest_time_is_that_of_the_newest_record() {
    let place = Place::new();
    assert_eq!(place.store().newest_at().unwrap(), None);
    let mut store = filled(&place);
    assert_eq!(store.newest_at().unwrap(), Some(60));
    store.append_records(vec![NewRecord { at: 5, ..record("set back") }]).unwrap();
    assert_eq!(store.newest_at().unwrap(), Some(5));
}

#[test]
fn sessions_with_counts() {
    let place = Place::new();
    let found = filled(&place).sessions().unwrap();
    let counts: Vec<_> = found
        .iter()
        .map(|s| (s.session.as_str(), s.records, s.reviews, s.first_at, s.last_at))
        .collect();
    assert_eq!(counts, [("two", 1, 1, 50, 50), ("one", 4, 3, 10, 40)]);
}

#[test]
fn a_record_comes_back_as_it_went_in() {
    let place = Place::new();
    let odd = NewRecord {
        document: "{\"text\":\"\u{0}\u{1f980} \\\" \n\"}".into(),
        verdict: None,
        step: None,
        call_id: None,
        ..record("odd")
    };
    let stored = place.store().append_records(vec![odd.clone()]).unwrap().remove(0);
    assert_eq!(stored.record, odd);
    assert_eq!((stored.sequence, stored.previous), (1, [0; 32]));
    // As the module documentation describes it, so that an export can be checked without this
    // crate.
    let proof = stored.proof.unwrap();
    let commitment = blake3::keyed_hash(&proof.salt, odd.document.as_bytes());
    let head = [&[0; 32], &1_u64.to_be_bytes()[..]].concat();
    let text = [b"portcullis journal v2", head.as_slice(), commitment.as_bytes(), &proof.stored];
    assert_eq!(stored.hash, *blake3::hash(&text.concat()).as_bytes());
    assert_eq!(place.store().find_record("odd").unwrap(), Some(stored));
    // The same for one that is stored as plain text.
    let place = Place::new();
    place.home.data_keys().set_off(true).unwrap();
    let stored = place.store().append_records(vec![odd.clone()]).unwrap().remove(0);
    let text = [b"portcullis journal v1", head.as_slice(), odd.document.as_bytes()].concat();
    assert_eq!((stored.hash, stored.proof), (*blake3::hash(&text).as_bytes(), None));
    assert_eq!(place.store().find_record("odd").unwrap(), Some(stored));
}

#[test]
fn states_belong_to_session_and_agent() {
    let place = Place::new();
    let mut store = place.store();
    let put =
        |store: &mut Store, agent, session_state: Option<&[u8]>, agent_state: Option<&[u8]>| {
            let snapshot = store.take_snapshot("s", agent).unwrap();
            let owned = |state: Option<&[u8]>| state.map(<[u8]>::to_vec);
            store
                .commit_review(
                    &snapshot,
                    Commit {
                        session_state: owned(session_state),
                        agent_state: owned(agent_state),
                        ..Commit::default()
                    },
                )
                .unwrap();
        };
    put(&mut store, None, Some(b"shared"), Some(b"main"));
    put(&mut store, Some("scout"), None, Some(b"scout"));
    put(&mut store, Some("s"), Some(b"later"), Some(b""));
    for (agent, own) in [
        (None, Some("main")),
        (Some(""), Some("main")),
        (Some("scout"), Some("scout")),
        (Some("s"), Some("")),
        (Some("new"), None),
    ] {
        let snapshot = store.take_snapshot("s", agent).unwrap();
        assert_eq!((snapshot.head, snapshot.session.as_deref()), (3, Some(b"later".as_slice())));
        assert_eq!(snapshot.agent.as_deref(), own.map(str::as_bytes), "{agent:?}");
    }
    assert_eq!(store.take_snapshot("t", None).unwrap().session, None);
}

#[test]
fn a_session_that_moved_refuses_the_commit() {
    let place = Place::new();
    let (mut here, mut there) = (place.store(), place.store());
    let old = here.take_snapshot("s", None).unwrap();
    there
        .commit_review(&there.take_snapshot("s", Some("scout")).unwrap(), commit("first"))
        .unwrap();
    there.commit_review(&there.take_snapshot("other", None).unwrap(), commit("elsewhere")).unwrap();
    match here.commit_review(&old, commit("second")) {
        Err(CommitError::Moved { expected: 0, found: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(
        collect(&here, &Filter::default()),
        ["first", "elsewhere"],
        "nothing of the refused commit stays"
    );
    here.commit_review(&here.take_snapshot("s", None).unwrap(), commit("second")).unwrap();
}

#[test]
fn the_protocol_reviews_again_and_then_under_the_lock() {
    for (disturbances, attempts) in [(0, 1), (1, 2), (2, 3)] {
        let place = Place::new();
        let (mut store, mut other) = (place.store(), place.store());
        let mut heads = Vec::new();
        let committed = store
            .review_in_session("s", None, |snapshot, _| {
                heads.push(snapshot.head);
                if heads.len() <= disturbances {
                    other.commit_review(
                        &other.take_snapshot("s", None).unwrap(),
                        commit(&format!("disturbance{}", heads.len())),
                    )?;
                }
                Ok::<_, CommitError>(PendingCommit { commit: commit("mine"), value: snapshot.head })
            })
            .unwrap();
        assert_eq!((committed.attempts, committed.value), (attempts, disturbances as u64));
        assert_eq!(heads, (0..u64::from(attempts)).collect::<Vec<_>>());
        assert_eq!(committed.stored[0].sequence, disturbances as u64 + 1);
        assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, None);
    }
}

#[test]
fn a_review_that_fails_writes_nothing() {
    let place = Place::new();
    let mut store = place.store();
    let fail = || StoreError::BadRecord { id: "x".into(), reason: "because" };
    assert!(
        store.review_in_session("s", None, |_, _| Err::<PendingCommit<()>, _>(fail())).is_err()
    );
    assert!(store.commit_locked("s", None, |_, _| Err::<(Commit, ()), _>(fail())).is_err());
    assert_eq!(store.take_snapshot("s", None).unwrap().head, 0);
    store.append_records(vec![record("after")]).unwrap();
}

#[test]
fn records_that_cannot_be_stored() {
    let place = Place::new();
    let mut store = place.store();
    store.append_records(vec![record("taken")]).unwrap();
    let table = [
        (
            NewRecord { id: String::new(), ..record("x") },
            "the record `` cannot be stored: it needs an id and a kind",
        ),
        (
            NewRecord { kind: String::new(), ..record("x") },
            "the record `x` cannot be stored: it needs an id and a kind",
        ),
        (
            NewRecord { at: u64::MAX, ..record("x") },
            "the record `x` cannot be stored: its time is beyond the year 292 million: give milliseconds",
        ),
        (
            NewRecord { step: Some(u64::MAX), ..record("x") },
            "the record `x` cannot be stored: its step is beyond 2^63",
        ),
        (
            record("taken"),
            "a record with the id `taken` is in the journal already: give each record an id of its own",
        ),
    ];
    for (bad, message) in table {
        let error = store.append_records(vec![record("good"), bad]).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(collect(&store, &Filter::default()), ["taken"], "all or nothing");
    }
}

#[test]
fn checkpoints_empty_the_log_and_lose_nothing() {
    let place = Place::new();
    let mut store = place.store();
    let mut ids = Vec::new();
    let mut due = 0;
    for n in 0..120 {
        ids.push(format!("r{n:03}"));
        let large = Commit {
            session_state: Some(vec![u8::try_from(n).unwrap(); 100_000]),
            ..commit(&ids[n])
        };
        store.commit_review(&store.take_snapshot("s", None).unwrap(), large).unwrap();
        // Left alone at first, so that the log grows until commits empty it themselves.
        if n > 80 && store.checkpoint_due() {
            due += 1;
            store.checkpoint_log().unwrap();
            assert!(!store.checkpoint_due());
        }
        assert!(store.log_size() < 5 << 20, "{}", store.log_size());
    }
    assert!(due > 1);
    assert_eq!(collect(&place.store(), &Filter::default()), ids);
    assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, None);
}

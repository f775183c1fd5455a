//! Exceptions: the sessions that see them, the ways in which they end, and the treatment of forged
//! ones.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, answer, answers, commit, grant, orders, record, spawn};
use portcullis_store::{
    Commit, CommitError, Durability, ExceptionEnd, Flaw, Home, PendingCommit, Store, StoreError,
    StoredException,
};
use rusqlite::params;
use rusqlite::types::Value;

fn spending(id: &str, spend: &[&str]) -> Commit {
    Commit { spend: spend.iter().map(|&id| id.to_owned()).collect(), ..commit(id) }
}

fn once(id: &str) -> StoredException {
    StoredException { once: true, ..grant(id) }
}

fn live(store: &Store, session: &str) -> Vec<String> {
    store
        .take_snapshot(session, None)
        .unwrap()
        .exceptions
        .into_iter()
        .map(|grant| grant.id)
        .collect()
}

fn ended(store: &mut Store) -> Vec<(String, Option<(ExceptionEnd, u64)>)> {
    store
        .list_exceptions()
        .unwrap()
        .into_iter()
        .map(|granted| (granted.grant.id, granted.ended))
        .collect()
}

#[test]
fn from_grant_to_end() {
    let place = Place::new();
    let mut store = place.store();
    let of_one = StoredException { session: Some("one".into()), granted_at: 12, ..once("a") };
    let for_all = StoredException { granted_at: 11, ..grant("b") };
    let short = StoredException { granted_at: 10, expires_at: 15, ..grant("c") };
    for grant in [&of_one, &for_all, &short] {
        let stored = store
            .add_exception(grant.clone(), vec![record(&format!("granted-{}", grant.id))])
            .unwrap();
        assert_eq!((stored.len(), stored[0].session.as_deref()), (1, grant.session.as_deref()));
    }
    assert_eq!(
        store.take_snapshot("one", None).unwrap().exceptions,
        [of_one.clone(), for_all.clone(), short.clone()]
    );
    assert_eq!(
        live(&store, "two"),
        ["b", "c"],
        "another session's exception is none of its business"
    );

    // Relied on in one commit: single-use ones end, others stay.
    let snapshot = store.take_snapshot("one", Some("scout")).unwrap();
    store.commit_review(&snapshot, spending("relied", &["a", "b"])).unwrap();
    assert_eq!(live(&place.store(), "one"), ["b", "c"]);
    let spent = Some((ExceptionEnd::Spent, record("relied").at));
    assert_eq!(ended(&mut store), [("a".into(), spent), ("b".into(), None), ("c".into(), None)]);

    // A later grant finds that one has expired.
    store.add_exception(StoredException { granted_at: 15, ..grant("d") }, Vec::new()).unwrap();
    assert_eq!(live(&store, "one"), ["b", "d"]);
    assert_eq!(store.revoke_exception("b", 20, vec![record("revoked")]).unwrap().unwrap().len(), 1);
    assert_eq!(store.revoke_exception("b", 21, vec![record("again")]).unwrap(), None);
    assert_eq!(store.revoke_exception("nobody", 21, vec![record("again")]).unwrap(), None);
    let expected = [
        ("d", None),
        ("a", spent),
        ("b", Some((ExceptionEnd::Revoked, 20))),
        ("c", Some((ExceptionEnd::Expired, 15))),
    ];
    assert_eq!(ended(&mut store), expected.map(|(id, end)| (id.to_owned(), end)));

    let ids = store
        .revoke_all_exceptions(30, |ended, removed| vec![record(&format!("{ended:?}{removed:?}"))])
        .unwrap();
    assert_eq!(ids[0].record.id, "[\"d\"][]");
    assert_eq!(live(&store, "one"), [""; 0]);
    assert_eq!(
        store.list_exceptions().unwrap()[1].grant,
        of_one,
        "what has ended stays to be looked at"
    );
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad, found.beside), (6, None, None));
}

#[test]
fn one_that_ended_meanwhile_has_the_review_run_again() {
    let place = Place::new();
    let (mut here, mut there) = (place.store(), place.store());
    type Other = fn(&mut Store);
    let table: [(&str, Other); 3] = [
        ("spent in another session", |there| {
            there
                .commit_review(
                    &there.take_snapshot("other", None).unwrap(),
                    spending(&format!("other{}", rows(there)), &["g"]),
                )
                .map(drop)
                .unwrap();
        }),
        ("revoked", |there| there.revoke_exception("g", 1, Vec::new()).map(drop).unwrap()),
        ("all revoked", |there| {
            there.revoke_all_exceptions(1, |_, _| Vec::new()).map(drop).unwrap()
        }),
    ];
    for (round, (name, other)) in table.into_iter().enumerate() {
        there.add_exception(once("g"), Vec::new()).unwrap();
        let mut seen = Vec::new();
        let committed = here
            .review_in_session("s", None, |snapshot, _| {
                seen.push(snapshot.exceptions.len());
                let spend: &[&str] = if snapshot.exceptions.is_empty() { &[] } else { &["g"] };
                if seen.len() == 1 {
                    other(&mut there);
                }
                Ok::<_, StoreError>(PendingCommit {
                    commit: spending(&format!("review{round}"), spend),
                    value: (),
                })
            })
            .unwrap();
        assert_eq!((seen, committed.attempts), (vec![1, 0], 2), "{name}");
        place.raw().execute("DELETE FROM grants", []).unwrap();
    }
    assert_eq!(here.verify_chain(|_| {}).unwrap().first_bad, None);
}

fn rows(store: &Store) -> u64 {
    store.sessions().unwrap().iter().map(|session| session.records).sum()
}

#[test]
fn invalid_grants_and_spends() {
    let place = Place::new();
    let mut store = place.store();
    store.add_exception(grant("taken"), Vec::new()).unwrap();
    let table: [(StoredException, &str); 4] = [
        (grant(""), "the exception `` cannot be used: it needs an id"),
        (grant("taken"), "the exception `taken` cannot be used: its id is taken"),
        (
            StoredException { expires_at: u64::MAX, ..grant("x") },
            "the exception `x` cannot be used: its times are beyond the year 292 million: give milliseconds",
        ),
        (
            StoredException { document: "x".repeat(70_000), ..grant("x") },
            "the exception `x` cannot be used: its document is longer than 64 KiB",
        ),
    ];
    for (bad, message) in table {
        assert_eq!(store.add_exception(bad, vec![record("r")]).unwrap_err().to_string(), message);
    }
    assert_eq!(store.find_record("r").unwrap(), None, "nothing is written");

    let snapshot = store.take_snapshot("s", None).unwrap();
    let recordless = Commit { spend: vec!["taken".into()], ..Commit::default() };
    let error = store.commit_review(&snapshot, recordless).unwrap_err();
    assert!(
        error.to_string().contains("`taken` cannot be used: it is spent without a record"),
        "{error}"
    );
    store
        .add_exception(
            StoredException { session: Some("other".into()), ..once("theirs") },
            Vec::new(),
        )
        .unwrap();
    for id in ["theirs", "nobody"] {
        let error = store.commit_review(&snapshot, spending("r", &["taken", id])).unwrap_err();
        assert!(matches!(&error, CommitError::Spent { id: found } if found == id), "{error}");
        let locked =
            store.commit_locked("s", None, |_, _| Ok::<_, StoreError>((spending("r", &[id]), ())));
        assert!(locked.unwrap_err().to_string().ends_with("it is not live in this session"));
    }
    assert_eq!((store.take_snapshot("s", None).unwrap().head, live(&store, "other").len()), (0, 2));

    for n in 2..64 {
        store.add_exception(grant(&format!("g{n}")), Vec::new()).unwrap();
    }
    let error = store.add_exception(grant("one more"), Vec::new()).unwrap_err();
    assert!(error.to_string().ends_with("there are 64 live ones already: revoke some"), "{error}");
    let later = StoredException { granted_at: grant("x").expires_at, ..grant("one more") };
    store.add_exception(later, Vec::new()).unwrap();
}

/// Creates a home with a live exception `g`, one that was spent, and `spent` as it was before.
fn with_grants() -> Place {
    let place = Place::new();
    let mut store = place.store();
    store
        .add_exception(
            StoredException { session: Some("s".into()), ..once("spent") },
            vec![record("granted")],
        )
        .unwrap();
    place.raw().execute_batch("CREATE TABLE before AS SELECT * FROM grants; CREATE TABLE old_anchor AS SELECT * FROM anchor").unwrap();
    store
        .commit_review(&store.take_snapshot("s", None).unwrap(), spending("spending", &["spent"]))
        .unwrap();
    store.add_exception(grant("g"), Vec::new()).unwrap();
    place
}

#[test]
fn a_row_that_was_changed_without_the_key_is_named_and_never_relied_on() {
    let set = |set: &str| format!("UPDATE grants SET {set} WHERE id = 'g'");
    let g = "`g` is not as it was granted";
    let digest = "one was removed, or put back";
    let table: Vec<(String, &str)> = vec![
        (set("session = 's'"), g),
        (set("once = 1"), g),
        (set("once = 2"), g),
        (set("granted_at = granted_at + 1"), g),
        (set("expires_at = 9000000000000000"), g),
        (set("expires_at = -1"), g),
        (set("document = '{\"tool\":\"Bash\"}'"), g),
        (set("document = CAST(x'ff' AS TEXT)"), g),
        (set("seal = zeroblob(32)"), g),
        (set("seal = x''"), g),
        (set("ended_at = 5"), g),
        (set("id = 'other'"), "`other` is not as it was granted"),
        (set("id = CAST(x'0aff' AS TEXT)"), "`\\n\u{fffd}` is not as it was granted"),
        (
            "INSERT INTO grants SELECT 'copy', session, once, granted_at, expires_at, document, ended, ended_at, seal FROM grants WHERE id = 'g'"
                .into(),
            "`copy` is not as it was granted",
        ),
        ("UPDATE grants SET ended = NULL, ended_at = NULL WHERE id = 'spent'".into(), "`spent` is not as it was granted"),
        ("DELETE FROM grants WHERE id = 'g'".into(), digest),
        ("DELETE FROM grants".into(), digest),
        ("REPLACE INTO grants SELECT * FROM before".into(), digest),
        ("DELETE FROM grants; INSERT INTO grants SELECT * FROM before".into(), digest),
    ];
    for (change, message) in table {
        let place = with_grants();
        place.raw().execute_batch(&change).unwrap();
        let mut store = place.store();
        let outcomes = [
            store.take_snapshot("s", None).map(drop),
            store.take_snapshot("other", None).map(drop),
            store.list_exceptions().map(drop),
            store.add_exception(grant("new"), Vec::new()).map(drop),
            store.revoke_exception("g", 1, Vec::new()).map(drop),
            store
                .review_in_session("s", None, |_, _| {
                    Ok::<_, StoreError>(PendingCommit { commit: commit("r"), value: () })
                })
                .map(drop),
        ];
        for (n, outcome) in outcomes.into_iter().enumerate() {
            let error = outcome.expect_err(&format!("{change}: {n}")).to_string();
            assert!(
                error.contains(message) && error.ends_with("run `portcullis allow --revoke-all`"),
                "{change}: {error}"
            );
        }
        let found = store.verify_chain(|_| {}).unwrap();
        assert!(found.first_bad.is_none() && found.beside.unwrap().contains(message), "{change}");

        // The recovery by a person.
        store
            .revoke_all_exceptions(50, |ended, removed| {
                vec![record(&format!("ended {ended:?}, removed {removed:?}"))]
            })
            .unwrap();
        assert_eq!(live(&store, "s"), [""; 0], "{change}");
        let found = store.verify_chain(|_| {}).unwrap();
        assert_eq!((found.first_bad, found.beside), (None, None), "{change}");
        store.add_exception(grant("after"), Vec::new()).unwrap();
    }
}

#[test]
fn the_anchor_cannot_be_put_back_with_the_rows() {
    let put_back = "DELETE FROM grants; INSERT INTO grants SELECT * FROM before; \
                    UPDATE anchor SET grants = (SELECT grants FROM old_anchor)";
    let all_of_it =
        format!("{put_back}; DELETE FROM anchor; INSERT INTO anchor SELECT * FROM old_anchor");
    let forgotten = "DELETE FROM grants; UPDATE anchor SET grants = x''";
    for (change, flaw) in [
        (put_back, (2, Flaw::AnchorForged)),
        (&all_of_it, (2, Flaw::AfterAnchor)),
        (forgotten, (2, Flaw::AnchorForged)),
    ] {
        let place = with_grants();
        place.raw().execute_batch(change).unwrap();
        let mut store = place.store();
        let outcome =
            store.take_snapshot("s", None).map_err(CommitError::from).and_then(|snapshot| {
                let spend: Vec<_> =
                    snapshot.exceptions.iter().map(|grant| grant.id.clone()).collect();
                store.commit_review(&snapshot, Commit { spend, ..commit("r") })
            });
        let Err(CommitError::Store(
            error @ (StoreError::Tampered { .. } | StoreError::ForgedState { .. }),
        )) = outcome
        else {
            panic!("{change}: {outcome:?}")
        };
        assert!(error.to_string().contains("audit verify"), "{error}");
        assert_eq!(store.verify_chain(|_| {}).unwrap().first_bad, Some(flaw), "{change}");
    }
}

/// Only the seal distinguishes a genuine row from a foreign one: a row written with the key is
/// accepted.
#[test]
fn a_row_that_was_written_with_the_key_is_taken() {
    let place = with_grants();
    let db = place.raw();
    let keyed = |purpose: &str, bytes: &[u8]| {
        *blake3::keyed_hash(&place.home.derive_key(purpose), bytes).as_bytes()
    };
    let part = |value: &Value| match value {
        Value::Null => b"n".to_vec(),
        Value::Integer(number) => [b"i\x01".as_slice(), &number.to_be_bytes()].concat(),
        Value::Text(text) => {
            [b"t\x01".as_slice(), &(text.len() as u64).to_be_bytes(), text.as_bytes()].concat()
        }
        other => panic!("{other:?}"),
    };
    let text = |text: &str| Value::Text(text.into());
    let values = [
        text("z"),
        Value::Null,
        Value::Integer(0),
        Value::Integer(1),
        Value::Integer(2),
        text("{}"),
        Value::Null,
        Value::Null,
    ];
    let seal =
        keyed("portcullis 2026 grant seal", &values.iter().flat_map(part).collect::<Vec<_>>());
    db.execute("INSERT INTO grants VALUES ('z', NULL, 0, 1, 2, '{}', NULL, NULL, ?1)", [seal])
        .unwrap();
    assert!(place.store().take_snapshot("s", None).is_err(), "the anchor does not know it");
    let first: Vec<u8> =
        db.query_row("SELECT seal FROM grants WHERE id = 'g'", [], |row| row.get(0)).unwrap();
    let digest = *blake3::hash(&[first.as_slice(), &seal].concat()).as_bytes();
    let (sequence, hash): (u64, Vec<u8>) = db
        .query_row("SELECT sequence, hash FROM anchor", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let sessions: Vec<u8> =
        db.query_row("SELECT sessions FROM anchor", [], |row| row.get(0)).unwrap();
    let sessions = if sessions.is_empty() {
        Vec::new()
    } else {
        [b"sessions".as_slice(), blake3::hash(&sessions).as_bytes()].concat()
    };
    let mac = keyed(
        "portcullis 2026 journal anchor",
        &[&sequence.to_be_bytes()[..], &hash, &digest, &sessions].concat(),
    );
    db.execute("UPDATE anchor SET grants = ?1, code = ?2", params![digest, mac]).unwrap();
    assert_eq!(live(&place.store(), "s"), ["g", "z"]);
    assert_eq!(place.store().verify_chain(|_| {}).unwrap().beside, None);
}

const SPENDERS: usize = 6;
const GRANTS: usize = 20;

#[test]
#[ignore = "the other side of `spent_once_by_many_processes`"]
fn spender() {
    let Some((home, name)) = orders() else { return };
    let mut store =
        Store::open_database(&Home::open_root(home).unwrap(), Durability::Process).unwrap();
    for n in 0..GRANTS * 2 {
        // Each in its own session, so that only the exceptions can collide.
        let spent = store
            .review_in_session(&name, None, |snapshot, _| {
                let first = snapshot
                    .exceptions
                    .iter()
                    .find(|grant| grant.once)
                    .map(|grant| grant.id.clone());
                std::thread::sleep(std::time::Duration::from_micros(300));
                let commit = Commit {
                    spend: first.iter().cloned().collect(),
                    ..commit(&format!("{name}-{n}"))
                };
                Ok::<_, StoreError>(PendingCommit { commit, value: first })
            })
            .unwrap();
        if let Some(id) = spent.value {
            answer(&id);
        }
    }
}

#[test]
fn spent_once_by_many_processes() {
    let place = Place::new();
    let mut store = place.store();
    for n in 0..GRANTS {
        store.add_exception(once(&format!("g{n:02}")), Vec::new()).unwrap();
    }
    let children: Vec<_> =
        (0..SPENDERS).map(|n| spawn("spender", place.home.path(), &format!("p{n}"))).collect();
    let mut spent = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        spent.extend(answers(&output.stdout));
    }
    spent.sort_unstable();
    assert_eq!(spent, (0..GRANTS).map(|n| format!("g{n:02}")).collect::<Vec<_>>());
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!(
        (found.records, found.first_bad, found.beside),
        ((SPENDERS * GRANTS * 2) as u64, None, None)
    );
}

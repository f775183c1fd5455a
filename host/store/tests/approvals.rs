//! Tests of approvals: one answer, one use, and no permission from a row that we did not write.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, record, work};
use portcullis_store::{
    AnswerEffect, ApprovalAnswer, ApprovalState, Commit, CommitError, DocumentChange, Store,
    StoreError, StoredApproval, StoredException,
};

fn asked(id: &str) -> StoredApproval {
    StoredApproval {
        id: id.into(),
        session: "s".into(),
        digest: format!("digest-{id}"),
        asked_at: 1_000,
        expires_at: 2_000,
        document: "{}".into(),
    }
}

fn answer(allowed: bool, at: u64) -> ApprovalAnswer {
    let effect = if allowed { AnswerEffect::Allows } else { AnswerEffect::Denies };
    ApprovalAnswer { effect, at, reason: "words".into(), document: None, exception: None }
}

fn with_one(place: &Place) -> Store {
    let mut store = place.store();
    store.add_approval(asked("a"), &[work("k")], vec![record("asked")]).unwrap();
    store
}

fn state(store: &Store, id: &str) -> ApprovalState {
    store.find_approval(id).unwrap().unwrap().state
}

/// Commits a review that relies on the approval.
fn use_up(store: &mut Store, session: &str, id: &str) -> Result<(), CommitError> {
    let snapshot = store.take_snapshot(session, None).unwrap();
    let name = format!("{session}-{id}-{}", snapshot.head);
    let commit = Commit { approval: Some(id.into()), ..common::commit(&name) };
    store.commit_review(&snapshot, commit).map(drop)
}

#[test]
fn an_answer_is_given_once_and_used_once() {
    let place = Place::new();
    let mut store = with_one(&place);
    assert_eq!(store.list_due(100, 9).unwrap().len(), 1);
    assert!(store.find_approval("a").unwrap().unwrap().is_waiting(1_999));
    assert!(matches!(use_up(&mut store, "s", "a"), Err(CommitError::Spent { .. })));
    let mut other = place.store();
    assert!(
        other.answer_approval("a", "digest-a", &answer(true, 1_500), vec![record("said")]).unwrap()
    );
    assert!(
        !other.answer_approval("a", "digest-a", &answer(false, 1_600), vec![record("no")]).unwrap()
    );
    let found = store.find_approval("a").unwrap().unwrap();
    assert_eq!(
        (found.state, found.ended_at, found.reason.as_str()),
        (ApprovalState::Allowed, Some(1_500), "words")
    );
    assert!(matches!(use_up(&mut store, "another", "a"), Err(CommitError::Spent { .. })));
    use_up(&mut store, "s", "a").unwrap();
    assert_eq!(state(&store, "a"), ApprovalState::Used);
    assert!(matches!(use_up(&mut store, "s", "a"), Err(CommitError::Spent { .. })));
    assert!(store.find_record("said").unwrap().is_some());
    assert!(store.find_record("no").unwrap().is_none());
    assert!(store.verify_chain(|_| {}).unwrap().is_intact());
}

#[test]
fn what_has_ended_takes_no_answer() {
    for (end, says) in [
        (ApprovalState::Expired, ApprovalState::Expired),
        (ApprovalState::Withdrawn, ApprovalState::Withdrawn),
        // Only a permission can turn out to be for something else.
        (ApprovalState::Changed, ApprovalState::Waiting),
    ] {
        let place = Place::new();
        let mut store = with_one(&place);
        let ended = store.end_approval("a", end, 1_600, vec![record("end")]).unwrap().unwrap();
        assert_eq!(ended.state, says);
        assert_eq!(store.find_record("end").unwrap().is_some(), end == says);
        let took =
            store.answer_approval("a", "digest-a", &answer(true, 1_700), Vec::new()).unwrap();
        assert_eq!(took, end != says);
    }
    let place = Place::new();
    let mut store = with_one(&place);
    assert!(
        !store.answer_approval("a", "digest-a", &answer(true, 2_000), Vec::new()).unwrap(),
        "late"
    );
    assert!(store.answer_approval("a", "digest-a", &answer(false, 1_900), Vec::new()).unwrap());
    let ended =
        store.end_approval("a", ApprovalState::Expired, 2_000, vec![record("end")]).unwrap();
    assert_eq!(ended.unwrap().state, ApprovalState::Denied, "the answer was first");
    assert!(store.find_record("end").unwrap().is_none());
    assert_eq!(store.end_approval("none", ApprovalState::Expired, 1, Vec::new()).unwrap(), None);
}

#[test]
fn a_row_that_we_did_not_write_permits_nothing() {
    let seal = "(SELECT seal FROM approvals WHERE id = 'b')";
    let copy = format!(
        "INSERT OR REPLACE INTO approvals SELECT 'a', session, digest, asked_at, expires_at, document, state, ended_at, reason, {seal} FROM approvals WHERE id = 'b'"
    );
    for sql in [
        "UPDATE approvals SET state = 'allowed' WHERE id = 'a'",
        "UPDATE approvals SET state = 'allowed', seal = zeroblob(32) WHERE id = 'a'",
        "UPDATE approvals SET digest = 'digest-b' WHERE id = 'a'",
        "UPDATE approvals SET session = 'other' WHERE id = 'a'",
        "UPDATE approvals SET document = '{\"x\":1}' WHERE id = 'a'",
        "UPDATE approvals SET expires_at = 9000 WHERE id = 'a'",
        &copy,
    ] {
        let place = Place::new();
        let mut store = with_one(&place);
        store.add_approval(asked("b"), &[], Vec::new()).unwrap();
        assert!(store.answer_approval("b", "digest-b", &answer(true, 1_100), Vec::new()).unwrap());
        place.raw().execute_batch(sql).unwrap();
        let forged = |error: &StoreError| matches!(error, StoreError::ForgedApproval { id, .. } if id == "a");
        assert!(forged(&store.find_approval("a").unwrap_err()), "{sql}");
        let answered = store.answer_approval("a", "digest-a", &answer(true, 1_200), Vec::new());
        assert!(forged(&answered.unwrap_err()), "{sql}");
        let used = use_up(&mut store, "s", "a").unwrap_err();
        assert!(matches!(&used, CommitError::Store(error) if forged(error)), "{sql}: {used}");
        let listed = store.list_approvals().unwrap();
        assert_eq!(
            (listed.genuine.len(), listed.forged.as_slice()),
            (1, &["a".to_owned()][..]),
            "{sql}"
        );
        store.prune_before(0, 10).unwrap();
        assert_eq!(store.find_approval("a").unwrap(), None, "{sql}");
        assert_eq!(state(&store, "b"), ApprovalState::Allowed, "{sql}");
    }
    let place = Place::new();
    let mut store = with_one(&place);
    assert!(store.answer_approval("a", "digest-a", &answer(true, 1_100), Vec::new()).unwrap());
    place.raw().execute_batch("DELETE FROM approvals").unwrap();
    assert_eq!(store.find_approval("a").unwrap(), None);
    assert!(matches!(use_up(&mut store, "s", "a"), Err(CommitError::Spent { .. })));
}

#[test]
fn invalid_approvals_are_refused() {
    let place = Place::new();
    let mut store = with_one(&place);
    let long = "x".repeat((256 << 10) + 1);
    for (new, message) in [
        (StoredApproval { id: String::new(), ..asked("b") }, "needs an id"),
        (StoredApproval { digest: String::new(), ..asked("b") }, "needs the digest"),
        (StoredApproval { document: long, ..asked("b") }, "longer than 256 KiB"),
        (asked("a"), "its id is taken"),
    ] {
        let error = store.add_approval(new, &[], vec![record("r")]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(store.find_record("r").unwrap().is_none());
    let other = store.answer_approval("a", "digest-b", &answer(true, 1_100), Vec::new());
    assert!(other.unwrap_err().to_string().contains("another action"));
    let long = ApprovalAnswer { reason: "x".repeat(1025), ..answer(true, 1_100) };
    let long = store.answer_approval("a", "digest-a", &long, Vec::new());
    assert!(long.unwrap_err().to_string().contains("longer than 1 KiB"));
    let of = |at: usize| StoredApproval {
        session: format!("s{}", (at - 1) / 16),
        ..asked(&format!("n{at}"))
    };
    for at in 1..64 {
        if at > 1 && at % 16 == 1 {
            let one_more = StoredApproval { id: "more".into(), ..of(at - 1) };
            let error = store.add_approval(one_more, &[], Vec::new()).unwrap_err().to_string();
            assert!(error.contains("16 actions of its session"), "{error}");
        }
        store.add_approval(of(at), &[], Vec::new()).unwrap();
    }
    let error = store.add_approval(asked("full"), &[], Vec::new()).unwrap_err().to_string();
    assert!(error.contains("64 actions are waiting"), "{error}");
    let later = StoredApproval { asked_at: 2_000, expires_at: 3_000, ..asked("later") };
    store.add_approval(later, &[], Vec::new()).unwrap();
    let waiting = |at| -> Vec<String> {
        let rows = store.list_waiting_approvals(at).unwrap();
        rows.into_iter().map(|row| row.asked.id).collect()
    };
    assert_eq!(
        (waiting(1_500).len(), waiting(2_500), waiting(3_000)),
        (65, vec!["later".into()], vec![])
    );
}

#[test]
fn an_answer_that_is_noted_leaves_it_waiting() {
    let place = Place::new();
    let mut store = with_one(&place);
    let noted = |from: &str, to: &str| ApprovalAnswer {
        effect: AnswerEffect::IsNoted,
        document: Some(DocumentChange { from: from.into(), to: to.into() }),
        ..answer(true, 1_100)
    };
    let first = noted("{}", "{\"by\":1}");
    assert!(store.answer_approval("a", "digest-a", &first, vec![record("one")]).unwrap());
    let found = store.find_approval("a").unwrap().unwrap();
    assert!(found.is_waiting(1_200) && found.ended_at.is_none(), "{found:?}");
    assert_eq!(found.asked.document, "{\"by\":1}");
    assert!(matches!(use_up(&mut store, "s", "a"), Err(CommitError::Spent { .. })));
    // Somebody who saw it before does not overwrite what was noted.
    let error = store.answer_approval("a", "digest-a", &first, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("at the same time"), "{error}");
    let long = noted("{\"by\":1}", &"x".repeat((256 << 10) + 1));
    let error = store.answer_approval("a", "digest-a", &long, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("longer than 256 KiB"), "{error}");
    assert!(store.answer_approval("a", "digest-a", &answer(true, 1_300), Vec::new()).unwrap());
    use_up(&mut store, "s", "a").unwrap();
}

#[test]
fn an_exception_begins_with_the_answer_or_not_at_all() {
    let place = Place::new();
    let mut store = with_one(&place);
    let exception = StoredException {
        id: "e".into(),
        session: Some("s".into()),
        once: false,
        granted_at: 1_100,
        expires_at: 9_000,
        document: "{}".into(),
    };
    let with = |exception| ApprovalAnswer { exception: Some(exception), ..answer(true, 1_100) };
    let bad = StoredException { id: String::new(), ..exception.clone() };
    assert!(store.answer_approval("a", "digest-a", &with(bad), vec![record("bad")]).is_err());
    assert_eq!(state(&store, "a"), ApprovalState::Waiting);
    assert!(store.find_record("bad").unwrap().is_none());
    assert!(store.answer_approval("a", "digest-a", &with(exception), Vec::new()).unwrap());
    let live = store.take_snapshot("s", None).unwrap().exceptions;
    assert_eq!(live.iter().map(|grant| grant.id.as_str()).collect::<Vec<_>>(), ["e"]);
    assert!(store.take_snapshot("other", None).unwrap().exceptions.is_empty());
}

//! What the files of a home show of the texts that it keeps, and what is left of them after retention.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, record};
use portcullis_encryption::{DataKind, KeptIn, MasterKey};
use portcullis_store::{
    AnswerEffect, ApprovalAnswer, BreakerChange, Commit, Durability, ErasedDocument, Erasure,
    ErasureResult, Filter, Home, NewRecord, NewWork, Store, StoreError, StoredApproval,
    StoredException,
};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

const DAY: u64 = 24 * 60 * 60 * 1000;
const NOW: u64 = 1_795_000_000_000;
/// In every text that is to be kept; no other text holds it.
const SECRET: &str = "Zq7-planted";

fn secret(name: &str) -> String {
    format!("{{\"text\":\"{SECRET} {name}\"}}")
}

fn dated(id: &str, at: u64) -> NewRecord {
    NewRecord { at, document: secret(id), ..record(id) }
}

/// One of each kind of text, all at one time.
fn fill(store: &mut Store, name: &str, at: u64) {
    let snapshot = store.take_snapshot(name, Some("scout")).unwrap();
    let breaker = BreakerChange {
        plugin: name.into(),
        before: snapshot.breakers.get(name).cloned(),
        after: Some(secret("breaker")),
    };
    let commit = Commit {
        session_state: Some([b"\x0a", secret("session").as_bytes()].concat()),
        agent_state: Some([b"\x0a", secret("agent").as_bytes()].concat()),
        records: vec![dated(name, at)],
        breakers: vec![breaker],
        ..Commit::default()
    };
    store.commit_review(&snapshot, commit).unwrap();
    let grant = StoredException {
        id: format!("g-{name}"),
        granted_at: at,
        expires_at: NOW + 400 * DAY,
        document: secret("grant"),
        ..StoredException::default()
    };
    store.add_exception(grant, vec![dated(&format!("{name}-granted"), at)]).unwrap();
    let work =
        NewWork { kind: "notify".into(), key: name.into(), due_at: at, document: secret("work") };
    store.enqueue_work(&work).unwrap();
    let due = store.list_due(at, 9).unwrap();
    let id = due.iter().find(|work| work.key == name).unwrap().id;
    store.work_failed(id, &secret("error"), at).unwrap();
    let asked = StoredApproval {
        id: format!("a-{name}"),
        session: name.into(),
        digest: "d".into(),
        asked_at: at,
        expires_at: at + 1000,
        document: secret("approval"),
    };
    store.add_approval(asked, &[], vec![dated(&format!("{name}-asked"), at)]).unwrap();
    let answer = ApprovalAnswer {
        effect: AnswerEffect::Denies,
        at,
        reason: secret("reason"),
        document: None,
        exception: None,
    };
    let answered = store.answer_approval(
        &format!("a-{name}"),
        "d",
        &answer,
        vec![dated(&format!("{name}-no"), at)],
    );
    assert!(answered.unwrap());
}

/// Reads all texts again, as another process; the number of those that hold the secret.
fn read(home: &Path) -> Result<usize, StoreError> {
    let mut store = open(home);
    let mut texts = Vec::new();
    let mut sessions = Vec::new();
    store.query_records(&Filter::default(), |stored| {
        texts.push(stored.record.document);
        sessions.extend(stored.session);
        ControlFlow::Continue(())
    })?;
    sessions.sort();
    sessions.dedup();
    for session in &sessions {
        let snapshot = store.take_snapshot(session, Some("scout"))?;
        let states = snapshot.session.into_iter().chain(snapshot.agent);
        texts.extend(states.map(|state| String::from_utf8(state).unwrap()));
        let history = store.session_history(session, None);
        assert!(history.step_records(1)?.iter().all(|step| step.document.contains(SECRET)));
    }
    texts.extend(store.breakers()?.into_values());
    texts.extend(store.list_exceptions()?.into_iter().map(|found| found.grant.document));
    for work in store.list_due(u64::MAX, 9)? {
        texts.extend([work.document].into_iter().chain(work.last_error));
    }
    let approvals = store.list_approvals()?;
    assert!(approvals.forged.is_empty());
    texts.extend(
        approvals.genuine.into_iter().flat_map(|found| [found.asked.document, found.reason]),
    );
    Ok(texts.iter().filter(|text| text.contains(SECRET)).count())
}

fn open(home: &Path) -> Store {
    Store::open_database(&Home::open_root(home).unwrap(), Durability::Process).unwrap()
}

/// The files below a folder that hold the secret.
fn showing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(showing(&entry.path()));
        } else if fs::read(entry.path())
            .unwrap()
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes())
        {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

/// 4 records, 2 states, a breaker, a grant, work with its error, an approval with its reason.
const TEXTS: usize = 12;

#[test]
fn no_file_shows_a_text_and_every_text_is_read_back() {
    let place = Place::new();
    let home = place.home.path();
    let mut store = place.store();
    fill(&mut store, "one", NOW);
    assert_eq!(showing(home), [""; 0], "in the log");
    store.checkpoint_log().unwrap();
    assert_eq!(showing(home), [""; 0], "in the database");
    assert_eq!(read(home).unwrap(), TEXTS);
    drop(store);
    // What shows that the search finds something: the same without encryption.
    let place = Place::new();
    place.home.data_keys().set_off(true).unwrap();
    fill(&mut place.store(), "one", NOW);
    assert!(!showing(place.home.path()).is_empty());
    assert_eq!(read(place.home.path()).unwrap(), TEXTS);
}

#[test]
fn after_retention_a_copy_of_the_journal_is_unreadable_and_what_lives_on_is_not() {
    let place = Place::new();
    let home = place.home.path();
    let mut store = place.store();
    fill(&mut store, "old", NOW - 40 * DAY);
    fill(&mut store, "new", NOW - 5 * DAY);
    // A session that goes on, while one of its agents has done nothing since.
    let snapshot = store.take_snapshot("old", None).unwrap();
    let commit = Commit {
        session_state: Some([b"\x0a", secret("session").as_bytes()].concat()),
        records: vec![dated("goes-on", NOW - 5 * DAY)],
        ..Commit::default()
    };
    store.commit_review(&snapshot, commit).unwrap();
    store.checkpoint_log().unwrap();
    let backup = tempfile::tempdir().unwrap();
    fs::copy(place.home.journal(), backup.path().join("journal.db")).unwrap();

    let pruned = store.prune_before(NOW - 30 * DAY, NOW).unwrap();
    assert_eq!((pruned.records, pruned.keys), (4, 1));
    drop(store);
    // Gone: the old records and the old approval. The agent's state, the breaker, the exception and
    // the work of the old session live on.
    assert_eq!(read(home).unwrap(), 2 * TEXTS - 4 - 2 + 1);
    assert!(open(home).verify_chain(|_| {}).unwrap().is_intact());
    assert_eq!(showing(home), [""; 0]);
    let kept: Vec<_> = place
        .home
        .data_keys()
        .list_keys()
        .unwrap()
        .into_iter()
        .map(|key| key.id.day.to_string())
        .collect();
    assert_eq!(kept, ["2026-11-13", "2026-11-18"]);

    // The copy with the home's key and all keys that there are.
    let copy = backup.path().join("home");
    copy_folder(home, &copy);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.mark"] {
        let _gone = fs::remove_file(copy.join(name));
    }
    fs::copy(backup.path().join("journal.db"), copy.join("journal.db")).unwrap();
    let mut store = open(&copy);
    let error = store.find_record("old").unwrap_err().to_string();
    assert!(error.contains("the key of 2026-10-09 for journal is not there"), "{error}");
    assert!(store.find_record("new").unwrap().unwrap().record.document.contains(SECRET));
    assert!(store.take_snapshot("old", Some("scout")).is_err());
    let mut readable = Vec::new();
    let with_unreadable = Filter { with_unreadable: true, ..Filter::default() };
    store
        .query_records(&with_unreadable, |stored| {
            assert_eq!(stored.unreadable.is_some(), stored.record.document.is_empty());
            readable.push(stored.unreadable.is_none());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(readable, [[false; 4].as_slice(), &[true; 5]].concat());
    assert!(store.query_records(&Filter::default(), |_| ControlFlow::Continue(())).is_err());
    // Its chain holds without the keys.
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad, found.states), (9, None, None));
    // A row whose key is gone was not written here, as far as this home knows.
    assert!(found.beside.unwrap().contains("`g-old` is not as it was granted"));
}

#[test]
fn a_key_is_destroyed_only_once_nothing_needs_it() {
    let place = Place::new();
    let mut store = place.store();
    // A clock that was wrong dates a record between two others.
    for (id, at) in [("a", NOW - 40 * DAY), ("b", NOW - 90 * DAY), ("c", NOW - 3 * DAY), ("d", NOW)]
    {
        store.append_records(vec![dated(id, at)]).unwrap();
    }
    let days = |place: &Place| place.home.data_keys().list_keys().unwrap().len();
    let mut prune = |before: u64| {
        let pruned = store.prune_before(before, NOW).unwrap();
        (pruned.records, pruned.keys)
    };
    assert_eq!(prune(NOW - 100 * DAY), (0, 0));
    assert_eq!(days(&place), 4);
    assert_eq!(prune(NOW - 30 * DAY), (2, 2));
    assert_eq!(prune(NOW - 30 * DAY), (0, 0));
    // The key of yesterday and today may be in use at this moment.
    assert_eq!(prune(NOW + DAY), (1, 1));
    assert_eq!(days(&place), 1);
    // Keys of other kinds are not the journal's.
    let keys = place.home.data_keys();
    keys.encrypt(DataKind::Incidents, NOW - 90 * DAY, &["x"], b"text").unwrap().unwrap();
    assert_eq!(prune(NOW + DAY), (0, 0));
    assert_eq!(days(&place), 2);
}

#[test]
fn a_text_in_the_place_of_another_is_forged() {
    type Look = fn(&mut Store) -> String;
    let table: [(&str, Look); 5] = [
        (
            "UPDATE grants SET document = (SELECT document FROM grants WHERE id = 'g-two')",
            |store| store.list_exceptions().unwrap_err().to_string(),
        ),
        (
            "UPDATE approvals SET document = (SELECT document FROM approvals WHERE id = 'a-two')",
            |store| store.find_approval("a-one").unwrap_err().to_string(),
        ),
        ("UPDATE approvals SET reason = document", |store| {
            store.find_approval("a-one").unwrap_err().to_string()
        }),
        ("UPDATE work SET document = (SELECT document FROM work WHERE key = 'two')", |store| {
            store.list_due(u64::MAX, 9).unwrap_err().to_string()
        }),
        (
            "UPDATE breakers SET document = (SELECT document FROM breakers WHERE plugin = 'two')",
            |store| store.breakers().unwrap_err().to_string(),
        ),
    ];
    for (change, look) in table {
        let place = Place::new();
        let mut store = place.store();
        fill(&mut store, "one", NOW);
        fill(&mut store, "two", NOW);
        place.raw().execute_batch(change).unwrap();
        let error = look(&mut store);
        assert!(error.contains("from outside"), "{change}: {error}");
    }
}

#[test]
fn without_the_master_key_nothing_is_lost_and_nothing_is_let_through() {
    let place = Place::new();
    let home = place.home.path();
    fill(&mut place.store(), "one", NOW);
    let masters = place.home.data_keys().masters().clone();
    let id = masters.list().unwrap()[0].id.clone();
    let key = masters.read(&id).unwrap();
    let value = home.join("keys/master/values").join(id.as_str());
    fs::remove_file(&value).unwrap();
    let mut store = open(home);
    let named = |error: StoreError| {
        let text = error.to_string();
        assert!(text.contains(id.as_str()) && text.contains("portcullis encryption"), "{text}");
    };
    named(store.take_snapshot("one", None).unwrap_err());
    named(store.append_records(vec![dated("more", NOW)]).unwrap_err());
    named(store.find_record("one").unwrap_err());
    named(store.prune_before(NOW - 30 * DAY, NOW + 60 * DAY).map(drop).unwrap_err());
    let found = store.verify_chain(|_| {}).unwrap();
    assert_eq!((found.records, found.first_bad, found.beside), (4, None, None));
    assert!(found.unchecked.is_some());
    masters.put_back(&key).unwrap();
    assert_eq!(read(home).unwrap(), TEXTS);
    // A person who has no copy of it begins with another one; what is there stays for its return.
    fs::remove_file(&value).unwrap();
    masters.add(&MasterKey::generate().unwrap(), KeptIn::File).unwrap();
    open(home).append_records(vec![dated("more", NOW)]).unwrap();
    assert!(open(home).find_record("more").unwrap().is_some());
    named(open(home).find_record("one").unwrap_err());
    masters.put_back(&key).unwrap();
    assert_eq!(read(home).unwrap(), TEXTS + 1);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn an_erased_document_is_gone_and_the_chain_holds() {
    for is_plain in [false, true] {
        let place = Place::new();
        place.home.data_keys().set_off(is_plain).unwrap();
        let home = place.home.path();
        let mut store = place.store();
        fill(&mut store, "one", NOW);
        fill(&mut store, "two", NOW);
        let hashes = |store: &Store| -> Vec<_> {
            let mut all = Vec::new();
            let each = |stored: portcullis_store::StoredRecord| {
                all.push(stored.hash);
                ControlFlow::Continue(())
            };
            store.query_records(&Filter::default(), each).unwrap();
            all
        };
        let before = hashes(&store);
        let erased: Vec<_> = (1..=4)
            .map(|sequence| ErasedDocument { sequence, document: "{\"erased\":true}".into() })
            .collect();
        let erasure =
            Erasure { documents: erased, sessions: vec!["one".into()], exceptions: Vec::new() };
        let report =
            |result: &ErasureResult| vec![dated(&format!("erased-{}", result.records), NOW)];
        let result = store.erase_data(&erasure, NOW + 1, report).unwrap();
        assert_eq!((result.records, result.sessions, result.rows), (4, 1, 1));
        let found = store.verify_chain(|_| {}).unwrap();
        assert!(found.is_intact() && found.records == 9, "{found:?}");
        assert_eq!(hashes(&store)[..8], before);
        let one = store.find_record("one").unwrap().unwrap();
        assert_eq!(
            (one.record.document.as_str(), one.erased_at),
            ("{\"erased\":true}", Some(NOW + 1))
        );
        assert_eq!(store.take_snapshot("one", Some("scout")).unwrap().session, None);
        assert_eq!(store.session_history("one", None).step_records(1).unwrap(), []);
        assert!(store.take_snapshot("two", Some("scout")).unwrap().session.is_some());
        // Once more changes nothing.
        let again = store.erase_data(&erasure, NOW + 2, |_| Vec::new()).unwrap();
        assert_eq!(again, ErasureResult::default());
        drop(store);
        // Of session one, the exception for all sessions, the breaker and the work stay.
        assert_eq!(read(home).unwrap(), 2 * TEXTS - 4 - 2 - 2 + 1);
        if is_plain {
            // Nothing of it is left in any block of the files.
            let file = fs::read(place.home.journal()).unwrap();
            let count = |text: &str| {
                file.windows(text.len()).filter(|part| *part == text.as_bytes()).count()
            };
            assert_eq!(count(&format!("{SECRET} one\"")), 0);
            assert_eq!(count(&format!("{SECRET} two\"")), 1);
        }
        // A change of what is in its place is found.
        place.raw().execute("UPDATE journal SET document = '{}' WHERE sequence = 2", []).unwrap();
        let found = place.store().verify_chain(|_| {}).unwrap();
        assert_eq!(found.first_bad, Some((2, portcullis_store::Flaw::ColumnsChanged)));
    }
}

#[test]
fn who_goes_on_without_a_lost_key_is_rid_of_what_waited_for_it() {
    let place = Place::new();
    let home = place.home.path();
    fill(&mut place.store(), "one", NOW);
    let masters = place.home.data_keys().masters().clone();
    let id = masters.list().unwrap()[0].id.clone();
    fs::remove_file(home.join("keys/master/values").join(id.as_str())).unwrap();
    masters.add(&MasterKey::generate().unwrap(), KeptIn::File).unwrap();
    let mut store = open(home);
    // One row that cannot be read would keep everything else from being done.
    assert!(store.list_due(u64::MAX, 9).is_err() && store.take_snapshot("two", None).is_err());
    // A grant, an approval, work and a breaker; what is new stays.
    assert_eq!(store.drop_unreadable_rows().unwrap(), 4);
    fill(&mut store, "two", NOW);
    assert_eq!(store.drop_unreadable_rows().unwrap(), 0);
    assert_eq!(store.list_due(u64::MAX, 9).unwrap().len(), 1);
    assert!(store.take_snapshot("two", Some("scout")).unwrap().session.is_some());
    let found = store.verify_chain(|_| {}).unwrap();
    assert!(found.is_intact() && found.unchecked.is_none() && found.records == 8, "{found:?}");
}

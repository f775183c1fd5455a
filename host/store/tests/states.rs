//! States of sessions, and the journal as a whole, changed by something that lacks the home's key:
//! each change is an error when the session is read, or is reported by an inspection of the
//! journal; the store's own changes are neither.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, copy_of, record};
use portcullis_store::{
    AnchorStatus, Commit, Durability, NewRecord, Store, StoreError, quarantine_journal,
};
use std::fs;
use std::path::Path;

fn put(store: &mut Store, session: &str, agent: Option<&str>, state: &str, id: &str) {
    let snapshot = store.take_snapshot(session, agent).unwrap();
    let commit = Commit {
        session_state: Some(state.into()),
        agent_state: Some(format!("{state} of {agent:?}").into()),
        records: vec![record(id)],
        ..Commit::default()
    };
    store.commit_review(&snapshot, commit).unwrap();
}

/// Creates a session that ran and was stopped, alongside another that runs; `old_states` and
/// `old_heads` hold the rows from before the stop.
fn stopped() -> Place {
    let place = Place::new();
    let mut store = place.store();
    put(&mut store, "stopped", Some("scout"), "runs", "r1");
    put(&mut store, "stopped", None, "runs", "r2");
    put(&mut store, "other", None, "runs", "r3");
    place.raw().execute_batch("CREATE TABLE old_states AS SELECT * FROM states; CREATE TABLE old_heads AS SELECT * FROM heads").unwrap();
    place.raw().execute_batch("CREATE TABLE old_anchor AS SELECT * FROM anchor").unwrap();
    put(&mut store, "stopped", None, "is stopped", "r4");
    place
}

/// Returns the first error in the steps of a hook, and the report of an inspection of the whole
/// journal.
fn outcome(place: &Place, agent: Option<&str>) -> (Option<StoreError>, Option<String>) {
    let opened = Store::open_database(&place.home, Durability::Process);
    let read = match &opened {
        Ok(store) => store.take_snapshot("stopped", agent).err(),
        Err(_) => None,
    };
    match opened {
        Err(error) => (Some(error), Some("it is not opened".into())),
        Ok(mut store) => {
            let named = match store.verify_chain(|_| {}) {
                Ok(found) => found
                    .states
                    .or(found.replaced)
                    .or_else(|| found.first_bad.map(|(at, flaw)| format!("{at}: {flaw}"))),
                Err(error) => Some(error.to_string()),
            };
            (read, named)
        }
    }
}

const PUT_BACK: &str = "DELETE FROM states WHERE session = 'stopped'; INSERT INTO states SELECT * FROM old_states WHERE session = 'stopped'";
const HEAD_BACK: &str = "DELETE FROM heads WHERE session = 'stopped'; INSERT INTO heads SELECT * FROM old_heads WHERE session = 'stopped'";

#[test]
fn a_state_that_was_changed_from_outside_is_refused() {
    let both = format!("{PUT_BACK}; {HEAD_BACK}");
    let with_anchor =
        format!("{both}; UPDATE anchor SET sessions = (SELECT sessions FROM old_anchor)");
    let with_records = format!("{both}; UPDATE journal SET session = 'other' WHERE sequence = 4");
    let table: [(&str, &str, Option<&str>); 25] = [
        (
            "another session's",
            "UPDATE states SET state = (SELECT state FROM states WHERE session = 'other' AND part = 's') WHERE session = 'stopped' AND part = 's'",
            None,
        ),
        (
            "another session's, with its commit",
            "DELETE FROM states WHERE session = 'stopped'; UPDATE states SET session = 'stopped'",
            None,
        ),
        (
            "another agent's",
            "UPDATE states SET state = (SELECT state FROM states WHERE part = 'ascout') WHERE session = 'stopped' AND part = 'a'",
            None,
        ),
        (
            "agents swapped",
            "UPDATE states SET part = 'x' WHERE part = 'a' AND session = 'stopped'; UPDATE states SET part = 'a' WHERE part = 'ascout'; UPDATE states SET part = 'ascout' WHERE part = 'x'",
            Some("scout"),
        ),
        (
            "an agent's for the session's",
            "UPDATE states SET state = (SELECT state FROM states WHERE session = 'stopped' AND part = 'a') WHERE session = 'stopped' AND part = 's'",
            None,
        ),
        (
            "one byte",
            "UPDATE states SET state = CAST('Is stopped' AS BLOB) WHERE session = 'stopped' AND part = 's'",
            None,
        ),
        (
            "cut",
            "UPDATE states SET state = CAST(substr(state, 1, 3) AS BLOB) WHERE session = 'stopped' AND part = 's'",
            None,
        ),
        ("emptied", "UPDATE states SET state = x'' WHERE session = 'stopped' AND part = 's'", None),
        ("none", "UPDATE states SET state = NULL WHERE session = 'stopped' AND part = 's'", None),
        (
            "of another commit",
            "UPDATE states SET written = written - 1 WHERE session = 'stopped' AND part = 's'",
            None,
        ),
        ("removed", "DELETE FROM states WHERE session = 'stopped' AND part = 's'", None),
        ("all of it removed", "DELETE FROM states WHERE session = 'stopped'", None),
        ("its head removed", "DELETE FROM heads WHERE session = 'stopped'", None),
        (
            "all and its head removed",
            "DELETE FROM states WHERE session = 'stopped'; DELETE FROM heads WHERE session = 'stopped'",
            None,
        ),
        ("an older one", PUT_BACK, None),
        ("an older head", HEAD_BACK, None),
        ("older ones, head and all", &both, None),
        ("older ones, and their digests", &with_anchor, None),
        ("older ones, and the newer record hidden", &with_records, None),
        ("its head's seal", "UPDATE heads SET seal = zeroblob(32) WHERE session = 'stopped'", None),
        ("its head's count", "UPDATE heads SET head = head + 1 WHERE session = 'stopped'", None),
        ("its list of states", "UPDATE heads SET parts = x'' WHERE session = 'stopped'", None),
        (
            "moved to another bucket",
            "UPDATE heads SET bucket = (bucket + 1) % 64 WHERE session = 'stopped'",
            None,
        ),
        ("an agent's removed", "DELETE FROM states WHERE part = 'ascout'", Some("scout")),
        ("no digests", "UPDATE anchor SET sessions = x''", None),
    ];
    for (name, change, agent) in table {
        let place = stopped();
        place.raw().execute_batch(change).unwrap();
        let (read, named) = outcome(&place, agent);
        let error = read.unwrap_or_else(|| panic!("{name}: it was read"));
        assert!(
            matches!(error, StoreError::ForgedState { .. } | StoreError::Tampered { .. }),
            "{name}: {error}"
        );
        assert!(
            error.to_string().contains("portcullis audit verify")
                && error.to_string().contains("portcullis recover"),
            "{error}"
        );
        assert!(named.is_some(), "{name}: nothing is named");
        // A later commit does not cover the change.
        let mut store = place.store();
        if let Ok(snapshot) = store.take_snapshot("other", None) {
            let _either_way = store.commit_review(&snapshot, common::commit("later"));
        }
        assert!(
            outcome(&place, agent).0.is_some() && !store.verify_chain(|_| {}).unwrap().is_intact(),
            "{name}: it was covered"
        );
    }
}

#[test]
fn a_row_that_is_not_listed_is_found() {
    for change in [
        "INSERT INTO states VALUES ('new', 's', 1, CAST('free' AS BLOB))",
        "INSERT INTO heads SELECT bucket, 'new', seal, head, parts FROM heads WHERE session = 'other'",
        "INSERT INTO states SELECT session, 'aghost', written, state FROM states WHERE session = 'stopped' AND part = 'a'",
    ] {
        let place = stopped();
        place.raw().execute_batch(change).unwrap();
        let found = place.store().verify_chain(|_| {}).unwrap();
        assert!(found.first_bad.is_none() && found.states.is_some(), "{change}");
        // An added head alone is refused when its bucket is read.
        let store = place.store();
        let sessions = ["new", "other"].map(|session| store.take_snapshot(session, None).is_err());
        assert!(
            sessions != [false, false] || store.take_snapshot("stopped", Some("ghost")).is_err(),
            "{change}"
        );
    }
}

/// Returns the current files of the home, by name.
fn files(place: &Place) -> Vec<(String, Vec<u8>)> {
    let names = ["journal.db", "journal.db-wal", "journal.mark"];
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fs::read(place.home.path().join(name)).ok()?)))
        .collect()
}

fn put_files(root: &Path, files: &[(String, Vec<u8>)], which: &[&str]) {
    for name in which {
        let _may_be_gone = fs::remove_file(root.join(name));
    }
    let _index = fs::remove_file(root.join("journal.db-shm"));
    for (name, bytes) in files.iter().filter(|(name, _)| which.contains(&name.as_str())) {
        fs::write(root.join(name), bytes).unwrap();
    }
}

const JOURNAL: &[&str] = &["journal.db", "journal.db-wal"];

#[test]
fn a_journal_that_was_removed_or_replaced_is_refused() {
    type Change = fn(&Path, &[(String, Vec<u8>)], &[(String, Vec<u8>)]);
    let table: [(&str, Change, &str); 12] = [
        (
            "removed",
            |root, _, _| fs::remove_file(root.join("journal.db")).unwrap(),
            "`journal.mark` is there",
        ),
        (
            "removed with its log",
            |root, _, _| put_files(root, &[], JOURNAL),
            "`journal.mark` is there",
        ),
        (
            "removed with its mark",
            |root, _, _| put_files(root, &[], &["journal.db", "journal.mark"]),
            "`journal.db-wal` is there",
        ),
        (
            "removed with its mark, where a session was stopped",
            |root, _, _| {
                put_files(root, &[], &["journal.db", "journal.db-wal", "journal.mark"]);
                fs::create_dir(root.join("incidents")).unwrap();
                fs::write(root.join("incidents/i.json"), "{}").unwrap();
            },
            "`incidents` is there",
        ),
        (
            "emptied",
            |root, _, _| fs::write(root.join("journal.db"), "").unwrap(),
            "the file is empty",
        ),
        (
            "cut",
            |root, _, _| {
                fs::File::options()
                    .write(true)
                    .open(root.join("journal.db"))
                    .unwrap()
                    .set_len(3_000)
                    .unwrap()
            },
            "is damaged",
        ),
        (
            "an older copy",
            |root, old, _| put_files(root, old, JOURNAL),
            "it ends before a record that this home knows",
        ),
        (
            "another home's",
            |root, _, foreign| put_files(root, foreign, JOURNAL),
            "its anchor does not match the home's key",
        ),
        (
            "another home's, with its mark",
            |root, _, foreign| {
                put_files(root, foreign, &["journal.db", "journal.db-wal", "journal.mark"])
            },
            "its anchor does not match",
        ),
        (
            "without its mark",
            |root, _, _| fs::remove_file(root.join("journal.mark")).unwrap(),
            "its mark `journal.mark` is gone",
        ),
        (
            "a mark of another home",
            |root, _, foreign| put_files(root, foreign, &["journal.mark"]),
            "its mark `journal.mark` does not match",
        ),
        (
            "one byte of the mark",
            |root, _, _| {
                let text = fs::read_to_string(root.join("journal.mark")).unwrap();
                fs::write(
                    root.join("journal.mark"),
                    text.replace("\"sequence\":4", "\"sequence\":1"),
                )
                .unwrap();
            },
            "its mark `journal.mark` does not match",
        ),
    ];
    let foreign = stopped();
    foreign.store().checkpoint_log().unwrap();
    let foreign = files(&foreign);
    for (name, change, message) in table {
        let place = Place::new();
        put(&mut place.store(), "stopped", None, "runs", "r1");
        place.store().checkpoint_log().unwrap();
        let old = files(&place);
        put(&mut place.store(), "stopped", None, "is stopped", "r2");
        put(&mut place.store(), "stopped", None, "is stopped", "r3");
        put(&mut place.store(), "stopped", None, "is stopped", "r4");
        place.store().checkpoint_log().unwrap();
        change(place.home.path(), &old, &foreign);
        let (read, named) = outcome(&place, None);
        let error = read.unwrap_or_else(|| panic!("{name}: it was read"));
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(named.is_some(), "{name}");
        if let Ok(mut store) = Store::open_database(&place.home, Durability::Process) {
            assert!(
                store.append_records(vec![record("next")]).is_err(),
                "{name}: the journal went on"
            );
            assert!(
                store.checkpoint_log().is_ok() && outcome(&place, None).0.is_some(),
                "{name}: a checkpoint took it for ours"
            );
        }
        // The recovery by a person.
        quarantine_journal(&place.home, 5).unwrap();
        let mut store = Store::open_or_recreate(&place.home, Durability::Full).unwrap();
        store.append_records(vec![record("new")]).unwrap();
        store.checkpoint_log().unwrap();
        assert!(
            place.store().verify_chain(|_| {}).unwrap().is_intact()
                && place.store().take_snapshot("stopped", None).unwrap().head == 0,
            "{name}"
        );
    }
}

/// A line kept elsewhere reveals a change that nothing inside the home can show.
#[test]
fn an_older_copy_of_the_whole_home_contradicts_a_head_kept_elsewhere() {
    let place = Place::new();
    put(&mut place.store(), "stopped", None, "runs", "r1");
    place.store().checkpoint_log().unwrap();
    let old = files(&place);
    put(&mut place.store(), "stopped", None, "is stopped", "r2");
    let kept = place.store().head_anchor(7).unwrap();
    put_files(place.home.path(), &old, &["journal.db", "journal.db-wal", "journal.mark"]);
    assert!(place.store().verify_chain(|_| {}).unwrap().is_intact());
    assert_eq!(place.store().check_anchors(&[kept]).unwrap()[0].1, AnchorStatus::Missing);
}

/// A copy that a person restored is accepted at their command.
#[test]
fn a_restored_copy_is_accepted_by_a_person() {
    let place = Place::new();
    put(&mut place.store(), "s", None, "runs", "r1");
    place.store().checkpoint_log().unwrap();
    let old = files(&place);
    put(&mut place.store(), "s", None, "runs on", "r2");
    place.store().checkpoint_log().unwrap();
    put_files(place.home.path(), &old, JOURNAL);
    let mut store = place.store();
    assert!(
        store.take_snapshot("s", None).is_err()
            && Store::inspect_journal(&place.home).unwrap().replaced.is_some()
    );
    store.accept_state().unwrap();
    assert_eq!(store.take_snapshot("s", None).unwrap().session, Some(b"runs".to_vec()));
    assert!(
        place.store().verify_chain(|_| {}).unwrap().is_intact()
            && Store::inspect_journal(&place.home).unwrap().replaced.is_none()
    );
}

/// A process that still has the old journal open when a person begins a new one does not write its
/// mark.
#[test]
fn a_quarantined_journal_leaves_the_mark_alone() {
    let place = Place::new();
    let mut old = place.store();
    put(&mut old, "s", None, "runs", "r1");
    quarantine_journal(&place.home, 5).unwrap();
    let mut new = place.store();
    old.checkpoint_log().unwrap();
    new.append_records(vec![NewRecord { at: 9, ..record("new") }]).unwrap();
    new.checkpoint_log().unwrap();
    old.checkpoint_log().unwrap();
    assert!(place.store().verify_chain(|_| {}).unwrap().is_intact());
}

/// Many sessions and agents, in any order, with all maintenance: none of it looks like tampering.
#[test]
fn ordinary_work_is_no_change() {
    let place = Place::new();
    let at = |id: String, at| NewRecord { at, ..record(&id) };
    for n in 0..400_u64 {
        let mut store = place.store();
        let (session, agent) = (format!("session {}", n % 90), format!("agent {}", n % 7));
        let agent = (n % 3 > 0).then_some(agent.as_str());
        let snapshot = store.take_snapshot(&session, agent).unwrap();
        let state = |there: bool| there.then(|| n.to_be_bytes().to_vec());
        let commit = Commit {
            session_state: state(n % 5 > 0),
            agent_state: state(n % 4 > 0),
            records: vec![at(format!("r{n}"), n)],
            ..Commit::default()
        };
        store.commit_review(&snapshot, commit).unwrap();
        match n % 40 {
            10 => store.checkpoint_log().unwrap(),
            20 => drop(store.prune_before(n.saturating_sub(60), n).unwrap()),
            30 => assert!(store.verify_chain(|_| {}).unwrap().is_intact(), "{n}"),
            _ => {}
        }
    }
    let mut store = place.store();
    assert!(store.verify_chain(|_| {}).unwrap().is_intact());
    let copy = copy_of(&place);
    assert!(copy.store().verify_chain(|_| {}).unwrap().is_intact());
    store.prune_before(1_000, 1_000).unwrap();
    let rows: u64 =
        place.raw().query_row("SELECT count(*) FROM heads", [], |row| row.get(0)).unwrap();
    assert!(store.verify_chain(|_| {}).unwrap().is_intact() && rows == 1, "{rows}");
}

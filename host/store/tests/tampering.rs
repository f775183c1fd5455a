//! The report of `verify` on a journal that was changed without going through the store.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, commit, copy_of, record};
use portcullis_store::{Flaw, StoreError};
use rusqlite::{Connection, params};
use std::rc::Rc;

const RECORDS: u64 = 6;

fn filled(place: &Place, prefix: &str) {
    let mut store = place.store();
    for n in 1..=RECORDS {
        store
            .commit_review(
                &store.take_snapshot("s", Some("scout")).unwrap(),
                commit(&format!("{prefix}{n}")),
            )
            .unwrap();
    }
}

fn sql(text: &'static str) -> impl Fn(&Connection) {
    move |db| db.execute_batch(text).unwrap()
}

/// Rewrites the chain from a position on with plain documents, as somebody could who knows the rule but
/// not the key.
fn forge(db: &Connection, from: u64, document: &str) {
    let mut previous: Vec<u8> = db
        .query_row("SELECT previous FROM journal WHERE sequence = ?1", [from], |row| row.get(0))
        .unwrap();
    for sequence in from..=RECORDS {
        let head =
            [b"portcullis journal v1", previous.as_slice(), &sequence.to_be_bytes()].concat();
        let hash = blake3::hash(&[head.as_slice(), document.as_bytes()].concat());
        db.execute(
            "UPDATE journal SET previous = ?2, hash = ?3, document = ?4, key = NULL, commitment = NULL, \
                 sealed = NULL WHERE sequence = ?1",
            params![sequence, previous, hash.as_bytes(), document],
        )
        .unwrap();
        previous = hash.as_bytes().to_vec();
    }
    db.execute("UPDATE anchor SET hash = ?1", [previous]).unwrap();
}

const COPY: &str = "INSERT INTO journal SELECT 7, 'copy', at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash, seal, key, commitment, erased_at, sealed \
                    FROM journal WHERE sequence = 6";

#[test]
fn every_change_is_found_where_it_is() {
    let set = |sets: &'static str| {
        move |db: &Connection| {
            db.execute_batch(&format!("UPDATE journal SET {sets} WHERE sequence = 3")).unwrap()
        }
    };
    let table: Vec<Case> = vec![
        ("document", Box::new(set("document = '{}'")), 3, Flaw::DocumentChanged),
        (
            "document, no text",
            Box::new(set("document = CAST(x'ff00fe' AS TEXT)")),
            3,
            Flaw::DocumentChanged,
        ),
        ("hash", Box::new(set("hash = zeroblob(32)")), 3, Flaw::DocumentChanged),
        ("hash, shortened", Box::new(set("hash = x''")), 3, Flaw::DocumentChanged),
        ("previous", Box::new(set("previous = zeroblob(32)")), 3, Flaw::Unlinked),
        ("seal", Box::new(set("seal = zeroblob(32)")), 3, Flaw::ColumnsChanged),
        ("id", Box::new(set("id = 'other'")), 3, Flaw::ColumnsChanged),
        ("time", Box::new(set("at = at + 1")), 3, Flaw::ColumnsChanged),
        ("kind", Box::new(set("kind = 'outcome'")), 3, Flaw::ColumnsChanged),
        ("session", Box::new(set("session = 't'")), 3, Flaw::ColumnsChanged),
        ("no session", Box::new(set("session = NULL")), 3, Flaw::ColumnsChanged),
        ("agent", Box::new(set("agent = NULL")), 3, Flaw::ColumnsChanged),
        ("step", Box::new(set("step = NULL")), 3, Flaw::ColumnsChanged),
        ("step 0 for none", Box::new(set("step = 0")), 3, Flaw::ColumnsChanged),
        ("call id", Box::new(set("call_id = ''")), 3, Flaw::ColumnsChanged),
        ("subject", Box::new(set("subject = 'Read'")), 3, Flaw::ColumnsChanged),
        ("verdict", Box::new(set("verdict = 'block'")), 3, Flaw::ColumnsChanged),
        (
            "letters moved to the next column",
            Box::new(set("subject = 'Bas', verdict = 'hallow'")),
            3,
            Flaw::ColumnsChanged,
        ),
        (
            "columns swapped",
            Box::new(set("session = agent, agent = session")),
            3,
            Flaw::ColumnsChanged,
        ),
        ("removed", Box::new(sql("DELETE FROM journal WHERE sequence = 3")), 3, Flaw::Missing),
        (
            "the first removed",
            Box::new(sql("DELETE FROM journal WHERE sequence = 1")),
            1,
            Flaw::Missing,
        ),
        (
            "removed and closed up",
            Box::new(sql(
                "DELETE FROM journal WHERE sequence = 3; UPDATE journal SET sequence = sequence - 1 WHERE sequence > 3",
            )),
            3,
            Flaw::Unlinked,
        ),
        (
            "two swapped",
            Box::new(sql(
                "UPDATE journal SET sequence = 99 WHERE sequence = 2; UPDATE journal SET sequence = 2 WHERE sequence = 3; \
                          UPDATE journal SET sequence = 3 WHERE sequence = 99",
            )),
            2,
            Flaw::Unlinked,
        ),
        (
            "one inserted between",
            Box::new(|db| {
                db.execute_batch("UPDATE journal SET sequence = sequence + 101 WHERE sequence > 3; UPDATE journal SET sequence = sequence - 100 WHERE sequence > 100").unwrap();
                db.execute_batch(&COPY.replace("7,", "4,").replace("sequence = 6", "sequence = 3"))
                    .unwrap();
            }),
            4,
            Flaw::Unlinked,
        ),
        (
            "one inserted before",
            Box::new(|db| db.execute_batch(&COPY.replace("7,", "0,")).unwrap()),
            0,
            Flaw::Unlinked,
        ),
        (
            "one with a negative position",
            Box::new(|db| db.execute_batch(&COPY.replace("7,", "-7,")).unwrap()),
            0,
            Flaw::Unlinked,
        ),
        ("one put after the end", Box::new(sql(COPY)), 7, Flaw::Unlinked),
        (
            "rewritten without the key",
            Box::new(|db| forge(db, 3, "{\"harmless\":true}")),
            3,
            Flaw::ColumnsChanged,
        ),
        (
            "cut off in the middle",
            Box::new(sql("DELETE FROM journal WHERE sequence IN (3, 4)")),
            3,
            Flaw::Missing,
        ),
        (
            "cut off at the end",
            Box::new(sql("DELETE FROM journal WHERE sequence > 4")),
            5,
            Flaw::CutOff,
        ),
        ("emptied", Box::new(sql("DELETE FROM journal")), 1, Flaw::CutOff),
        (
            "cut off, and the anchor with it",
            Box::new(sql("DELETE FROM journal WHERE sequence > 4; \
                          UPDATE anchor SET sequence = 4, hash = (SELECT hash FROM journal WHERE sequence = 4)")),
            4,
            Flaw::AnchorForged,
        ),
        (
            "anchor's hash",
            Box::new(sql("UPDATE anchor SET hash = zeroblob(32)")),
            6,
            Flaw::AnchorForged,
        ),
        (
            "anchor's code",
            Box::new(sql("UPDATE anchor SET code = zeroblob(32)")),
            6,
            Flaw::AnchorForged,
        ),
        ("anchor removed", Box::new(sql("DELETE FROM anchor")), 6, Flaw::AnchorForged),
        (
            "all removed, anchor too",
            Box::new(sql("DELETE FROM journal; DELETE FROM anchor")),
            0,
            Flaw::AnchorForged,
        ),
    ];
    for (place, name, change, position, flaw) in each_form(table) {
        // The copy has no keys of encrypted texts: the chain is verified without them.
        let other = copy_of(&place);
        change(&other.raw());
        let mut last = 0;
        let found = other.store().verify_chain(|progress| last = progress.checked).unwrap();
        assert_eq!(found.first_bad, Some((position, flaw)), "{name}");
        assert_eq!(found.records, found.head.0, "{name}");
        assert!(
            found.records < position || matches!(flaw, Flaw::AnchorForged | Flaw::Unlinked),
            "{name}: {found:?}"
        );
        assert!(!flaw.to_string().is_empty());
    }
}

type Change = Box<dyn Fn(&Connection)>;
type Case = (&'static str, Change, u64, Flaw);

/// Each case on a journal with encrypted records and on one with plain ones, both whole.
fn each_form(
    cases: Vec<Case>,
) -> impl Iterator<Item = (Rc<Place>, &'static str, Change, u64, Flaw)> {
    let forms = [true, false].map(|is_plain| {
        let place = Place::new();
        place.home.data_keys().set_off(is_plain).unwrap();
        filled(&place, "r");
        assert_eq!(place.store().verify_chain(|_| {}).unwrap().first_bad, None);
        Rc::new(place)
    });
    let cases: Vec<_> = cases
        .into_iter()
        .map(|(name, change, position, flaw)| (name, Rc::new(change), position, flaw))
        .collect();
    forms.into_iter().flat_map(move |place| {
        let cases = cases.clone().into_iter();
        cases.map(move |(name, change, position, flaw)| {
            let change = Box::new(move |db: &Connection| change(db)) as Change;
            (place.clone(), name, change, position, flaw)
        })
    })
}

#[test]
fn every_change_of_an_encrypted_document_is_found_without_its_key() {
    let table: [(&str, &str, Flaw); 12] = [
        ("the ciphertext", "sealed = zeroblob(length(sealed))", Flaw::DocumentChanged),
        (
            "its first byte",
            "sealed = CAST(x'00' || substr(sealed, 2) AS BLOB)",
            Flaw::DocumentChanged,
        ),
        (
            "its last byte",
            "sealed = CAST(substr(sealed, 1, length(sealed) - 1) || x'00' AS BLOB)",
            Flaw::DocumentChanged,
        ),
        ("cut off", "sealed = substr(sealed, 1, 40)", Flaw::DocumentChanged),
        ("removed", "sealed = NULL", Flaw::DocumentChanged),
        (
            "that of another record",
            "sealed = (SELECT sealed FROM journal WHERE sequence = 4)",
            Flaw::DocumentChanged,
        ),
        ("the commitment", "commitment = zeroblob(32)", Flaw::DocumentChanged),
        ("no commitment", "commitment = NULL", Flaw::DocumentChanged),
        ("the number of its key", "key = key + 1", Flaw::DocumentChanged),
        ("no number", "key = NULL", Flaw::DocumentChanged),
        ("a document beside it", "document = '{}'", Flaw::DocumentChanged),
        (
            "erased without the ciphertext's hash",
            "erased_at = 5, key = NULL",
            Flaw::DocumentChanged,
        ),
    ];
    let place = Place::new();
    filled(&place, "r");
    for (name, sets, flaw) in table {
        let other = copy_of(&place);
        other
            .raw()
            .execute_batch(&format!("UPDATE journal SET {sets} WHERE sequence = 3"))
            .unwrap();
        let found = other.store().verify_chain(|_| {}).unwrap();
        assert_eq!(found.first_bad, Some((3, flaw)), "{name}");
    }
    // Without the home's key nobody can pass a removed document off as erased.
    let other = copy_of(&place);
    let sealed: Vec<u8> = other
        .raw()
        .query_row("SELECT sealed FROM journal WHERE sequence = 3", [], |row| row.get(0))
        .unwrap();
    other
        .raw()
        .execute(
            "UPDATE journal SET erased_at = 5, key = NULL, sealed = ?1 WHERE sequence = 3",
            [blake3::hash(&sealed).as_bytes()],
        )
        .unwrap();
    let found = other.store().verify_chain(|_| {}).unwrap();
    assert_eq!(found.first_bad, Some((3, Flaw::ColumnsChanged)));
}

#[test]
fn genuine_parts_in_the_wrong_place() {
    let place = Place::new();
    filled(&place, "r");
    let earlier = copy_of(&place);
    place.store().append_records(vec![record("r7")]).unwrap();
    let take = |db: &Connection| -> (u64, Vec<u8>, Vec<u8>) {
        db.query_row("SELECT sequence, hash, code FROM anchor", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap()
    };
    let put = |db: &Connection, (sequence, hash, mac): (u64, Vec<u8>, Vec<u8>)| {
        db.execute(
            "UPDATE anchor SET sequence = ?1, hash = ?2, code = ?3",
            params![sequence, hash, mac],
        )
        .unwrap();
    };
    put(&place.raw(), take(&earlier.raw()));
    assert_eq!(place.store().verify_chain(|_| {}).unwrap().first_bad, Some((7, Flaw::AfterAnchor)));
    let refused = place.store().append_records(vec![record("r8")]).unwrap_err();
    assert!(matches!(refused, StoreError::Tampered { .. }), "{refused}");

    // Another journal of the same length under the same key.
    let copy = copy_of(&earlier);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm", "journal.mark"] {
        let _log_may_be_gone = std::fs::remove_file(copy.home.path().join(name));
    }
    filled(&copy, "t");
    put(&earlier.raw(), take(&copy.raw()));
    assert_eq!(
        earlier.store().verify_chain(|_| {}).unwrap().first_bad,
        Some((6, Flaw::AnchorMoved))
    );
}

#[test]
fn a_cut_off_end_stays_visible_when_the_journal_goes_on() {
    let place = Place::new();
    filled(&place, "r");
    sql("DELETE FROM journal WHERE sequence > 4")(&place.raw());
    let stored = place.store().append_records(vec![record("next")]).unwrap();
    assert_eq!(stored[0].sequence, 7);
    assert_eq!(place.store().verify_chain(|_| {}).unwrap().first_bad, Some((5, Flaw::Missing)));
}

#[test]
fn nothing_follows_a_forged_anchor() {
    for change in
        ["UPDATE anchor SET sequence = 4", "DELETE FROM anchor", "UPDATE anchor SET code = hash"]
    {
        let place = Place::new();
        filled(&place, "r");
        place.raw().execute_batch(change).unwrap();
        let mut store = place.store();
        let error = store.append_records(vec![record("next")]).unwrap_err();
        assert!(matches!(error, StoreError::Tampered { .. }), "{change}: {error}");
        assert!(error.to_string().contains("portcullis audit verify"), "{error}");
    }
}

#[test]
fn another_key_does_not_verify() {
    let place = Place::new();
    filled(&place, "r");
    std::fs::remove_file(place.home.path().join("key")).unwrap();
    let place = Place {
        home: portcullis_store::Home::open_root(place.home.path()).unwrap(),
        folder: place.folder,
    };
    assert_eq!(
        place.store().verify_chain(|_| {}).unwrap().first_bad,
        Some((1, Flaw::ColumnsChanged))
    );
}

#[test]
fn triggers_in_the_file_do_not_run() {
    let place = Place::new();
    filled(&place, "r");
    sql(
        "CREATE TRIGGER gag AFTER INSERT ON journal BEGIN DELETE FROM journal WHERE sequence = new.sequence; END",
    )(&place.raw());
    place.store().append_records(vec![record("loud")]).unwrap();
    assert!(place.store().find_record("loud").unwrap().is_some());
}

#[test]
fn an_index_that_hides_a_record_is_found() {
    let place = Place::new();
    filled(&place, "r");
    let db = place.raw();
    // The index loses `r3`: as if its entry had been cut out of the file.
    db.execute_batch("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' WHERE id <> ''r3''' WHERE name = 'journal_id';")
        .unwrap();
    drop(db);
    let db = place.raw();
    db.execute_batch(
        "REINDEX journal_id; PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, ' WHERE id <> ''r3''', '') WHERE name = 'journal_id'",
    )
    .unwrap();
    drop(db);
    let mut store = place.store();
    assert_eq!(
        store.find_record("r3").unwrap(),
        None,
        "the index must hide it for this to test anything"
    );
    let error = store.verify_chain(|_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn progress_goes_up_to_the_total() {
    let place = Place::new();
    place.store().append_records((0..600).map(|n| record(&format!("r{n}"))).collect()).unwrap();
    let mut seen = Vec::new();
    place.store().verify_chain(|progress| seen.push((progress.checked, progress.total))).unwrap();
    assert_eq!(seen, [(256, 600), (512, 600), (600, 600)]);
}

//! Cursors of exports: each is kept until another takes its place, and only the store itself can
//! write one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Place, record};
use portcullis_store::{ExportCursor, StoreError};

fn cursor(name: &str, sequence: u64, document: &str) -> ExportCursor {
    let hash = [u8::try_from(sequence % 256).unwrap(); 32];
    ExportCursor { name: name.into(), sequence, hash, document: document.into() }
}

#[test]
fn a_cursor_stays_where_it_was_put() {
    let place = Place::new();
    let mut store = place.store();
    let first = store.append_records(vec![record("a")]).unwrap();
    assert_eq!(store.find_export_cursor("siem").unwrap(), None);
    for put in
        [cursor("siem", 0, ""), cursor("file", 7, "{}"), cursor("siem", first.len() as u64, "x")]
    {
        store.put_export_cursor(&put).unwrap();
        assert_eq!(place.store().find_export_cursor(&put.name).unwrap(), Some(put));
    }
    let names: Vec<String> =
        store.list_export_cursors().unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["file", "siem"]);
    assert!(store.remove_export_cursor("file").unwrap());
    assert!(!store.remove_export_cursor("file").unwrap());
    assert!(store.verify_chain(|_| {}).unwrap().is_intact());
}

#[test]
fn a_cursor_that_we_did_not_write_is_an_error_until_it_is_removed() {
    for sql in [
        "UPDATE exports SET sequence = 9",
        "UPDATE exports SET sequence = -1",
        "UPDATE exports SET hash = zeroblob(32)",
        "UPDATE exports SET hash = x'00'",
        "UPDATE exports SET document = 'y'",
        "UPDATE exports SET name = 'other'",
        "UPDATE exports SET seal = x'00'",
        "INSERT INTO exports SELECT 'other', sequence, hash, document, seal FROM exports",
    ] {
        let place = Place::new();
        let mut store = place.store();
        store.put_export_cursor(&cursor("siem", 3, "x")).unwrap();
        place.raw().execute_batch(sql).unwrap();
        let error = store.list_export_cursors().unwrap_err();
        let StoreError::ForgedExport { name, .. } = &error else { panic!("{sql}: {error}") };
        assert!(error.to_string().contains(&format!("portcullis exports reset {name}")), "{error}");
        let beside = store.verify_chain(|_| {}).unwrap().beside;
        assert!(beside.is_some_and(|beside| beside.contains("the cursor of the export")), "{sql}");
        assert!(store.remove_export_cursor(name).unwrap());
        store.list_export_cursors().unwrap();
    }
}

#[test]
fn impossible_cursors_are_refused() {
    let place = Place::new();
    for (put, message) in [
        (cursor("", 1, ""), "needs a name"),
        (cursor("siem", 1, &"x".repeat((16 << 10) + 1)), "longer than 16 KiB"),
    ] {
        let error = place.store().put_export_cursor(&put).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

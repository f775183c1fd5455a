//! Anchors that were kept elsewhere, against journals that were replaced, rolled back, cut and
//! pruned.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

use common::{Place, copy_of, record};
use portcullis_store::{Anchor, AnchorStatus, NewRecord, Store, StoreError};

fn put(store: &mut Store, ids: impl IntoIterator<Item = u64>) {
    let of = |n: u64| NewRecord { at: n, ..record(&format!("r{n}")) };
    store.append_records(ids.into_iter().map(of).collect()).unwrap();
}

fn standings(store: &mut Store, anchors: &[Anchor]) -> Vec<AnchorStatus> {
    let found = store.check_anchors(anchors).unwrap();
    assert!(found.iter().map(|(anchor, _)| anchor).eq(anchors));
    found.into_iter().map(|(_, standing)| standing).collect()
}

#[test]
fn the_standing_of_each_anchor() {
    use AnchorStatus::{Holds, Missing, Pruned, Replaced};
    let place = Place::new();
    let mut store = place.store();
    let mut anchors = vec![store.head_anchor(1).unwrap()];
    for n in 1..=6 {
        put(&mut store, [n]);
        anchors.push(store.head_anchor(n * 10).unwrap());
    }
    assert_eq!(standings(&mut store, &anchors), [Holds; 7]);
    let beyond = Anchor { sequence: u64::MAX, ..anchors[6] };
    assert_eq!(standings(&mut store, &[beyond]), [Missing]);

    let rolled_back = copy_of(&place);
    store.prune_before(4, 100).unwrap();
    assert_eq!(
        standings(&mut store, &anchors),
        [Pruned, Pruned, Pruned, Holds, Holds, Holds, Holds],
        "the start itself can be compared"
    );
    put(&mut store, [7]);
    anchors.push(store.head_anchor(70).unwrap());
    let mut old = rolled_back.store();
    assert_eq!(
        standings(&mut old, &anchors).last(),
        Some(&Missing),
        "an older copy of the whole home"
    );
    // It continues, with other records.
    put(&mut old, [8]);
    assert_eq!(standings(&mut old, &anchors[5..]), [Holds, Holds, Replaced]);
    assert_eq!(
        old.verify_chain(|_| {}).unwrap().first_bad,
        None,
        "which the journal itself cannot tell"
    );

    let mut new = Place::new().store();
    put(&mut new, 11..=13);
    assert_eq!(standings(&mut new, &anchors[..5]), [Holds, Replaced, Replaced, Replaced, Missing]);
    place.raw().execute("DELETE FROM journal WHERE sequence = 5", []).unwrap();
    assert_eq!(standings(&mut store, &anchors[5..6]), [Missing]);
    place.raw().execute("UPDATE start SET hash = zeroblob(31)", []).unwrap();
    assert!(store.check_anchors(&anchors).is_err());
    let contradictions = [Holds, Pruned, Replaced, Missing].map(AnchorStatus::contradicts_journal);
    assert_eq!(contradictions, [false, false, true, true]);
}

#[test]
fn as_a_line() {
    let place = Place::new();
    put(&mut place.store(), [1]);
    let anchor = place.store().head_anchor(77).unwrap();
    let line = anchor.to_string();
    assert_eq!(
        line,
        format!(
            "{{\"sequence\":1,\"hash\":\"{}\",\"at\":77}}",
            portcullis_store::to_hex(&anchor.hash)
        )
    );
    assert_eq!(line.parse::<Anchor>().unwrap(), anchor);
    let long = line.replace("1,", "1,\"host\":\"h\",");
    assert_eq!(long.parse::<Anchor>().unwrap(), anchor, "whoever keeps it may add to it");
    for bad in [
        "",
        "{}",
        "[]",
        "{\"sequence\":1,\"hash\":\"ab\",\"at\":7}",
        &line.replace('1', "-1"),
        &line.replace("77", "\"77\""),
    ] {
        let error = bad.parse::<Anchor>().unwrap_err();
        assert!(
            matches!(error, StoreError::BadAnchor { .. }) && !error.to_string().contains('\n'),
            "{bad}: {error}"
        );
    }
}

#[test]
fn none_is_taken_from_a_forged_head() {
    let place = Place::new();
    put(&mut place.store(), [1, 2]);
    place.raw().execute("UPDATE anchor SET sequence = 1", []).unwrap();
    assert!(matches!(place.store().head_anchor(1).unwrap_err(), StoreError::Tampered { .. }));
}

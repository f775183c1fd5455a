//! Concurrent use by many processes.

use crate::support::{Place, TIME, id, plainly};
use portcullis_checkpoint::{CheckpointError, Retention, What};
use std::fs;
use std::time::Duration;

#[test]
fn checkpoints_taken_side_by_side_are_all_there() {
    let place = Place::new();
    for at in 0..8 {
        place.sh(&format!(
            "mkdir d{at}; for i in 1 2 3 4 5 6 7 8 9; do echo {at} $i > d{at}/f$i; done"
        ));
    }
    std::thread::scope(|scope| {
        for at in 0..8 {
            let place = &place;
            scope.spawn(move || {
                // A vault of its own: locks are held by open files.
                let vault = crate::support::open(&place.home.join("vault"));
                for round in 0..5_u64 {
                    let folder = place.root.join(format!("d{at}"));
                    let mut request = place.request(
                        &format!("c{at}-{round}"),
                        round,
                        What::Targets(vec![folder.clone()]),
                    );
                    vault.take_checkpoint(&request).unwrap();
                    // Atomically: others scan meanwhile.
                    fs::write(place.home.join(format!("new{at}")), format!("changed {at} {round}"))
                        .unwrap();
                    fs::rename(
                        place.home.join(format!("new{at}")),
                        folder.join(format!("f{}", round + 1)),
                    )
                    .unwrap();
                    vault.settle_checkpoint(&request.id, round, TIME).unwrap();
                    request.id = id(&format!("t{at}-{round}"));
                    request.what = What::Tree;
                    vault.take_checkpoint(&request).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let vault = crate::support::open(&place.home.join("vault"));
            for _ in 0..10 {
                vault
                    .collect_garbage(
                        &Retention { keep: Duration::from_secs(1000), max_bytes: 1 << 30 },
                        100,
                    )
                    .unwrap();
            }
        });
    });
    let listing = place.vault.list().unwrap();
    assert_eq!((listing.checkpoints.len(), listing.damaged.len()), (80, 0));
    for at in 0..8 {
        let how = portcullis_checkpoint::RestoreOptions {
            only: vec![place.root.join(format!("d{at}"))],
            also: Vec::new(),
            ..plainly(&format!("u{at}"), 50)
        };
        place.restore(&format!("c{at}-0"), &how).unwrap();
        for file in 1..=9 {
            assert_eq!(
                fs::read_to_string(place.root.join(format!("d{at}/f{file}"))).unwrap(),
                format!("{at} {file}\n")
            );
        }
    }
}

/// Set in the process whose open files are limited.
const LIMITED: &str = "PORTCULLIS_TEST_LIMITED";

#[test]
fn more_checkpoints_than_files_may_be_open() {
    if std::env::var_os(LIMITED).is_none() {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -n 64 && exec \"$0\" --exact processes::more_checkpoints_than_files_may_be_open"]);
        let done =
            limited.arg(std::env::current_exe().unwrap()).env(LIMITED, "1").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let place = Place::new();
    for at in 0..100 {
        fs::write(place.root.join("f"), at.to_string()).unwrap();
        assert!(place.targets(&format!("c{at}"), at, &["f"]).complete);
        fs::write(place.root.join("f"), "left").unwrap();
        place.settle(&format!("c{at}"), at);
    }
    place.restore("c99", &plainly("u", 200)).unwrap();
    assert_eq!(fs::read_to_string(place.root.join("f")).unwrap(), "99");
}

#[test]
fn a_call_has_one_checkpoint() {
    let place = Place::new();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| place.vault.take_checkpoint(&place.request("same", 1, What::Tree)))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let good = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(good, 1);
    assert!(
        outcomes
            .iter()
            .flat_map(|outcome| outcome.as_ref().err())
            .all(|error| matches!(error, CheckpointError::Exists { .. }))
    );
}

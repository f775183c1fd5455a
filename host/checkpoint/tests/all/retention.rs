//! After the retention nothing of a removed checkpoint can be read, whatever a disk still holds.

use crate::support::{Place, assert_same, forced, id, keys, open, plainly, sh, walk};
use portcullis_checkpoint::{CheckpointError, Retention, Vault};
use portcullis_encryption::{DataKind, Day};
use std::fs;
use std::path::Path;
use std::time::Duration;

const DAY: u64 = 24 * 60 * 60 * 1000;
const KEPT_DAYS: u64 = 7;

fn collect(vault: &Vault, now: u64) -> u64 {
    let keep = Duration::from_millis(KEPT_DAYS * DAY);
    vault.collect_garbage(&Retention { keep, max_bytes: 1 << 30 }, now).unwrap().keys
}

fn days(vault: &Path) -> Vec<Day> {
    let mut days: Vec<_> = keys(vault)
        .list_keys()
        .unwrap()
        .into_iter()
        .filter(|key| key.kind == DataKind::Checkpoints)
        .map(|key| key.id.day)
        .collect();
    days.dedup();
    days
}

/// Three weeks of work: a file that never changes, one that changes each day, and one that changes
/// on the third day of each week.
#[test]
fn old_copies_of_a_vault_are_unreadable_after_the_retention() {
    let place = Place::new();
    let (vault, copies) = (place.home.join("vault"), place.home.join("copies"));
    fs::create_dir(&copies).unwrap();
    place.sh("head -c 300000 /dev/urandom > constant; head -c 300000 /dev/urandom > weekly");
    for day in 0..21_u64 {
        let at = (100 + day) * DAY + DAY / 2;
        place.sh(&format!(
            "echo day {day} > daily; head -c 100000 /dev/urandom > {}",
            if day % 7 == 3 { "weekly" } else { "/dev/null" }
        ));
        let before = place.walk();
        place.act(
            &format!("d{day}"),
            at,
            &format!("echo changed on {day} > daily; head -c 5000 /dev/urandom > made"),
        );
        // A thief has everything that is on the disk today, and gets today's keys later.
        sh(&place.home, &format!("cp -a vault copies/{day}"));
        if day % 2 == 1 {
            collect(&open(&vault), at + 1000);
            let oldest = Day::of_time(at + 1000 - KEPT_DAYS * DAY);
            let kept = days(&vault);
            assert!(kept.iter().all(|kept| *kept >= oldest), "day {day}: {kept:?}, {oldest}");
            assert!(kept.len() <= KEPT_DAYS as usize + 1, "day {day}: {kept:?}");
        }
        // Everything that is kept can be restored, the newest and the oldest.
        place.restore(&format!("d{day}"), &plainly(&format!("u{day}"), at + 500)).unwrap();
        assert_same(&before, &place.walk(), &format!("day {day}"));
    }
    let listed = place.vault.list().unwrap();
    assert!(listed.damaged.is_empty(), "{listed:?}");
    let oldest = &listed.checkpoints[0];
    let now = 121 * DAY;
    let tree = place.walk();
    place.restore(oldest.id.as_str(), &forced("all", now)).unwrap();
    assert_eq!(fs::read_to_string(place.root.join("daily")).unwrap(), "day 13\n");
    place.restore("all", &plainly("back", now + 1)).unwrap();
    assert_same(&tree, &place.walk(), "undone");
    // The copies of each day, with the keys and the master key of today.
    for day in 0..21_u64 {
        let home = place.home.join(format!("thief{day}"));
        fs::create_dir(&home).unwrap();
        sh(&place.home, &format!("mv copies/{day} thief{day}/vault; cp -a keys thief{day}/keys"));
        let copy = open(&home.join("vault"));
        for of in 0..=day {
            let shown = copy.show_checkpoint(&id(&format!("d{of}")));
            let is_kept = oldest.id <= id(&format!("d{of}")) && of >= 13;
            match shown {
                Ok(_) => assert!(is_kept, "d{of} in the copy of day {day}"),
                Err(CheckpointError::Encryption { .. }) => assert!(!is_kept, "d{of}, {day}"),
                Err(CheckpointError::Unknown { .. }) => {}
                Err(error) => panic!("d{of} in the copy of day {day}: {error}"),
            }
        }
        // No pack that can be opened holds a content of a day that is over.
        for gone in 0..day.min(13) {
            for text in [format!("day {gone}\n"), format!("changed on {gone}\n")] {
                let digest = portcullis_checkpoint::ContentDigest::of_bytes(text.as_bytes());
                assert!(copy.read_content(&digest).is_err(), "{text} in the copy of day {day}");
            }
        }
    }
}

#[test]
fn a_content_that_is_still_needed_moves_to_the_key_of_its_newest_checkpoint() {
    let place = Place::new();
    let vault = place.home.join("vault");
    let at = |day: u64| (100 + day) * DAY;
    place.sh("echo old > old; head -c 3000000 /dev/urandom > large");
    place.act("first", at(0), "echo new > old");
    let large = fs::read(place.root.join("large")).unwrap();
    place.act("later", at(5), "echo newer > old");
    assert_eq!(collect(&open(&vault), at(5)), 0);
    assert_eq!(days(&vault), [0, 5].map(|day| Day::of_time(at(day))));
    let packs = || walk(&vault.join("packs")).len();
    let before = packs();
    // The day of `first` is over, and `large` is still needed.
    assert_eq!(collect(&open(&vault), at(8)), 1);
    assert!(packs() <= before);
    assert_eq!(days(&vault), [5, 8].map(|day| Day::of_time(at(day))));
    place.act("lost", at(9), "echo lost > large");
    place.restore("later", &plainly("u", at(9) + 1)).unwrap();
    assert_eq!(fs::read(place.root.join("large")).unwrap(), large);
    let text = portcullis_checkpoint::ContentDigest::of_bytes(b"old\n");
    assert!(open(&vault).read_content(&text).is_err());
}

#[test]
fn the_keys_of_yesterday_and_of_other_data_stay() {
    let place = Place::new();
    let vault = place.home.join("vault");
    let now = 200 * DAY;
    for (kind, day) in
        [(DataKind::Journal, 100), (DataKind::Checkpoints, 199), (DataKind::Checkpoints, 198)]
    {
        keys(&vault).encrypt(kind, day * DAY, &["x"], b"x").unwrap();
    }
    assert_eq!(collect(&open(&vault), now), 1);
    let left = keys(&vault).list_keys().unwrap();
    let left: Vec<_> = left.iter().map(|key| (key.kind, key.id.day)).collect();
    let day = |day: u64| Day::of_time(day * DAY);
    // The index has the key of today.
    assert_eq!(
        left,
        [
            (DataKind::Journal, day(100)),
            (DataKind::Checkpoints, day(199)),
            (DataKind::Checkpoints, day(200))
        ]
    );
}

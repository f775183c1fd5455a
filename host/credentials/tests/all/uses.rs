//! The log of uses: what deserves a record.

use portcullis_credentials::{CredentialStore, CredentialUse, UseOutcome};
use std::fs;

const HOUR: u64 = 60 * 60 * 1000;

#[test]
fn a_use_is_recorded_once_a_day_and_when_its_outcome_changes() {
    let folder = tempfile::tempdir().unwrap();
    let log = CredentialStore::new(folder.path().to_owned(), [1; 32]).use_log();
    let noted = |credential: &str, purpose: &str, outcome| CredentialUse {
        credential: credential.into(),
        purpose: purpose.into(),
        outcome,
    };
    use UseOutcome::{Refused, Unreadable, Used};
    let rows = [
        (0, "env:A", "exports.x", Used, true),
        (HOUR, "env:A", "exports.x", Used, false),
        (2 * HOUR, "env:A", "exports.y", Used, true),
        (2 * HOUR, "env:B", "exports.x", Used, true),
        (3 * HOUR, "env:A", "exports.x", Refused, true),
        (4 * HOUR, "env:A", "exports.x", Refused, false),
        (5 * HOUR, "env:A", "exports.x", Unreadable, true),
        (6 * HOUR, "env:A", "exports.x", Used, true),
        (29 * HOUR, "env:A", "exports.x", Used, false),
        (30 * HOUR, "env:A", "exports.x", Used, true),
    ];
    for (now, credential, purpose, outcome, expected) in rows {
        let noted = noted(credential, purpose, outcome);
        assert_eq!(log.note_use(&noted, now).unwrap(), expected, "{noted:?} at {now}");
    }
    let listed = log.list_uses();
    let uses = &listed["env:A"];
    assert_eq!(uses.len(), 2);
    assert_eq!((uses["exports.x"].outcome, uses["exports.x"].recorded), (Used, 30 * HOUR));

    // A log that somebody changed counts as empty: a record too many, not one too few.
    fs::write(folder.path().join("uses.json"), "{}").unwrap();
    assert!(log.note_use(&noted("env:A", "exports.x", Used), 30 * HOUR).unwrap());

    for number in 0..600 {
        assert!(log.note_use(&noted("env:C", &format!("exports.{number}"), Used), number).unwrap());
    }
    assert!(log.list_uses()["env:C"].len() <= 500);
}

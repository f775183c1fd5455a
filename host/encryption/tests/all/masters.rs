//! Master keys: rotated, moved, lost and restored.

use super::{AT, DAY, decrypt, encrypt, files, keys};
use portcullis_encryption::{DataKeys, KeptIn, MasterKey};
use std::fs;
use std::path::Path;

fn newest(keys: &DataKeys) -> MasterKey {
    let entry = &keys.masters().list().unwrap()[0];
    keys.masters().read(&entry.id).unwrap()
}

fn value_file(folder: &Path, key: &MasterKey) -> std::path::PathBuf {
    folder.join("keys/master/values").join(key.id().as_str())
}

#[test]
fn everything_is_readable_at_every_moment_of_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    let texts: Vec<_> = (0..5).map(|day| encrypt(&writer, AT + day * DAY, "text")).collect();
    let old = newest(&writer);
    let readable = |when: &str| {
        for text in &texts {
            assert_eq!(decrypt(&keys(folder.path()), text), "text", "{when}");
        }
    };
    writer.masters().add(&MasterKey::generate().unwrap(), KeptIn::File).unwrap();
    readable("a new key is known");
    // A process that was killed had wrapped some of the keys again.
    let wrapped_before: Vec<_> = files(folder.path())
        .into_iter()
        .map(|name| (fs::read(folder.path().join("keys").join(&name)).unwrap(), name))
        .collect();
    let result = keys(folder.path()).rewrap_keys().unwrap();
    assert_eq!((result.rewrapped, result.removed), (5, vec![old.id()]));
    writer.masters().add(&old, KeptIn::File).unwrap();
    for (bytes, name) in &wrapped_before[..3] {
        fs::write(folder.path().join("keys").join(name), bytes).unwrap();
        readable("half of them are wrapped again");
    }
    let result = keys(folder.path()).rewrap_keys().unwrap();
    assert_eq!((result.rewrapped, result.kept), (2, Vec::new()));
    readable("all are wrapped again");
    assert_eq!(keys(folder.path()).masters().list().unwrap().len(), 1);
}

#[test]
fn a_lost_master_key_stops_new_texts_until_a_person_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "old");
    let lost = newest(&keys(folder.path()));
    fs::remove_file(value_file(folder.path(), &lost)).unwrap();
    let failed = keys(folder.path())
        .encrypt(portcullis_encryption::DataKind::Journal, AT, &["x"], b"text")
        .unwrap_err()
        .to_string();
    assert!(
        failed.contains(lost.id().as_str()) && failed.contains("encryption status"),
        "{failed}"
    );
    let other = MasterKey::generate().unwrap();
    keys(folder.path()).masters().add(&other, KeptIn::File).unwrap();
    let new = encrypt(&keys(folder.path()), AT, "new");
    assert_eq!(decrypt(&keys(folder.path()), &new), "new");
    assert!(decrypt(&keys(folder.path()), &text).contains("is not available"));
    // It is kept in the list, so its days are readable again once it is back.
    let kept = keys(folder.path()).rewrap_keys().unwrap();
    assert_eq!((kept.kept.len(), kept.removed.len()), (1, 0));
    keys(folder.path()).masters().put_back(&lost).unwrap();
    assert_eq!(decrypt(&keys(folder.path()), &text), "old");
    assert_eq!(keys(folder.path()).rewrap_keys().unwrap().removed, [lost.id()]);
    assert_eq!(decrypt(&keys(folder.path()), &text), "old");
}

#[test]
fn the_value_of_another_key_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "text");
    let path = value_file(folder.path(), &newest(&keys(folder.path())));
    for other in ["", "00", "x", &"0".repeat(64)] {
        fs::write(&path, other).unwrap();
        assert!(
            decrypt(&keys(folder.path()), &text).starts_with("error: the master key"),
            "{other}"
        );
    }
}

#[test]
fn a_master_key_moves_to_where_it_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    let text = encrypt(&writer, AT, "text");
    let key = newest(&writer);
    let command = |words: &[&str]| KeptIn::Command {
        command: words.iter().map(|&word| word.into()).collect(),
    };
    let elsewhere = folder.path().join("elsewhere");
    let by_command = command(&["cat", elsewhere.to_str().unwrap()]);
    // The command does not give it yet, or gives another one.
    assert!(writer.masters().move_to(&key.id(), by_command.clone()).is_err());
    fs::write(&elsewhere, "0".repeat(64)).unwrap();
    let error = writer.masters().move_to(&key.id(), by_command.clone()).unwrap_err().to_string();
    assert!(error.contains("another value"), "{error}");
    assert_eq!(decrypt(&keys(folder.path()), &text), "text");
    use secrecy::ExposeSecret;
    fs::write(&elsewhere, key.to_line().expose_secret()).unwrap();
    writer.masters().move_to(&key.id(), by_command).unwrap();
    assert!(!value_file(folder.path(), &key).exists(), "the old place is empty");
    assert_eq!(decrypt(&keys(folder.path()), &text), "text");
    fs::remove_file(&elsewhere).unwrap();
    assert!(decrypt(&keys(folder.path()), &text).contains("is not available"));
    assert_eq!(decrypt(&writer, &text), "text", "a process that has read it goes on");
}

#[test]
fn rotations_and_makers_of_keys_at_the_same_time_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = encrypt(&keys(folder.path()), AT, "first");
    let texts = std::thread::scope(|scope| {
        let rotating: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..15 {
                        let key = MasterKey::generate().unwrap();
                        keys(folder.path()).rotate_master(&key, KeptIn::File).unwrap();
                    }
                })
            })
            .collect();
        let writing: Vec<_> = (0..2_u64)
            .map(|writer| {
                let folder = folder.path();
                scope.spawn(move || {
                    let days = (0..30).map(|day| AT + (2 * day + writer) * DAY);
                    days.map(|at| encrypt(&keys(folder), at, "text")).collect::<Vec<_>>()
                })
            })
            .collect();
        rotating.into_iter().for_each(|thread| thread.join().unwrap());
        writing.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(decrypt(&keys(folder.path()), &first), "first");
    for text in &texts {
        assert_eq!(decrypt(&keys(folder.path()), text), "text");
    }
}

#[test]
fn a_backup_brings_a_key_back_whose_command_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "text");
    let key = newest(&keys(folder.path()));
    let elsewhere = folder.path().join("elsewhere");
    use secrecy::ExposeSecret;
    fs::write(&elsewhere, key.to_line().expose_secret()).unwrap();
    let command = vec!["cat".to_owned(), elsewhere.display().to_string()];
    keys(folder.path()).masters().move_to(&key.id(), KeptIn::Command { command }).unwrap();
    fs::remove_file(&elsewhere).unwrap();
    assert!(decrypt(&keys(folder.path()), &text).contains("is not available"));
    keys(folder.path()).masters().take_back(&key).unwrap();
    assert_eq!(decrypt(&keys(folder.path()), &text), "text");
}

#[test]
fn a_draft_of_a_killed_writer_does_not_outlive_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "text");
    let name = &files(folder.path()).into_iter().find(|name| name != "lock").unwrap();
    let draft = folder.path().join("keys").join(format!(".{name}.1-0.draft"));
    fs::copy(folder.path().join("keys").join(name), &draft).unwrap();
    let all = std::collections::BTreeSet::new();
    let later = portcullis_encryption::Day::of_time(AT + 9 * DAY);
    let kind = portcullis_encryption::DataKind::Journal;
    assert_eq!(keys(folder.path()).destroy_keys(kind, later, &all).unwrap().count, 1);
    assert!(!draft.exists());
    assert!(decrypt(&keys(folder.path()), &text).starts_with("error: "));
}

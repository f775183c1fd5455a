//! Texts and the keys of their days.

use super::{AT, DAY, decrypt, encrypt, files, keys};
use portcullis_encryption::{DataKeys, DataKind, Day, decode_text, encode_text};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_text_is_read_in_its_place_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "secret text");
    assert!(!text.windows(6).any(|part| part == b"secret"));
    let reader = keys(folder.path());
    assert_eq!(decrypt(&reader, &text), "secret text");
    for (kind, place) in [
        (DataKind::Journal, &["records", "r2"][..]),
        (DataKind::Journal, &["records"]),
        (DataKind::Journal, &["record", "sr1"]),
        (DataKind::Journal, &["records", "r1", ""]),
        (DataKind::Incidents, &["records", "r1"]),
    ] {
        let error = reader.decrypt(kind, place, text.clone()).unwrap_err().to_string();
        assert!(error.contains("is not"), "{kind:?} {place:?}: {error}");
    }
    // Every bit counts, those of the header too.
    for at in 4..text.len() {
        let mut changed = text.clone();
        changed[at] ^= 1;
        assert!(decrypt(&reader, &changed).starts_with("error: "), "byte {at}");
    }
    for length in 4..text.len() {
        assert!(decrypt(&reader, &text[..length]).starts_with("error: "), "{length} bytes");
    }
    // What was never encrypted stays as it is.
    for plain in ["", "{}", "enc"] {
        assert_eq!(decrypt(&reader, plain.as_bytes()), plain);
        assert_eq!(decode_text(plain), None);
    }
    assert_eq!(decode_text(&encode_text(&text)), Some(text));
    assert_eq!(decode_text("enc1:?"), Some(Vec::new()));
}

#[test]
fn a_day_has_one_key_for_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        encrypt(&keys(folder.path()), AT, "a");
        encrypt(&keys(folder.path()), AT + DAY, "b");
    }
    let one = keys(folder.path());
    one.encrypt(DataKind::Incidents, AT, &["x"], b"c").unwrap().unwrap();
    let found = files(folder.path());
    let days: Vec<_> = found.iter().map(|name| name.rsplit_once('-').unwrap().0).collect();
    assert_eq!(days, ["incidents-2026-11-18", "journal-2026-11-18", "journal-2026-11-19"]);
    for name in &found {
        let path = folder.path().join("keys").join(name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(one.list_keys().unwrap().len(), 3);
}

#[test]
fn what_a_destroyed_key_encrypted_is_gone_and_the_rest_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    let texts: Vec<_> = (0..4).map(|day| encrypt(&writer, AT + day * DAY, "text")).collect();
    let backup = files(folder.path());
    let needed = BTreeSet::from([DataKeys::key_of(&texts[1]).unwrap()]);
    let before = Day::of_time(AT + 3 * DAY);
    let destroyed = writer.destroy_keys(DataKind::Journal, before, &needed).unwrap();
    assert_eq!((destroyed.count, destroyed.newest), (2, Some(Day::of_time(AT + 2 * DAY))));
    for reader in [&writer, &keys(folder.path())] {
        let read: Vec<_> = texts.iter().map(|text| decrypt(reader, text)).collect();
        assert!(read[0].contains("the key of 2026-11-18 for journal is not there"), "{}", read[0]);
        assert_eq!((read[1].as_str(), read[3].as_str()), ("text", "text"));
        assert!(read[2].contains("2026-11-20"), "{}", read[2]);
    }
    assert_eq!((backup.len(), files(folder.path()).len()), (4, 2));
    // Other kinds have other keys.
    assert_eq!(writer.destroy_keys(DataKind::Incidents, before, &needed).unwrap().count, 0);
}

#[test]
fn a_file_that_is_no_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "text");
    let path = folder.path().join("keys").join(&files(folder.path())[0]);
    let good = fs::read_to_string(&path).unwrap();
    let key = good.split('"').nth(7).unwrap();
    let other =
        format!("{}{}", &key[..key.len() - 2], if key.ends_with("00") { "01" } else { "00" });
    for bad in ["", "{}", &good[..good.len() / 2], &good.replace(key, &other)] {
        fs::write(&path, bad).unwrap();
        let error = decrypt(&keys(folder.path()), &text);
        assert!(error.contains(path.to_str().unwrap()), "{bad}: {error}");
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(decrypt(&keys(folder.path()), &text), "text");
    // A key under the name of another day is not that day's.
    let (renamed, id) = (good.clone(), path.file_name().unwrap().to_str().unwrap());
    let serial = id.rsplit_once('-').unwrap().1;
    let later = encrypt(&keys(folder.path()), AT + DAY, "later");
    for name in files(folder.path()).iter().filter(|name| !name.ends_with(serial)) {
        fs::write(folder.path().join("keys").join(name), &renamed).unwrap();
    }
    assert!(decrypt(&keys(folder.path()), &later).contains("is not a key of this home"));
}

#[test]
fn keys_of_another_home_key_are_put_away_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = encrypt(&keys(folder.path()), AT, "text");
    assert_eq!(keys(folder.path()).quarantine_keys(1).unwrap(), None);
    let other = DataKeys::new(folder.path().join("keys"), [8; 32]);
    assert!(other.encrypt(DataKind::Journal, AT, &["x"], b"text").is_err());
    let kept = other.quarantine_keys(7).unwrap().unwrap();
    assert_eq!(kept, folder.path().join("keys/damaged-7"));
    other.encrypt(DataKind::Journal, AT, &["x"], b"text").unwrap().unwrap();
    assert_eq!(decrypt(&DataKeys::new(kept, [7; 32]), &text), "text");
}

#[test]
fn a_writer_whose_key_file_is_gone_makes_another_key() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    encrypt(&writer, AT, "lost");
    fs::remove_file(folder.path().join("keys").join(&files(folder.path())[0])).unwrap();
    let text = encrypt(&writer, AT, "kept");
    assert_eq!(decrypt(&keys(folder.path()), &text), "kept");
}

#[test]
fn new_texts_stay_plain_on_request_and_old_ones_stay_readable() {
    let folder = tempfile::tempdir().unwrap();
    let writer = keys(folder.path());
    let text = encrypt(&writer, AT, "before");
    writer.set_off(true).unwrap();
    let none = keys(folder.path()).encrypt(DataKind::Journal, AT, &["x"], b"plain").unwrap();
    assert_eq!((none, keys(folder.path()).is_off().unwrap()), (None, true));
    assert_eq!(decrypt(&keys(folder.path()), &text), "before");
    // Somebody without the home's key cannot switch it off.
    fs::write(folder.path().join("keys/off"), r#"{"off":true,"code":"00"}"#).unwrap();
    let error = writer.encrypt(DataKind::Journal, AT, &["x"], b"text").unwrap_err().to_string();
    assert!(error.contains("is not a key of this home"), "{error}");
    writer.set_off(false).unwrap();
    assert_eq!(decrypt(&writer, &encrypt(&writer, AT, "after")), "after");
}

//! Master keys that a passphrase opens.

use portcullis_encryption::{LockedKey, MasterKey};
use secrecy::SecretString;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_passphrase_opens_what_it_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("backup");
    assert!(LockedKey::read(&path).unwrap().is_none());
    let key = MasterKey::generate().unwrap();
    let right = SecretString::from("correct horse battery staple");
    LockedKey::lock(&key, &right).unwrap().write(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let locked = LockedKey::read(&path).unwrap().unwrap();
    assert_eq!(locked.open(&right, &path).unwrap().id(), key.id());
    for wrong in ["", "correct horse battery stapl", "Correct horse battery staple"] {
        let error = locked.open(&SecretString::from(wrong), &path).unwrap_err().to_string();
        assert!(error.contains("the passphrase is wrong") && error.contains("backup"), "{error}");
    }
    let good = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        // A file of somebody else could ask for all memory and hours of work.
        ("\"memory_kib\":65536", "\"memory_kib\":4294967295"),
        ("\"passes\":3", "\"passes\":4000000000"),
        ("\"lanes\":4", "\"lanes\":0"),
        ("\"salt\":\"", "\"salt\":\"zz"),
        ("\"key\":\"", "\"key\":\"00"),
        ("\"master\":\"", "\"master\":\"0"),
    ] {
        let changed = good.replace(from, to);
        assert_ne!(changed, good, "{from}");
        fs::write(&path, &changed).unwrap();
        let opened = LockedKey::read(&path).unwrap().unwrap().open(&right, &path);
        assert!(opened.is_err(), "{to}");
    }
    for other in ["", "{}", "[]", &good[..good.len() / 2]] {
        fs::write(&path, other).unwrap();
        assert!(
            LockedKey::read(&path).unwrap_err().to_string().contains("is not a key"),
            "{other}"
        );
    }
}

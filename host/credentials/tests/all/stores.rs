//! Credentials of every kind: set, read, rotated, removed, and what keeps them from being read.

use portcullis_credentials::{
    CredentialEntry, CredentialFailure, CredentialName, CredentialReader, CredentialSource,
    CredentialStore, KeptIn, check_secret,
};
use secrecy::{ExposeSecret, SecretString};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn store(folder: &Path) -> CredentialStore {
    CredentialStore::new(folder.join("credentials"), [7; 32])
}

fn name(text: &str) -> CredentialName {
    text.parse().unwrap()
}

fn entry(kept_in: KeptIn) -> CredentialEntry {
    CredentialEntry { kept_in, created: 1, set: 1, expires: None, registry: None, user: None }
}

fn variable(name: &str) -> Option<OsString> {
    (name == "TOKEN").then(|| "from-a-variable".into())
}

/// The environment of these tests, and a store.
struct Reader(CredentialStore);

impl CredentialReader for Reader {
    fn variable(&self, name: &str) -> Option<OsString> {
        variable(name)
    }

    fn read_stored(&self, name: &str) -> Result<SecretString, CredentialFailure> {
        self.0.read_secret(&name.parse()?, &variable)
    }
}

fn read(store: &CredentialStore, text: &str) -> Result<String, CredentialFailure> {
    store.read_secret(&name(text), &variable).map(|secret| secret.expose_secret().to_owned())
}

fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_value_is_read_from_where_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let command = |words: &[&str]| KeptIn::Command { command: self::words(words) };
    let rows = [
        ("file", KeptIn::File, Some("from-a-file"), "from-a-file"),
        ("keyring", KeptIn::Keyring, Some("from-the-keyring"), "from-the-keyring"),
        ("variable", KeptIn::Variable { variable: "TOKEN".into() }, None, "from-a-variable"),
        ("command", command(&["printf", "from-%s\n", "a-command"]), None, "from-a-command"),
    ];
    for (text, kept_in, value, expected) in rows {
        let value = value.map(secret);
        store.add_entry(&name(text), entry(kept_in), value.as_ref()).unwrap();
        assert_eq!(read(&store, text).unwrap(), expected);
    }
    let reader = Reader(store.clone());
    for (text, expected) in [("credential:file", "from-a-file"), ("env:TOKEN", "from-a-variable")] {
        let source = CredentialSource::parse(text, |_| PathBuf::new()).unwrap();
        assert_eq!(source.to_string(), text);
        assert_eq!(source.read_secret(&reader).unwrap().expose_secret(), expected);
    }

    for text in ["file", "keyring"] {
        store.rotate_value(&name(text), &secret("rotated"), Some(9), 5).unwrap();
        assert_eq!(read(&store, text).unwrap(), "rotated");
        let known = &store.list_entries().unwrap()[&name(text)];
        assert_eq!((known.created, known.set, known.expires), (1, 5, Some(9)), "{text}");
    }
    for text in ["variable", "command"] {
        let refused = store.rotate_value(&name(text), &secret("rotated"), None, 5).unwrap_err();
        assert!(refused.what.contains("its value is kept by"), "{refused}");
    }
    for text in ["file", "keyring", "variable", "command"] {
        store.remove_entry(&name(text)).unwrap();
        assert!(read(&store, text).unwrap_err().what.contains("there is no credential"));
        assert!(store.remove_entry(&name(text)).is_err());
    }
    assert!(!folder.path().join("credentials/values/file").exists());
    // Nothing of a removed value is left under its name in the keyring.
    store.add_entry(&name("keyring"), entry(KeptIn::Keyring), None).unwrap();
    assert!(read(&store, "keyring").unwrap_err().what.contains("keyring has no value"));
}

#[test]
fn stores_of_two_homes_share_nothing() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (store(one.path()), store(other.path()));
    for (store, value) in [(&one, "one"), (&other, "other")] {
        store.add_entry(&name("same"), entry(KeptIn::Keyring), Some(&secret(value))).unwrap();
    }
    assert_eq!(read(&one, "same").unwrap(), "one");
    assert_eq!(read(&other, "same").unwrap(), "other");
    other.remove_entry(&name("same")).unwrap();
    assert_eq!(read(&one, "same").unwrap(), "one");
    one.remove_entry(&name("same")).unwrap();
}

#[test]
fn nothing_that_somebody_else_wrote_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let at = |path: &str| folder.path().join("credentials").join(path);
    store.add_entry(&name("siem"), entry(KeptIn::File), Some(&secret("value"))).unwrap();
    for (path, expected) in
        [("", 0o700), ("values", 0o700), ("values/siem", 0o600), ("index.json", 0o600)]
    {
        assert_eq!(
            fs::metadata(at(path)).unwrap().permissions().mode() & 0o777,
            expected,
            "{path}"
        );
    }

    let value = at("values/siem");
    fs::set_permissions(&value, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(read(&store, "siem").unwrap_err().what.contains("open to others"));
    fs::remove_file(&value).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "stolen").unwrap();
    symlink(&elsewhere, &value).unwrap();
    assert!(read(&store, "siem").unwrap_err().what.contains("is a link"));

    // The index decides which command runs, so nobody without the key may change it.
    let index = fs::read_to_string(at("index.json")).unwrap();
    assert!(!index.contains("value\""), "{index}");
    let forged =
        index.replace("\"kept_in\":\"file\"", "\"kept_in\":\"command\",\"command\":[\"id\"]");
    assert_ne!(forged, index);
    fs::write(at("index.json"), forged).unwrap();
    let failure = read(&store, "siem").unwrap_err();
    assert!(failure.what.contains("was not written with this home's key"), "{failure}");
    let other = CredentialStore::new(folder.path().join("credentials"), [8; 32]);
    fs::write(at("index.json"), index).unwrap();
    assert!(other.list_entries().is_err() && store.list_entries().is_ok());
}

#[test]
fn what_a_command_does_wrong_is_named_without_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let rows: [(&[&str], &str); 6] = [
        (&["/nowhere/pass"], "`/nowhere/pass` cannot be started"),
        (&["false"], "the command `false` failed"),
        (&["sh", "-c", "echo s3cr3t; exit 3"], "the command `sh` failed"),
        (&["true"], "the answer of `true` is empty"),
        (&["printf", "one\ntwo\n"], "the answer of `printf` is more than one line"),
        (&["head", "-c", "5000", "/dev/zero"], "the answer of `head` is more than one line"),
    ];
    for (number, (command, expected)) in rows.into_iter().enumerate() {
        let text = format!("c{number}");
        let kept_in = KeptIn::Command { command: words(command) };
        store.add_entry(&name(&text), entry(kept_in), None).unwrap();
        let failure = read(&store, &text).unwrap_err();
        assert!(failure.what.contains(expected), "{command:?}: {failure}");
        assert!(!failure.to_string().contains("s3cr3t"), "{failure}");
    }
}

#[test]
fn a_name_leads_nowhere_else() {
    for text in ["siem", "a", "9", "ghcr.io", "a-b_c.d", &"x".repeat(64)] {
        assert_eq!(name(text).as_str(), text);
    }
    for text in
        ["", ".", "..", "../key", "a/b", "A", "-a", ".a", "a b", "ä", "a\n", &"x".repeat(65)]
    {
        let failure = text.parse::<CredentialName>().unwrap_err();
        assert!(text.len() < 2 || !failure.to_string().contains(text), "{text:?}: {failure}");
    }
}

#[test]
fn a_value_is_one_line() {
    for (value, expected) in [
        ("value", Ok("value")),
        ("value\n", Ok("value")),
        ("value\r\n", Ok("value")),
        (" padded ", Ok(" padded ")),
        ("", Err("is empty")),
        ("\n", Err("is empty")),
        ("  ", Err("is empty")),
        ("one\ntwo", Err("is more than one line")),
        ("a\0b", Err("is more than one line")),
    ] {
        let checked = check_secret("it", value.as_bytes().to_vec());
        match (checked, expected) {
            (Ok(secret), Ok(expected)) => assert_eq!(secret.expose_secret(), expected),
            (Err(failure), Err(expected)) => assert!(failure.what.contains(expected), "{failure}"),
            (checked, _) => panic!("{value:?}: {checked:?}"),
        }
    }
    assert!(check_secret("it", vec![0xff, 0xfe]).is_err());
}

#[test]
fn a_registry_finds_its_credential() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    assert!(store.find_for_registry("ghcr.io").unwrap().is_none());
    let known = CredentialEntry { registry: Some("ghcr.io".into()), ..entry(KeptIn::File) };
    store.add_entry(&name("one"), entry(KeptIn::File), Some(&secret("x"))).unwrap();
    store.add_entry(&name("two"), known, Some(&secret("y"))).unwrap();
    let found = store.find_for_registry("ghcr.io").unwrap().unwrap();
    assert_eq!(found.0, name("two"));
    assert!(store.find_for_registry("other.io").unwrap().is_none());
}

#[test]
fn a_name_is_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.add_entry(&name("siem"), entry(KeptIn::File), Some(&secret("first"))).unwrap();
    let taken = store.add_entry(&name("siem"), entry(KeptIn::File), Some(&secret("second")));
    assert!(taken.unwrap_err().what.contains("already"));
    assert_eq!(read(&store, "siem").unwrap(), "first");
    let nothing = |_: &str| None;
    assert!(CredentialReader::read_stored(&nothing, "siem").is_err());
}

//! Credentials that are valid, that are missing, and that other users could access.

use crate::support::{expect, file, variable};
use portcullis_credentials::CredentialSource;
use portcullis_notify::{Address, Channel, Sender, Webhook};
use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::PathBuf;
use std::process::Command;

fn check(bearer: CredentialSource) -> Result<(), portcullis_notify::DeliveryFailure> {
    let url = Address::Open("https://example.com/".into());
    Sender::new(&variable).check_channel(&Channel::Webhook(Webhook {
        url,
        proxy: None,
        bearer: Some(bearer),
        authorities: None,
    }))
}

#[test]
fn a_credential_is_there_and_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8], mode: u32| {
        CredentialSource::File(file(folder.path(), name, bytes, mode))
    };
    for (what, credential) in [
        ("a variable", CredentialSource::Variable("TOKEN".into())),
        ("a file", at("good", b"secret-value", 0o600)),
        ("one line", at("line", b"secret-value\n", 0o400)),
        ("one line of another system", at("crlf", b"secret-value\r\n", 0o600)),
    ] {
        assert_eq!(check(credential), Ok(()), "{what}");
    }

    let target = file(folder.path(), "target", b"secret-value", 0o600);
    let link = folder.path().join("link");
    symlink(&target, &link).unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&fifo).status().unwrap().success());
    // Root's own file, or one that root gave away.
    let others = if rustix::process::geteuid().is_root() {
        let path = file(folder.path(), "others", b"secret-value", 0o600);
        chown(&path, Some(12_345), None).unwrap();
        path
    } else {
        PathBuf::from("/etc/passwd")
    };
    let long = vec![b's'; 5000];
    let table: Vec<(&str, CredentialSource, &[&str])> = vec![
        (
            "no variable",
            CredentialSource::Variable("ABSENT".into()),
            &["`ABSENT` is not set", "set `ABSENT`"],
        ),
        ("an empty variable", CredentialSource::Variable("EMPTY".into()), &["`EMPTY` is empty"]),
        ("a blank variable", CredentialSource::Variable("BLANK".into()), &["`BLANK` is empty"]),
        (
            "a header in a variable",
            CredentialSource::Variable("TWO_LINES".into()),
            &["`TWO_LINES` is more than one line"],
        ),
        (
            "open to a group",
            at("group", b"secret-value", 0o640),
            &["(mode 640)", "run `chmod 600 ", "/group`"],
        ),
        (
            "open to all",
            at("all", b"secret-value", 0o644),
            &["(mode 644)", "run `chmod 600 ", "/all`"],
        ),
        ("writable by all", at("written", b"secret-value", 0o602), &["(mode 602)"]),
        (
            "a link",
            CredentialSource::File(link),
            &["/link` is a link", "name the file that it leads to"],
        ),
        ("a pipe", CredentialSource::File(fifo), &["is not a file"]),
        ("a folder", CredentialSource::File(folder.path().to_owned()), &["is not a file"]),
        (
            "nothing",
            CredentialSource::File(folder.path().join("absent")),
            &["/absent` does not exist"],
        ),
        ("a relative path", CredentialSource::File("secret".into()), &["is not an absolute path"]),
        ("somebody else's", CredentialSource::File(others), &["belongs to somebody else"]),
        ("an empty file", at("empty", b"", 0o600), &["is empty"]),
        ("a line break", at("break", b"\n", 0o600), &["is empty"]),
        (
            "two lines",
            at("lines", b"secret-value\nsecret-value\n", 0o600),
            &["is more than one line"],
        ),
        ("no text", at("bytes", b"secret-value\xff", 0o600), &["is empty or not valid UTF-8"]),
        ("far too long", at("long", &long, 0o600), &["holds more than 4096 bytes"]),
    ];
    for (what, credential, holds) in table {
        assert!(!format!("{credential:?}").contains("secret-value"));
        let failure = check(credential).unwrap_err();
        assert!(!failure.to_string().contains("secret-value"), "{what}: {failure}");
        expect(&Err(failure), "give up", holds, what);
    }
    assert_eq!(fs::read(&target).unwrap(), b"secret-value");
}

//! Tests of key files, and of their use by another program.

use crate::sample::{NOW, bundle, key, signed};
use portcullis_bundle::{KeyError, PublicKey, SecretKey};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const PASSPHRASE: &str = "correct horse battery";

fn pem() -> String {
    key(1).to_pem(PASSPHRASE, &[7; 16], [9; 16]).unwrap()
}

#[test]
fn a_key_is_read_with_its_passphrase_alone() {
    let pem = pem();
    assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
    assert_eq!(SecretKey::from_pem(&pem, PASSPHRASE).unwrap().public(), key(1).public());
    assert_eq!(SecretKey::from_pem(&pem, "another passphrase").unwrap_err(), KeyError::Passphrase);
    assert_eq!(key(1).to_pem("short", &[7; 16], [9; 16]).unwrap_err(), KeyError::Short);
    let shown = format!("{:?}", key(1));
    assert!(shown.contains("sha256:") && !shown.contains("0101"), "{shown}");
}

#[test]
fn anything_but_a_key_is_refused() {
    let public = key(1).public().to_pem().unwrap();
    for (name, text) in [
        ("nothing", ""),
        ("a public key", public.as_str()),
        ("words", "key"),
        ("cut", &pem()[..120]),
    ] {
        assert!(
            matches!(SecretKey::from_pem(text, PASSPHRASE), Err(KeyError::Malformed(_))),
            "{name}"
        );
    }
    let long = pem() + &" ".repeat(20_000);
    assert!(matches!(SecretKey::from_pem(&long, PASSPHRASE), Err(KeyError::Malformed(_))));
    // The point of order 1: with it, signatures can be made that are valid for any text.
    let weak = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END PUBLIC KEY-----\n";
    assert!(PublicKey::from_pem(weak).is_err() && PublicKey::from_pem(&pem()).is_err());
}

fn openssl(folder: &Path, arguments: &[&str]) -> bool {
    let ended = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("openssl is installed");
    ended.status.success()
}

/// openssl reads our keys, we read its keys, and it accepts signatures of both, for exactly these
/// bytes.
#[test]
fn openssl_agrees() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("ours.key"), pem()).unwrap();
    assert!(openssl(
        folder.path(),
        &[
            "pkey",
            "-in",
            "ours.key",
            "-passin",
            &format!("pass:{PASSPHRASE}"),
            "-pubout",
            "-out",
            "ours.pub"
        ]
    ));
    assert_eq!(fs::read_to_string(at("ours.pub")).unwrap(), key(1).public().to_pem().unwrap());

    let made: [(&str, &[&str]); 2] =
        [("ed25519", &["ed25519"]), ("p256", &["EC", "-pkeyopt", "ec_paramgen_curve:P-256"])];
    for (name, algorithm) in made {
        let file = format!("{name}.key");
        let arguments = [
            "genpkey",
            "-aes-256-cbc",
            "-pass",
            &format!("pass:{PASSPHRASE}"),
            "-out",
            &file,
            "-algorithm",
        ];
        assert!(openssl(folder.path(), &[&arguments, algorithm].concat()), "{name}");
        let theirs =
            SecretKey::from_pem(&fs::read_to_string(at(&file)).unwrap(), PASSPHRASE).unwrap();
        let bundle = bundle();
        let signature = signed(&bundle, &theirs, Some(NOW));
        assert!(
            signature.verify_statement(&theirs.public()).is_ok()
                && signature.verify_statement(&key(1).public()).is_err(),
            "{name}"
        );
        // The bytes that DSSE signs, put together by hand.
        let envelope: Value = serde_json::from_slice(signature.file()).unwrap();
        let envelope = &envelope["dsseEnvelope"];
        let decoded = |value: &Value| {
            data_encoding::BASE64.decode(value.as_str().unwrap().as_bytes()).unwrap()
        };
        let (payload, kind) =
            (decoded(&envelope["payload"]), envelope["payloadType"].as_str().unwrap());
        let mut text = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
        text.extend(payload);
        fs::write(at("text"), &text).unwrap();
        fs::write(at("signature"), decoded(&envelope["signatures"][0]["sig"])).unwrap();
        fs::write(at("public"), theirs.public().to_pem().unwrap()).unwrap();
        let verify: &[&str] = match name {
            "ed25519" => &[
                "pkeyutl",
                "-verify",
                "-pubin",
                "-inkey",
                "public",
                "-rawin",
                "-in",
                "text",
                "-sigfile",
                "signature",
            ],
            _ => &["dgst", "-sha256", "-verify", "public", "-signature", "signature", "text"],
        };
        assert!(openssl(folder.path(), verify), "{name}: openssl does not accept it");
        *text.last_mut().unwrap() ^= 1;
        fs::write(at("text"), &text).unwrap();
        assert!(!openssl(folder.path(), verify), "{name}: openssl accepts another text");
    }
}

#[test]
fn a_secret_key_without_a_passphrase_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    assert!(openssl(folder.path(), &["genpkey", "-algorithm", "ed25519", "-out", "open.key"]));
    let text = fs::read_to_string(folder.path().join("open.key")).unwrap();
    assert_eq!(SecretKey::from_pem(&text, PASSPHRASE).unwrap_err(), KeyError::Unprotected);
}

//! Tests that other tools accept the pushed bundles and signatures. `.ci/run languages` installs
//! them next to cargo's own files.

use crate::real::{Kind, Registry};
use crate::sample::{access, at, bundle, client, key, signed, skip, unseen};
use portcullis_bundle::{SecretKey, Signature, Statement};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a tool, if it is installed.
fn tool(path: &str) -> Option<PathBuf> {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("languages").join(path);
    if !path.exists() {
        skip(&format!("there is no `{}`: `.ci/run languages` makes it", path.display()));
        return None;
    }
    Some(path)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/others").join(name)
}

fn said(command: &mut Command) -> String {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// A client of OCI artifacts that does not know bundles can fetch each component by its artifact's
/// digest.
#[test]
fn oras_pulls_a_component() {
    let Some(python) = tool("oras/bin/python") else { return };
    let Some(registry) = Registry::start(Kind::Plain) else { return };
    let good = bundle("1.2.0");
    client(access())
        .push_bundle(&good, &[signed(&good, 1)], &at(registry.port, ":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    for (manifest, component) in good.index().manifests().iter().zip(&good.about().components) {
        let folder = tempfile::tempdir().unwrap();
        let reference = at(registry.port, &format!("@{}", manifest.digest)).to_string();
        let paths = said(
            Command::new(&python)
                .arg(script("pull.py"))
                .arg(&reference)
                .arg(folder.path())
                .env("HOME", folder.path()),
        );
        let expected = folder.path().join(format!("{}.wasm", component.plugins[0].name));
        assert_eq!(paths.lines().collect::<Vec<_>>(), [expected.display().to_string()]);
        assert_eq!(fs::read(expected).unwrap(), good.component_bytes(component).unwrap());
    }
}

/// Returns a key on P-256, as an organisation may use.
fn organisation_key(folder: &Path) -> SecretKey {
    let file = folder.join("p256.key");
    let arguments = [
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-aes-256-cbc",
        "-pass",
        "pass:twelve letters",
    ];
    said(Command::new("openssl").args(arguments).arg("-out").arg(&file));
    SecretKey::from_pem(&fs::read_to_string(file).unwrap(), "twelve letters").unwrap()
}

/// Changes one character of one base64 text in the file, so that one decoded byte differs.
fn changed(file: &[u8], pointer: &str) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(file).unwrap();
    let text = value.pointer_mut(pointer).unwrap();
    let mut bytes = data_encoding::BASE64.decode(text.as_str().unwrap().as_bytes()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    *text = data_encoding::BASE64.encode(&bytes).into();
    serde_json::to_vec(&value).unwrap()
}

/// Sigstore's own library accepts our file with our key, and nothing else.
#[test]
fn sigstore_verifies_a_signature() {
    let Some(packages) = tool("sigstore/node_modules") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let good = bundle("1.2.0");
    for (name, ours) in [("Ed25519", key(1)), ("P-256", organisation_key(scratch.path()))] {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        let signature =
            Signature::sign_statement(&Statement::about_index(good.index(), Some(1), None), &ours)
                .unwrap();
        write("key.pem", ours.public().to_pem().unwrap().as_bytes());
        write("1-ours", signature.file());
        write("2-payload", &changed(signature.file(), "/dsseEnvelope/payload"));
        write("3-signature", &changed(signature.file(), "/dsseEnvelope/signatures/0/sig"));
        write("4-another-key", signed(&good, 3).file());
        let mut node = Command::new("node");
        let said = said(
            node.arg(script("verify.mjs"))
                .arg(folder.path())
                .current_dir(packages.parent().unwrap()),
        );
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines[0], "1-ours accepted", "{name}: {said}");
        for (line, file) in lines[1..].iter().zip(["2-payload", "3-signature", "4-another-key"]) {
            assert_eq!(*line, format!("{file} refused SIGNATURE_ERROR"), "{name}: {said}");
        }
        assert_eq!(lines.len(), 4, "{name}: {said}");
    }
}

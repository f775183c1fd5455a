//! The files of a version: signed once, and compared by whoever downloads them.

use crate::common::site::Site;
use crate::common::trial;
use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use portcullis_bundle::Digest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub fn tests() -> Vec<Trial> {
    vec![trial("release: files are compared with what was signed", compared)]
}

fn compared() -> Result<()> {
    let site = Site::new("release")?;
    let folder = site.project().join("files");
    fs::create_dir_all(&folder)?;
    let place = |name: &str| folder.join(name).display().to_string();
    fs::write(place("passphrase"), "a passphrase of these tests\n")?;
    fs::set_permissions(place("passphrase"), fs::Permissions::from_mode(0o600))?;
    for key in ["release.key", "other.key"] {
        site.output(&[
            "bundle",
            "key",
            "new",
            "--output",
            &place(key),
            "--passphrase-file",
            &place("passphrase"),
        ])?;
    }
    let files = [("portcullis.tar.gz", "one"), ("portcullis.deb", "two")];
    let subject: Vec<Value> = files
        .iter()
        .map(|(name, text)| {
            json!({ "name": name, "digest": { "sha256": Digest::of_bytes(text.as_bytes()).hex() } })
        })
        .collect();
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1", "subject": subject,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": { "buildDefinition": {
            "externalParameters": { "version": "0.2.0" },
            "resolvedDependencies": [{ "digest": { "gitCommit": "c0ffee" } }],
        } },
    });
    fs::write(place("p-0.2.0.provenance.json"), statement.to_string())?;
    let signed = site.output(&[
        "release",
        "sign",
        &place("p-0.2.0.provenance.json"),
        "--key",
        &place("release.key"),
        "--passphrase-file",
        &place("passphrase"),
    ])?;
    ensure!(signed.contains("version 0.2.0, commit c0ffee, 2 files"), "{signed}");

    let (signature, key) = (place("p-0.2.0.sigstore.json"), place("release.key.pub"));
    let verify = |more: &[&str]| {
        site.run(&[&["release", "verify", &signature, "--key", &key], more].concat())
    };
    let nothing = verify(&[])?;
    ensure!(nothing.stderr.contains("no file of version 0.2.0"), "{}", nothing.all());
    for (name, text) in files {
        fs::write(place(name), text)?;
    }
    let good = verify(&["--json"])?;
    let said: Value = serde_json::from_str(&good.text())?;
    ensure!(good.code == Some(0) && said["ok"] == true, "{}", good.all());
    ensure!(
        said["files"].as_array().map(Vec::len) == Some(2) && said["commit"] == "c0ffee",
        "{said}"
    );

    fs::write(place("portcullis.deb"), "changed")?;
    fs::write(place("stranger.deb"), "two")?;
    for (name, problem) in [
        ("portcullis.deb", "changed: it is not what"),
        ("stranger.deb", "not a file of this version"),
    ] {
        let bad = verify(&[&place(name)])?;
        ensure!(bad.code == Some(1) && bad.text().contains(problem), "{name}: {}", bad.all());
        let twin = verify(&[&place("portcullis.tar.gz")])?;
        ensure!(twin.code == Some(0), "{}", twin.all());
    }
    let other = site.run(&["release", "verify", &signature, "--key", &place("other.key.pub")])?;
    ensure!(
        other.code == Some(1) && other.stderr.contains("not this key's signature"),
        "{}",
        other.all()
    );
    Ok(())
}

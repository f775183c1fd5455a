//! Tests with input of an attacker who wants other bytes to be loaded, or this program to crash.

use crate::sample::{NOW, bundle, component, key, made, parts, signed};
use portcullis_bundle::{Bundle, Digest, read_archive, write_archive};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tar::{Builder, EntryType, Header};

/// An archive as its entries.
type Files = BTreeMap<String, Vec<u8>>;

fn files(bundle: &Bundle) -> Files {
    let mut file = Vec::new();
    write_archive(bundle, &[signed(bundle, &key(1), Some(NOW))], &mut file).unwrap();
    let mut archive = tar::Archive::new(file.as_slice());
    let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (entry.path().unwrap().display().to_string(), bytes)
    };
    archive.entries().unwrap().map(read).collect()
}

fn packed(files: &Files) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    files.iter().for_each(|(name, bytes)| entry(&mut archive, name, bytes, EntryType::Regular));
    archive.into_inner().unwrap()
}

/// Writes an entry with exactly this name, even with `..`.
fn entry(archive: &mut Builder<Vec<u8>>, name: &str, bytes: &[u8], kind: EntryType) {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    archive.append(&header, bytes).unwrap();
}

fn blob(digest: Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

fn add(files: &mut Files, bytes: Vec<u8>) -> Digest {
    let digest = Digest::of_bytes(&bytes);
    files.insert(blob(digest), bytes);
    digest
}

/// Changes a document, and every place that names it, up to `index.json`, so that all digests are
/// right again.
fn rewrite(files: &mut Files, digest: Digest, change: &dyn Fn(&mut Value)) {
    let old = files.remove(&blob(digest)).unwrap();
    let mut document: Value = serde_json::from_slice(&old).unwrap();
    change(&mut document);
    let new = serde_json::to_vec(&document).unwrap();
    let (size, fresh) = (new.len(), add(files, new));
    for name in files.keys().cloned().collect::<Vec<_>>() {
        let Ok(mut outer) = serde_json::from_slice::<Value>(&files[&name]) else { continue };
        let mut named = false;
        let all = ["manifests", "layers"]
            .into_iter()
            .filter_map(|list| outer[list].as_array().cloned().map(|all| (list, all)))
            .collect::<Vec<_>>();
        for (list, all) in all {
            for (at, one) in all.iter().enumerate() {
                if one["digest"] == digest.to_string() {
                    outer[list][at]["digest"] = json!(fresh.to_string());
                    outer[list][at]["size"] = json!(size);
                    named = true;
                }
            }
        }
        if named && name == "index.json" {
            files.insert(name, serde_json::to_vec(&outer).unwrap());
        } else if named {
            let above: Digest =
                format!("sha256:{}", name.rsplit('/').next().unwrap()).parse().unwrap();
            let replaced = outer.clone();
            rewrite(files, above, &|document| *document = replaced.clone());
        }
    }
}

/// A named attack, so that a failing row shows what was done.
type Attack = (&'static str, fn(&mut Files, &Bundle), &'static str);

fn manifest(bundle: &Bundle) -> Digest {
    bundle.index().manifests()[0].digest
}

const ATTACKS: &[Attack] = &[
    (
        "a changed byte in a component",
        |files, bundle| files.get_mut(&blob(bundle.about().components[0].digest)).unwrap()[9] ^= 1,
        ", got sha256:",
    ),
    (
        "a component under another's digest",
        |files, bundle| {
            let other = files[&blob(bundle.about().components[1].digest)].clone();
            files.insert(blob(bundle.about().components[0].digest), other);
        },
        ", got sha256:",
    ),
    (
        "a missing component",
        |files, bundle| drop(files.remove(&blob(bundle.about().components[0].digest))),
        "the archive lacks it",
    ),
    (
        "another layer in the artifact",
        |files, bundle| {
            let evil = add(files, component("evil"));
            rewrite(files, manifest(bundle), &|document| {
                document["layers"][0]["digest"] = json!(evil.to_string())
            });
        },
        "the bundle declares",
    ),
    (
        "an extra layer",
        |files, bundle| {
            let evil = add(files, component("evil"));
            rewrite(files, manifest(bundle), &|document| {
                let mut more = document["layers"][0].clone();
                more["digest"] = json!(evil.to_string());
                document["layers"].as_array_mut().unwrap().push(more);
            });
        },
        "it has 2 layers, a component has one",
    ),
    (
        "a layer that is not a component",
        |files, bundle| {
            rewrite(files, manifest(bundle), &|document| {
                document["layers"][0]["mediaType"] = json!("application/gzip")
            });
        },
        "its layer is `application/gzip`",
    ),
    (
        "a config that is another's",
        |files, bundle| {
            rewrite(files, manifest(bundle), &|document| {
                document["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json")
            });
        },
        "its config is `application/vnd.oci.image.config.v1+json`",
    ),
    (
        "a size that is another",
        |files, bundle| {
            rewrite(files, manifest(bundle), &|document| document["layers"][0]["size"] = json!(99));
        },
        "99",
    ),
    (
        "a field that nobody knows",
        |files, bundle| {
            rewrite(files, manifest(bundle), &|document| {
                document["urls"] = json!(["https://evil.example"])
            })
        },
        "unknown field `urls`",
    ),
    (
        "an artifact less",
        |files, bundle| {
            rewrite(files, bundle.index().digest(), &|document| {
                drop(document["manifests"].as_array_mut().unwrap().pop())
            });
        },
        "it lists 1 artifacts but declares 2 components",
    ),
    (
        "an artifact twice",
        |files, bundle| {
            rewrite(files, bundle.index().digest(), &|document| {
                document["manifests"][1] = document["manifests"][0].clone()
            });
        },
        "it lists an artifact twice",
    ),
    (
        "two plugins of a name",
        |files, bundle| {
            rewrite(files, bundle.index().digest(), &|document| {
                let about = document["annotations"]["dev.portcullis.bundle"]
                    .as_str()
                    .unwrap()
                    .replace("\"drifts\"", "\"loops\"");
                document["annotations"]["dev.portcullis.bundle"] = json!(about);
            });
        },
        "two plugins have the name `loops`",
    ),
    (
        "a plugin with a path for a name",
        |files, bundle| {
            rewrite(files, bundle.index().digest(), &|document| {
                let about = document["annotations"]["dev.portcullis.bundle"]
                    .as_str()
                    .unwrap()
                    .replace("\"drifts\"", "\"../x\"");
                document["annotations"]["dev.portcullis.bundle"] = json!(about);
            });
        },
        "`../x` is not a name of a plugin",
    ),
    (
        "an index of something else",
        |files, bundle| {
            rewrite(files, bundle.index().digest(), &|document| {
                document["artifactType"] = json!("application/vnd.oci.image")
            });
        },
        "not of a bundle",
    ),
    (
        "a blob that belongs to nothing",
        |files, _| {
            add(files, b"more".to_vec());
        },
        "which belongs to nothing in it",
    ),
    (
        "a file that belongs to nothing",
        |files, _| drop(files.insert("install.sh".into(), b"rm -rf /".to_vec())),
        "`install.sh` does not belong in an archive",
    ),
    ("no contents", |files, _| drop(files.remove("index.json")), "it is not an OCI image layout"),
    (
        "two bundles",
        |files, _| {
            let mut contents: Value = serde_json::from_slice(&files["index.json"]).unwrap();
            let first = contents["manifests"][0].clone();
            contents["manifests"].as_array_mut().unwrap().push(first);
            files.insert("index.json".into(), serde_json::to_vec(&contents).unwrap());
        },
        "it holds 2 bundles, not one",
    ),
    (
        "a signature of another bundle",
        |files, _| {
            let (mut about, bytes) = parts();
            about.version = "9.9.9".parse().unwrap();
            let other = made(about, &bytes);
            let others = self::files(&other);
            let mut contents: Value = serde_json::from_slice(&files["index.json"]).unwrap();
            let theirs: Value = serde_json::from_slice(&others["index.json"]).unwrap();
            contents["manifests"].as_array_mut().unwrap().push(theirs["manifests"][1].clone());
            for (name, bytes) in others.into_iter().filter(|(name, _)| name.starts_with("blobs/")) {
                files.insert(name, bytes);
            }
            files.insert("index.json".into(), serde_json::to_vec(&contents).unwrap());
        },
        "not to this artifact",
    ),
];

#[test]
fn a_changed_archive_is_refused_with_the_reason() {
    let bundle = bundle();
    assert!(read_archive(packed(&files(&bundle)).as_slice()).is_ok(), "unchanged, it is read");
    for (name, change, expected) in ATTACKS {
        let mut files = files(&bundle);
        change(&mut files, &bundle);
        match read_archive(packed(&files).as_slice()) {
            Ok(_) => panic!("{name}: it was read"),
            Err(error) => assert!(
                error.to_string().contains(expected),
                "{name}: `{expected}` is not in `{error}`"
            ),
        }
    }
}

/// Covers names and kinds of entries that no honest archive has.
#[test]
fn an_archive_cannot_reach_outside_itself() {
    let files = files(&bundle());
    for (name, kind) in [
        ("../evil", EntryType::Regular),
        ("/etc/passwd", EntryType::Regular),
        ("blobs/sha256/../../evil", EntryType::Regular),
        ("blobs/sha256/link", EntryType::Symlink),
        ("blobs/sha256/hard", EntryType::Link),
        ("blobs/device", EntryType::Char),
        ("elsewhere/", EntryType::Directory),
    ] {
        let mut archive = Builder::new(Vec::new());
        entry(&mut archive, name, b"", kind);
        files.iter().for_each(|(name, bytes)| entry(&mut archive, name, bytes, EntryType::Regular));
        let error = read_archive(archive.into_inner().unwrap().as_slice()).unwrap_err().to_string();
        assert!(error.contains("entry"), "{name}: {error}");
    }
}

/// Covers archives that are too large, or shorter than they claim.
#[test]
fn an_archive_is_read_within_bounds() {
    let whole = packed(&files(&bundle()));
    for cut in [0, 100, 512, 700, whole.len() / 2] {
        assert!(read_archive(&whole[..cut]).is_err(), "cut at {cut}");
    }
    let mut many = Builder::new(Vec::new());
    (0..1100).for_each(|_| entry(&mut many, "blobs/", b"", EntryType::Directory));
    assert!(
        read_archive(many.into_inner().unwrap().as_slice())
            .unwrap_err()
            .to_string()
            .contains("more than 1024 entries")
    );
    // A header that promises more bytes than there are, which must not be allocated.
    let mut header = Header::new_gnu();
    header.set_path("index.json").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    assert!(read_archive(header.as_bytes().as_slice()).is_err());
}

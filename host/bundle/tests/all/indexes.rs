//! Tests of indexes of bundles as documents and artifacts: what is taken from an archive, what is
//! refused, and that the same content gives the same bytes.

use crate::sample::{DAY, NOW, bundle, key, made, parts, signed};
use portcullis_bundle::{
    Digest, IndexArtifact, IndexDocument, ListedBundle, ListedVersion, OciDescriptor, Signature,
    Statement, Vetting, media_type, read_index_archive, write_index_archive,
};
use serde_json::{Value, json};

/// The place of every bundle here.
pub(crate) const PLACE: &str = "ghcr.io/acme/checks";

/// Describes the sample bundle with these signatures.
pub(crate) fn listed(signatures: &[Signature]) -> ListedVersion {
    ListedVersion::of_bundle(&bundle(), signatures, PLACE.into(), |_, _| vec!["history".into()])
}

pub(crate) fn document(name: &str, serial: u64, bundles: Vec<ListedBundle>) -> IndexDocument {
    IndexDocument::new(name.parse().unwrap(), serial, NOW - DAY, NOW + DAY, bundles).unwrap()
}

/// Returns an index of the sample bundle under these names.
pub(crate) fn index(name: &str, serial: u64, names: &[&str]) -> IndexArtifact {
    let bundles = names
        .iter()
        .map(|name| ListedBundle {
            name: name.parse().unwrap(),
            versions: vec![listed(&[signed(&bundle(), &key(1), None)])],
        })
        .collect();
    IndexArtifact::new(document(name, serial, bundles)).unwrap()
}

/// Returns the results of a vetting in the format that `bundle vet` writes.
fn results() -> Value {
    json!({
        "format": 1, "program": "portcullis 0.1.0", "granted": [], "most_flagged": 5.0,
        "material": [
            { "kind": "corpus", "name": "a.jsonl", "digest": "x", "holds": 40 },
            { "kind": "cases", "name": "b.toml", "digest": "y", "holds": 7, "plugin": "asks" },
            { "kind": "corpus", "name": "c.jsonl", "digest": "z", "holds": 2 },
        ],
        "components": [],
        "plugins": [{
            "name": "asks", "kind": "pattern", "calls": 42,
            "fuel": { "median": 900, "most": 5000 }, "memory_most": 65536, "time_us_median": 12,
        }],
        "corpus": { "benign": { "actions": 30, "without": 1, "with": 2 } },
        "problems": ["it failed"], "despite": "it is known",
    })
}

#[test]
fn a_version_is_described_from_its_archive() {
    let bundle = bundle();
    let vetting = |results| Vetting { reviewer: "Ann".into(), at: NOW - DAY, results };
    let vetted = |results| {
        let statement =
            Statement::about_index(bundle.index(), Some(NOW + DAY), Some(vetting(results)));
        Signature::sign_statement(&statement, &key(2)).unwrap()
    };
    let other = {
        let (mut about, bytes) = parts();
        about.version = "9.0.0".parse().unwrap();
        made(about, &bytes)
    };
    let signatures = [
        vetted(results()),
        signed(&bundle, &key(1), Some(NOW)),
        // Of another bundle, and a vetting whose results have a format that is not known.
        signed(&other, &key(3), None),
        vetted(json!({ "format": 2, "corpus": "anything" })),
    ];
    let listed = listed(&signatures);
    assert_eq!(listed.digest, bundle.index().digest());
    assert_eq!(listed.grants, ["hosts = [\"https://HOST\"]"]);
    let plugins: Vec<_> = listed.plugins.iter().map(|one| (one.name.as_str(), one.size)).collect();
    assert_eq!(plugins, [("loops", 11), ("drifts", 11), ("asks", 11)]);
    assert_eq!(listed.plugins[0].reads, ["history"]);
    let key_of = |number| key(number).public().id().unwrap();
    assert_eq!(
        listed.signatures.iter().map(|one| (one.key, one.expires)).collect::<Vec<_>>(),
        [(key_of(1), Some(NOW))]
    );
    assert_eq!(listed.vettings.len(), 2);
    let known = listed.vettings.iter().find(|one| !one.material.is_empty()).unwrap();
    assert_eq!((known.reviewer.as_str(), known.at, known.key), ("Ann", NOW - DAY, key_of(2)));
    assert_eq!(
        serde_json::to_value(known).unwrap(),
        json!({
            "reviewer": "Ann", "key": key_of(2), "at": NOW - DAY, "expires": NOW + DAY,
            "material": [
                { "kind": "cases", "files": 1, "holds": 7 },
                { "kind": "corpus", "files": 2, "holds": 42 },
            ],
            "corpus": [{ "label": "benign", "actions": 30, "without": 1, "with": 2 }],
            "plugins": [{
                "name": "asks", "calls": 42, "fuel_median": 900, "time_us_median": 12, "memory_most": 65536,
            }],
            "problems": 1, "despite": "it is known",
        })
    );
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    let (one, two) = (
        index("acme/index", 7, &["acme/b", "acme/a"]),
        index("acme/index", 7, &["acme/a", "acme/b"]),
    );
    assert_eq!(one, two);
    let write = |artifact: &IndexArtifact| {
        let mut bytes = Vec::new();
        let signature = Signature::sign_index(&artifact.statement(), &key(1)).unwrap();
        write_index_archive(artifact, &[signature], &mut bytes).unwrap();
        bytes
    };
    let archive = write(&one);
    assert_eq!(archive, write(&two));
    let (read, signatures) = read_index_archive(archive.as_slice()).unwrap();
    assert_eq!((read, signatures.len()), (one, 1));
}

#[test]
fn a_bundle_has_to_be_as_it_is_listed() {
    let bundle = bundle();
    let name = bundle.about().name.clone();
    let sound = listed(&[]);
    assert_eq!(sound.check_bundle(&name, &bundle), Ok(()));
    type Change = fn(&mut ListedVersion);
    let rows: &[(&str, Change)] = &[
        ("the index lists sha256:", |one| one.digest = Digest::of_bytes(b"")),
        ("as `acme/checks 9.0.0`, and it is `acme/checks 1.2.0`", |one| {
            one.version = "9.0.0".parse().unwrap()
        }),
        ("another grants", |one| one.grants.clear()),
        ("another plugins", |one| one.plugins[0].kind = "audit-exporter".into()),
        ("another plugins", |one| drop(one.plugins.pop())),
        ("another description", |one| one.description = "Harmless.".into()),
        ("another licence", |one| one.licence = "MIT".into()),
        ("another source", |one| one.source = "https://example.org".into()),
    ];
    for (holds, change) in rows {
        let mut changed = sound.clone();
        change(&mut changed);
        let error = changed.check_bundle(&name, &bundle).unwrap_err();
        assert!(error.contains(holds), "{holds}: {error}");
    }
    let error = sound.check_bundle(&"acme/other".parse().unwrap(), &bundle).unwrap_err();
    assert!(error.contains("as `acme/other 1.2.0`, and it is `acme/checks 1.2.0`"), "{error}");
}

#[test]
fn documents_are_bounded_and_contradict_nothing() {
    let sound = serde_json::to_value(document(
        "acme/index",
        7,
        vec![ListedBundle { name: "acme/checks".parse().unwrap(), versions: vec![listed(&[])] }],
    ))
    .unwrap();
    let parse = |document: &Value| {
        IndexDocument::parse_document(&serde_json::to_vec(document).unwrap())
            .map_err(|error| error.to_string())
    };
    parse(&sound).unwrap();
    let one = "/bundles/0/versions/0";
    let twice = |pointer: &str| {
        let entry = sound.pointer(pointer).unwrap()[0].clone();
        json!([entry, entry])
    };
    let many = |pointer: &str, count: usize| {
        json!(vec![sound.pointer(pointer).unwrap()[0].clone(); count])
    };
    let rows = [
        ("/format", json!(2), "it has format 2, this version reads 1"),
        ("/serial", json!(-1), "invalid value"),
        ("/expires", json!(NOW - DAY), "it expires before it was made"),
        ("/expires", json!(NOW + 400 * DAY), "valid for more than a year"),
        (
            "/bundles",
            twice("/bundles"),
            "its bundles are not sorted, or `acme/checks` is there twice",
        ),
        ("/bundles", many("/bundles", 4097), "it has 4097 bundles"),
        ("/bundles/0/name", json!("Acme"), "is not a name of a bundle"),
        ("/bundles/0/name", json!("acme.io/checks"), "reads as a registry or a file"),
        ("/bundles/0/name", json!("localhost/checks"), "reads as a registry or a file"),
        ("/bundles/0/name", json!("acme/checks.tar"), "reads as a registry or a file"),
        ("/bundles/0/versions", json!([]), "it has no version"),
        (
            "/bundles/0/versions",
            twice("/bundles/0/versions"),
            "its versions are not sorted, or `1.2.0` is there twice",
        ),
        ("/bundles/0/versions", many("/bundles/0/versions", 65), "it has 65 versions"),
        ("reference", json!("ghcr.io/acme/checks:1"), "is not a registry and a repository"),
        ("reference", json!("acme"), "is not a registry and a repository"),
        ("yanked", json!(""), "it is withdrawn without a reason"),
        ("plugins", json!([]), "it has no plugin"),
        ("plugins", twice(&format!("{one}/plugins")), "it lists the plugin `loops` twice"),
        ("grants", json!(["b", "a"]), "its grants are not sorted"),
        ("description", json!("two\nlines"), "its description has the character U+000A"),
        ("description", json!("\u{1b}[2J"), "its description has the character U+001B"),
        ("change", json!("ab\u{202e}c"), "its change has the character U+202E"),
        ("source", json!("a\u{200b}"), "its source has the character U+200B"),
        ("licence", json!("x".repeat(1001)), "its licence has 1001 bytes"),
        ("digest", json!("sha256:12"), "is not a digest"),
    ];
    for (pointer, value, holds) in rows {
        let mut changed = sound.clone();
        match pointer.starts_with('/') {
            true => *changed.pointer_mut(pointer).unwrap() = value,
            false => changed.pointer_mut(one).unwrap()[pointer] = value,
        }
        let error = parse(&changed).unwrap_err();
        assert!(error.contains(holds), "{pointer}: {error}");
    }
    for pointer in ["", "/bundles/0", one, "/bundles/0/versions/0/plugins/0"] {
        let mut changed = sound.clone();
        changed.pointer_mut(pointer).unwrap()["more"] = json!(1);
        assert!(parse(&changed).unwrap_err().contains("unknown field `more`"), "{pointer}");
    }
    let doubled = sound.to_string().replacen("{\"format\":1,", "{\"format\":1,\"serial\":9,", 1);
    let error = IndexDocument::parse_document(doubled.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("duplicate field `serial`"), "{error}");
    let long = vec![b' '; (4 << 20) + 1];
    let error = IndexDocument::parse_document(&long).unwrap_err().to_string();
    assert!(error.contains("at most 4194304 are read"), "{error}");
}

#[test]
fn an_artifact_is_one_document() {
    let artifact = index("acme/index", 7, &["acme/checks"]);
    let sound: Value = serde_json::from_slice(artifact.manifest()).unwrap();
    let fetch = |wanted: &OciDescriptor| {
        let blobs = artifact.blobs();
        let found = blobs.iter().find(|(digest, _)| *digest == wanted.digest);
        found.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| "it is not there".to_owned())
    };
    let read = |manifest: &Value| {
        IndexArtifact::from_manifest(&serde_json::to_vec(manifest).unwrap(), fetch)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&sound).unwrap().document(), artifact.document());
    let layer = sound["layers"][0].clone();
    for (pointer, value, holds) in [
        ("/artifactType", json!("application/vnd.portcullis.bundle.v1+json"), "an index's is"),
        ("/mediaType", json!(media_type::INDEX), "its media type is"),
        ("/schemaVersion", json!(1), "its media type is"),
        ("/layers", json!([layer, layer]), "it has 2 layers, an index has one"),
        ("/layers", json!([]), "it has 0 layers"),
        ("/layers/0/mediaType", json!("application/wasm"), "its layer is `application/wasm`"),
        ("/layers/0/size", json!((4 << 20) + 1), "at most 4194304 are read"),
        ("/layers/0/size", json!(3), "but 3 were declared"),
        ("/layers/0/digest", json!(Digest::of_bytes(b"")), "it is not there"),
        ("/config/mediaType", json!("application/json"), "its config is not the empty one"),
    ] {
        let mut changed = sound.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let error = read(&changed).unwrap_err();
        assert!(error.contains(holds), "{pointer}: {error}");
    }
    // A layer that was swapped for another document of the same size.
    let mut swapped = artifact.blobs()[1].1.to_vec();
    let at = swapped.iter().position(|byte| *byte == b'7').unwrap();
    swapped[at] = b'9';
    let error = IndexArtifact::from_manifest(artifact.manifest(), |_| Ok(swapped.clone()));
    assert!(error.unwrap_err().to_string().contains("the bytes were changed or swapped"));
}

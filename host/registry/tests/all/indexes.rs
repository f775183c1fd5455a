//! Tests of indexes of bundles in registries: pushed, pulled, replaced, and served with other bytes.

use crate::fake::{Fake, Reply, blob, head, manifest, ok, says};
use crate::real::{Kind, Registry};
use crate::sample::{NOW, access, at, bundle, client, failed, key, signed, unseen};
use portcullis_bundle::media_type::{MANIFEST, SIGNATURE};
use portcullis_bundle::{
    Digest, IndexArtifact, IndexDocument, ListedBundle, ListedVersion, Signature,
};
use serde_json::json;

/// The request for the tag.
const TAG: &str = "GET /v2/acme/checks/manifests/1";

fn index(serial: u64) -> IndexArtifact {
    let bundle = bundle("1.0.0");
    let place = "ghcr.io/acme/checks".to_owned();
    let signatures = [signed(&bundle, 1)];
    let version = ListedVersion::of_bundle(&bundle, &signatures, place, |_, _| Vec::new());
    let listed = ListedBundle { name: bundle.about().name.clone(), versions: vec![version] };
    let name = "acme/index".parse().unwrap();
    let document = IndexDocument::new(name, serial, NOW, NOW + 1, vec![listed]).unwrap();
    IndexArtifact::new(document).unwrap()
}

fn sign(artifact: &IndexArtifact) -> Signature {
    Signature::sign_index(&artifact.statement(), &key(3)).unwrap()
}

fn layer(artifact: &IndexArtifact) -> (Digest, Vec<u8>) {
    let [_, (digest, bytes)] = artifact.blobs();
    (digest, bytes.to_vec())
}

#[test]
fn an_index_goes_through_a_real_registry() {
    let Some(registry) = Registry::start(Kind::Plain) else { return };
    let (client, reference) = (client(access()), at(registry.port, ":latest"));
    for serial in [1, 2] {
        let artifact = index(serial);
        let digest = client.push_index(&artifact, &[sign(&artifact)], &reference).unwrap();
        assert_eq!(digest, artifact.digest());
        let pulled = client.pull_index(&reference).unwrap();
        assert_eq!((&pulled.artifact, pulled.signatures.len()), (&artifact, 1));
        assert!(pulled.signatures[0].verify_index(&key(3).public()).is_ok());
    }
    // The first one is still there, by its digest.
    let pinned = at(registry.port, &format!("@{}", index(1).digest()));
    assert_eq!(client.pull_index(&pinned).unwrap().artifact, index(1));
    failed(client.push_index(&index(2), &[], &pinned), "expected sha256:", "another digest");
    failed(client.push_index(&index(2), &[], &at(registry.port, "")), "names no tag", "no tag");
    // A bundle is not an index, and an index is not a bundle.
    let bundle = bundle("1.0.0");
    let tagged = at(registry.port, ":1.0.0");
    client.push_bundle(&bundle, &[], &tagged, &mut unseen).unwrap();
    failed(client.pull_index(&tagged), "", "a bundle in an index's place");
    failed(client.pull_bundle(&reference, &mut unseen), "", "an index in a bundle's place");
}

#[test]
fn an_index_that_is_served_otherwise_is_refused() {
    let good = index(1);
    let other = index(9);
    let serve = |artifact: &IndexArtifact| {
        let fake = Fake::new(None);
        fake.on(TAG, [ok(artifact.manifest())]);
        let (digest, bytes) = layer(artifact);
        fake.on(&format!("GET {}", blob(digest)), [ok(bytes)]);
        let signature = sign(artifact);
        let (document, parts) = signature.to_artifact(&artifact.descriptor()).unwrap();
        for part in &parts {
            let route = format!("GET {}", blob(Digest::of_bytes(part)));
            fake.on(&route, [ok(part.as_slice())]);
        }
        let entry = json!({
            "mediaType": MANIFEST, "digest": Digest::of_bytes(&document), "size": document.len(),
            "artifactType": SIGNATURE,
        });
        fake.on(
            &format!("GET {}", manifest(&Digest::of_bytes(&document).to_string())),
            [ok(document)],
        );
        let list = json!({ "schemaVersion": 2, "manifests": [entry] }).to_string();
        fake.on(&format!("GET /v2/acme/checks/referrers/{}", artifact.digest()), [ok(list)]);
        fake
    };
    let fake = serve(&good);
    let pulled = client(access()).pull_index(&fake.at(":1")).unwrap();
    assert_eq!((pulled.artifact, pulled.signatures.len()), (good.clone(), 1));
    let route = format!("GET {}", blob(layer(&good).0));
    let (right, swapped) = (layer(&good).1, layer(&other).1);
    let mut changed = right.clone();
    changed[40] ^= 1;
    let rows: Vec<(&str, &str, Reply, &str)> = vec![
        ("a changed layer", &route, ok(changed), "the bytes were changed or swapped"),
        ("the layer of another index", &route, ok(swapped), "expected sha256:"),
        ("a layer cut short", &route, ok(&right[..right.len() - 1]), "expected sha256:"),
        ("a longer layer", &route, ok([right.as_slice(), b" "].concat()), "it is longer than"),
        ("an endless layer", &route, Reply::Floods(head(u64::MAX)), "it is longer than"),
        ("no layer", &route, says("404 Not Found", ""), "it is not there"),
        (
            "a page",
            TAG,
            Reply::Says("200 OK", vec![("content-type", "text/html".into())], b"<p>".to_vec()),
            "a page for a browser",
        ),
        (
            "an oversized manifest",
            TAG,
            ok(vec![b' '; IndexArtifact::MOST_MANIFEST + 1]),
            "it is longer than",
        ),
        ("an endless manifest", TAG, Reply::Floods(head(u64::MAX)), "it is longer than"),
        ("another document", TAG, ok("{}"), "it is not an index of bundles"),
        (
            "a bundle's index",
            TAG,
            ok(bundle("1.0.0").index().bytes()),
            "it is not an index of bundles",
        ),
    ];
    for (name, route, reply, holds) in rows {
        let fake = serve(&good);
        fake.on(route, [reply]);
        failed(client(access()).pull_index(&fake.at(":1")), holds, name);
    }
    // With a digest in the reference, the tag's answer does not count.
    let fake = serve(&other);
    let pinned = fake.at(&format!("@{}", good.digest()));
    fake.on(&format!("GET {}", manifest(&good.digest().to_string())), [ok(other.manifest())]);
    failed(client(access()).pull_index(&pinned), "expected sha256:", "another index by its digest");
}

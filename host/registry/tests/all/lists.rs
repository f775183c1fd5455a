//! Tests of lists of tags and of signatures, which a registry may make arbitrarily long.

use crate::fake::{Fake, Reply, described, list, manifest, ok, referrers, says};
use crate::sample::{access, bundle, client, failed, is_trusted, key, signed, unseen, vetted};
use portcullis_bundle::media_type::{MANIFEST, SIGNATURE};
use portcullis_bundle::{Digest, Signature};
use serde_json::{Value, json};

const TAGS: &str = "GET /v2/acme/checks/tags/list";

fn page(tags: &[&str], next: Option<&str>) -> Reply {
    let body = serde_json::to_vec(&json!({ "name": "acme/checks", "tags": tags })).unwrap();
    let link = next.map(|next| ("link", format!("<{next}>; rel=\"next\"")));
    Reply::Says("200 OK", link.into_iter().collect(), body)
}

#[test]
fn versions_come_from_all_pages() {
    let fake = Fake::new(None);
    let first = page(
        &["1.10.0", "latest", "v1.9.0", "1.2"],
        Some("/v2/acme/checks/tags/list?n=1000&last=x"),
    );
    fake.on(TAGS, [first, page(&["1.2.0_linux", "sha256-00", "not a tag", "2.0.0-rc.1"], None)]);
    let versions =
        client(access()).list_versions(&fake.at("")).unwrap_or_else(|error| panic!("{error}"));
    let shown: Vec<_> = versions.iter().map(|(version, tag)| format!("{version} {tag}")).collect();
    assert_eq!(
        shown,
        ["1.2.0+linux 1.2.0_linux", "1.9.0 v1.9.0", "1.10.0 1.10.0", "2.0.0-rc.1 2.0.0-rc.1"]
    );
    assert_eq!(fake.requests()[1].line, format!("{TAGS}?n=1000&last=x"));
    // A repository whose tags were all deleted.
    fake.on(TAGS, [ok(r#"{"name":"acme/checks","tags":null}"#)]);
    assert_eq!(client(access()).list_versions(&fake.at("")).unwrap(), []);
}

#[test]
fn tags_without_end_are_not_listed() {
    let many: Vec<String> = (0..20_000).map(|number| format!("1.0.{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (name, reply, holds) in [
        ("thousands", page(&many, None), "there are more than 10000"),
        (
            "the same page for ever",
            page(&["1.0.0"], Some("/v2/acme/checks/tags/list?n=1")),
            "more than 200 pages",
        ),
        (
            "another host's",
            page(&["1.0.0"], Some("http://127.0.0.1:9/v2/acme/checks/tags/list")),
            "its next page is on another host",
        ),
        ("a list of no tags", ok("[]"), "it answered with no list of tags"),
        ("a page for a browser", ok("<html>"), "it answered with no list of tags"),
        (
            "endless",
            Reply::Floods(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
            "it is longer than the 4194304 bytes",
        ),
        ("nobody's", says("404 Not Found", ""), "the tags of `acme/checks`: it is not there"),
    ] {
        let fake = Fake::new(None);
        fake.on(TAGS, [reply]);
        failed(client(access()).list_versions(&fake.at("")), holds, name);
    }
}

#[test]
fn signatures_are_found_where_the_registry_has_them() {
    let good = bundle("1.2.0");
    let both = [signed(&good, 1), vetted(&good, 2)];
    let tag = manifest(&format!("sha256-{}", good.index().digest().hex()));
    for name in ["its own list", "its own list in pages", "the list under the tag"] {
        let fake = Fake::serving(&good, &[]);
        let entries = both.each_ref().map(|signature| fake.lay_signature(&good, signature));
        // Other artifacts that refer to it are ignored.
        let foreign = json!({ "mediaType": MANIFEST, "digest": Digest::of_bytes(b"a"), "size": 1, "artifactType": "application/spdx+json" });
        match name {
            "its own list" => fake.list(
                &good,
                &[entries[0].clone(), foreign, entries[1].clone(), entries[0].clone()],
            ),
            "its own list in pages" => {
                let link = format!("<{}?page=2>; rel=next", referrers(&good));
                let first = Reply::Says("200 OK", vec![("link", link)], list(&entries[..1]));
                fake.on(&format!("GET {}", referrers(&good)), [first, ok(list(&entries[1..]))]);
            }
            _ => {
                fake.on(&format!("GET {}", referrers(&good)), [says("404 Not Found", "")]);
                fake.on(
                    &format!("GET {tag}"),
                    [ok(list(&[foreign, entries[0].clone(), entries[1].clone()]))],
                );
            }
        }
        let pulled = client(access())
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(pulled.signatures.len(), 2, "{name}");
        assert!(is_trusted(&good, &pulled.signatures, &fake.at(":1")), "{name}");
    }
}

#[test]
fn lists_that_do_harm_are_refused() {
    let good = bundle("1.2.0");
    let entry = |number: usize| json!({ "mediaType": MANIFEST, "digest": Digest::of_bytes(&number.to_be_bytes()), "size": 9, "artifactType": SIGNATURE });
    let thousands: Vec<Value> = (0..5_000).map(entry).collect();
    let link = ("link", format!("<{}>; rel=\"next\"", referrers(&good)));
    let mut huge = entry(1);
    huge["size"] = json!(u64::MAX);
    for (name, reply, holds) in [
        (
            "thousands",
            ok(list(&thousands)),
            "there are more than 64; have the unneeded ones deleted",
        ),
        (
            "without end",
            Reply::Says("200 OK", vec![link], list(&[])),
            "their list has more than 16 pages",
        ),
        ("what is not there", ok(list(&[entry(1)])), "it is not there"),
        ("what is huge", ok(list(&[huge])), "it is longer than the 2097152 bytes"),
        (
            "no digest",
            ok(list(&[json!({ "artifactType": SIGNATURE })])),
            "their list: missing field",
        ),
        ("no list", ok("{}"), "it is not a list of signatures: it has no `manifests`"),
        ("a page for a browser", ok("<html>"), "it is not a list of signatures"),
        ("a fault", says("500 No", ""), "the signatures of `acme/checks`: it answered 500"),
    ] {
        let fake = Fake::serving(&good, &[]);
        fake.on(&format!("GET {}", referrers(&good)), [reply]);
        failed(client(access()).pull_bundle(&fake.at(":1"), &mut unseen), holds, name);
    }
}

/// Artifacts that refer to a bundle and are not signatures of it count for nothing, and one with
/// another's bytes ends the pull.
#[test]
fn signatures_of_something_else_count_for_nothing() {
    let (good, other) = (bundle("1.2.0"), bundle("6.6.6"));
    // A valid signature of another bundle, attached to this one.
    let fake = Fake::serving(&good, &[signed(&other, 1), vetted(&other, 2)]);
    let pulled = client(access())
        .pull_bundle(&fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(pulled.signatures.len(), 2);
    assert!(!is_trusted(&good, &pulled.signatures, &fake.at(":1")));

    // An artifact that claims to refer to another bundle, or that contains no signature by a key.
    let fake = Fake::serving(&good, &[signed(&good, 1)]);
    let stranger = fake.lay_signature(&other, &signed(&good, 1));
    let (document, parts) = signed(&good, 1).to_artifact(&described(&good)).unwrap();
    let mut keyless: Value = serde_json::from_slice(&parts[1]).unwrap();
    keyless["verificationMaterial"] = json!({ "certificate": { "rawBytes": "AA==" } });
    let keyless = serde_json::to_vec(&keyless).unwrap();
    let mut document: Value = serde_json::from_slice(&document).unwrap();
    document["layers"][0]["digest"] = json!(Digest::of_bytes(&keyless));
    document["layers"][0]["size"] = json!(keyless.len());
    let document = serde_json::to_vec(&document).unwrap();
    let digest = Digest::of_bytes(&document);
    let entry = json!({ "mediaType": MANIFEST, "digest": digest, "size": document.len(), "artifactType": SIGNATURE });
    fake.on(&format!("GET {}", crate::fake::blob(Digest::of_bytes(&keyless))), [ok(keyless)]);
    fake.on(&format!("GET {}", manifest(&digest.to_string())), [ok(document)]);
    fake.list(&good, &[stranger, entry, fake.lay_signature(&good, &signed(&good, 1))]);
    let pulled = client(access())
        .pull_bundle(&fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(pulled.signatures, [signed(&good, 1)]);
    let mut why: Vec<_> = pulled.unread.iter().map(|unread| unread.why.as_str()).collect();
    why.sort_unstable();
    assert!(
        why[0].contains("it refers to sha256:") && why[1].contains("unknown field `certificate`"),
        "{why:?}"
    );

    // A signature with the bytes of another one.
    let file = signed(&good, 1);
    let swapped: Signature = Signature::parse_envelope(signed(&good, 3).file()).unwrap();
    assert!(swapped.verify_statement(&key(3).public()).is_ok());
    let fake = Fake::serving(&good, std::slice::from_ref(&file));
    let mut longer = swapped.file().to_vec();
    longer.resize(file.file().len(), b' ');
    fake.on(&format!("GET {}", crate::fake::blob(Digest::of_bytes(file.file()))), [ok(longer)]);
    failed(
        client(access()).pull_bundle(&fake.at(":1"), &mut unseen),
        "the bytes were changed or swapped",
        "another file",
    );
}

//! Tests of pushes: the order of requests, and which of the responses are trusted.

use crate::fake::{Fake, Reply, blob, described, list, manifest, ok, says};
use crate::sample::{access, bundle, client, failed, signed, unseen, vetted};
use portcullis_bundle::media_type::{MANIFEST, SIGNATURE};
use portcullis_bundle::{Bundle, Digest};
use serde_json::{Value, json};

const BEGIN: &str = "POST /v2/acme/checks/blobs/uploads/";
const UPLOAD: &str = "PUT /v2/acme/checks/blobs/uploads/1";
const TAG: &str = "PUT /v2/acme/checks/manifests/1";

fn begun(to: &str) -> Reply {
    Reply::Says("202 Accepted", vec![("location", to.to_owned())], Vec::new())
}

fn created() -> Reply {
    says("201 Created", "")
}

/// Creates a registry that accepts a bundle and its signatures, with or without the referrers API.
fn taking(bundle: &Bundle, lists: bool) -> Fake {
    let fake = Fake::new(None);
    fake.on(BEGIN, [begun("/v2/acme/checks/blobs/uploads/1?state=abc")]);
    fake.on(UPLOAD, [created()]);
    let digest = bundle.index().digest();
    let manifests = bundle.index().manifests().iter().map(|manifest| manifest.digest);
    for under in manifests
        .chain([digest])
        .map(|digest| digest.to_string())
        .chain(["1".to_owned(), tag(bundle)])
    {
        fake.on(&format!("PUT {}", manifest(&under)), [created()]);
    }
    for signature in [signed(bundle, 1), vetted(bundle, 2)] {
        let (document, _) = signature.to_artifact(&described(bundle)).unwrap();
        let subject = lists.then(|| ("oci-subject", digest.to_string()));
        fake.on(
            &format!("PUT {}", manifest(&Digest::of_bytes(&document).to_string())),
            [Reply::Says("201 Created", subject.into_iter().collect(), vec![])],
        );
    }
    fake
}

fn tag(bundle: &Bundle) -> String {
    format!("sha256-{}", bundle.index().digest().hex())
}

fn entry(bundle: &Bundle, signature: &portcullis_bundle::Signature) -> Value {
    let (document, _) = signature.to_artifact(&described(bundle)).unwrap();
    json!({ "mediaType": MANIFEST, "digest": Digest::of_bytes(&document), "size": document.len(), "artifactType": SIGNATURE })
}

#[test]
fn blobs_are_sent_before_manifests() {
    let good = bundle("1.2.0");
    let fake = taking(&good, true);
    client(access())
        .push_bundle(&good, &[signed(&good, 1)], &fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    let sent: Vec<_> =
        fake.requests().into_iter().filter(|request| request.line.starts_with("PUT")).collect();
    let at = |path: &str| {
        sent.iter()
            .position(|request| request.line.ends_with(path))
            .unwrap_or_else(|| panic!("{path} is not sent"))
    };
    let index = at(&good.index().digest().to_string());
    for (digest, bytes) in good.blobs() {
        let place = at(&digest.to_string());
        assert!(place < index && sent[place].body == bytes, "{digest}");
    }
    for component in &good.about().components {
        let upload = format!("?state=abc&digest={}", component.digest);
        assert!(sent[at(&upload)].line.starts_with(UPLOAD), "{upload}");
    }
    assert_eq!(at("/manifests/1"), sent.len() - 1, "the tag is the last");
    let (document, _) = signed(&good, 1).to_artifact(&described(&good)).unwrap();
    assert_eq!(at(&Digest::of_bytes(&document).to_string()), sent.len() - 2);
    // The registry lists signatures itself, so the client writes no list.
    assert_eq!(fake.count(&format!("PUT {}", manifest(&tag(&good)))), 0);
}

#[test]
fn existing_blobs_are_not_sent_again() {
    let good = bundle("1.2.0");
    let fake = taking(&good, true);
    for component in &good.about().components {
        fake.on(&format!("HEAD {}", blob(component.digest)), [ok("")]);
    }
    client(access())
        .push_bundle(&good, &[], &fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    let configs =
        good.blobs().count() - good.about().components.len() - good.index().manifests().len();
    assert!(configs > 0);
    assert_eq!(fake.count(UPLOAD), configs, "only the configs are sent");
}

#[test]
fn an_upload_that_fails_in_passing_is_begun_again() {
    let good = bundle("1.2.0");
    let fake = taking(&good, true);
    let gone = says("404 Not Found", "");
    fake.on(UPLOAD, [says("500 No", ""), gone.clone(), created()]);
    client(access())
        .push_bundle(&good, &[], &fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    fake.on(UPLOAD, [gone]);
    failed(
        client(access()).push_bundle(&good, &[], &fake.at(":1"), &mut unseen),
        "it is not there",
        "for ever",
    );
}

#[test]
fn a_list_that_another_overwrites_is_written_again() {
    let good = bundle("1.2.0");
    let (ours, theirs) = (entry(&good, &signed(&good, 1)), entry(&good, &vetted(&good, 2)));
    let fake = taking(&good, false);
    let (read, written) =
        (format!("GET {}", manifest(&tag(&good))), format!("PUT {}", manifest(&tag(&good))));
    let alone = ok(list(std::slice::from_ref(&theirs)));
    fake.on(
        &read,
        [says("404 Not Found", ""), alone.clone(), ok(list(&[theirs.clone(), ours.clone()]))],
    );
    client(access())
        .push_bundle(&good, &[signed(&good, 1)], &fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    let lists: Vec<Value> = fake
        .requests()
        .iter()
        .filter(|request| request.line == written)
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert_eq!(lists.len(), 2);
    assert_eq!(lists[0]["manifests"], json!([ours]));
    assert_eq!(lists[1]["manifests"], json!([theirs, ours]), "what another wrote stays");

    fake.on(&read, [alone]);
    let outcome =
        client(access()).push_bundle(&good, &[signed(&good, 1)], &fake.at(":1"), &mut unseen);
    failed(outcome, "others write the list of its signatures at the same time", "for ever");
    assert_eq!(fake.count(TAG), 1, "the tag of the second push is not moved");
}

#[test]
fn registry_answers_are_reported() {
    let good = bundle("1.2.0");
    let another = Reply::Says(
        "201 Created",
        vec![("docker-content-digest", Digest::of_bytes(b"x").to_string())],
        Vec::new(),
    );
    let errors = r#"{"errors":[{"code":"DENIED","message":"requested access is denied"}]}"#;
    for (name, route, reply, holds) in [
        (
            "forbidden",
            BEGIN,
            says("403 Forbidden", errors),
            "it answered 403: \"DENIED, requested access is denied\"; this login",
        ),
        (
            "read-only",
            BEGIN,
            says("405 Method Not Allowed", ""),
            "it answered 405; it may be read-only",
        ),
        ("nowhere to", BEGIN, says("202 Accepted", ""), "it does not say where to upload"),
        (
            "too large",
            UPLOAD,
            says("413 Too Large", ""),
            "it answered 413; it does not accept a bundle of that size",
        ),
        ("something else", TAG, another, ", got sha256:"),
        (
            "no index",
            TAG,
            says("400 Bad Request", r#"{"errors":[{"code":"MANIFEST_INVALID"}]}"#),
            "it answered 400: \"MANIFEST_INVALID\"",
        ),
        (
            "moved",
            TAG,
            crate::fake::leads("/elsewhere"),
            "it answered 307 with another address, which is not followed here",
        ),
    ] {
        let fake = taking(&good, true);
        fake.on(route, [reply]);
        failed(client(access()).push_bundle(&good, &[], &fake.at(":1"), &mut unseen), holds, name);
        assert_eq!(fake.count(TAG), usize::from(route == TAG), "{name}");
    }
}

#[test]
fn uploads_elsewhere_get_no_credentials() {
    let good = bundle("1.2.0");
    let (fake, store) = (taking(&good, true), Fake::new(None));
    store.on("PUT /bucket", [created()]);
    fake.on(BEGIN, [begun(&store.url("/bucket"))]);
    let folder = tempfile::tempdir().unwrap();
    crate::sample::configure(
        folder.path(),
        &json!({ "auths": { format!("127.0.0.1:{}", fake.port): { "username": "a", "password": "b" } } }),
    );
    fake.wrap_all(|reply| {
        Reply::Knows(
            "Basic YTpi".into(),
            Box::new(crate::fake::challenges("Basic realm=x")),
            Box::new(reply),
        )
    });
    let access =
        portcullis_registry::Access { docker_config: Some(folder.path().to_owned()), ..access() };
    client(access)
        .push_bundle(&good, &[], &fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    let requests = store.requests();
    assert!(
        requests.len() > 2 && requests.iter().all(|request| request.authorization.is_none()),
        "{requests:?}"
    );
}

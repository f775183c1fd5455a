//! Tests with registries that return other bytes than were pushed, too many, too few or none: each
//! is refused with its reason.

use crate::fake::{Fake, Reply, blob, component, head, leads, manifest, ok, says};
use crate::sample::{access, bundle, client, failed, signed, unseen};
use portcullis_bundle::{Bundle, Digest};
use portcullis_registry::{Access, TransferLimits};
use std::time::Duration;

/// The request for the tag.
const TAG: &str = "GET /v2/acme/checks/manifests/1";

/// A name, the fault, and a part of the error.
type Row = (&'static str, fn(&Fake, &Bundle), &'static str);

fn index(bundle: &Bundle) -> String {
    format!("GET {}", manifest(&bundle.index().digest().to_string()))
}

fn first_manifest(bundle: &Bundle) -> String {
    format!("GET {}", manifest(&bundle.index().manifests()[0].digest.to_string()))
}

fn config(bundle: &Bundle) -> String {
    let known: Vec<Digest> =
        bundle.about().components.iter().map(|component| component.digest).collect();
    let known: Vec<Digest> = known
        .into_iter()
        .chain(bundle.index().manifests().iter().map(|manifest| manifest.digest))
        .collect();
    let (digest, _) = bundle.blobs().find(|(digest, _)| !known.contains(digest)).unwrap();
    format!("GET {}", blob(digest))
}

fn largest(bundle: &Bundle) -> &[u8] {
    bundle.component_bytes(&bundle.about().components[1]).unwrap()
}

fn size(bundle: &Bundle) -> u64 {
    largest(bundle).len() as u64
}

fn chunked(pieces: &[&[u8]], end: &str) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in pieces {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// Returns the first manifest with a second layer.
fn wider(bundle: &Bundle) -> Vec<u8> {
    let digest = bundle.index().manifests()[0].digest;
    let (_, bytes) = bundle.blobs().find(|(known, _)| *known == digest).unwrap();
    let mut document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let layer = document["layers"][0].clone();
    document["layers"].as_array_mut().unwrap().push(layer);
    serde_json::to_vec(&document).unwrap()
}

const WRONG: &[Row] = &[
    (
        "the index is another",
        |fake, one| fake.on(&index(one), [ok(bundle("6.6.6").index().bytes())]),
        ", got sha256:",
    ),
    (
        "a manifest is another",
        |fake, one| fake.on(&first_manifest(one), [ok(b"{}".as_slice())]),
        ", got sha256:",
    ),
    (
        "a manifest with another layer",
        |fake, one| fake.on(&first_manifest(one), [ok(wider(one))]),
        "it is longer than the",
    ),
    (
        "a config is another",
        |fake, one| fake.on(&config(one), [ok(b"{\"a\":1}".as_slice())]),
        ", got sha256:",
    ),
    (
        "a component is another",
        |fake, one| fake.on(&component(one, 1), [ok(vec![b'x'; largest(one).len()])]),
        "the bytes were changed or swapped",
    ),
    (
        "a component is the other",
        |fake, one| fake.on(&component(one, 1), [ok(b"\0asm".as_slice())]),
        "the bytes were changed or swapped",
    ),
    (
        "a component is missing",
        |fake, one| fake.on(&component(one, 1), [says("404 Not Found", "")]),
        "`acme/checks`: it is not there",
    ),
    (
        "a byte too many",
        |fake, one| fake.on(&component(one, 1), [ok([largest(one), b"x"].concat())]),
        "it is longer than the",
    ),
    (
        "a byte too many in pieces",
        |fake, one| {
            fake.on(&component(one, 1), [Reply::Raw(chunked(&[largest(one), b"x"], "0\r\n\r\n"))])
        },
        "it is longer than the",
    ),
    (
        "cut off",
        |fake, one| {
            fake.on(
                &component(one, 1),
                [Reply::Raw([&head(size(one)), &largest(one)[..90_000]].concat())],
            )
        },
        "it ended after 90000 bytes, early",
    ),
    (
        "cut off in pieces",
        |fake, one| {
            fake.on(
                &component(one, 1),
                [Reply::Raw(chunked(&[&largest(one)[..90_000]], "ff\r\nx"))],
            )
        },
        "early",
    ),
    (
        "cut off without a length",
        |fake, one| {
            fake.on(
                &component(one, 1),
                [Reply::Raw([b"HTTP/1.1 200 OK\r\n\r\n", &largest(one)[..9]].concat())],
            )
        },
        ", got sha256:",
    ),
    (
        "endless",
        |fake, one| {
            fake.on(&component(one, 1), [Reply::Floods(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())])
        },
        "it is longer than the",
    ),
    (
        "an endless index",
        |fake, _| fake.on(TAG, [Reply::Floods(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())]),
        "it is longer than the 4194304 bytes",
    ),
    (
        "an endless head",
        |fake, one| {
            fake.on(&component(one, 1), [Reply::Floods(b"HTTP/1.1 200 OK\r\nx: ".to_vec())])
        },
        "the head of its answer has no end",
    ),
    (
        "an endless refusal",
        |fake, one| {
            fake.on(&component(one, 1), [Reply::Floods(b"HTTP/1.1 418 Teapot\r\n\r\n".to_vec())])
        },
        "it answered 418",
    ),
    (
        "no HTTP",
        |fake, one| fake.on(&component(one, 1), [Reply::Raw(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec())]),
        "does not speak HTTP",
    ),
    (
        "a bomb",
        |fake, one| {
            fake.on(
                &component(one, 1),
                [Reply::Says(
                    "200 OK",
                    vec![("content-encoding", "gzip".into())],
                    b"\x1f\x8b\x08".to_vec(),
                )],
            )
        },
        "it is encoded as `gzip`",
    ),
    (
        "a page for a browser",
        |fake, _| {
            fake.on(
                TAG,
                [Reply::Says(
                    "200 OK",
                    vec![("content-type", "text/html; charset=utf-8".into())],
                    b"<html>".to_vec(),
                )],
            )
        },
        "it answered with a page for a browser",
    ),
    (
        "a page that says nothing of it",
        |fake, _| fake.on(TAG, [ok("<html>")]),
        "it is not an OCI index",
    ),
    (
        "an index of something else",
        |fake, _| fake.on(TAG, [ok(crate::fake::list(&[]))]),
        "not an OCI index",
    ),
    (
        "its own words",
        |fake, _| {
            fake.on(
                TAG,
                [says(
                    "400 Bad Request",
                    r#"{"errors":[{"code":"NAME_INVALID","message":"`rm`\u001b[31m"}]}"#,
                )],
            )
        },
        "it answered 400: \"NAME_INVALID, 'rm'\\u{1b}[31m\"",
    ),
    (
        "a fault for ever",
        |fake, one| fake.on(&component(one, 1), [says("500 Internal Server Error", "")]),
        "it answered 500; the registry failed",
    ),
    (
        "too many requests for ever",
        |fake, one| {
            fake.on(
                &component(one, 1),
                [Reply::Says(
                    "429 Too Many Requests",
                    vec![("retry-after", "0".into())],
                    Vec::new(),
                )],
            )
        },
        "it answered 429; too many requests",
    ),
    (
        "forbidden",
        |fake, one| fake.on(&component(one, 1), [says("403 Forbidden", "")]),
        "it answered 403; this login may not do that",
    ),
    (
        "a circle",
        |fake, one| fake.on(&component(one, 1), [leads(blob(one.about().components[1].digest))]),
        "it redirects more than 5 times",
    ),
    (
        "out of TLS",
        |fake, one| fake.on(&component(one, 1), [leads("http://blobs.example.com/x?signature=a")]),
        "it leads to `http://blobs.example.com/x`, which is without TLS",
    ),
    (
        "to a file",
        |fake, one| fake.on(&component(one, 1), [leads("file:///etc/passwd")]),
        "it leads to `file:///etc/passwd`, which is without TLS",
    ),
    (
        "to nowhere",
        |fake, one| fake.on(&component(one, 1), [leads("http://[x")]),
        "which is not an address",
    ),
    (
        "without saying where to",
        |fake, one| fake.on(&component(one, 1), [says("302 Found", "")]),
        "it redirects, and does not say where",
    ),
];

#[test]
fn registry_errors_are_refused() {
    let good = bundle("1.2.0");
    for (name, wrong, holds) in WRONG {
        let fake = Fake::serving(&good, &[signed(&good, 1)]);
        wrong(&fake, &good);
        // By digest if the index is concerned, else by tag.
        let rest = if *name == "the index is another" {
            format!("@{}", good.index().digest())
        } else {
            ":1".to_owned()
        };
        failed(client(access()).pull_bundle(&fake.at(&rest), &mut unseen), holds, name);
        let most = fake.requests().iter().map(|request| fake.count(&request.line)).max().unwrap();
        assert!(most <= 6, "{name}: one thing was asked for {most} times");
    }
}

/// Without its fault, each row above is accepted.
#[test]
fn the_same_without_the_fault_is_taken() {
    let good = bundle("1.2.0");
    let fake = Fake::serving(&good, &[signed(&good, 1)]);
    let pulled = client(access())
        .pull_bundle(&fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((pulled.bundle, pulled.signatures), (good.clone(), vec![signed(&good, 1)]));
}

/// The timeouts are short, and each row can end only by its own.
#[test]
fn missing_data_times_out() {
    let good = bundle("1.2.0");
    let drips = [head(size(&good)), b"x".to_vec()].concat();
    let (read, all) = (Duration::from_millis(700), Duration::from_millis(1500));
    let usual = access().limits;
    let silent = TransferLimits { read, ..usual };
    for (name, reply, limits, holds) in [
        ("no answer", Reply::Stalls(Vec::new()), silent, "no data for 0.7 s"),
        (
            "half a head",
            Reply::Stalls(b"HTTP/1.1 200 OK\r\n".to_vec()),
            silent,
            "no data for 0.7 s",
        ),
        ("a head", Reply::Stalls(head(size(&good))), silent, "no data for 0.7 s"),
        ("a few bytes", Reply::Stalls(drips.clone()), silent, "no data for 0.7 s"),
        (
            "a byte now and then",
            Reply::Drips(drips),
            TransferLimits { all, ..usual },
            "it did not finish within 1.5 s",
        ),
        (
            "a fault, and wait an hour",
            Reply::Says("503 No", vec![("retry-after", "3600".into())], Vec::new()),
            TransferLimits { all, ..usual },
            "it answered 503",
        ),
    ] {
        let fake = Fake::serving(&good, &[]);
        fake.on(&component(&good, 1), [reply]);
        failed(
            client(Access { limits, ..access() }).pull_bundle(&fake.at(":1"), &mut unseen),
            holds,
            name,
        );
    }
}

#[test]
fn a_tag_is_asked_for_once() {
    let (good, other) = (bundle("1.2.0"), bundle("6.6.6"));
    let fake = Fake::serving(&other, &[]);
    fake.lay(&good, &[signed(&good, 1)]);
    // The tag moves as soon as it was read.
    fake.on(TAG, [ok(good.index().bytes()), ok(other.index().bytes())]);
    let client = client(access());
    let pulled =
        client.pull_bundle(&fake.at(":1"), &mut unseen).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((pulled.digest, &pulled.bundle), (good.index().digest(), &good));
    assert_eq!(fake.count(TAG), 1);
    // With a digest next to it, the tag is not requested at all.
    let pinned = fake.at(&format!(":1@{}", good.index().digest()));
    assert_eq!(client.pull_bundle(&pinned, &mut unseen).unwrap().bundle, good);
    assert_eq!(fake.count(TAG), 1);
    assert_eq!(client.pull_bundle(&fake.at(":1"), &mut unseen).unwrap().bundle, other);
}

#[test]
fn a_fault_that_passes_is_waited_for() {
    let good = bundle("1.2.0");
    let fake = Fake::serving(&good, &[]);
    let right = ok(good.component_bytes(&good.about().components[1]).unwrap());
    let faults =
        [says("503 Later", ""), Reply::Raw(Vec::new()), says("502 Bad Gateway", ""), right];
    fake.on(&component(&good, 1), faults);
    assert_eq!(
        client(access())
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    assert_eq!(fake.count(&component(&good, 1)), 4);
}

//! Tests with a real registry: bundles pushed, pulled, signed later.

use crate::real::{Kind, Registry, USER};
use crate::sample::{
    access, at, bundle, client, configure, failed, is_trusted, signed, unseen, vetted,
};
use portcullis_bundle::{read_archive, write_archive};
use portcullis_registry::{Access, Client, Tag, TransferProgress};
use serde_json::json;
use std::path::Path;

/// Returns settings for a user of that registry.
fn allowed(registry: &Registry, kind: Kind, folder: &Path) -> Access {
    let entry = data_encoding::BASE64.encode(format!("{}:{}", USER.0, USER.1).as_bytes());
    configure(
        folder,
        &json!({ "auths": { format!("127.0.0.1:{}", registry.port): { "auth": entry } } }),
    );
    Access {
        docker_config: Some(folder.to_owned()),
        authorities: registry.authority.clone(),
        plain_loopback: kind == Kind::Plain,
        ..access()
    }
}

#[test]
fn a_bundle_comes_back_as_it_went() {
    for kind in [Kind::Plain, Kind::Tls, Kind::TlsWithPassword] {
        let Some(registry) = Registry::start(kind) else { return };
        let folder = tempfile::tempdir().unwrap();
        lives(&client(allowed(&registry, kind, folder.path())), registry.port, kind);
    }
}

fn lives(client: &Client, port: u16, kind: Kind) {
    let (first, second) = (bundle("1.2.0"), bundle("1.10.0"));
    let tag = at(port, ":1.2.0");
    let mut steps = Vec::new();
    let mut note =
        |step: TransferProgress<'_>| steps.push((step.what.to_owned(), step.done, step.total));
    let digest = client
        .push_bundle(&first, &[signed(&first, 1)], &tag, &mut note)
        .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    assert_eq!(digest, first.index().digest());
    let total: u64 = first.about().components.iter().map(|component| component.size).sum();
    assert_eq!(steps.last(), Some(&("1.2.0".to_owned(), total, total)), "{kind:?}: {steps:?}");
    assert!(steps.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{kind:?}: {steps:?}");

    for reference in
        [tag.clone(), at(port, &format!("@{digest}")), at(port, &format!(":gone@{digest}"))]
    {
        let mut seen = Vec::new();
        let pulled = client
            .pull_bundle(&reference, &mut |step| seen.push((step.done, step.total)))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&pulled.bundle, pulled.digest), (&first, digest), "{kind:?}: {reference}");
        assert_eq!(pulled.signatures, [signed(&first, 1)]);
        assert!(pulled.unread.is_empty());
        assert_eq!(seen.last(), Some(&(total, total)), "{seen:?}");
        assert!(seen.len() > 3 && seen.windows(2).all(|pair| pair[0] <= pair[1]), "{seen:?}");
        // An archive of the pulled bundle is identical to one of the pushed bundle.
        let mut archive = Vec::new();
        write_archive(&pulled.bundle, &pulled.signatures, &mut archive).unwrap();
        assert_eq!(
            read_archive(archive.as_slice()).unwrap(),
            (first.clone(), vec![signed(&first, 1)])
        );
    }

    // A later vetting, pushed twice, is there once and leaves everything else unchanged.
    assert!(!is_trusted(&first, &[signed(&first, 1)], &tag));
    for _ in 0..2 {
        assert_eq!(
            client
                .attach_signatures(&[vetted(&first, 2)], &tag)
                .unwrap_or_else(|error| panic!("{error}")),
            digest
        );
    }
    let signatures = client.pull_bundle(&tag, &mut unseen).unwrap().signatures;
    assert_eq!(signatures.len(), 2);
    assert!(is_trusted(&first, &signatures, &tag), "{kind:?}");

    // A tag moves, but its old bytes stay; the newest version is the last.
    client.push_bundle(&second, &[], &at(port, ":1.10.0"), &mut unseen).unwrap();
    client.push_bundle(&second, &[], &at(port, ":latest"), &mut unseen).unwrap();
    client.push_bundle(&first, &[], &at(port, ":latest"), &mut unseen).unwrap();
    assert_eq!(client.pull_bundle(&at(port, ":latest"), &mut unseen).unwrap().digest, digest);
    assert_eq!(client.read_index(&at(port, ":1.10.0")).unwrap().digest(), second.index().digest());
    assert!(client.pull_bundle(&at(port, ":1.10.0"), &mut unseen).unwrap().signatures.is_empty());
    let versions = client.list_versions(&at(port, "")).unwrap();
    let tags: Vec<_> =
        versions.iter().map(|(version, tag)| (version.to_string(), tag.to_string())).collect();
    assert_eq!(
        tags,
        [("1.2.0".to_owned(), "1.2.0".to_owned()), ("1.10.0".to_owned(), "1.10.0".to_owned())]
    );
    assert_eq!(Tag::for_version(&versions[1].0), versions[1].1);
}

#[test]
fn missing_blobs_are_reported() {
    let Some(registry) = Registry::start(Kind::Plain) else { return };
    let (client, first, second) = (client(access()), bundle("1.2.0"), bundle("1.10.0"));
    let port = registry.port;
    client.push_bundle(&first, &[], &at(port, ":1.2.0"), &mut unseen).unwrap();
    let other = second.index().digest();
    for (rest, holds) in [
        (":1.3.0".to_owned(), "the tag `1.3.0` of `acme/checks`: it is not there"),
        (format!("@{other}"), "it is not there"),
        (String::new(), "it names neither a tag nor a digest; write `127.0.0.1:"),
    ] {
        failed(client.pull_bundle(&at(port, &rest), &mut unseen), holds, &rest);
        failed(client.attach_signatures(&[signed(&first, 1)], &at(port, &rest)), holds, &rest);
    }
    let elsewhere = format!("127.0.0.1:{port}/acme/others").parse().unwrap();
    failed(
        client.list_versions(&elsewhere),
        "the tags of `acme/others`: it is not there",
        "versions",
    );
    failed(
        client.push_bundle(&first, &[], &at(port, ""), &mut unseen),
        "it names no tag to give it",
        "no tag",
    );
    failed(
        client.push_bundle(&first, &[], &at(port, &format!(":1@{other}")), &mut unseen),
        ", got sha256:",
        "another digest",
    );
    // A tag of something that is not a bundle.
    let tag = format!("sha256-{}", first.index().digest().hex());
    client.attach_signatures(&[signed(&first, 1)], &at(port, ":1.2.0")).unwrap();
    failed(
        client.pull_bundle(&at(port, &format!(":{tag}")), &mut unseen),
        "not an OCI index",
        "the list of signatures",
    );
}

#[test]
fn refused_logins_give_the_reason() {
    let Some(registry) = Registry::start(Kind::TlsWithPassword) else { return };
    let folder = tempfile::tempdir().unwrap();
    let right = allowed(&registry, Kind::TlsWithPassword, folder.path());
    let host = format!("127.0.0.1:{}", registry.port);
    let wrong = data_encoding::BASE64.encode(format!("{}:another", USER.0).as_bytes());
    let login = format!("`docker login {host}`");
    let empty = tempfile::tempdir().unwrap();
    let mistaken = tempfile::tempdir().unwrap();
    configure(
        mistaken.path(),
        &json!({ "auths": { format!("https://{host}/v1/"): { "auth": wrong } } }),
    );
    let stranger = tempfile::tempdir().unwrap();
    configure(stranger.path(), &json!({ "auths": { "ghcr.io": { "auth": wrong } } }));
    let with = |config: Option<&Path>| Access {
        docker_config: config.map(Path::to_owned),
        ..right.clone()
    };
    let path = |folder: &Path| folder.join("config.json").display().to_string();
    for (name, access, holds) in [
        ("nobody", with(None), vec!["there is no docker configuration", &login]),
        (
            "an empty folder",
            with(Some(empty.path())),
            vec!["there is no `", &path(empty.path()), &login],
        ),
        (
            "another registry's",
            with(Some(stranger.path())),
            vec!["has no entry for `127.0.0.1:", &path(stranger.path()), &login],
        ),
        (
            "another password",
            with(Some(mistaken.path())),
            vec!["it refuses what `", "(user `tester`)", &path(mistaken.path()), &login],
        ),
        (
            "no authority",
            Access { authorities: None, ..right.clone() },
            vec!["no secure connection", "UnknownIssuer", "`SSL_CERT_FILE`"],
        ),
        ("plain", Access { plain_loopback: true, ..right.clone() }, vec!["it answered 400"]),
    ] {
        let client = client(access);
        let first = bundle("1.2.0");
        for part in holds {
            failed(client.pull_bundle(&at(registry.port, ":1"), &mut unseen), part, name);
            failed(
                client.push_bundle(&first, &[], &at(registry.port, ":1"), &mut unseen),
                part,
                name,
            );
        }
    }
    let Some(plain) = Registry::start(Kind::Plain) else { return };
    failed(
        client(right).pull_bundle(&at(plain.port, ":1"), &mut unseen),
        "it answers without TLS",
        "TLS where there is none",
    );
}

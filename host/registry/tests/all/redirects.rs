//! Tests of redirects, and of who receives credentials.

use crate::authority::Authority;
use crate::fake::{Fake, Reply, challenges, component, leads, manifest, ok, says};
use crate::sample::{access, bundle, client, configure, failed, signed, unseen};
use data_encoding::BASE64;
use portcullis_bundle::Bundle;
use portcullis_registry::Access;
use serde_json::json;
use tempfile::TempDir;

fn basic() -> String {
    format!("Basic {}", BASE64.encode(b"tester:test-password"))
}

/// Writes docker's configuration for that registry.
fn login(fake: &Fake) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let entry = BASE64.encode(b"tester:test-password");
    configure(
        folder.path(),
        &json!({ "auths": { format!("127.0.0.1:{}", fake.port): { "auth": entry } } }),
    );
    folder
}

fn known(folder: &TempDir) -> Access {
    Access { docker_config: Some(folder.path().to_owned()), ..access() }
}

/// Restricts every route to requests with that header.
fn guard(fake: &Fake, challenge: &str, header: &str) {
    fake.wrap_all(|reply| {
        Reply::Knows(header.to_owned(), Box::new(challenges(challenge)), Box::new(reply))
    });
}

fn bytes(bundle: &Bundle) -> Vec<u8> {
    bundle.component_bytes(&bundle.about().components[1]).unwrap().to_vec()
}

#[test]
fn another_host_gets_no_credentials() {
    let good = bundle("1.2.0");
    let (fake, store) = (Fake::serving(&good, &[signed(&good, 1)]), Fake::new(None));
    store.on("GET /bucket/object", [ok(bytes(&good))]);
    fake.on(&component(&good, 1), [leads(store.url("/bucket/object?signature=abc"))]);
    guard(&fake, "Basic realm=\"tests\"", &basic());
    let folder = login(&fake);
    let pulled = client(known(&folder))
        .pull_bundle(&fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(pulled.bundle, good);
    let requests = store.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].line.as_str(), &requests[0].authorization),
        ("GET /bucket/object?signature=abc", &None)
    );
    // The registry asked once, and received them from then on.
    assert_eq!(fake.requests().iter().filter(|request| request.authorization.is_none()).count(), 1);

    // After a redirect back from another host, the request no longer counts as the registry's own.
    store.on("GET /bucket/object", [leads(fake.url("/v2/acme/checks/back"))]);
    fake.on("GET /v2/acme/checks/back", [ok(bytes(&good))]);
    client(known(&folder)).pull_bundle(&fake.at(":1"), &mut unseen).unwrap();
    let back: Vec<_> =
        fake.requests().into_iter().filter(|request| request.line.contains("/back")).collect();
    assert!(back.len() == 1 && back[0].authorization.is_none(), "{back:?}");
}

/// The target of a redirect may ask for credentials, and name a token server of its own.
#[test]
fn another_host_that_asks_gets_nothing() {
    let good = bundle("1.2.0");
    for challenge in ["Basic realm=x", "Bearer realm=\"STORE/token\",service=\"s\""] {
        let (fake, store) = (Fake::serving(&good, &[]), Fake::new(None));
        let challenge = challenge.replace("STORE", &store.url(""));
        store.on("GET /object", [challenges(challenge.as_str())]);
        store.on("PUT /object", [challenges(challenge.as_str())]);
        store.on("GET /token", [ok(r#"{"token":"t"}"#)]);
        fake.on(&component(&good, 1), [leads(store.url("/object"))]);
        fake.on(
            "POST /v2/acme/checks/blobs/uploads/",
            [Reply::Says("202 Accepted", vec![("location", store.url("/object"))], vec![])],
        );
        let folder = login(&fake);
        let client = client(known(&folder));
        failed(
            client.pull_bundle(&fake.at(":1"), &mut unseen),
            "another host, which requires a login",
            &challenge,
        );
        failed(
            client.push_bundle(&good, &[], &fake.at(":1"), &mut unseen),
            "another host, which requires a login",
            &challenge,
        );
        let requests = store.requests();
        assert!(
            requests.len() == 2 && requests.iter().all(|request| request.authorization.is_none()),
            "{requests:?}"
        );
    }
}

#[test]
fn tls_never_ends_on_the_way() {
    let good = bundle("1.2.0");
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let secured =
        Access { authorities: Some(authority.root.clone()), plain_loopback: false, ..access() };
    let (fake, plain, other) =
        (Fake::new(Some(authority.config())), Fake::new(None), Fake::new(Some(authority.config())));
    fake.lay(&good, &[]);
    let secure = |fake: &Fake| format!("https://127.0.0.1:{}/object", fake.port);
    for fake in [&plain, &other] {
        fake.on("GET /object", [ok(bytes(&good))]);
        fake.on("PUT /object", [says("201 Created", "")]);
    }
    // It is refused even on this machine, and even with the right bytes.
    fake.on(&component(&good, 1), [leads(plain.url("/object"))]);
    failed(
        client(secured.clone()).pull_bundle(&fake.at(":1"), &mut unseen),
        "which is without TLS",
        "a blob",
    );
    fake.on(&component(&good, 1), [leads(secure(&other))]);
    assert_eq!(
        client(secured.clone())
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    // Uploads are not redirected either.
    let begun = |to: String| Reply::Says("202 Accepted", vec![("location", to)], Vec::new());
    fake.on("POST /v2/acme/checks/blobs/uploads/", [begun(plain.url("/object"))]);
    failed(
        client(secured.clone()).push_bundle(&good, &[], &fake.at(":1"), &mut unseen),
        "which is without TLS",
        "an upload",
    );
    fake.on("POST /v2/acme/checks/blobs/uploads/", [leads(secure(&other))]);
    failed(
        client(secured.clone()).push_bundle(&good, &[], &fake.at(":1"), &mut unseen),
        "which is not followed here",
        "an upload's begin",
    );
    // The same is true for the token server.
    guard(&fake, &format!("Bearer realm=\"{}\"", plain.url("/token")), "Bearer t");
    failed(
        client(secured).pull_bundle(&fake.at(":1"), &mut unseen),
        "is not an address with TLS",
        "a token",
    );
    assert_eq!((plain.requests(), other.count("GET ")), (Vec::new(), 1));
}

#[test]
fn a_registry_that_asks_for_ever_is_left() {
    let good = bundle("1.2.0");
    for (name, challenge, holds) in [
        ("basic", "Basic realm=x", "(user `tester`): log in again with `docker login 127.0.0.1:"),
        (
            "bearer",
            "Bearer realm=\"/token\",service=\"s\"",
            "(user `tester`): log in again with `docker login 127.0.0.1:",
        ),
        ("another way", "Negotiate", "asks for `negotiate`"),
        ("no way", "", "does not say how"),
    ] {
        let fake = Fake::new(None);
        fake.on("GET /v2/acme/checks/manifests/1", [challenges(challenge)]);
        fake.on("GET /token", [ok(r#"{"token":"t"}"#)]);
        let folder = login(&fake);
        failed(client(known(&folder)).pull_bundle(&fake.at(":1"), &mut unseen), holds, name);
        assert!(fake.requests().len() <= 3, "{name}: {:?}", fake.requests());
        failed(
            client(known(&folder)).push_bundle(&good, &[], &fake.at(":1"), &mut unseen),
            "",
            name,
        );
    }
}

/// The token server may be on another host; it receives this registry's credentials and no others,
/// and the token is limited to the action.
#[test]
fn tokens_come_from_where_the_registry_says() {
    let good = bundle("1.2.0");
    let (fake, server) = (Fake::serving(&good, &[]), Fake::new(None));
    server.on("GET /token", [ok(r#"{"access_token":"one.two-three"}"#)]);
    guard(
        &fake,
        &format!("Bearer realm=\"{}\",service=\"a b\"", server.url("/token?x=y")),
        "Bearer one.two-three",
    );
    let folder = login(&fake);
    client(known(&folder))
        .pull_bundle(&fake.at(":1"), &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "one token is enough for a pull");
    assert_eq!(
        requests[0].line,
        "GET /token?x=y&scope=repository%3Aacme%2Fchecks%3Apull&service=a%20b"
    );
    assert_eq!(requests[0].authorization, Some(basic()));
    let missing = fake
        .requests()
        .iter()
        .filter(|request| request.authorization.as_deref() == Some(basic().as_str()))
        .count();
    assert_eq!(missing, 0, "the password goes to the token server alone");
    let _ = client(known(&folder))
        .attach_signatures(&[], &fake.at(":1"))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(server.requests()[1].line.contains("%3Apull%2Cpush"), "{:?}", server.requests());

    for (name, reply, holds) in [
        ("refused", says("401 Unauthorized", ""), "(user `tester`): log in again"),
        ("forbidden", says("403 Forbidden", ""), "(user `tester`): log in again"),
        ("led elsewhere", leads(server.url("/other")), "answered 307, and gave no token"),
        ("a fault", says("500 No", ""), "answered 500, and gave no token"),
        ("a page", ok("<html>"), "answered with something other than a token"),
        ("nothing", ok("{}"), "answered without a token"),
        (
            "a header of its own",
            ok(r#"{"token":"a\r\nx: y"}"#),
            "answered with something other than a token",
        ),
        (
            "endless",
            Reply::Floods(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
            "it is longer than the 65536 bytes",
        ),
    ] {
        server.on("GET /token", [reply]);
        failed(client(known(&folder)).pull_bundle(&fake.at(":1"), &mut unseen), holds, name);
    }
    assert_eq!(server.count("GET /other"), 0);
}

/// A token that expires during a long pull is renewed.
#[test]
fn a_token_that_ends_is_renewed() {
    let good = bundle("1.2.0");
    let fake = Fake::serving(&good, &[]);
    let index = format!("GET {}", manifest("1"));
    fake.on("GET /token", [ok(r#"{"token":"first"}"#), ok(r#"{"token":"second"}"#)]);
    let only = |token: &str| {
        let header = format!("Bearer {token}");
        move |reply| {
            Reply::Knows(
                header.clone(),
                Box::new(challenges("Bearer realm=/token")),
                Box::new(reply),
            )
        }
    };
    fake.wrap(&index, only("first"));
    fake.wrap(&component(&good, 1), only("second"));
    assert_eq!(
        client(access())
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    assert_eq!(fake.count("GET /token"), 2);
}

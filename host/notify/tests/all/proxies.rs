//! A webhook behind a proxy: the proxy connects and sees no more than a name, and only the
//! channel's own proxy is used.

use crate::servers::{Web, authority, nobody, proxy, web};
use crate::support::{expect, file, message, outcome, send};
use portcullis_credentials::CredentialSource;
use portcullis_notify::{Address, Channel, Webhook};
use std::path::PathBuf;
use std::sync::Arc;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn through(url: &str, proxy: Address, authorities: Option<PathBuf>) -> Channel {
    Channel::Webhook(Webhook {
        url: Address::Open(url.to_owned()),
        proxy: Some(proxy),
        bearer: None,
        authorities,
    })
}

#[test]
fn it_connects_and_sees_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Arc::new(authority());
    let pem = file(folder.path(), "authority.pem", authority.pem.as_bytes(), 0o644);
    let server = web(Web::Says(OK), Some(Arc::clone(&authority)));
    let proxy = proxy(Ok(server.port));
    let address = format!("http://someone:pass%20word@127.0.0.1:{}/", proxy.port);
    let secret = Address::Secret(CredentialSource::File(file(
        folder.path(),
        "proxy",
        address.as_bytes(),
        0o600,
    )));
    // Only the proxy can resolve that name.
    let result = send(
        &through("https://hooks.test/services/secrettoken", secret, Some(pem.clone())),
        &message(),
    );
    expect(&result, "delivered", &["`https://hooks.test` answered 200"], "through a proxy");
    let (seen, received) = (proxy.received().concat(), server.received().concat());
    assert!(seen.starts_with("CONNECT hooks.test:443 HTTP/1.1\r\n"), "{seen}");
    assert!(
        seen.to_ascii_lowercase().contains("proxy-authorization: basic c29tzw9uztpwyxnzihdvcmq="),
        "{seen}"
    );
    assert!(!seen.contains("secrettoken") && !seen.contains("rm -rf"), "{seen}");
    assert!(
        received.contains("/services/secrettoken") && received.contains("rm -rf /srv/data"),
        "{received}"
    );
    assert!(!received.to_ascii_lowercase().contains("proxy-authorization"), "{received}");
    // Nothing is sent to a server without a certificate of the authority, even through a proxy.
    let open = Address::Open(format!("http://127.0.0.1:{}", proxy.port));
    let result = send(&through("https://elsewhere.test/secrettoken", open, Some(pem)), &message());
    expect(
        &result,
        "retry",
        &["no secure connection to `https://elsewhere.test`"],
        "another's certificate",
    );
    assert!(!server.received().concat().contains("elsewhere"));
}

#[test]
fn one_that_refuses_or_is_not_there_is_named() {
    for (port, begins, holds) in [
        (
            proxy(Err("407 Who are you?")).port,
            "retry",
            "did not connect us to `https://hooks.test`",
        ),
        (proxy(Err("502 No")).port, "retry", "did not connect us to `https://hooks.test`"),
        (nobody(), "retry", "cannot be reached through the proxy `http://127.0.0.1:"),
    ] {
        let result = send(
            &through(
                "https://hooks.test/x",
                Address::Open(format!("http://127.0.0.1:{port}")),
                None,
            ),
            &message(),
        );
        expect(&result, begins, &[holds], &port.to_string());
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    let open = |text: &str| Address::Open(text.to_owned());
    for (url, proxy, holds) in [
        (
            "https://hooks.test/",
            open("http://me:secretword@127.0.0.1:1"),
            "a credential has no place in the configuration",
        ),
        ("https://hooks.test/", open("socks5://127.0.0.1:1"), "`http://host:port`"),
        ("https://hooks.test/", open("127.0.0.1:1"), "`http://host:port`"),
        ("https://hooks.test/", open("http://127.0.0.1:1/path"), "`http://host:port`"),
        ("https://hooks.test/", open(""), "`http://host:port`"),
        (
            "https://hooks.test/",
            Address::Secret(CredentialSource::Variable("NOT_THERE".into())),
            "`NOT_THERE` is not set",
        ),
        ("http://127.0.0.1:1/", open("http://127.0.0.1:2"), "leave out `proxy`"),
    ] {
        let result = send(&through(url, proxy.clone(), None), &message());
        expect(&result, "give up", &[holds], &format!("{proxy:?}"));
        assert!(!outcome(&result).contains("secretword"), "{proxy:?}");
    }
}

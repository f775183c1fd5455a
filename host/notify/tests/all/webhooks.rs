//! The answers of a webhook's server, and the resulting outcomes.

use crate::servers::{Server, Web, authority, nobody, web};
use crate::support::{expect, file, message, outcome, send, send_within};
use portcullis_credentials::CredentialSource;
use portcullis_notify::{Address, Channel, DeliveryFailure, Sender, Webhook};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(url: String) -> Webhook {
    Webhook { url: Address::Open(url), proxy: None, bearer: None, authorities: None }
}

fn to(server: &Server) -> Channel {
    Channel::Webhook(open(format!(
        "http://127.0.0.1:{}/services/T000/B000/secrettoken",
        server.port
    )))
}

#[test]
fn each_answer_has_its_meaning() {
    let table: &[(&str, &str, &[&str])] = &[
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "delivered", &["answered 200"]),
        ("HTTP/1.1 204 No Content\r\n\r\n", "delivered", &["answered 204"]),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ncut", "delivered", &[]),
        ("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", "retry", &["answered 500"]),
        (
            "HTTP/1.1 503 Busy\r\nretry-after: 120\r\ncontent-length: 4\r\n\r\nbusy",
            "retry after 120 s",
            &["\"busy\""],
        ),
        (
            "HTTP/1.1 429 Slow\r\nretry-after: 4000000000\r\ncontent-length: 0\r\n\r\n",
            "retry after 3600 s",
            &["429"],
        ),
        ("HTTP/1.1 429 Slow\r\nretry-after: -5\r\ncontent-length: 0\r\n\r\n", "retry", &[]),
        ("HTTP/1.1 429 Slow\r\nretry-after: soon\r\ncontent-length: 0\r\n\r\n", "retry", &[]),
        (
            "HTTP/1.1 503 Busy\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:51:07 GMT\r\ncontent-length: 0\r\n\r\n",
            "retry after 90 s",
            &[],
        ),
        (
            "HTTP/1.1 503 Busy\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:49:07 GMT\r\ncontent-length: 0\r\n\r\n",
            "retry",
            &[],
        ),
        (
            "HTTP/1.1 503 Busy\r\nretry-after: Sun, 06 Nov 1994 08:51:07 GMT\r\ncontent-length: 0\r\n\r\n",
            "retry",
            &[],
        ),
        ("HTTP/1.1 408 Late\r\ncontent-length: 0\r\n\r\n", "retry", &[]),
        (
            "HTTP/1.1 401 No\r\nretry-after: 9\r\ncontent-length: 0\r\n\r\n",
            "give up",
            &["renew the webhook's credential"],
        ),
        (
            "HTTP/1.1 403 No\r\ncontent-length: 13\r\n\r\ninvalid_token",
            "give up",
            &["\"invalid_token\"", "credential"],
        ),
        ("HTTP/1.1 404 Gone\r\ncontent-length: 0\r\n\r\n", "give up", &["make a new webhook"]),
        ("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", "give up", &["make a new webhook"]),
        (
            "HTTP/1.1 400 Bad\r\ncontent-length: 14\r\n\r\ninvalid_blocks",
            "give up",
            &["Slack's JSON"],
        ),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "give up",
            &["redirects are not followed"],
        ),
        (
            "HTTP/1.1 308 Moved\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n",
            "give up",
            &["redirects are not followed"],
        ),
        (
            "HTTP/1.1 500 Oops\r\ncontent-length: 9\r\n\r\n\x1b[2J\n\"`x`",
            "retry",
            &["\\u{1b}[2J\\n''x'"],
        ),
        ("HELLO, WHO IS THERE?\r\n\r\n", "retry", &["cannot be reached"]),
        ("", "retry", &["cannot be reached"]),
    ];
    for (answer, begins, holds) in table {
        let server = web(Web::Says(answer), None);
        let result = send(&to(&server), &message());
        expect(&result, begins, holds, answer);
        assert!(
            !outcome(&result).contains("secrettoken"),
            "{answer}: the address's path is nobody's business"
        );
        assert_eq!(server.received().len(), 1, "{answer}: one request");
    }
}

#[test]
fn a_server_that_does_not_end_is_left() {
    for answer in [Web::Silent, Web::Drips, Web::Floods] {
        let result = send_within(&to(&web(answer, None)), &message(), Duration::from_secs(1));
        expect(&result, "retry", &["127.0.0.1"], "no end");
    }
    let late = Sender::new(&|_: &str| None).send_message(
        &to(&web(Web::Silent, None)),
        &message(),
        Instant::now(),
    );
    expect(&late, "retry", &["did not answer in time"], "no time left");
    let unheard = Channel::Webhook(open(format!("http://127.0.0.1:{}/", nobody())));
    expect(&send(&unheard, &message()), "retry", &["cannot be reached"], "nobody listens");
}

#[test]
fn the_request_is_slacks() {
    let server = web(Web::Says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), None);
    expect(&send(&to(&server), &message()), "delivered", &[], "plain");
    let received = server.received().remove(0);
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /services/T000/B000/secrettoken HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let text = "```\ncritical: a deletion outside the project was blocked\n\nWhat happened\n&gt; rm -rf /srv/data\n\n\
                Why\n&gt; High risk action: out_of_scope\n\nWhat you can run\nportcullis explain review-17\n\n\
                Project: shop\nSession: s-1\nTime: 2025-11-22T08:26:40Z\nEvent: block review-17\n```";
    assert_eq!(body["text"], text);
    let kinds: Vec<_> = body["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["header", "section", "section", "section", "section"]);
    assert!(
        body["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|block| block["text"]["type"] == "plain_text")
    );
}

#[test]
fn webhook_destinations() {
    let check =
        |url: &str| Sender::new(&|_: &str| None).check_channel(&Channel::Webhook(open(url.into())));
    for url in [
        "https://hooks.example.com/x",
        "https://10.0.0.1:8443/x",
        "http://127.9.9.9/x",
        "http://[::1]:8080/",
        "http://localhost:80/x",
    ] {
        assert_eq!(check(url), Ok(()), "{url}");
    }
    let table = [
        ("http://hooks.example.com/x", "is not encrypted and not on this machine"),
        ("http://10.0.0.1/x", "not on this machine"),
        ("http://2130706433/x", "not on this machine"),
        ("http://127.0.0.1.example.com/", "not on this machine"),
        ("http://localhost.example.com/", "not on this machine"),
        ("https://user:pass@example.com/", "holds a user name"),
        ("http://127.0.0.1@example.com/", "holds a user name"),
        ("ftp://example.com/", "is neither `https` nor `http`"),
        ("file:///etc/passwd", "the webhook's address"),
        ("/only/a/path", "names no host"),
        ("https://exa mple.com/", "is none"),
        ("https://example.com/\r\nX: y", "is none"),
        ("", "the webhook's address"),
    ];
    for (url, why) in table {
        expect(&check(url).map(|()| unreachable!()), "give up", &[why], url);
    }
}

#[test]
fn tls_wants_a_known_authority() {
    let folder = tempfile::tempdir().unwrap();
    let (known, other) = (Arc::new(authority()), authority());
    let server =
        web(Web::Says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), Some(Arc::clone(&known)));
    let pem =
        |name: &str, text: &str, mode: u32| Some(file(folder.path(), name, text.as_bytes(), mode));
    let table = [
        ("known", pem("known", &known.pem, 0o644), "127.0.0.1", "delivered", "answered 200"),
        (
            "second of two",
            pem("two", &format!("{}{}", other.pem, known.pem), 0o644),
            "127.0.0.1",
            "delivered",
            "answered 200",
        ),
        ("another", pem("other", &other.pem, 0o644), "127.0.0.1", "retry", "name its authority"),
        ("Mozilla's", None, "127.0.0.1", "retry", "name its authority"),
        (
            "another name",
            pem("name", &known.pem, 0o644),
            "localhost",
            "retry",
            "no secure connection",
        ),
        ("open to all", pem("open", &known.pem, 0o666), "127.0.0.1", "give up", "run `chmod go-w "),
        (
            "no certificate",
            pem("none", "hello", 0o644),
            "127.0.0.1",
            "give up",
            "holds no certificate",
        ),
        ("no file", Some(folder.path().join("absent")), "127.0.0.1", "give up", "does not exist"),
    ];
    for (what, authorities, host, begins, holds) in table {
        let url = Address::Open(format!("https://{host}:{}/x", server.port));
        let bearer = Some(CredentialSource::Variable("TOKEN".into()));
        expect(
            &send(&Channel::Webhook(Webhook { url, proxy: None, bearer, authorities }), &message()),
            begins,
            &[holds],
            what,
        );
    }
    let delivered: Vec<_> =
        server.received().into_iter().filter(|received| !received.is_empty()).collect();
    assert_eq!(delivered.len(), 2);
    assert!(
        delivered
            .iter()
            .all(|received| received.contains("authorization: Bearer tok-0123456789\r\n")),
        "{delivered:?}"
    );
}

/// A server that repeats its input does not bring a credential into an error.
#[test]
fn no_error_holds_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = Arc::new(authority());
    let authorities = Some(file(folder.path(), "pem", trusted.pem.as_bytes(), 0o644));
    let server = web(Web::Echoes("403 No"), Some(trusted));
    let url =
        format!("https://127.0.0.1:{}/services/T0/verysecretpart?key=alsosecret", server.port);
    let url = Address::Secret(CredentialSource::File(file(
        folder.path(),
        "url",
        format!("{url}\n").as_bytes(),
        0o600,
    )));
    let channel = Channel::Webhook(Webhook {
        url,
        proxy: None,
        bearer: Some(CredentialSource::Variable("TOKEN".into())),
        authorities,
    });
    let result = send(&channel, &message());
    let received = server.received().remove(0);
    assert!(
        received.contains("verysecretpart") && received.contains("tok-0123456789"),
        "{received}"
    );
    expect(&result, "give up", &["answered 403", "[secret]"], "echo");
    let failure: DeliveryFailure = result.unwrap_err();
    for text in [failure.to_string(), format!("{failure:?}"), format!("{channel:?}")] {
        for secret in ["verysecretpart", "alsosecret", "tok-0123456789"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    let open = Webhook {
        url: Address::Open("http://127.0.0.1/".into()),
        proxy: None,
        bearer: Some(CredentialSource::Variable("TOKEN".into())),
        authorities: None,
    };
    expect(
        &send(&Channel::Webhook(open), &message()),
        "give up",
        &["unencrypted"],
        "a token without TLS",
    );
}

//! Web services: what each answer means, and what a hostile one gets.

use crate::servers::{Authority, Duplex, Server, answer, read_request};
use crate::support::{TOKEN, expect, open, post, post_within, variable, web};
use portcullis_credentials::CredentialSource;
use portcullis_notify::Address;
use portcullis_sinks::{HttpAnswer, OpenSink, Sink};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Serves each request with one answer.
fn says(status: &'static str, headers: &'static str, body: &'static str) -> Server {
    Server::listen(None, move |stream, _| {
        let read = read_request(stream);
        answer(stream, status, headers, body);
        read
    })
}

fn url(server: &Server) -> String {
    format!("http://127.0.0.1:{}/in?key=KEY-0123456789", server.port)
}

#[test]
fn an_answer_says_what_comes_next() {
    let metadata = "location: http://169.254.169.254/latest/\r\n";
    for (status, headers, body, begins, holds) in [
        ("200 OK", "", "", "accepted", &["answered 200"][..]),
        ("202 Accepted", "", "queued", "accepted", &["answered 202"]),
        ("503 Busy", "", "", "later", &["answered 503"]),
        ("429 Slow", "retry-after: 7\r\n", "", "later after 7 s", &[]),
        ("429 Slow", "retry-after: 999999\r\n", "", "later after 999999 s", &[]),
        ("400 Bad", "", "line 3\n<b>", "refused", &["answered 400", "line 3"]),
        ("413 Large", "", "", "refused", &["answered 413"]),
        ("401 Who", "", "", "settings", &["`token`"]),
        ("404 No", "", "", "settings", &["`url`"]),
        ("415 Type", "", "", "settings", &["`compression"]),
        ("302 Found", metadata, "", "settings", &["redirects are not followed"]),
        ("400 Bad", "", "no KEY-0123456789 here", "refused", &["no [secret] here"]),
    ] {
        let server = says(status, headers, body);
        let result = post(&web(&url(&server), HttpAnswer::Status, None));
        expect(&result, begins, holds, status);
        assert_eq!(server.await_received(1).len(), 1, "{status}: nothing is tried again");
    }
}

#[test]
fn the_document_arrives_with_the_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::make();
    let server = Server::listen(Some(&authority), |stream, _| {
        let read = read_request(stream);
        answer(stream, "200 OK", "", "");
        read
    });
    let headers = folder.path().join("headers");
    fs::write(&headers, "X-Scope: team\n").unwrap();
    fs::set_permissions(&headers, Permissions::from_mode(0o600)).unwrap();
    let url = format!("https://127.0.0.1:{}/in", server.port);
    let mut sink = web(&url, HttpAnswer::Status, Some(&authority.write(folder.path())));
    sink.header_file = Some(headers);
    expect(&post(&sink), "accepted", &[], "over TLS");
    let received = server.await_received(1).join("\n").to_lowercase();
    for part in [
        "post /in http/1.1",
        &format!("authorization: bearer {TOKEN}"),
        "x-scope: team",
        "content-type: application/x-ndjson",
        "{\"n\":1}",
    ] {
        assert!(received.contains(part), "no `{part}` in {received}");
    }
    sink.tls.authorities = None;
    expect(&post(&sink), "later", &["no secure connection"], "an unknown authority");
}

#[test]
fn a_hostile_service_gets_no_more_than_the_deadline() {
    type Script = fn(&mut dyn Duplex);
    let flood: Script = |stream| while stream.write_all(&[b'x'; 8192]).is_ok() {};
    let rows: [(&str, Script, HttpAnswer, &str, u64); 5] = [
        (
            "a body without an end, after success",
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(&[b'x'; 8192]).is_ok() {}
            },
            HttpAnswer::Status,
            "accepted",
            60,
        ),
        (
            "the same where the body matters",
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(&[b'x'; 8192]).is_ok() {}
            },
            HttpAnswer::Otlp,
            "accepted",
            60,
        ),
        ("a head without an end", flood, HttpAnswer::Status, "later", 60),
        (
            "nothing at all",
            |stream| drop(stream.read_to_end(&mut Vec::new())),
            HttpAnswer::Status,
            "later",
            1,
        ),
        (
            "a body that stands still",
            |stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
                let _ = stream.read_to_end(&mut Vec::new());
            },
            HttpAnswer::Otlp,
            "later",
            1,
        ),
    ];
    for (what, script, answer, begins, seconds) in rows {
        let server = Server::listen(None, move |stream, _| {
            let read = read_request(stream);
            script(stream);
            read
        });
        let sink = web(&url(&server), answer, None);
        expect(&post_within(&sink, Duration::from_secs(seconds)), begins, &[], what);
    }
}

#[test]
fn rejected_records_of_otlp_are_counted() {
    let body = r#"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}"#;
    let server = says("200 OK", "content-type: application/json\r\n", body);
    expect(
        &post(&web(&url(&server), HttpAnswer::Otlp, None)),
        "accepted but 2",
        &[],
        "two of them",
    );
    let server = says("200 OK", "content-type: application/json\r\n", body);
    expect(&post(&web(&url(&server), HttpAnswer::Status, None)), "accepted", &[], "a webhook");
}

/// A row about acknowledgements: its name, the server's answers, whether they are asked for, the
/// beginning of the result and a part of it, and the requests that the server gets.
type AcknowledgementRow<'a> = (&'a str, &'a [&'a str], bool, &'a str, &'a str, usize);

#[test]
fn splunk_is_asked_until_it_has_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::make();
    let pem = authority.write(folder.path());
    let received = "{\"text\":\"Success\",\"code\":0,\"ackId\":5}";
    let rows: [AcknowledgementRow<'_>; 6] = [
        ("at once", &[received, "{\"acks\":{\"5\":true}}"], true, "accepted", "indexed it", 2),
        (
            "the third time",
            &[received, "{\"acks\":{\"5\":false}}", "{\"acks\":{}}", "{\"acks\":{\"5\":true}}"],
            true,
            "accepted",
            "indexed it",
            4,
        ),
        ("never", &[received, "{\"acks\":{\"5\":false}}"], true, "later", "did not index", 0),
        (
            "another delivery's",
            &[received, "{\"acks\":{\"6\":true}}"],
            true,
            "later",
            "did not index",
            0,
        ),
        ("not enabled", &["{\"text\":\"Success\",\"code\":0}"], true, "settings", "acknowledge", 1),
        ("not wanted", &["{\"text\":\"Success\",\"code\":0}"], false, "accepted", "received it", 1),
    ];
    for (what, script, acknowledge, begins, holds, requests) in rows {
        let answers: Vec<String> = script.iter().map(ToString::to_string).collect();
        let server = Server::listen(Some(&authority), move |stream, number| {
            let read = read_request(stream);
            answer(stream, "200 OK", "", &answers[number.min(answers.len() - 1)]);
            read
        });
        let address = format!("https://127.0.0.1:{}", server.port);
        let sink = web(&address, HttpAnswer::Splunk { acknowledge }, Some(&pem));
        let limit = Duration::from_millis(if requests == 0 { 700 } else { 60_000 });
        expect(&post_within(&sink, limit), begins, &[holds], what);
        let received = server.await_received(requests.max(1));
        assert!(requests == 0 || received.len() == requests, "{what}: {received:?}");
        assert!(received[0].starts_with("POST /services/collector/event "), "{}", received[0]);
        assert!(received[0].contains(&format!("authorization: Splunk {TOKEN}")), "{}", received[0]);
        let channel = |text: &str| {
            let found = text.split("x-splunk-request-channel: ").nth(1);
            found.and_then(|rest| rest.lines().next()).map(str::to_owned)
        };
        for request in &received[1..] {
            assert!(request.starts_with("POST /services/collector/ack "), "{request}");
            assert!(request.ends_with("{\"acks\":[5]}"), "{request}");
            assert_eq!(channel(request), channel(&received[0]), "{what}");
        }
    }
}

#[test]
fn settings_that_cannot_be_used_say_why() {
    let secret = || Some(CredentialSource::Variable("TOKEN".into()));
    let rows = [
        ("http://203.0.113.1/in", false, "not encrypted and not on this machine"),
        ("http://169.254.169.254/latest", false, "not encrypted and not on this machine"),
        ("http://127.0.0.1/in", true, "a credential, which would go unencrypted"),
        ("https://user:word@example.com/", false, "holds a user name"),
        ("ftp://example.com/", false, "neither `https` nor `http`"),
        ("nonsense", false, "neither `https` nor `http`"),
    ];
    for (url, token, holds) in rows {
        let mut sink = web(url, HttpAnswer::Status, None);
        sink.token = if token { secret() } else { None };
        let failure = open(&Sink::Http(sink)).unwrap_err().to_string();
        assert!(failure.contains(holds), "{url}: {failure}");
    }
    let mut sink = web("https://127.0.0.1/", HttpAnswer::Splunk { acknowledge: true }, None);
    sink.token = None;
    assert!(open(&Sink::Http(sink.clone())).unwrap_err().what.contains("`token`"));
    sink.token = Some(CredentialSource::Variable("UNSET".into()));
    assert!(open(&Sink::Http(sink.clone())).unwrap_err().what.contains("`UNSET` is not set"));
    sink.token = secret();
    sink.url = Address::Open("https://127.0.0.1/elsewhere".into());
    assert!(open(&Sink::Http(sink.clone())).unwrap_err().what.contains("no collector"));
    sink.url = Address::Open("https://127.0.0.1/".into());
    sink.tls.certificate = Some("/nowhere.pem".into());
    assert!(open(&Sink::Http(sink.clone())).unwrap_err().what.contains("`key` is missing"));
    let shown = format!("{:?}", OpenSink::check_settings(&Sink::Http(sink), &variable));
    assert!(!shown.contains(TOKEN), "{shown}");
}

//! Syslog servers: a delivery counts when the server has read it to its end.

use crate::servers::{Authority, Duplex, Server};
use crate::support::{expect, open};
use portcullis_sinks::{
    Accepted, Cargo, Sink, SinkFailure, SyslogEncryption, SyslogMessage, SyslogSeverity,
    SyslogSink, TlsFiles,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Returns a sink that demands a proper end.
fn sink(port: u16, encryption: SyslogEncryption, authorities: Option<PathBuf>) -> SyslogSink {
    SyslogSink {
        host: "127.0.0.1".into(),
        port,
        encryption,
        facility: "audit".into(),
        machine: "box".into(),
        tls: TlsFiles { authorities, ..TlsFiles::default() },
        demands_notice: true,
    }
}

fn message(text: &str) -> SyslogMessage {
    SyslogMessage {
        at: "2026-01-01T12:00:00.000Z".into(),
        severity: SyslogSeverity::Notice,
        id: "review".into(),
        text: text.into(),
    }
}

fn send(sink: SyslogSink, texts: &[&str], limit: Duration) -> Result<Accepted, SinkFailure> {
    let messages: Vec<SyslogMessage> = texts.iter().map(|text| message(text)).collect();
    let mut sink = open(&Sink::Syslog(sink))?;
    sink.deliver(&Cargo::Messages(&messages), 0, Instant::now() + limit)
}

/// Reads until the client ends its side.
fn read_all(stream: &mut dyn Duplex) -> Vec<u8> {
    let mut all = Vec::new();
    let _end = stream.read_to_end(&mut all);
    all
}

/// Splits frames by their lengths.
fn frames(mut text: &str) -> Vec<String> {
    let mut frames = Vec::new();
    while let Some((length, rest)) = text.split_once(' ') {
        let (frame, rest) = rest.split_at(length.parse().unwrap());
        frames.push(frame.to_owned());
        text = rest;
    }
    assert_eq!(text, "");
    frames
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn messages_arrive_in_frames_with_and_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::make();
    let pem = authority.write(folder.path());
    let begin = "<109>1 2026-01-01T12:00:00.000Z box portcullis - review - ";
    let careless = Authority { ends_well: false, ..Authority::make() };
    let beside = tempfile::tempdir().unwrap();
    let careless_pem = careless.write(beside.path());
    for (encryption, signed, pem, demands_notice) in [
        (SyslogEncryption::None, None, &pem, true),
        (SyslogEncryption::Tls, Some(&authority), &pem, true),
        (SyslogEncryption::Tls, Some(&authority), &pem, false),
        (SyslogEncryption::Tls, Some(&careless), &careless_pem, true),
        (SyslogEncryption::Tls, Some(&careless), &careless_pem, false),
    ] {
        let server = Server::listen(signed, |stream, _| read_all(stream));
        let authorities = signed.map(|_| pem.clone());
        let ends_well = !demands_notice || signed.is_none_or(|authority| authority.ends_well);
        let texts = ["one\n", "two\n<1>1 - - - - - three\n", "ü"];
        let sink = SyslogSink { demands_notice, ..sink(server.port, encryption, authorities) };
        let result = send(sink, &texts, LONG);
        match ends_well {
            true => expect(&result, "accepted", &["read 3 messages"], "to its end"),
            false => expect(&result, "later", &["without a sign that it read everything"], "cut"),
        }
        let expected =
            ["one", "two\\n<1>1 - - - - - three", "ü"].map(|text| format!("{begin}{text}"));
        assert_eq!(frames(&server.await_received(1)[0]), expected);
    }
}

#[test]
fn a_server_that_does_not_end_well_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::make();
    let pem = authority.write(folder.path());
    type Script = fn(&mut dyn Duplex) -> Vec<u8>;
    let rows: [(&str, Script, usize, u64, &str); 4] = [
        (
            "it never ends",
            |stream| {
                let read = read_all(stream);
                // Longer than the client waits.
                std::thread::sleep(Duration::from_secs(3));
                read
            },
            1,
            1,
            "did not answer in time",
        ),
        (
            "it talks without an end",
            |stream| {
                while stream.write_all(&[b'x'; 8192]).and_then(|()| stream.flush()).is_ok() {}
                Vec::new()
            },
            1,
            60,
            "",
        ),
        // More than what the systems of both ends hold.
        ("it hangs up at once", |_| Vec::new(), 12, 60, ""),
        (
            "it hangs up in the middle",
            |stream| {
                let mut some = vec![0; 100_000];
                stream.read_exact(&mut some).unwrap();
                some
            },
            12,
            60,
            "",
        ),
    ];
    for (what, script, messages, seconds, holds) in rows {
        let careless = Authority { ends_well: false, ..authority.clone() };
        let server = Server::listen(Some(&careless), move |stream, _| script(stream));
        for demands_notice in [true, false] {
            let sink = sink(server.port, SyslogEncryption::Tls, Some(pem.clone()));
            let long = "x".repeat(1 << 20);
            let texts = vec![long.as_str(); messages];
            let sink = SyslogSink { demands_notice, ..sink };
            let result = send(sink, &texts, Duration::from_secs(seconds));
            expect(&result, "later", &[holds], what);
        }
    }
    let server = Server::listen(Some(&authority), |stream, _| read_all(stream));
    let unknown = sink(server.port, SyslogEncryption::Tls, None);
    expect(&send(unknown, &["x"], LONG), "later", &["no secure connection"], "unknown authority");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = sink(nobody, SyslogEncryption::None, None);
    expect(&send(nobody, &["x"], LONG), "later", &["cannot be reached"], "nobody");
}

#[test]
fn settings_that_cannot_be_used_say_why() {
    for (host, facility, holds) in
        [("203.0.113.1", "audit", "not on this machine"), ("127.0.0.1", "kernel", "is no facility")]
    {
        let settings = SyslogSink {
            host: host.into(),
            facility: facility.into(),
            ..sink(1, SyslogEncryption::None, None)
        };
        let failure = open(&Sink::Syslog(settings)).unwrap_err().to_string();
        assert!(failure.contains(holds), "{failure}");
    }
}

//! The answers of a mail server, and the resulting outcomes.

use crate::servers::{Post, Server, authority, nobody, post};
use crate::support::{expect, file, message, outcome, send, send_within};
use portcullis_credentials::CredentialSource;
use portcullis_notify::{Channel, Encryption, Sender, Smtp};
use std::sync::Arc;
use std::time::Duration;

fn smtp(port: u16) -> Smtp {
    Smtp {
        host: "127.0.0.1".into(),
        port: Some(port),
        encryption: Encryption::None,
        login: None,
        from: "Portcullis <portcullis@example.com>".into(),
        to: vec!["a@example.com".into(), "Böb <b@example.com>".into()],
        authorities: None,
    }
}

fn to(server: &Server) -> Channel {
    Channel::Smtp(smtp(server.port))
}

#[test]
fn each_answer_has_its_meaning() {
    let table: &[(&str, &str, &str, &[&str])] = &[
        ("", "", "delivered", &["accepted it"]),
        ("QUIT", "500 no", "delivered", &[]),
        ("CONNECT", "421 too busy", "retry", &["answered 421"]),
        ("CONNECT", "554 go away", "give up", &["answered 554", "go away"]),
        ("MAIL", "451 later", "retry", &["answered 451", "later"]),
        ("MAIL", "530 log in first", "give up", &["check the login"]),
        ("RCPT", "450 greylisted", "retry", &["greylisted"]),
        ("RCPT", "550 no such user", "give up", &["answered 550", "check `from`, `to`"]),
        ("DATA", "452 full", "retry", &["answered 452"]),
        (".", "451 try later", "retry", &["answered 451"]),
        (".", "554 spam", "give up", &["spam"]),
        (".", "550 \x1b[2J<b>`", "give up", &["550"]),
        ("CONNECT", "hello?", "retry", &["no mail could be handed"]),
        ("CONNECT", "HTTP/1.1 400 Bad Request", "retry", &["no mail could be handed"]),
    ];
    for (verb, reply, begins, holds) in table {
        let server = post(Post {
            instead: Some((*verb, *reply)).filter(|(verb, _)| !verb.is_empty()),
            ..Post::default()
        });
        let result = send(&to(&server), &message());
        expect(&result, begins, holds, &format!("{verb} -> {reply}"));
        assert!(!outcome(&result).contains('\x1b'));
    }
    expect(
        &send(&Channel::Smtp(smtp(nobody())), &message()),
        "retry",
        &["no mail could be handed"],
        "nobody listens",
    );
}

#[test]
fn a_server_that_does_not_answer_is_left() {
    for verb in ["CONNECT", "EHLO", "MAIL", "."] {
        let server = post(Post { instead: Some((verb, "")), ..Post::default() });
        expect(
            &send_within(&to(&server), &message(), Duration::from_secs(1)),
            "retry",
            &["in time"],
            verb,
        );
    }
}

#[test]
fn the_mail_is_whole() {
    let server = post(Post::default());
    expect(&send(&to(&server), &message()), "delivered", &[], "plain");
    let received = server.received().remove(0);
    for line in [
        "MAIL FROM:<portcullis@example.com>",
        "RCPT TO:<a@example.com>",
        "RCPT TO:<b@example.com>",
        "Subject: [portcullis] critical: a deletion outside the project was blocked",
        "Date: Sat, 22 Nov 2025 08:26:40 +0000",
        "Auto-Submitted: auto-generated",
        "What happened",
        "> rm -rf /srv/data",
        "portcullis explain review-17",
        "Session: s-1",
    ] {
        assert!(
            received.replace("\r\n ", " ").contains(&format!("{line}\r\n")),
            "no `{line}` in:\n{received}"
        );
    }
    // The same message produces the same mail id again; another one does not.
    let id = |received: &str| {
        received.lines().find(|line| line.starts_with("Message-ID:")).map(str::to_owned).unwrap()
    };
    let other = portcullis_notify::Notification { id: "review-18".into(), ..message() };
    assert!(send(&to(&server), &message()).is_ok() && send(&to(&server), &other).is_ok());
    let received = server.received();
    assert_eq!(id(&received[0]), id(&received[1]));
    assert_ne!(id(&received[0]), id(&received[2]));
}

/// The purpose; the server's offers; true for TLS from the first byte; the configured encryption;
/// true if its authority is known; true for a login; the outcome, and its text.
type Row = (
    &'static str,
    &'static [&'static str],
    bool,
    Encryption,
    bool,
    bool,
    &'static str,
    &'static str,
);

/// If the connection is not as configured, no part of a mail is sent.
#[test]
fn a_connection_is_secured_or_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = Arc::new(authority());
    let authorities = Some(file(folder.path(), "known", trusted.pem.as_bytes(), 0o644));
    let other = Some(file(folder.path(), "other", authority().pem.as_bytes(), 0o644));
    let offering = |offers: &'static [&'static str], wrapped: bool| {
        post(Post { offers, wrapped, authority: Some(Arc::clone(&trusted)), ..Post::default() })
    };
    let login = || Some(("me".to_owned(), CredentialSource::Variable("TOKEN".into())));
    let table: &[Row] = &[
        ("wrapped", &["AUTH PLAIN"], true, Encryption::Tls, true, true, "delivered", "accepted it"),
        (
            "upgraded",
            &["STARTTLS", "AUTH PLAIN"],
            false,
            Encryption::StartTls,
            true,
            true,
            "delivered",
            "accepted it",
        ),
        (
            "no login",
            &["STARTTLS"],
            false,
            Encryption::StartTls,
            true,
            false,
            "delivered",
            "accepted it",
        ),
        (
            "no STARTTLS",
            &["AUTH PLAIN"],
            false,
            Encryption::StartTls,
            true,
            true,
            "give up",
            "STARTTLS",
        ),
        (
            "unknown authority",
            &["STARTTLS"],
            false,
            Encryption::StartTls,
            false,
            true,
            "retry",
            "authorities",
        ),
        (
            "unknown authority, wrapped",
            &[],
            true,
            Encryption::Tls,
            false,
            true,
            "retry",
            "authorities",
        ),
        ("plain server", &[], false, Encryption::Tls, true, true, "retry", "encryption"),
        (
            "no way to log in",
            &["STARTTLS"],
            false,
            Encryption::StartTls,
            true,
            true,
            "give up",
            "does not offer",
        ),
    ];
    for (what, offers, wrapped, encryption, known, logs_in, begins, holds) in table {
        let server = offering(offers, *wrapped);
        let channel = Smtp {
            encryption: *encryption,
            login: login().filter(|_| *logs_in),
            authorities: if *known { authorities.clone() } else { other.clone() },
            ..smtp(server.port)
        };
        let result = send_within(&Channel::Smtp(channel), &message(), Duration::from_secs(10));
        expect(&result, begins, &[holds], what);
        let received = server.received().join("");
        assert_eq!(received.contains("MAIL FROM"), result.is_ok(), "{what}: {received}");
        // \0me\0tok-0123456789
        assert_eq!(
            received.contains("AUTH PLAIN AG1lAHRvay0wMTIzNDU2Nzg5"),
            result.is_ok() && *logs_in,
            "{what}: {received}"
        );
    }
}

#[test]
fn a_refused_login_says_nothing_of_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = Arc::new(authority());
    let authorities = Some(file(folder.path(), "known", trusted.pem.as_bytes(), 0o644));
    for (verb, reply) in [
        ("AUTH", "535 not tok-0123456789 nor AG1lAHRvay0wMTIzNDU2Nzg5"),
        ("RCPT", "550 not tok-0123456789"),
    ] {
        let authority = Some(Arc::clone(&trusted));
        let server = post(Post {
            offers: &["AUTH PLAIN"],
            wrapped: true,
            instead: Some((verb, reply)),
            authority,
        });
        let login = Some(("me".to_owned(), CredentialSource::Variable("TOKEN".into())));
        let channel = Smtp {
            encryption: Encryption::Tls,
            login,
            authorities: authorities.clone(),
            ..smtp(server.port)
        };
        let result = send(&Channel::Smtp(channel), &message());
        expect(&result, "give up", &[reply.get(..3).unwrap()], verb);
        let outcome = outcome(&result);
        assert!(
            !outcome.contains("tok-0123456789") && !outcome.contains("AG1lAHRvay"),
            "{outcome}"
        );
    }
}

#[test]
fn invalid_mail_servers_and_addresses_are_refused() {
    type Change = fn(Smtp) -> Smtp;
    let table: &[(&str, Change, &str)] = &[
        (
            "a name without TLS",
            |smtp| Smtp { host: "mail.example.com".into(), ..smtp },
            "is not on this machine",
        ),
        (
            "an address without TLS",
            |smtp| Smtp { host: "10.0.0.1".into(), ..smtp },
            "is not on this machine",
        ),
        ("no host", |smtp| Smtp { host: String::new(), ..smtp }, "is not a mail server"),
        (
            "two lines of host",
            |smtp| Smtp { host: "127.0.0.1\r\nQUIT".into(), ..smtp },
            "is not a mail server",
        ),
        (
            "a password without TLS",
            |smtp| Smtp {
                login: Some(("me".into(), CredentialSource::Variable("TOKEN".into()))),
                ..smtp
            },
            "unencrypted",
        ),
        ("nobody", |smtp| Smtp { to: Vec::new(), ..smtp }, "has 0 receivers"),
        (
            "everybody",
            |smtp| Smtp { to: vec!["a@example.com".into(); 21], ..smtp },
            "has 21 receivers",
        ),
        ("no sender", |smtp| Smtp { from: String::new(), ..smtp }, "is not a mail address"),
        (
            "a header in an address",
            |smtp| Smtp { to: vec!["a@example.com\r\nBcc: b@example.com".into()], ..smtp },
            "is not a mail address",
        ),
        (
            "a header in a name",
            |smtp| Smtp { from: "A\r\nBcc: b@example.com <a@example.com>".into(), ..smtp },
            "is not a mail address",
        ),
        (
            "a command in an address",
            |smtp| Smtp { to: vec!["a@example.com> NOTIFY=NEVER".into()], ..smtp },
            "is not a mail address",
        ),
    ];
    for (what, change, why) in table {
        let channel = Channel::Smtp(change(smtp(25)));
        let checked = Sender::new(&crate::support::variable).check_channel(&channel);
        expect(&checked.map(|()| unreachable!()), "give up", &[why], what);
    }
}

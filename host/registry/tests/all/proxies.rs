//! Tests of proxies, of registries without TLS, and of certificate authorities: the settings that
//! [`Access`] derives from the environment.

use crate::authority::Authority;
use crate::fake::Fake;
use crate::real::{Kind, Registry};
use crate::sample::{access, bundle, client, failed, signed, unseen};
use portcullis_registry::{Access, Client, Reference};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// Starts a proxy that connects every client to that port of this machine, or answers with this
/// status line; returns its requests.
fn proxy(answer: Result<u16, &'static str>) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let heard = Arc::clone(&heard);
            thread::spawn(move || connect(stream?, answer, &heard));
        }
    });
    (port, received)
}

fn connect(
    mut stream: TcpStream,
    answer: Result<u16, &'static str>,
    received: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 0 && line != "\r\n" {
        if line.starts_with("CONNECT") || line.starts_with("Proxy-Authorization") {
            received.lock().unwrap().push(line.trim().to_owned());
        }
        line.clear();
    }
    let port = match answer {
        Ok(port) => port,
        Err(status) => return write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n"),
    };
    let target = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    let (mut back, mut out) = (target.try_clone()?, stream.try_clone()?);
    thread::spawn(move || std::io::copy(&mut back, &mut out));
    std::io::copy(&mut head, &mut &target).map(drop)
}

/// Returns the settings for a shell with these variables.
fn from(variables: &[(&str, String)]) -> Access {
    let read = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    };
    let from = Access::from_environment(read).unwrap_or_else(|error| panic!("{error}"));
    Access { limits: access().limits, ..from }
}

fn certified(authority: &Path) -> (&'static str, String) {
    ("SSL_CERT_FILE", authority.display().to_string())
}

#[test]
fn a_registry_is_reached_through_the_proxy() {
    let Some(registry) = Registry::start(Kind::Tls) else { return };
    let (port, received) = proxy(Ok(registry.port));
    let authority = certified(registry.authority.as_deref().unwrap());
    let client =
        client(from(&[("HTTPS_PROXY", format!("http://me:word@127.0.0.1:{port}")), authority]));
    let reference: Reference = "registry.test/acme/checks:1".parse().unwrap();
    let good = bundle("1.2.0");
    client
        .push_bundle(&good, &[signed(&good, 1)], &reference, &mut unseen)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        client
            .pull_bundle(&reference, &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    let received = received.lock().unwrap();
    let (asked, introduced): (Vec<_>, Vec<_>) =
        received.iter().partition(|line| line.starts_with("CONNECT"));
    assert!(
        !asked.is_empty()
            && asked.iter().all(|line| line.as_str() == "CONNECT registry.test:443 HTTP/1.1"),
        "{asked:?}"
    );
    assert!(
        introduced.iter().all(|line| line.as_str() == "Proxy-Authorization: Basic bWU6d29yZA=="),
        "{introduced:?}"
    );
    assert_eq!(asked.len(), introduced.len());
}

#[test]
fn a_proxy_that_does_not_connect_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    for (answer, holds) in
        [("407 Who are you?", "the proxy `127.0.0.1:"), ("502 No", "did not connect us to it")]
    {
        let (port, received) = proxy(Err(answer));
        let client = client(from(&[
            ("https_proxy", format!("http://me:secretword@127.0.0.1:{port}")),
            certified(&authority.root),
        ]));
        let outcome =
            client.pull_bundle(&"registry.test/acme/checks:1".parse().unwrap(), &mut unseen);
        assert!(
            outcome.as_ref().is_err_and(|error| !error.to_string().contains("secretword")),
            "{outcome:?}"
        );
        failed(outcome, holds, answer);
        assert!(!received.lock().unwrap().is_empty());
    }
}

/// This machine is reached directly, with any environment.
#[test]
fn no_proxy_stands_before_this_machine() {
    let (port, received) = proxy(Err("502 No"));
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(folder.path());
    let good = bundle("1.2.0");
    let fake = Fake::new(Some(authority.config()));
    fake.lay(&good, &[]);
    let access = from(&[("ALL_PROXY", format!("127.0.0.1:{port}")), certified(&authority.root)]);
    assert_eq!(
        client(access)
            .pull_bundle(&fake.at(":1"), &mut unseen)
            .unwrap_or_else(|error| panic!("{error}"))
            .bundle,
        good
    );
    assert!(received.lock().unwrap().is_empty());
}

#[test]
fn without_tls_only_where_that_was_meant() {
    let good = bundle("1.2.0");
    let fake = Fake::serving(&good, &[]);
    let port = fake.port;
    let local: Reference = format!("localhost:{port}/acme/checks:1").parse().unwrap();
    for (name, reference, loopback, named, outcome) in [
        ("an address, asked for", fake.at(":1"), true, None, Ok(())),
        ("`localhost`, asked for", local.clone(), true, None, Ok(())),
        ("an address, named", fake.at(":1"), false, Some(format!("127.0.0.1:{port}")), Ok(())),
        ("not asked for", fake.at(":1"), false, None, Err("it answers without TLS")),
        (
            "another is named",
            fake.at(":1"),
            false,
            Some("127.0.0.1".to_owned()),
            Err("it answers without TLS"),
        ),
        (
            "elsewhere",
            "registry.test/acme/checks:1".parse().unwrap(),
            true,
            None,
            Err("plain HTTP is only for registries on this machine; leave it out"),
        ),
    ] {
        let access = Access {
            plain_loopback: loopback,
            plain_hosts: named.into_iter().collect(),
            ..access()
        };
        let pulled = client(access).pull_bundle(&reference, &mut unseen);
        match outcome {
            Ok(()) => {
                assert_eq!(pulled.unwrap_or_else(|error| panic!("{name}: {error}")).bundle, good)
            }
            Err(holds) => failed(pulled, holds, name),
        }
    }
}

#[test]
fn a_file_of_authorities_has_some() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: Vec<u8>| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    for (path, holds) in [
        (folder.path().join("missing"), "it cannot be read"),
        (folder.path().to_owned(), "it cannot be read"),
        (
            write("empty", Vec::new()),
            "it holds no certificate; put the authorities' certificates into it, as PEM",
        ),
        (
            write("key", std::fs::read(Authority::new(folder.path()).key).unwrap()),
            "it holds no certificate",
        ),
        (write("long", vec![b'a'; (1 << 20) + 1]), "it has more than 1048576 bytes"),
    ] {
        let error = Client::new(from(&[certified(&path)])).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the file of authorities `{}`: ", path.display()))
                && error.contains(holds),
            "{error}"
        );
    }
}

/// A registry without a listener.
#[test]
fn unreachable_hosts_are_reported() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let reference = crate::sample::at(nobody, ":1");
    let holds = format!(
        "`127.0.0.1:{nobody}`: the tag `1` of `acme/checks`: it cannot be reached (Connection refused"
    );
    failed(client(access()).pull_bundle(&reference, &mut unseen), &holds, "nobody");
}

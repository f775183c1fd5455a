//! A guest that sends requests (`tests/hostile/web`) to servers of these tests: the permitted ones
//! succeed, all others are refused.

use crate::guests::{action, compiling, context, file_entry, no_details, reader, set};
use crate::http_servers::{Server, authority, closing, secure};
use crate::wasi::built;
use portcullis_core::action::Action;
use portcullis_core::fault::FaultKind;
use portcullis_core::finding::Assessment;
use portcullis_core::plugins::{Grant, PluginResponse, Plugins};
use portcullis_engine::{
    CodeCache, Engine, Grants, Host, NameResolver, PluginSet, PluginSpec, ReviewClock, Setting,
    SettingValue, Web,
};
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A name service with scripted answers, in order; the last one is repeated.
struct Script(Mutex<VecDeque<Vec<IpAddr>>>, Mutex<Vec<String>>);

impl Script {
    fn new(answers: &[&str]) -> Arc<Self> {
        let answers = answers
            .iter()
            .map(|all| all.split_whitespace().map(|address| address.parse().unwrap()).collect());
        Arc::new(Self(Mutex::new(answers.collect()), Mutex::default()))
    }

    fn asked(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }
}

impl NameResolver for Script {
    fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.1.lock().unwrap().push(name.to_owned());
        let mut answers = self.0.lock().unwrap();
        let next = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        next.ok_or_else(|| io::Error::other("nobody knows"))
    }
}

fn granted(hosts: &[String]) -> Grants {
    Grants {
        hosts: hosts.iter().map(|host| Host::parse_host(host).expect(host)).collect(),
        ..Grants::default()
    }
}

/// Returns an engine whose cache is in one test's folder.
fn engine(place: &TempDir) -> Engine {
    Engine::new(Some(CodeCache::new(&place.path().join("cache"), [7; 32]))).unwrap()
}

fn of_guest(engine: &Engine, path: &Path, grants: Grants) -> PluginSet {
    set(
        engine,
        vec![PluginSpec { grants: Arc::new(grants), ..file_entry("guest", path.to_owned()) }],
    )
}

fn ask(set: &mut PluginSet, tries: &str) -> PluginResponse<Assessment> {
    set.assess(&Action { tool: tries.into(), ..action() }, &context(), &no_details).remove(0)
}

fn asked(engine: &Engine, path: &Path, grants: Grants, tries: &str) -> PluginResponse<Assessment> {
    ask(&mut of_guest(engine, path, grants), tries)
}

fn found(answer: &PluginResponse<Assessment>, tries: &str) -> String {
    match &answer.result {
        Ok(found) => found.rationality.as_ref().unwrap().issues.join(", "),
        Err(fault) => panic!("{tries}: {fault}"),
    }
}

/// Returns the refusals of an answer, each with the refused object.
fn refusals(answer: &PluginResponse<Assessment>) -> String {
    let one = |used: &portcullis_core::plugins::GrantUse| {
        used.refused.as_ref().map(|why| format!("{} {}: {why}", used.grant.as_str(), used.what))
    };
    answer.uses.iter().filter_map(one).collect::<Vec<_>>().join("; ")
}

/// Requests to a server whose host is granted: the request, its result, and the refusal on record.
const CASES: &[(&str, &str, &str)] = &[
    ("GET SERVER/plain", "200 hello", ""),
    ("GET SERVER", "200 hello", ""),
    ("GET SERVER/plain?a=b&c=%20 show=Content-Type", "200 [text/plain] hello", ""),
    ("HEAD SERVER/plain", "200 ", ""),
    ("GET SERVER/missing", "404 not here", ""),
    ("GET SERVER/none", "204 ", ""),
    ("GET SERVER/chunks", "200 hello again", ""),
    ("GET SERVER/big", "200 204800 bytes", ""),
    (
        "GET SERVER/echo header=X-Key:abc header=accept:text/plain",
        "GET /echo HTTP/1.1; accept: text/plain; host: HOST; x-key: abc; 0 bytes",
        "",
    ),
    (
        "POST SERVER/echo body=10",
        "POST /echo HTTP/1.1; content-length: 10; host: HOST; 10 bytes",
        "",
    ),
    ("POST SERVER/echo", "POST /echo HTTP/1.1; content-length: 0; host: HOST; 0 bytes", ""),
    (
        "PUT SERVER/echo body=65536 header=content-length:65536",
        "content-length: 65536; host: HOST; 65536 bytes",
        "",
    ),
    ("PATCH SERVER/echo body=1", "PATCH /echo", ""),
    ("DELETE SERVER/echo", "DELETE /echo", ""),
    ("GET SERVER/plain spin", "200 hello", ""),
    ("GET SERVER/plain times=4", "200 hello | 200 hello | 200 hello | 200 hello", ""),
    // requests that are not sent
    (
        "GET SERVER/plain times=5",
        "200 hello | ErrorCode::HttpRequestDenied",
        "already sent 4 requests",
    ),
    (
        "GET OTHER/plain",
        "ErrorCode::HttpRequestDenied",
        "hosts GET OTHER: this host is not granted",
    ),
    (
        "GET SECURE/plain",
        "ErrorCode::HttpRequestDenied",
        "hosts GET SECURE: this host is not granted",
    ),
    ("GET http://localhost:PORT/plain", "ErrorCode::HttpRequestDenied", "this host is not granted"),
    ("GET http://2130706433:PORT/plain", "the authority is not taken", ""),
    ("GET http://127.0.0.1:PORT@elsewhere.example/plain", "the authority is not taken", ""),
    (
        "GET http://[::ffff:127.0.0.1]:PORT/plain",
        "ErrorCode::HttpRequestDenied",
        "this host is not granted",
    ),
    (
        "GET http://127.0.0.1/plain",
        "ErrorCode::HttpRequestDenied",
        "hosts GET http://127.0.0.1: this host is not granted",
    ),
    ("CONNECT SERVER/plain", "the method is not taken", ""),
    ("SPY SERVER/plain", "the method is not taken", ""),
    ("GET SERVER/pl#ain", "the path is not taken", ""),
    ("GET SERVER/plain header=host:elsewhere", "HeaderError::Forbidden", ""),
    ("GET SERVER/plain header=transfer-encoding:chunked", "HeaderError::Forbidden", ""),
    ("GET SERVER/plain header=x:1CRLFhost:2", "HeaderError::InvalidSyntax", ""),
    ("GET SERVER/plain header=xCRLFy:1", "HeaderError::InvalidSyntax", ""),
    ("GET SERVER/plain body=3", "ErrorCode::HttpRequestMethodInvalid", ""),
    ("POST SERVER/plain body=65537", "ErrorCode::HttpRequestBodySize", ""),
    ("POST SERVER/plain body=3 header=content-length:4", "ErrorCode::HttpRequestBodySize", ""),
    ("POST SERVER/plain body=3 unfinished", "the body was not finished", ""),
    // a redirect is an answer; following it is another request
    ("GET SERVER/away?SERVER/plain", "302 ", ""),
    ("GET SERVER/away?SERVER/plain follow", "302 200 hello", ""),
    (
        "GET SERVER/away?OTHER/plain follow",
        "302 ErrorCode::HttpRequestDenied",
        "hosts GET OTHER: this host is not granted",
    ),
    // servers that are slow, endless or broken
    ("GET SERVER/silent", "ErrorCode::HttpResponseTimeout", ""),
    ("GET SERVER/silent patience=50", "ErrorCode::HttpResponseTimeout", ""),
    ("GET SERVER/drip", "ErrorCode::HttpResponseTimeout", ""),
    ("GET SERVER/drips-heads", "ErrorCode::HttpResponseTimeout", ""),
    ("GET SERVER/most", "200 262144 bytes", ""),
    ("GET SERVER/over", "ErrorCode::HttpResponseBodySize", "the answer has more than 256 KiB"),
    ("GET SERVER/hints", "200 hello", ""),
    ("GET SERVER/endless", "ErrorCode::HttpResponseBodySize", "the answer has more than 256 KiB"),
    ("GET SERVER/long-head", "ErrorCode::HttpResponseHeaderSectionSize", ""),
    ("GET SERVER/many-heads", "ErrorCode::HttpResponseHeaderSectionSize", ""),
    ("GET SERVER/nonsense", "ErrorCode::HttpProtocolError", ""),
    ("GET SERVER/cut", "ErrorCode::HttpResponseIncomplete", ""),
    ("GET CLOSING/", "ErrorCode::ConnectionTerminated", ""),
    ("GET CLOSED/", "ErrorCode::ConnectionRefused", ""),
];

#[test]
fn a_granted_host_is_asked_and_no_other() {
    let Some(path) = built("web") else { return };
    let (server, other) = (Server::plain(), Server::plain());
    let (closing, closed) = (closing(), Server::unused());
    let grants = granted(&[
        server.url(),
        format!("http://127.0.0.1:{closing}"),
        format!("http://127.0.0.1:{closed}"),
    ]);
    let mut set = of_guest(&Engine::new(None).unwrap(), &path, grants);
    set.compile_all(|_| ());
    for (tries, finds, refused) in CASES {
        let filled = |text: &str| {
            text.replace("SERVER", &server.url())
                .replace("OTHER", &other.url())
                .replace("SECURE", &server.url().replace("http:", "https:"))
                .replace("HOST", &format!("127.0.0.1:{}", server.port))
                .replace("PORT", &server.port.to_string())
                .replace("CLOSING", &format!("http://127.0.0.1:{closing}"))
                .replace("CLOSED", &format!("http://127.0.0.1:{closed}"))
        };
        let tries = filled(tries);
        let started = Instant::now();
        let answer = ask(&mut set, &tries);
        let found = found(&answer, &tries);
        assert!(found.contains(&filled(finds)), "{tries}: {found}");
        let refusals = refusals(&answer);
        assert!(
            refusals.contains(&filled(refused)) && refusals.is_empty() == refused.is_empty(),
            "{tries}: {refusals:?}"
        );
        // An answer gets one second, whatever the server does; the rest allows for a busy machine.
        assert!(started.elapsed() < Duration::from_secs(10), "{tries}: {:?}", started.elapsed());
    }
    assert_eq!(other.seen(), 0, "a host that nobody named was asked");
}

#[test]
fn each_exchange_is_taken_down_without_its_path() {
    let Some(path) = built("web") else { return };
    let server = Server::plain();
    let tries = format!("POST {}/plain?token=secret body=100 times=2", server.url());
    let answer = asked(&Engine::new(None).unwrap(), &path, granted(&[server.url()]), &tries);
    assert_eq!(found(&answer, &tries), "200 hello | 200 hello");
    let [used] = answer.uses.as_slice() else { panic!("{:?}", answer.uses) };
    assert_eq!(
        (used.grant, used.what.as_str()),
        (Grant::Hosts, format!("POST {}", server.url()).as_str())
    );
    assert_eq!((used.count, used.bytes, used.refused.as_ref()), (2, 2 * (100 + 5), None));
}

#[test]
fn without_hosts_nothing_is_loaded_and_without_a_call_nothing_is_sent() {
    let Some(path) = built("web") else { return };
    let place = tempfile::tempdir().unwrap();
    let (engine, server) = (engine(&place), Server::plain());
    let tries = format!("GET {}/plain", server.url());
    let fault = asked(&engine, &path, Grants::default(), &tries).result.unwrap_err();
    assert_eq!(fault.kind, FaultKind::MissingGrant);
    assert!(
        fault.detail.contains("wasi:http/") && fault.detail.contains("hosts = [\"https://HOST\"]"),
        "{fault}"
    );

    let offline =
        asked(&engine, &path, Grants { offline: true, ..granted(&[server.url()]) }, &tries);
    assert!(found(&offline, &tries).contains("ErrorCode::HttpRequestDenied"), "{offline:?}");
    assert!(refusals(&offline).contains("nothing is sent in a replay"), "{offline:?}");

    let settings = vec![Setting { key: "tries".into(), value: SettingValue::Text(tries.clone()) }];
    let entry = PluginSpec {
        settings,
        grants: Arc::new(granted(&[server.url()])),
        ..file_entry("guest", path)
    };
    let prepared = set(&engine, vec![entry])
        .assess(&Action { tool: "prepared".into(), ..action() }, &context(), &no_details)
        .remove(0);
    assert!(found(&prepared, "prepared").contains("ErrorCode::HttpRequestDenied"), "{prepared:?}");
    assert_eq!(server.seen(), 0);
}

/// The parts of requests count towards the same limit as open files.
#[test]
fn stored_data_is_bounded() {
    let Some(path) = built("web") else { return };
    let answer =
        asked(&Engine::new(None).unwrap(), &path, granted(&["http://127.0.0.1:9".into()]), "HOARD");
    let fault = answer.result.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Trap);
    assert!(fault.detail.contains("more than 64"), "{fault}");
}

/// The addresses of a name, the network that was granted with it, the result, and the number of
/// connections to the server.
const LOOKUPS: &[(&[&str], &str, &str, usize)] = &[
    (&["127.0.0.1"], "", "DestinationIpProhibited", 0),
    (&["::ffff:127.0.0.1"], "", "DestinationIpProhibited", 0),
    (&["10.0.0.1"], "", "DestinationIpProhibited", 0),
    (&["169.254.169.254"], "", "DestinationIpProhibited", 0),
    (&["fd00::1"], "", "DestinationIpProhibited", 0),
    (&["::1 fe80::1"], "", "DestinationIpProhibited", 0),
    (&["64:ff9b::7f00:1"], "", "DestinationIpProhibited", 0),
    (&["2002:7f00:1::"], "", "DestinationIpProhibited", 0),
    (&["100.64.0.1"], "", "DestinationIpProhibited", 0),
    (&["0.0.0.0"], "", "DestinationIpProhibited", 0),
    (&[""], "", "DnsError", 0),
    (&[], "", "DnsError", 0),
    (&["127.0.0.1"], "=127.0.0.1", "200 hello", 1),
    (&["127.0.0.1"], "=127.0.0.0/8", "200 hello", 1),
    (&["::ffff:127.0.0.1"], "=127.0.0.0/8", "200 hello", 1),
    (&["10.0.0.1 127.0.0.1"], "=127.0.0.0/8", "200 hello", 1),
    (&["127.0.0.1"], "=10.0.0.0/8", "DestinationIpProhibited", 0),
    (&["8.8.8.8"], "=10.0.0.0/8", "DestinationIpProhibited", 0),
];

#[test]
fn a_name_leads_to_no_private_address_that_was_not_named() {
    let Some(path) = built("web") else { return };
    let place = tempfile::tempdir().unwrap();
    for (answers, within, finds, times) in LOOKUPS {
        let (server, script) = (Server::plain(), Script::new(answers));
        let engine = engine(&place).with_web(Web::new(script.clone()));
        let host = format!("http://app.example:{}", server.port);
        let tries = format!("GET {host}/plain");
        let answer = asked(&engine, &path, granted(&[format!("{host}{within}")]), &tries);
        let found = found(&answer, &tries);
        assert!(found.contains(finds), "{answers:?}{within}: {found}");
        assert_eq!(server.seen(), *times, "{answers:?}{within}");
        assert_eq!(script.asked(), ["app.example"], "{answers:?}{within}");
        assert_eq!(
            refusals(&answer).is_empty(),
            !found.contains("Prohibited"),
            "{answers:?}{within}: {:?}",
            answer.uses
        );
    }
}

/// Each request is checked with the addresses that it goes to, not with later ones.
#[test]
fn a_name_that_leads_elsewhere_the_next_time_leads_nowhere() {
    let Some(path) = built("web") else { return };
    let (server, script) =
        (Server::plain(), Script::new(&["127.0.0.1", "10.0.0.1", "127.0.0.1", "169.254.169.254"]));
    let engine = Engine::new(None).unwrap().with_web(Web::new(script.clone()));
    let host = format!("http://app.example:{}", server.port);
    let tries = format!("GET {host}/plain times=4");
    let answer = asked(&engine, &path, granted(&[format!("{host}=127.0.0.1")]), &tries);
    let denied = "ErrorCode::DestinationIpProhibited";
    assert_eq!(found(&answer, &tries), format!("200 hello | {denied} | 200 hello | {denied}"));
    assert_eq!((server.seen(), script.asked().len()), (2, 4));
}

/// A name service that takes longer than anybody waits.
struct Stuck;

impl NameResolver for Stuck {
    fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        std::thread::sleep(Duration::from_secs(60));
        Err(io::Error::other("too late"))
    }
}

#[test]
fn hanging_servers_do_not_stop_a_review() {
    let Some(path) = built("web") else { return };
    let (server, place) = (Server::plain(), tempfile::tempdir().unwrap());
    let engine = engine(&place).with_web(Web::new(Arc::new(Stuck)));
    let stuck = "http://app.example:80".to_owned();
    let all = granted(&[stuck.clone(), server.url()]);
    // The rest of a plugin's part of the review is a bound, too: without it four requests take four
    // seconds.
    for (tries, time_budget) in [
        (format!("GET {stuck}/"), None),
        (format!("GET {stuck}/ times=4"), Some(Duration::from_millis(400))),
        (format!("GET {}/silent times=4", server.url()), Some(Duration::from_millis(400))),
        ("BRIM".to_owned(), Some(Duration::from_millis(400))),
    ] {
        let entry =
            PluginSpec { grants: Arc::new(all.clone()), ..file_entry("guest", path.clone()) };
        let clock = ReviewClock { now_ms: 0, time_budget };
        let mut set = PluginSet::new(compiling(&engine), reader(), vec![entry], clock).unwrap();
        set.compile_all(|_| ());
        set.begin_review(0);
        let started = Instant::now();
        let answer = set
            .assess(&Action { tool: tries.clone(), ..action() }, &context(), &no_details)
            .remove(0);
        let took = started.elapsed();
        assert!(took < Duration::from_millis(3500), "{tries}: {took:?}");
        match answer.result {
            Ok(_) => assert!(found(&answer, &tries).contains("Timeout"), "{tries}: {answer:?}"),
            Err(fault) => assert_eq!(fault.kind, FaultKind::Timeout, "{tries}"),
        }
    }
}

#[test]
fn a_server_proves_who_it_is() {
    let Some(path) = built("web") else { return };
    let (ours, stranger) = (authority(), authority());
    let port = secure(&ours, "tls.example");
    let cases = [
        (&ours, "tls.example", "200 hello"),
        (&ours, "other.example", "ErrorCode::TlsCertificateError"),
        (&stranger, "tls.example", "ErrorCode::TlsCertificateError"),
    ];
    let place = tempfile::tempdir().unwrap();
    for (trusted, name, finds) in cases {
        let engine = engine(&place)
            .with_web(Web::new(Script::new(&["127.0.0.1"])).trusting_authorities(&[trusted.der()]));
        let tries = format!("GET https://{name}:{port}/plain");
        let answer =
            asked(&engine, &path, granted(&[format!("https://{name}:{port}=127.0.0.1")]), &tries);
        let found = found(&answer, &tries);
        assert!(found.contains(finds), "{name}: {found}");
    }
    // A server that does not speak TLS proves nothing.
    let plain = Server::plain();
    let tries = format!("GET https://127.0.0.1:{}/plain", plain.port);
    let answer = asked(
        &engine(&place),
        &path,
        granted(&[format!("https://127.0.0.1:{}", plain.port)]),
        &tries,
    );
    assert!(found(&answer, &tries).contains("ErrorCode::TlsProtocolError"), "{answer:?}");
}

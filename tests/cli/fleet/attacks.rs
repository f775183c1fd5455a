//! Everybody who should not get anything: without a certificate, with another authority's, with
//! another machine's name, with bodies and texts that are meant to break something.

use super::fleets::{Fleet, act, machine_of, send_all};
use super::wire::{
    Certificate, JOURNAL, batch, certificate_of, connect, post, read_answer, records, request,
};
use anyhow::{Context, Result, ensure};
use portcullis_store::{hash_record, to_hex};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);
/// The requests whose bodies one replica holds at once, for each of two.
const PLACES: usize = 2 * 32;

/// Issues a machine's certificate in the name of an authority.
fn issue(name: &str, authority: &Issuer<'_, KeyPair>) -> Result<Certificate> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, authority)?;
    Ok(Certificate { certificate: pem_of(certificate.der()), key: key_pem_of(&key) })
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = data_encoding::BASE64.encode(der);
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}

fn pem_of(der: &[u8]) -> String {
    pem("CERTIFICATE", der)
}

fn key_pem_of(key: &KeyPair) -> String {
    pem("PRIVATE KEY", key.serialized_der())
}

pub fn doors() -> Result<()> {
    let fleet = Fleet::start("doors")?;
    let (site, other) = (fleet.machine("door")?, fleet.machine("other door")?);
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let honest = |machine: &str| batch(machine, records(1, 3, "own"));
    let body = honest(&machine).to_string();
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let foreign = issue(&machine, &Issuer::new(params, key))?;
    let refused = request(&fleet, Some(&foreign), "POST /v1/records", "", body.as_bytes());
    ensure!(refused.is_err(), "another authority's certificate got an answer: {refused:?}");
    // The hub's own authority vouches for it, and the hub has never issued it.
    let unissued = {
        let authority = fs::read(fleet.folder.join("authority.pem"))?;
        let key = fs::read_to_string(fleet.folder.join("authority.key"))?;
        forge_with(&authority, &key, &machine)?
    };
    for (name, certificate, line, headers, body, status, refused) in [
        ("no certificate", None, "POST /v1/records", "", body.as_str(), 401, "unidentified"),
        ("no certificate for heads", None, "GET /v1/heads", "", "", 401, "unidentified"),
        ("no certificate to renew", None, "POST /v1/renew", "", "{}", 401, "unidentified"),
        ("no certificate to leave", None, "POST /v1/leave", "", "{}", 401, "unidentified"),
        (
            "a certificate that was not issued",
            Some(&unissued),
            "POST /v1/records",
            "",
            body.as_str(),
            403,
            "unknown",
        ),
        (
            "another machine in the body",
            Some(&own),
            "POST /v1/records",
            "",
            &honest(&machine_of(&other)?).to_string(),
            403,
            "foreign",
        ),
        ("no JSON", Some(&own), "POST /v1/records", "", "{", 400, "malformed"),
        ("deep JSON", Some(&own), "POST /v1/records", "", &"[".repeat(100_000), 400, "malformed"),
        (
            "an unknown field",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replacen('{', "{\"x\":1,", 1),
            400,
            "malformed",
        ),
        (
            "another version",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace("\"version\":1", "\"version\":2"),
            400,
            "malformed",
        ),
        (
            "a bad journal",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace(JOURNAL, "x'; DROP TABLE records; --"),
            400,
            "malformed",
        ),
        (
            "a negative sequence",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace("\"sequence\":1,", "\"sequence\":-1,"),
            400,
            "malformed",
        ),
        (
            "a huge sequence",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace("\"sequence\":1,", "\"sequence\":18446744073709551615,"),
            400,
            "malformed",
        ),
        (
            "record zero",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace("\"sequence\":1,", "\"sequence\":0,"),
            400,
            "malformed",
        ),
        (
            "a NUL",
            Some(&own),
            "POST /v1/records",
            "",
            &body.replace("\"subject\":\"s\"", "\"subject\":\"\\u0000\""),
            400,
            "malformed",
        ),
        (
            "a compressed body",
            Some(&own),
            "POST /v1/records",
            "content-encoding: gzip\r\n",
            &body,
            400,
            "malformed",
        ),
        ("no such address", Some(&own), "GET /v1/machines", "", "", 404, "not_found"),
        ("an operator's address", Some(&own), "POST /v1/revoke", "", "{}", 404, "not_found"),
        (
            "a token that is none",
            None,
            "POST /v1/join",
            "",
            r#"{"version":1,"secret":"' OR 1=1 --","name":"n","portcullis":"1","request":"r"}"#,
            403,
            "token",
        ),
    ] {
        let answer = request(&fleet, certificate, line, headers, body.as_bytes())
            .with_context(|| name.to_owned())?;
        ensure!(answer.refused() == (status, refused), "{name}: {answer:?}");
    }
    // A request for a certificate cannot choose whose it is.
    let renewal = json!({ "version": 1, "portcullis": "1", "request": "no request" });
    let answer = request(&fleet, Some(&own), "POST /v1/renew", "", renewal.to_string().as_bytes())?;
    ensure!(answer.refused() == (400, "malformed"), "{answer:?}");
    ensure!(fleet.query("SELECT count(*) FROM records")? == "0");
    ensure!(post(&fleet, &own, &honest(&machine))?.status == 200);
    fleet.output(&["hub", "revoke", &machine])?;
    // However much it sends: it reads the refusal, and not just a connection that has ended.
    for word in ["own".to_owned(), "own ".repeat(500)] {
        for _ in 0..5 {
            let answer = post(&fleet, &own, &batch(&machine, records(1, 300, &word)))?;
            ensure!(answer.refused() == (403, "revoked"), "{answer:?}");
        }
    }
    Ok(())
}

/// Issues a certificate with the hub's stolen authority.
fn forge_with(authority: &[u8], key: &str, machine: &str) -> Result<Certificate> {
    use rustls::pki_types::pem::PemObject;
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let key = KeyPair::try_from(&key)?;
    // The issuer's name and key are all that counts of it.
    let _ = authority;
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "Portcullis hub");
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    issue(machine, &Issuer::new(params, key))
}

/// Bodies that are too large, have no end, or do not come. The hub's memory stays small, and
/// others get their answers.
pub fn bodies() -> Result<()> {
    let fleet = Fleet::start("bodies")?;
    let site = fleet.machine("bodies")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let before = memory_of(&fleet)?;
    // A body of 100 MB, as the header says.
    let mut stream = connect(&fleet, Some(&own))?;
    let head = "POST /v1/records HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 100000000\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    ensure!(read_answer(&mut stream)?.refused() == (400, "malformed"));
    // One of 100 MB in chunks that say nothing of the end.
    let mut stream = connect(&fleet, Some(&own))?;
    let head = "POST /v1/records HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let sent = (0..1600).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    ensure!(sent < 1600, "the hub has read 100 MB");
    // Many that come slowly.
    let slow: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(&fleet, Some(&own))?;
            let head = "POST /v1/records HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n{";
            stream.write_all(head.as_bytes())?;
            Ok(thread::spawn(move || {
                let start = Instant::now();
                let answer = read_answer(&mut stream);
                (answer.map(|answer| answer.status), start.elapsed())
            }))
        })
        .collect::<Result<_>>()?;
    // One that never says what it wants.
    let mut silent = connect(&fleet, Some(&own))?;
    silent.write_all(b"POST /v1/records HT")?;
    ensure!(post(&fleet, &own, &batch(&machine, records(1, 3, "own")))?.status == 200);
    for ended in slow {
        let (status, took) = ended.join().unwrap();
        ensure!(status? == 400 && took < Duration::from_secs(25), "{took:?}");
    }
    busy(&fleet, &own, &machine)?;
    let mut rest = Vec::new();
    let _ = silent.read_to_end(&mut rest);
    let after = memory_of(&fleet)?;
    ensure!(after < before + (64 << 10), "{before} KiB before, {after} KiB after");
    ensure!(post(&fleet, &own, &batch(&machine, records(1, 4, "own")))?.status == 200);
    Ok(())
}

/// Returns the resident memory of the first replica, in KiB.
/// While every place is taken, a batch is told to come again, however long it is.
fn busy(fleet: &Fleet, own: &Certificate, machine: &str) -> Result<()> {
    let taking = || -> Result<_> {
        let mut stream = connect(fleet, Some(own))?;
        stream.write_all(b"POST /v1/records HTTP/1.1\r\ncontent-length: 1000\r\n\r\n{")?;
        Ok(stream)
    };
    let taken = (0..PLACES).map(|_| taking()).collect::<Result<Vec<_>>>()?;
    let short = batch(machine, records(1, 3, "own"));
    let await_status = |status: u16| -> Result<()> {
        let start = Instant::now();
        while post(fleet, own, &short)?.status != status {
            ensure!(start.elapsed() < Duration::from_secs(10), "never {status}");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    };
    await_status(503)?;
    let long = batch(machine, records(1, 300, &"own ".repeat(500)));
    for sent in [&short, &long, &long, &long, &long] {
        let answer = post(fleet, own, sent)?;
        ensure!(answer.refused() == (503, "busy"), "{answer:?}");
    }
    drop(taken);
    await_status(200)
}

fn memory_of(fleet: &Fleet) -> Result<u64> {
    let id = fleet.replica_ids()[0].to_string();
    let shown = Command::new("ps").args(["-o", "rss=", "-p", &id]).output()?;
    Ok(String::from_utf8(shown.stdout)?.trim().parse()?)
}

/// Rows: texts that are meant to be something else than text.
pub fn texts() -> Result<()> {
    let fleet = Fleet::start("texts")?;
    let site = fleet.machine("texts")?;
    let (own, machine) = (certificate_of(&site)?, machine_of(&site)?);
    let mut previous = [0; 32];
    let mut sent = Vec::new();
    for (index, text) in [
        "'; DROP TABLE records; --",
        "\\'; SELECT pg_sleep(60); --",
        "$$; DELETE FROM machines; $$",
        "<script>alert(1)</script>",
        "\u{1b}[2J\u{202e}gpj.exe",
        "{\"a\":[1,2],NULL}",
        "%s%n{0}{}",
    ]
    .into_iter()
    .enumerate()
    {
        let sequence = index as u64 + 1;
        let document =
            json!({ "id": text, "at": 1, "kind": text, "decision": { "verdict": text } })
                .to_string();
        let hash = hash_record(&previous, sequence, document.as_bytes(), None);
        sent.push(json!({
            "sequence": sequence, "previous": to_hex(&previous), "hash": to_hex(&hash), "id": text,
            "at": 1, "kind": text, "session": text, "agent": text, "subject": text,
            "verdict": text, "document": document, "exact": true,
        }));
        previous = hash;
    }
    let mut whole = batch(&machine, sent.clone());
    whole["portcullis"] = json!("\u{1b}[31m'; DROP TABLE machines; --");
    let answer = post(&fleet, &own, &whole)?;
    ensure!(answer.status == 200, "{answer:?}");
    let stored = fleet.query(
        "SELECT json_agg(json_build_array(id, kind, session, agent, subject, verdict, document) \
         ORDER BY sequence) FROM records",
    )?;
    let stored: Value = serde_json::from_str(&stored)?;
    for (row, sent) in stored.as_array().unwrap().iter().zip(&sent) {
        for (column, name) in
            ["id", "kind", "session", "agent", "subject", "verdict", "document"].iter().enumerate()
        {
            ensure!(row[column] == sent[*name], "{name}: {row}");
        }
    }
    // A name and a reason reach an operator's terminal as text.
    let named = crate::common::site::Site::new("named")?;
    let token = fleet.token("token-named", &[])?.display().to_string();
    let name = "\u{1b}[2J\u{202e}evil\n  m-0  other";
    named.output(&["fleet", "join", &fleet.url(), "--token-file", &token, "--name", name])?;
    act(&named, 1)?;
    send_all(&named, LIMIT)?;
    fleet.output(&["hub", "revoke", &machine_of(&named)?, "--reason", "\u{1b}[31mred"])?;
    for shown in [fleet.output(&["hub", "machines"])?, fleet.output(&["hub", "incidents"])?] {
        ensure!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
    }
    ensure!(fleet.list("machines")?.len() == 2);
    Ok(())
}

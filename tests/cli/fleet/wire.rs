//! Requests to a hub byte for byte, with any certificate or none, and batches that can be forged.

use super::fleets::{Fleet, identity};
use crate::common::site::Site;
use anyhow::{Context, Result};
use portcullis_store::{Hash, hash_record, to_hex};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The zeros before the first record.
pub const GENESIS: Hash = [0; 32];
/// A journal's id.
pub const JOURNAL: &str = "0123456789abcdef0123456789abcdef";

/// A certificate with its key, in PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub certificate: String,
    pub key: String,
}

/// An answer of the hub.
#[derive(Clone, Debug)]
pub struct HubAnswer {
    pub status: u16,
    pub body: Value,
}

impl HubAnswer {
    /// Returns status and sort of a refusal.
    pub fn refused(&self) -> (u16, &str) {
        (self.status, self.body["refused"].as_str().unwrap_or(""))
    }
}

/// Returns a machine's own certificate.
pub fn certificate_of(site: &Site) -> Result<Certificate> {
    let identity = identity(site)?;
    let text = |name: &str| identity[name].as_str().map(str::to_owned).context("no such text");
    Ok(Certificate { certificate: text("certificate")?, key: text("key")? })
}

/// Connects to a replica with this certificate.
pub fn connect(
    fleet: &Fleet,
    certificate: Option<&Certificate>,
) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    connect_to(fleet, fleet.replica(0), certificate)
}

fn connect_to(
    fleet: &Fleet,
    address: SocketAddr,
    certificate: Option<&Certificate>,
) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = fs::read(fleet.folder.join("authority.pem"))?;
    roots.add(CertificateDer::from_pem_slice(&authority)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = match certificate {
        None => config.with_no_client_auth(),
        Some(own) => config.with_client_auth_cert(
            vec![CertificateDer::from_pem_slice(own.certificate.as_bytes())?],
            PrivateKeyDer::from_pem_slice(own.key.as_bytes())?,
        )?,
    };
    let name = ServerName::try_from("localhost")?;
    let connection = ClientConnection::new(Arc::new(config), name)?;
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(40)))?;
    Ok(StreamOwned::new(connection, stream))
}

/// Sends one request and reads the whole answer; fails if the connection gives none.
pub fn request(
    fleet: &Fleet,
    certificate: Option<&Certificate>,
    line: &str,
    headers: &str,
    body: &[u8],
) -> Result<HubAnswer> {
    let mut stream = connect(fleet, certificate)?;
    let head = format!(
        "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    // A hub that has seen enough may answer before it has read everything.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    read_answer(&mut stream)
}

/// Sends one request to an address of the hub; returns the answer as it came.
pub fn request_to(
    fleet: &Fleet,
    address: SocketAddr,
    certificate: Option<&Certificate>,
    line: &str,
    headers: &str,
    body: &[u8],
) -> Result<String> {
    let mut stream = connect_to(fleet, address, certificate)?;
    let head = format!(
        "{line} HTTP/1.1\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads an answer up to the end of the connection.
pub fn read_answer(stream: &mut impl Read) -> Result<HubAnswer> {
    let mut bytes = Vec::new();
    // The end may be a broken connection: what came before counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok(HubAnswer { status, body: serde_json::from_str(body).unwrap_or(Value::Null) })
}

/// Posts a batch as a machine.
pub fn post(fleet: &Fleet, own: &Certificate, batch: &Value) -> Result<HubAnswer> {
    request(fleet, Some(own), "POST /v1/records", "", batch.to_string().as_bytes())
}

/// Returns records `from..=to` of a journal whose documents hold `word`.
pub fn records(from: u64, to: u64, word: &str) -> Vec<Value> {
    let mut previous = GENESIS;
    let mut all = Vec::new();
    for sequence in 1..=to {
        let id = format!("{word}{sequence}");
        let document = json!({ "id": id, "at": sequence, "kind": "session" }).to_string();
        let hash = hash_record(&previous, sequence, document.as_bytes(), None);
        all.push(json!({
            "sequence": sequence, "previous": to_hex(&previous), "hash": to_hex(&hash), "id": id,
            "at": sequence, "kind": "session", "subject": "s", "document": document, "exact": true,
        }));
        previous = hash;
    }
    all.split_off(usize::try_from(from).unwrap_or(1) - 1)
}

/// Returns an honest batch with these records.
pub fn batch(machine: &str, records: Vec<Value>) -> Value {
    let head = records.last().map_or(
        json!({ "sequence": 0, "hash": to_hex(&GENESIS) }),
        |last| json!({ "sequence": last["sequence"], "hash": last["hash"] }),
    );
    json!({
        "version": 1, "machine": machine, "journal": JOURNAL, "portcullis": "0.1.0",
        "start": { "sequence": 0, "hash": to_hex(&GENESIS) }, "head": head, "detail": "full",
        "records": records,
    })
}

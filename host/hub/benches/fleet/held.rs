//! A connection of a machine that asks for orders, as light as can be: ten thousand of them are tasks of
//! one process. The messages are the protocol's own; HTTP is written by hand.

use portcullis_fleet::Membership;
use portcullis_fleet::protocol::{LONGEST_WAIT, OrdersAnswer, OrdersRequest, VERSION};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io::{Error, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The status of a hub that asks to come again.
pub const BUSY: u16 = 503;
/// The longest answer, in bytes.
const LONGEST: usize = 4 << 20;
/// The time for a connection, and that for an answer beyond the time for which it is held.
const PATIENCE: Duration = Duration::from_secs(60);

/// The connection.
pub struct HeldConnection(TlsStream<TcpStream>);

/// An answer of the hub.
pub enum Answer {
    /// The answer itself.
    Orders(Box<OrdersAnswer>),
    /// The status of a refusal.
    Refused(u16),
}

impl HeldConnection {
    /// Connects a machine to its hub.
    pub async fn connect(member: &Membership) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(read_certificate(&member.authority)?).map_err(Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from_pem_slice(member.key.as_bytes()).map_err(Error::other)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::other)?
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![read_certificate(&member.certificate)?], key)
            .map_err(Error::other)?;
        let port = member.hub.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let address = ("127.0.0.1", port.ok_or_else(|| Error::other("no port"))?);
        let name = ServerName::try_from("localhost").map_err(Error::other)?;
        let connecting = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            TlsConnector::from(Arc::new(config)).connect(name, stream).await
        };
        Ok(Self(timeout(PATIENCE, connecting).await??))
    }

    /// Asks for orders that are newer than `seen`, and waits for them as long as the hub holds the
    /// request.
    pub async fn ask_orders(&mut self, seen: u64) -> Result<Answer> {
        let wait_seconds = u32::try_from(LONGEST_WAIT.as_secs()).unwrap_or(0);
        let request =
            OrdersRequest { version: VERSION, seen, refused: None, wait_seconds, trial: None };
        let body = serde_json::to_string(&request)?;
        let request = format!(
            "POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await?;
        self.0.flush().await?;
        let (status, body) = timeout(LONGEST_WAIT + PATIENCE, self.read_answer()).await??;
        Ok(match status {
            200 => Answer::Orders(serde_json::from_slice(&body)?),
            other => Answer::Refused(other),
        })
    }

    /// Reads an answer; returns its status and its body.
    async fn read_answer(&mut self) -> Result<(u16, Vec<u8>)> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
                let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
                let status = number(head.split(' ').nth(1)).and_then(|all| u16::try_from(all).ok());
                let (Some(status), Some(length)) = (status, number(length)) else {
                    return Err(Error::other("an answer that is none"));
                };
                let length: usize = length;
                if bytes.len() >= end + 4 + length {
                    return Ok((status, bytes.split_off(end + 4)));
                }
            }
            if bytes.len() > LONGEST || self.0.read_buf(&mut bytes).await? == 0 {
                return Err(Error::other("the connection ended"));
            }
        }
    }
}

fn read_certificate(pem: &str) -> Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(Error::other)
}

//! Why a registry did not do what was asked of it.

use crate::access::Limits;
use portcullis_bundle::{BundleError, SignatureError};
use portcullis_core::text::bare;
use std::time::Duration;

/// Bytes of a registry's own words.
const SAID_BYTES: usize = 160;

/// What failed where.
#[derive(Debug, thiserror::Error)]
#[error("`{registry}`: {asked}: {why}")]
pub struct Error {
    /// Host and port of the registry.
    pub registry: String,
    /// What was asked for, in words.
    pub asked: String,
    /// What came of it.
    pub why: Why,
}

/// What came in place of what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// Nobody by that name.
    #[error("it is not there")]
    NotFound,
    /// The registry wants to know who asks, or knows and refuses; with what was tried.
    #[error("{0}")]
    Unauthorized(String),
    /// The docker configuration, or a helper that it names.
    #[error("{0}")]
    Credential(String),
    /// TLS did not come about.
    #[error("no secure connection ({0}); name the file of the certificate's authority (`SSL_CERT_FILE`), or have the certificate renewed")]
    Certificate(String),
    /// TLS was spoken, and something else answered.
    #[error("it answers without TLS; if it has none and that is meant, allow plain HTTP for it")]
    NoTls,
    /// No TLS where it takes some.
    #[error("{0}")]
    Plain(String),
    /// No connection, or one that broke.
    #[error("it cannot be reached ({0}); check the name, the network and the proxy")]
    Unreachable(String),
    /// The proxy did not connect us.
    #[error("the proxy `{0}` did not connect us to it; look whether the proxy knows us and lets us reach that host")]
    Proxy(String),
    /// Nothing came for so long.
    #[error("nothing came for {} s; check the network, or give it longer", .0.as_secs_f32())]
    Silent(Duration),
    /// All together took too long.
    #[error("it was not through within {} s; check the network, or give it longer", .0.as_secs_f32())]
    Late(Duration),
    /// The body ended before its end.
    #[error("it ended after {0} bytes, early; try again")]
    Cut(u64),
    /// More bytes than were told, or than anybody reads.
    #[error("it is longer than the {0} bytes that it may have")]
    TooLong(u64),
    /// A body that is not the bytes that were asked for, but has to be decoded to them.
    #[error("it came encoded as `{0}`; bytes that have a digest come as they are")]
    Encoded(String),
    /// An answer that is none.
    #[error("it answered {status}{said}{mend}")]
    Answer {
        /// Of HTTP.
        status: u16,
        /// Its own words, in quotation marks after a colon, where it had some.
        said: String,
        /// What to do, after a semicolon, where that is known.
        mend: &'static str,
    },
    /// A document that is none.
    #[error("{0}")]
    Malformed(String),
    /// A redirect that is not followed.
    #[error("{0}")]
    Redirect(String),
    /// More than anybody has.
    #[error("{0}")]
    TooMany(String),
    /// Other bytes than the bundle's, or no bundle.
    #[error(transparent)]
    Bundle(#[from] Box<BundleError>),
    /// A signature whose bytes are others than were named, or that could not be written.
    #[error(transparent)]
    Signature(#[from] Box<SignatureError>),
}

impl Why {
    /// Whether the same may come out otherwise in a moment.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    pub(crate) fn answer(status: u16, body: &[u8]) -> Self {
        let said = said(body);
        let mend = match status {
            403 => "; whoever you are there may not do that: ask its owner, or log in as somebody else",
            405 => "; it may be read-only",
            413 => "; it takes no bundle of that size",
            429 => "; it has had too many requests: try again later",
            500..=599 => "; that is a fault of the registry's: try again later",
            _ => "",
        };
        Self::Answer { status, said: if said.is_empty() { said } else { format!(": \"{said}\"") }, mend }
    }

    /// What the HTTP library says, with the proxy that was asked and the limits that were set for it.
    pub(crate) fn transport(error: ureq::Error, through: Option<&str>, limits: &Limits) -> Self {
        match error {
            ureq::Error::Timeout(ureq::Timeout::Global) => Self::Late(limits.all),
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => Self::Silent(limits.connect),
            ureq::Error::Timeout(_) => Self::Silent(limits.read),
            // The proxy's own words stay out: they may repeat how we introduced ourselves.
            ureq::Error::ConnectProxyFailed(_) => Self::Proxy(through.unwrap_or_default().to_owned()),
            ureq::Error::Rustls(_) | ureq::Error::Tls(_) => tls(&error.to_string()),
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => tls(&error.to_string()),
            ureq::Error::Io(error) => Self::Unreachable(bare(&error.to_string(), SAID_BYTES)),
            ureq::Error::HostNotFound => Self::Unreachable("there is no such host".to_owned()),
            ureq::Error::LargeResponseHeader(..) => Self::Malformed("the head of its answer has no end".to_owned()),
            ureq::Error::Protocol(error) => Self::Malformed(format!("it does not speak HTTP ({})", bare(&error.to_string(), SAID_BYTES))),
            error => Self::Unreachable(bare(&error.to_string(), SAID_BYTES)),
        }
    }
}

fn tls(what: &str) -> Why {
    if what.contains("corrupt message") { Why::NoTls } else { Why::Certificate(bare(what, SAID_BYTES)) }
}

/// Its own words: of OCI's list of errors the first, of anything else its beginning.
fn said(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Errors {
        errors: Vec<One>,
    }
    #[derive(serde::Deserialize)]
    struct One {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let listed = serde_json::from_slice::<Errors>(body).ok().and_then(|all| all.errors.into_iter().next());
    let text = listed.map_or_else(
        || String::from_utf8_lossy(body).trim().to_owned(),
        |one| [one.code, one.message].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", "),
    );
    bare(&text, SAID_BYTES)
}

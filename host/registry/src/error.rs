//! The errors of requests to a registry.

use crate::access::TransferLimits;
use portcullis_bundle::{BundleError, IndexArtifactError, SignatureError};
use portcullis_core::text::strip_quotes;
use std::time::Duration;

/// The most bytes of a registry's message that are shown.
const SAID_BYTES: usize = 160;

/// A failed request: where it failed and why.
#[derive(Debug, thiserror::Error)]
#[error("`{registry}`: {asked}: {why}")]
pub struct RegistryError {
    /// The host and port of the registry.
    pub registry: String,
    /// The request, as text.
    pub asked: String,
    /// The reason.
    pub why: ErrorReason,
}

/// The reasons for a failure.
#[derive(Debug, thiserror::Error)]
pub enum ErrorReason {
    /// It does not exist.
    #[error("it is not there")]
    NotFound,
    /// The registry requires authentication, or refuses ours; with the credentials that were tried.
    #[error("{0}")]
    Unauthorized(String),
    /// The docker configuration, or a helper that it names, failed.
    #[error("{0}")]
    Credential(String),
    /// The TLS connection failed.
    #[error(
        "no secure connection ({0}); name the file of the certificate's authority \
         (`SSL_CERT_FILE`), or have the certificate renewed"
    )]
    Certificate(String),
    /// The answer to TLS was not TLS.
    #[error("it answers without TLS")]
    NoTls,
    /// It does not use TLS where it is required.
    #[error("{0}")]
    Plain(String),
    /// The connection could not be made, or broke.
    #[error("it cannot be reached ({0}); check the name, the network and the proxy")]
    Unreachable(String),
    /// The proxy did not connect.
    #[error(
        "the proxy `{0}` did not connect us to it; check that the proxy knows us and lets us reach that host"
    )]
    Proxy(String),
    /// Nothing was received within this timeout.
    #[error("no data for {} s; check the network, or allow more time", .0.as_secs_f32())]
    Silent(Duration),
    /// The deadline for the whole operation passed.
    #[error("it did not finish within {} s; check the network, or allow more time", .0.as_secs_f32())]
    Late(Duration),
    /// The body was truncated.
    #[error("it ended after {0} bytes, early; try again")]
    Cut(u64),
    /// The body has more bytes than announced, or than are read.
    #[error("it is longer than the {0} bytes that it may have")]
    TooLong(u64),
    /// The body has a content encoding, so its bytes are not the requested ones.
    #[error("it is encoded as `{0}`; bytes that have a digest must not be")]
    Encoded(String),
    /// An unexpected response.
    #[error("it answered {status}{said}{fix}")]
    Answer {
        /// The HTTP status.
        status: u16,
        /// The registry's message, in quotation marks after a colon, if there is one.
        said: String,
        /// The fix, after a semicolon, if it is known.
        fix: &'static str,
    },
    /// An invalid document.
    #[error("{0}")]
    Malformed(String),
    /// A redirect that is not followed.
    #[error("{0}")]
    Redirect(String),
    /// More items than are supported.
    #[error("{0}")]
    TooMany(String),
    /// The bytes are not the bundle's, or not a bundle.
    #[error(transparent)]
    Bundle(#[from] Box<BundleError>),
    /// The bytes are not those of an index of bundles.
    #[error(transparent)]
    Index(#[from] Box<IndexArtifactError>),
    /// A signature whose bytes are not the named ones, or that could not be written.
    #[error(transparent)]
    Signature(#[from] Box<SignatureError>),
}

impl ErrorReason {
    /// Returns true if a retry may succeed.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    pub(crate) fn answer(status: u16, body: &[u8]) -> Self {
        let said = said(body);
        let fix = match status {
            403 => "; this login may not do that: ask its owner, or log in as somebody else",
            405 => "; it may be read-only",
            413 => "; it does not accept a bundle of that size",
            429 => "; too many requests: try again later",
            500..=599 => "; the registry failed: try again later",
            _ => "",
        };
        Self::Answer {
            status,
            said: if said.is_empty() { said } else { format!(": \"{said}\"") },
            fix,
        }
    }

    /// Converts an error of the HTTP library; `through` is the proxy that was used, `limits` are
    /// the timeouts that were set.
    pub(crate) fn transport(
        error: ureq::Error,
        through: Option<&str>,
        limits: &TransferLimits,
    ) -> Self {
        match error {
            ureq::Error::Timeout(ureq::Timeout::Global) => Self::Late(limits.all),
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                Self::Silent(limits.connect)
            }
            ureq::Error::Timeout(_) => Self::Silent(limits.read),
            // The proxy's own message is left out: it may repeat our credentials.
            ureq::Error::ConnectProxyFailed(_) => {
                Self::Proxy(through.unwrap_or_default().to_owned())
            }
            ureq::Error::Rustls(_) | ureq::Error::Tls(_) => tls(&error.to_string()),
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                tls(&error.to_string())
            }
            ureq::Error::Io(error) => {
                Self::Unreachable(strip_quotes(&error.to_string(), SAID_BYTES))
            }
            ureq::Error::HostNotFound => Self::Unreachable("there is no such host".to_owned()),
            ureq::Error::LargeResponseHeader(..) => {
                Self::Malformed("the head of its answer has no end".to_owned())
            }
            ureq::Error::Protocol(error) => Self::Malformed(format!(
                "it does not speak HTTP ({})",
                strip_quotes(&error.to_string(), SAID_BYTES)
            )),
            error => Self::Unreachable(strip_quotes(&error.to_string(), SAID_BYTES)),
        }
    }
}

fn tls(what: &str) -> ErrorReason {
    if what.contains("corrupt message") {
        ErrorReason::NoTls
    } else {
        ErrorReason::Certificate(strip_quotes(what, SAID_BYTES))
    }
}

/// Extracts the message: the first of OCI's list of errors, or else the beginning of the body.
fn said(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Errors {
        errors: Vec<ErrorEntry>,
    }
    #[derive(serde::Deserialize)]
    struct ErrorEntry {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let listed =
        serde_json::from_slice::<Errors>(body).ok().and_then(|all| all.errors.into_iter().next());
    let text = listed.map_or_else(
        || String::from_utf8_lossy(body).trim().to_owned(),
        |one| {
            [one.code, one.message]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        },
    );
    strip_quotes(&text, SAID_BYTES)
}

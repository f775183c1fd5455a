//! The reasons for a missing answer, in the terms of `wasi:http`.

use std::io;
use ureq::Timeout;

/// The reason for a missing answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpError {
    /// The case of `error-code` that the guest gets.
    pub(crate) code: &'static str,
    /// An explanation: for the record if it was refused, for the guest if its code has room for
    /// one.
    pub(crate) says: Option<&'static str>,
    /// True if it was refused; otherwise it failed.
    pub(crate) refused: bool,
}

const fn failed(code: &'static str) -> HttpError {
    HttpError { code, says: None, refused: false }
}

const fn refused(code: &'static str, why: &'static str) -> HttpError {
    HttpError { code, says: Some(why), refused: true }
}

impl HttpError {
    pub(crate) const NOT_NAMED: Self = refused("HTTP-request-denied", "this host is not granted");
    pub(crate) const NOT_NOW: Self = refused("HTTP-request-denied", "nothing is sent in a replay");
    pub(crate) const TOO_MANY: Self =
        refused("HTTP-request-denied", "it already sent 4 requests in the same call");
    pub(crate) const PRIVATE: Self =
        refused("destination-IP-prohibited", "its name resolves to a private address");
    pub(crate) const ELSEWHERE: Self = refused(
        "destination-IP-prohibited",
        "its name resolves to an address outside the granted network",
    );
    pub(crate) const LONG_REQUEST: Self =
        refused("HTTP-request-body-size", "its body has more than 64 KiB");
    pub(crate) const LONG_ANSWER: Self =
        refused("HTTP-response-body-size", "the answer has more than 256 KiB");
    pub(crate) const OTHER_LENGTH: Self = failed("HTTP-request-body-size");
    pub(crate) const UNFINISHED: Self = Self {
        code: "internal-error",
        says: Some("the body was not finished before the answer was requested"),
        refused: false,
    };
    pub(crate) const TRAILERS: Self = failed("HTTP-request-trailer-section-size");
    pub(crate) const METHOD: Self = failed("HTTP-request-method-invalid");
    pub(crate) const BAD_URI: Self = failed("HTTP-request-URI-invalid");
    pub(crate) const NO_NAME: Self = failed("DNS-error");
    pub(crate) const NO_NAME_IN_TIME: Self = failed("DNS-timeout");
    pub(crate) const TIMEOUT: Self = failed("HTTP-response-timeout");
    pub(crate) const PROTOCOL: Self = failed("HTTP-protocol-error");
    pub(crate) const INTERNAL: Self = failed("internal-error");
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(Timeout::Connect) => failed("connection-timeout"),
            ureq::Error::Timeout(_) => Self::TIMEOUT,
            ureq::Error::LargeResponseHeader(..) => failed("HTTP-response-header-section-size"),
            ureq::Error::Protocol(ref inner) if inner.to_string().contains("too many headers") => {
                failed("HTTP-response-header-section-size")
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => {
                of_tls(&error.to_string())
            }
            ureq::Error::BadUri(_) => Self::BAD_URI,
            ureq::Error::Io(error) => of_io(&error),
            _ => Self::PROTOCOL,
        }
    }
}

fn of_io(error: &io::Error) -> HttpError {
    failed(match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection-refused",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => "connection-terminated",
        io::ErrorKind::UnexpectedEof => "HTTP-response-incomplete",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "destination-IP-unroutable"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => return HttpError::TIMEOUT,
        // TLS errors are reported as read errors.
        io::ErrorKind::InvalidData => return of_tls(&error.to_string()),
        _ => "connection-terminated",
    })
}

fn of_tls(words: &str) -> HttpError {
    failed(if words.contains("certificate") {
        "TLS-certificate-error"
    } else {
        "TLS-protocol-error"
    })
}

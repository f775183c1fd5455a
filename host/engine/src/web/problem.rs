//! The reasons for a missing answer, in the terms of `wasi:http`.

use std::io;
use ureq::Timeout;
use wasmtime_wasi_http::Error;

/// The case of `error-code` that a guest gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    DnsError,
    DnsTimeout,
    Protocol,
    RequestUri,
    RequestBodySize,
    RequestDenied,
    RequestMethod,
    RequestHeaders,
    RequestTrailers,
    ResponseBodySize,
    ResponseHeaders,
    ResponseIncomplete,
    ResponseTimeout,
    TlsCertificate,
    TlsProtocol,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    AddressProhibited,
    AddressUnroutable,
    Internal,
}

/// The reason for a missing answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpError {
    /// The case of `error-code` that the guest gets.
    code: Code,
    /// An explanation: for the record if it was refused, for the guest if its code has room for
    /// one.
    pub(crate) says: Option<&'static str>,
    /// True if it was refused; otherwise it failed.
    pub(crate) refused: bool,
}

const fn failed(code: Code) -> HttpError {
    HttpError { code, says: None, refused: false }
}

const fn refused(code: Code, why: &'static str) -> HttpError {
    HttpError { code, says: Some(why), refused: true }
}

impl HttpError {
    pub(crate) const NOT_NAMED: Self = refused(Code::RequestDenied, "this host is not granted");
    pub(crate) const NOT_NOW: Self = refused(Code::RequestDenied, "nothing is sent in a replay");
    pub(crate) const TOO_MANY: Self =
        refused(Code::RequestDenied, "it already sent 4 requests in the same call");
    pub(crate) const PRIVATE: Self =
        refused(Code::AddressProhibited, "its name resolves to a private address");
    pub(crate) const ELSEWHERE: Self = refused(
        Code::AddressProhibited,
        "its name resolves to an address outside the granted network",
    );
    pub(crate) const LONG_REQUEST: Self =
        refused(Code::RequestBodySize, "its body has more than 64 KiB");
    pub(crate) const LONG_ANSWER: Self =
        refused(Code::ResponseBodySize, "the answer has more than 256 KiB");
    pub(crate) const OTHER_LENGTH: Self = failed(Code::RequestBodySize);
    pub(crate) const UNFINISHED: Self = Self {
        code: Code::Internal,
        says: Some("the body was not finished before the answer was requested"),
        refused: false,
    };
    pub(crate) const MANY_HEADERS: Self = failed(Code::RequestHeaders);
    pub(crate) const TRAILERS: Self = failed(Code::RequestTrailers);
    pub(crate) const METHOD: Self = failed(Code::RequestMethod);
    pub(crate) const BAD_URI: Self = failed(Code::RequestUri);
    pub(crate) const NO_NAME: Self = failed(Code::DnsError);
    pub(crate) const NO_NAME_IN_TIME: Self = failed(Code::DnsTimeout);
    pub(crate) const TIMEOUT: Self = failed(Code::ResponseTimeout);
    pub(crate) const PROTOCOL: Self = failed(Code::Protocol);
    pub(crate) const INTERNAL: Self = failed(Code::Internal);
}

impl From<HttpError> for Error {
    fn from(problem: HttpError) -> Self {
        match problem.code {
            Code::DnsError => Self::DnsError { rcode: None, info_code: None },
            Code::DnsTimeout => Self::DnsTimeout,
            Code::Protocol => Self::HttpProtocolError,
            Code::RequestUri => Self::HttpRequestUriInvalid,
            Code::RequestBodySize => Self::HttpRequestBodySize(None),
            Code::RequestDenied => Self::HttpRequestDenied,
            Code::RequestMethod => Self::HttpRequestMethodInvalid,
            Code::RequestHeaders => Self::HttpRequestHeaderSectionSize(None),
            Code::RequestTrailers => Self::HttpRequestTrailerSectionSize(None),
            Code::ResponseBodySize => Self::HttpResponseBodySize(None),
            Code::ResponseHeaders => Self::HttpResponseHeaderSectionSize(None),
            Code::ResponseIncomplete => Self::HttpResponseIncomplete,
            Code::ResponseTimeout => Self::HttpResponseTimeout,
            Code::TlsCertificate => Self::TlsCertificateError,
            Code::TlsProtocol => Self::TlsProtocolError,
            Code::ConnectionRefused => Self::ConnectionRefused,
            Code::ConnectionTerminated => Self::ConnectionTerminated,
            Code::ConnectionTimeout => Self::ConnectionTimeout,
            Code::AddressProhibited => Self::DestinationIpProhibited,
            Code::AddressUnroutable => Self::DestinationIpUnroutable,
            Code::Internal => Self::InternalError(problem.says.map(str::to_owned)),
        }
    }
}

impl From<ureq::Error> for HttpError {
    fn from(error: ureq::Error) -> Self {
        match error {
            ureq::Error::Timeout(Timeout::Connect) => failed(Code::ConnectionTimeout),
            ureq::Error::Timeout(_) => Self::TIMEOUT,
            ureq::Error::LargeResponseHeader(..) => failed(Code::ResponseHeaders),
            ureq::Error::Protocol(ref inner) if inner.to_string().contains("too many headers") => {
                failed(Code::ResponseHeaders)
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
        io::ErrorKind::ConnectionRefused => Code::ConnectionRefused,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Code::ConnectionTerminated,
        io::ErrorKind::UnexpectedEof => Code::ResponseIncomplete,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            Code::AddressUnroutable
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => return HttpError::TIMEOUT,
        // TLS errors are reported as read errors.
        io::ErrorKind::InvalidData => return of_tls(&error.to_string()),
        _ => Code::ConnectionTerminated,
    })
}

fn of_tls(words: &str) -> HttpError {
    failed(if words.contains("certificate") { Code::TlsCertificate } else { Code::TlsProtocol })
}

//! The sinks as configured. Nothing is checked here: `OpenSink::open` does that.

use portcullis_credentials::CredentialSource;
use portcullis_notify::Address;
use std::path::PathBuf;
use std::time::Duration;

/// A place for rendered records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// A file of this machine.
    File(FileSink),
    /// A web service.
    Http(HttpSink),
    /// A syslog server.
    Syslog(SyslogSink),
}

/// A file of this machine, which nobody else writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSink {
    /// Its absolute path; its folder exists.
    pub path: PathBuf,
    /// The size at which another file is begun, in bytes.
    pub rotate_bytes: u64,
    /// The age at which another file is begun; none for no such age.
    pub rotate_after: Option<Duration>,
    /// How many full files are kept, as `PATH.1`, the newest, to `PATH.N`.
    pub keep: u32,
}

/// A web service that takes records by POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSink {
    /// `https://…`, or `http://` and a loopback address.
    pub url: Address,
    /// The token; not over `http`, since any program of this machine could be listening there.
    pub token: Option<CredentialSource>,
    /// A file with more headers, one `Name: value` a line, for its owner alone; not over `http`.
    pub header_file: Option<PathBuf>,
    /// A proxy that makes the connection; none for a direct one.
    pub proxy: Option<Address>,
    /// The files for TLS.
    pub tls: TlsFiles,
    /// The compression of records on the way.
    pub compression: HttpCompression,
    /// The kind of service, which says how its answer is read.
    pub answer: HttpAnswer,
}

/// The compression of what is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpCompression {
    /// None.
    None,
    /// gzip (RFC 1952), as `content-encoding` says.
    Gzip,
}

/// The kind of a web service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpAnswer {
    /// A status of success takes everything.
    Status,
    /// A receiver of OTLP, which may reject some records of a delivery.
    Otlp,
    /// Splunk's HTTP event collector.
    Splunk {
        /// True to wait until the indexer has acknowledged.
        acknowledge: bool,
    },
}

/// Files for TLS; each is PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities that replace Mozilla's.
    pub authorities: Option<PathBuf>,
    /// This machine's own certificate, with those that it was issued by.
    pub certificate: Option<PathBuf>,
    /// The certificate's key, for its owner alone.
    pub key: Option<PathBuf>,
}

/// A syslog server: RFC 5424 messages, framed by their length (RFC 5425, RFC 6587).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogSink {
    /// A name or an address; the certificate has to be for it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The encryption of the connection.
    pub encryption: SyslogEncryption,
    /// The facility's name, one of [`FACILITIES`].
    pub facility: String,
    /// The name of this machine in the messages; `-` if it is unknown.
    pub machine: String,
    /// The files for TLS.
    pub tls: TlsFiles,
    /// True if the server has to end TLS with `close_notify`, so that nobody on the way can cut a
    /// delivery unseen. Not all servers do.
    pub demands_notice: bool,
}

/// The encryption of a connection to a syslog server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyslogEncryption {
    /// TLS from the first byte.
    Tls,
    /// None: only to a loopback address.
    None,
}

/// The facilities by name, with their numbers of RFC 5424.
pub const FACILITIES: &[(&str, u8)] = &[
    ("user", 1),
    ("daemon", 3),
    ("auth", 4),
    ("authpriv", 10),
    ("audit", 13),
    ("local0", 16),
    ("local1", 17),
    ("local2", 18),
    ("local3", 19),
    ("local4", 20),
    ("local5", 21),
    ("local6", 22),
    ("local7", 23),
];

//! Delivers rendered records of the journal: to a file with rotation, to a web service, or to a
//! syslog server.
//!
//! ```text
//! Sink -> OpenSink::open -> starts_document? -> (render) -> deliver(cargo, deadline) -> Accepted | SinkFailure
//! ```
//!
//! This crate keeps no journal and no cursor, renders nothing, and retries nothing: its caller moves
//! the cursor after [`Accepted`], and tries again after a [`SinkFailure`]. It reads the clock only
//! for the deadline, and no environment (the caller passes variables in).
//!
//! **What counts as acknowledged.**
//! - [`FileSink`]: the bytes are written and flushed to disk.
//! - [`HttpSink`]: an answer with a status of success. With [`HttpAnswer::Splunk`] the indexer's
//!   own acknowledgement, unless that is switched off. With [`HttpAnswer::Otlp`] records that the
//!   answer rejects are counted and not sent again, as the protocol wants.
//! - [`SyslogSink`]: the server has read everything. The protocol has no acknowledgement, so each
//!   delivery has a connection of its own, which the server ends after ours ended: by TLS's
//!   `close_notify`, or by the end of the stream without a reset, which a system sends for what was
//!   not read. A server that loses what it has read is out of reach.
//!
//! **Delivery is at-least-once.** A sink may have taken records whose acknowledgement never arrived.
//! Each record has its id in every builtin format, so that a receiver can tell. A file is cut back to
//! what was acknowledged, so it holds no record twice.
//!
//! **Hostile sinks.** No redirect is followed, no proxy is used except the sink's own, an answer is
//! read up to 64 KiB, and every step ends at the deadline. Answers are quoted in one line, without
//! our credentials, in errors only.

mod delivery;
mod exchange;
mod failure;
mod file;
mod http;
mod http_reply;
mod open;
mod settings;
mod splunk;
mod stream;
mod syslog;
mod tls;

pub use delivery::{Accepted, Cargo, SyslogMessage, SyslogSeverity};
pub use failure::{SinkFailure, SinkProblem};
pub use file::FilePosition;
pub use open::{OpenSink, SinkPosition};
pub use settings::{
    FACILITIES, FileSink, HttpAnswer, HttpCompression, HttpSink, Sink, SyslogEncryption,
    SyslogSink, TlsFiles,
};

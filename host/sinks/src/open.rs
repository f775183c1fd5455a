//! A sink with valid settings, and the delivery to it.

use crate::delivery::{Accepted, Cargo};
use crate::failure::SinkFailure;
use crate::file::{FilePosition, OpenFile};
use crate::http::OpenHttp;
use crate::settings::Sink;
use crate::syslog::OpenSyslog;
use portcullis_credentials::CredentialReader;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A sink that is ready for deliveries. Nothing is connected before the first.
#[derive(Debug)]
pub struct OpenSink(Kind);

#[derive(Debug)]
enum Kind {
    File(OpenFile),
    Http(Box<OpenHttp>),
    Syslog(Box<OpenSyslog>),
}

/// What a sink knows of its deliveries and needs again after a restart. It is kept with the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SinkPosition {
    /// How far a file is acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePosition>,
}

impl OpenSink {
    /// Checks a sink's settings, and opens it where the last delivery left it. `reader` reads
    /// credentials.
    ///
    /// # Errors
    /// Fails if an address is malformed, or a credential or a file cannot be used.
    pub fn open(
        sink: &Sink,
        reader: &dyn CredentialReader,
        position: &SinkPosition,
    ) -> Result<Self, SinkFailure> {
        Ok(Self(match sink {
            Sink::File(file) => Kind::File(OpenFile::open(file, position.file.as_ref())?),
            Sink::Http(http) => Kind::Http(Box::new(OpenHttp::open(http, reader)?)),
            Sink::Syslog(syslog) => Kind::Syslog(Box::new(OpenSyslog::open(syslog)?)),
        }))
    }

    /// Checks a sink's settings as far as possible without a delivery.
    ///
    /// # Errors
    /// Fails in the same cases as [`OpenSink::open`], but for a file that is not there yet.
    pub fn check_settings(sink: &Sink, reader: &dyn CredentialReader) -> Result<(), SinkFailure> {
        match sink {
            Sink::File(file) => OpenFile::check(file),
            Sink::Http(http) => OpenHttp::open(http, reader).map(drop),
            Sink::Syslog(syslog) => OpenSyslog::open(syslog).map(drop),
        }
    }

    /// Returns true if it takes one message a record, and false if it takes documents.
    #[must_use]
    pub const fn takes_messages(&self) -> bool {
        matches!(self.0, Kind::Syslog(_))
    }

    /// Returns true if the next delivery is the beginning of a document, where a format has a
    /// heading. A file that is full, or old at `now` (milliseconds since 1970), is put aside first.
    ///
    /// # Errors
    /// Fails if the file cannot be put aside.
    pub fn starts_document(&mut self, now: u64) -> Result<bool, SinkFailure> {
        match &mut self.0 {
            Kind::File(file) => file.starts_document(now),
            Kind::Http(_) => Ok(true),
            Kind::Syslog(_) => Ok(false),
        }
    }

    /// Delivers records and waits for the acknowledgement, until the deadline at most. `now` is in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if the sink could not be reached or did not take them. They may have arrived.
    pub fn deliver(
        &mut self,
        cargo: &Cargo<'_>,
        now: u64,
        deadline: Instant,
    ) -> Result<Accepted, SinkFailure> {
        match (&mut self.0, cargo) {
            (Kind::File(file), Cargo::Document { bytes, .. }) => file.append(bytes, now),
            (Kind::Http(http), Cargo::Document { bytes, content_type }) => {
                http.post(bytes, content_type, deadline)
            }
            (Kind::Syslog(syslog), Cargo::Messages(messages)) => syslog.send(messages, deadline),
            _ => Err(SinkFailure::settings(
                "the sink takes records in another form",
                "report this as a defect",
            )),
        }
    }

    /// Returns what is kept with the cursor.
    #[must_use]
    pub fn position(&self) -> SinkPosition {
        match &self.0 {
            Kind::File(file) => SinkPosition { file: file.position() },
            _ => SinkPosition::default(),
        }
    }
}

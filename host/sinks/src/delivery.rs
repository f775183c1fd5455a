//! What a sink is given, and what it answers.

/// Records in the form that a sink takes.
#[derive(Clone, Copy, Debug)]
pub enum Cargo<'a> {
    /// One document.
    Document {
        /// Its bytes.
        bytes: &'a [u8],
        /// Its content type.
        content_type: &'a str,
    },
    /// One message a record.
    Messages(&'a [SyslogMessage]),
}

/// A sink took a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The receiver and its answer, in one line.
    pub what: String,
    /// Records of it that the receiver rejected and does not want again.
    pub rejected: u64,
}

/// One record as a syslog message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogMessage {
    /// Its time in RFC 3339, UTC.
    pub at: String,
    /// Its severity.
    pub severity: SyslogSeverity,
    /// The kind of the record, as `MSGID`.
    pub id: String,
    /// The rendered record.
    pub text: Vec<u8>,
}

/// The severity of a message, by the number of RFC 5424.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyslogSeverity {
    /// Something failed.
    Error = 3,
    /// Something was refused or changed.
    Warning = 4,
    /// Something a person may want to see.
    Notice = 5,
    /// Ordinary work.
    Informational = 6,
}

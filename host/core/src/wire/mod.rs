//! The clients' wire formats: bytes to [`Event`](crate::event::Event), [`Reply`](crate::event::Reply)
//! to bytes. One module a client; none of them decides anything.

pub mod claude;

/// Why bytes are no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct WireError {
    /// What is wrong, with its place.
    pub problem: String,
    /// The event's name, as far as it could still be told.
    pub event: Option<String>,
    /// The session, as far as it could still be told.
    pub session: Option<String>,
}

/// What a hook process writes and how it exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One JSON document, to be written with one write.
    pub stdout: Vec<u8>,
    /// The reason of a refusal, else empty.
    pub stderr: Vec<u8>,
    /// The exit code.
    pub exit: u8,
}

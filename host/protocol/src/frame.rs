//! Frames: where a message begins and ends in a stream.

use std::io::{self, Read, Write};

/// The begin of each frame; the last byte is the version. Another version is another protocol.
pub const MAGIC: [u8; 4] = *b"PCH\x01";

/// The most bytes of a message's body: the largest payload that a client's adapter takes, and an
/// environment beside it.
pub const MOST_BYTES: u32 = 24 << 20;

/// The most bytes of a usual message.
const USUAL_BYTES: usize = 64 << 10;

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream failed, or its time was up.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The stream ended before a message.
    #[error("the other side closed the connection")]
    Closed,
    /// The begin is not that of a frame of this version.
    #[error("the other side speaks another version: restart the service after an update")]
    Version,
    /// The body is longer than [`MOST_BYTES`].
    #[error("a message of {0} bytes is longer than {MOST_BYTES}")]
    TooLong(u32),
    /// The body is not a message.
    #[error("a message holds {0}")]
    Malformed(&'static str),
}

/// A message that a stream can carry.
pub trait Message: Sized {
    /// Returns the message's body.
    fn to_body(&self) -> Vec<u8>;
    /// Reads a body.
    ///
    /// # Errors
    /// Fails if the body is not exactly one message.
    fn from_body(body: &[u8]) -> Result<Self, FrameError>;
}

/// Writes a message.
///
/// # Errors
/// Fails if the message is too long, or if the stream does not take all of it.
pub fn write_message(stream: &mut impl Write, message: &impl Message) -> Result<(), FrameError> {
    let body = message.to_body();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    if length > MOST_BYTES {
        return Err(FrameError::TooLong(length));
    }
    let mut frame = Vec::with_capacity(MAGIC.len() + 4 + body.len());
    frame.extend(MAGIC);
    frame.extend(length.to_le_bytes());
    frame.extend(body);
    stream.write_all(&frame)?;
    Ok(stream.flush()?)
}

/// Reads a message.
///
/// # Errors
/// Fails if the stream holds anything else than a message of this version.
pub fn read_message<M: Message>(stream: &mut impl Read) -> Result<M, FrameError> {
    let mut head = [0; 8];
    let mut read = 0;
    while let Some(rest) = head.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) if read == 0 => return Err(FrameError::Closed),
            Ok(0) => return Err(FrameError::Malformed("a frame that is cut off")),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let [magic @ .., a, b, c, d] = head;
    if magic != MAGIC {
        return Err(FrameError::Version);
    }
    let length = u32::from_le_bytes([a, b, c, d]);
    if length > MOST_BYTES {
        return Err(FrameError::TooLong(length));
    }
    // Memory for a usual message is there at once; for a longer one it grows with what arrives, not
    // with what is announced.
    let mut body =
        Vec::with_capacity(usize::try_from(length).unwrap_or(USUAL_BYTES).min(USUAL_BYTES));
    let read = stream.take(length.into()).read_to_end(&mut body)?;
    if read as u64 != u64::from(length) {
        return Err(FrameError::Malformed("a frame that is cut off"));
    }
    M::from_body(&body)
}

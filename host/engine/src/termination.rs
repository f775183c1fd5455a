//! The reasons why a host function ends a guest.

use portcullis_core::text::strip_quotes;

/// The most bytes of a name that a guest gives.
const NAME_BYTES: usize = 200;

/// The reason why a host function ended the guest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Termination {
    #[error("it ended itself")]
    Exit,
    #[error("it called `{}`, which is not offered", strip_quotes(.0, NAME_BYTES))]
    NotOffered(String),
    #[error("it asked for {0} random bytes at once; at most 65536 are given")]
    Random(u64),
    #[error("it holds more than 64 files and parts of requests open at once")]
    Open,
    #[error("it waited for {0} seconds in all; no call may wait longer")]
    Waited(u64),
}

//! Files of another user, who hands them over: the vault's process asks, and a process of that user
//! looks, reads and writes.
//!
//! ```text
//! the vault's process                      a process of the files' user
//!   HandedFiles  ----  FileRequest  ---->  answer_request
//!                <---  FileAnswer   -----
//! ```
//!
//! The vault's process opens no path of that user, so it needs no right to their files, and can be
//! led nowhere. Each request names a whole path, which is opened from `/` without following a link.
//! An answer is what its user says: it is checked for being an answer at all, and bounded, and it
//! decides nothing beyond what is kept and put back of that user's own files.
//!
//! A process of the user answers requests that look and read. It changes files only where its
//! caller says so: a person who restores.

mod answer;
mod ask;
mod message;

pub use answer::{Allowed, answer_request};
pub use ask::FilePort;
pub(crate) use ask::{HandedFiles, HandedFolder, HandedSource, HandedTarget};

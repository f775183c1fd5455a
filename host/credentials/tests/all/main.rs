//! The credential store through its public interface.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod stores;
mod uses;

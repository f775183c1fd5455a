//! Tests of the vault through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

mod attacks;
mod encrypted;
mod faults;
mod git;
mod index;
mod keeping;
mod processes;
mod property;
mod restoring;
mod retention;
mod support;

/// The vault has the files of its own user.
const HANDED: bool = false;

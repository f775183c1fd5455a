//! The same tests with files that another process hands over, and what such a process may say.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop"
)]

#[path = "all/attacks.rs"]
mod attacks;
#[path = "handed/false_answers.rs"]
mod false_answers;
#[path = "all/git.rs"]
mod git;
#[path = "all/keeping.rs"]
mod keeping;
#[path = "all/restoring.rs"]
mod restoring;
#[path = "all/support.rs"]
#[allow(dead_code, reason = "the other program of tests uses the rest")]
mod support;

/// The vault has the files of whoever hands them over.
const HANDED: bool = true;

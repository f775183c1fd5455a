//! Tests of bundles with the commands of the real program: from a publisher's key to the bundles
//! that a machine trusts, with attacks at every point in between.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod attacks;
#[path = "../cli/common/mod.rs"]
mod common;
mod differences;
mod documents;
mod mistakes;
mod publisher;
mod stall;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        publisher::trials(),
        mistakes::trials(),
        attacks::trials(),
        differences::trials(),
        documents::trials(),
    ];
    common::run(all.into_iter().flatten().collect())
}

//! Tests of bundles with the commands of the real program: from a publisher's key to the bundles
//! that a machine trusts, with attacks at every point in between.

#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod attacks;
#[path = "../../host/registry/tests/all/authority.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod authority;
#[path = "../cli/common/mod.rs"]
mod common;
mod differences;
mod documents;
mod index_attacks;
mod indexes;
mod market;
mod mistakes;
mod publisher;
#[path = "../../host/registry/tests/all/real.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod real;
#[path = "../locked/sample.rs"]
mod sample;
mod stall;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        publisher::trials(),
        mistakes::trials(),
        attacks::trials(),
        differences::trials(),
        documents::trials(),
        indexes::trials(),
        index_attacks::trials(),
    ];
    common::run(all.into_iter().flatten().collect())
}

//! Tests of required bundles: installed, locked, loaded by each hook; and attempts to circumvent
//! them.
//!
//! The plugins are those that were built for the released WIT package (host/engine/tests/released):
//! the tests are about which plugins are loaded, not about their findings.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "../../host/registry/tests/all/authority.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod authority;
#[path = "../cli/common/mod.rs"]
mod common;
mod guide;
mod kills;
mod machine;
mod managed;
mod ours;
#[path = "../../host/registry/tests/all/real.rs"]
#[allow(dead_code, reason = "one registry is enough here")]
mod real;
mod registry;
mod runs;
mod sample;
mod tampering;

use std::process::ExitCode;

fn main() -> ExitCode {
    let trials = [
        guide::trials(),
        kills::trials(),
        managed::trials(),
        ours::trials(),
        registry::trials(),
        runs::trials(),
        tampering::trials(),
    ];
    common::run(trials.into_iter().flatten().collect())
}

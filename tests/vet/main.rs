//! Tests of `bundle vet` through the built binary: its findings, its refusals to sign, and who
//! trusts its results; the builtin plugins as a bundle, and the commands of the release process.
//!
//! They need the target `wasm32-wasip2`; without it the tests fail and say how to install it.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod builtin;
#[path = "../cli/common/mod.rs"]
mod common;
mod guests;
mod policies;
mod refusals;
mod releasing;
mod results;
mod vetting_site;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    common::run(vec![
        trial(
            "bundle vet: the results are those of the material, signed, and openssl agrees",
            results::signed,
        ),
        trial("bundle vet: the report for people", results::printed),
        trial("bundle vet: settings of the bundle, and a component with two plugins", results::set),
        trial(
            "bundle vet: a plugin that asks a host is loaded, and nothing is sent",
            results::granted_nothing,
        ),
        trial(
            "bundle vet: bundles with objections are signed only with a signed reason",
            refusals::refused,
        ),
        trial("bundle vet: every mistake has its fix, and changes nothing", refusals::mistakes),
        trial(
            "bundle vet: a bundle that says what its bytes do not is not tried",
            refusals::contradictory,
        ),
        trial(
            "bundle vet: a policy asks for another key, for young vettings, and for such as have not ended",
            policies::judged,
        ),
        trial(
            "bundle build --builtin: the program's components to the byte, twice the same",
            builtin::the_same,
        ),
        trial("bundle vet: the builtin plugins, from their bundle", builtin::vetted),
        trial("releasing.md: every command works, in its order", releasing::followed),
        trial("releasing.md: after a leak nothing of the key is trusted", releasing::revoked),
    ])
}

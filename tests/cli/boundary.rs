//! The boundary between the users of agents and the review: what an agent tries that runs as its
//! user, and that true events are reviewed and recorded all the same; what an administrator decides
//! there, in a terminal and on the page, and a real client. And the units of a user's own service,
//! under a real systemd.
//!
//! Users, and folders with fixed names, are needed, so the tests run as root in a mount namespace of
//! their own: `/etc` is a copy there, and `/home`, `/run` and `/var/lib` are empty. Nothing is left
//! on the machine. Where that cannot be, they fail.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "boundary/approvers.rs"]
mod approvers;
#[path = "boundary/attacks.rs"]
mod attacks;
#[path = "fleet/balancer.rs"]
#[allow(dead_code, reason = "one hub, which stays")]
mod balancer;
#[path = "boundary/claims.rs"]
mod claims;
#[path = "boundary/client.rs"]
mod client;
#[path = "fleet/cluster.rs"]
#[allow(dead_code, reason = "one database, which stays")]
mod cluster;
mod common;
#[path = "fleet/fleets.rs"]
#[allow(dead_code, reason = "one hub without a page")]
mod fleets;
#[path = "page/http.rs"]
mod http;
#[path = "boundary/machine.rs"]
mod machine;
#[path = "boundary/page.rs"]
mod page;
#[path = "boundary/people.rs"]
mod people;
#[path = "boundary/resident.rs"]
mod resident;
#[path = "boundary/reviews.rs"]
mod reviews;
#[path = "boundary/undo.rs"]
mod undo;
#[path = "boundary/units.rs"]
mod units;
#[path = "boundary/wire.rs"]
mod wire;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = machine::enter_namespace() {
        return code;
    }
    let rows = [
        attacks::ROWS,
        claims::ROWS,
        reviews::ROWS,
        people::ROWS,
        approvers::ROWS,
        page::ROWS,
        undo::ROWS,
        client::ROWS,
        units::ROWS,
    ];
    let rows = rows.concat();
    let trials = rows.into_iter().map(|(name, test)| {
        trial(format!("boundary: {name}"), move || {
            test(&mut machine::Machine::start("user = \"portcullis\"\n")?)
        })
    });
    let code = common::run_in_turn(trials.chain(resident::trials()).collect());
    cluster::stop();
    code
}

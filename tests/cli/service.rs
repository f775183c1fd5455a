//! The resident service and the small hook: the same answers and records as the embedded review,
//! and the embedded review wherever the service does not answer.
//!
//! `PORTCULLIS_SERVICE_KILLS` (200) sets how often the service is killed under load.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "service/activated.rs"]
mod activated;
#[path = "service/broken.rs"]
mod broken;
mod common;
#[path = "service/killed.rs"]
mod killed;
#[path = "service/replaced.rs"]
mod replaced;
#[path = "service/running.rs"]
mod running;
#[path = "service/same.rs"]
mod same;
#[path = "service/traces.rs"]
mod traces;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut trials = vec![
        trial("service: answers and records are those of the embedded review", same::sessions),
        trial("service: agents at once leave what each leaves alone", same::sessions_at_once),
        trial("service: what changes on the disk counts at once", same::changes),
        trial("service: what is guarded is looked up for each event", same::guarded),
        trial("service: hooks at once get their own answers", same::at_once),
        trial("service: a person's answer releases a call that it holds", same::held),
        trial("service: one for a home", running::one_for_a_home),
        trial("service: doctor tells of it", running::seen_by_doctor),
        trial("service: it ends with its answers given", running::ends),
        trial("service: other users get nothing", running::other_users),
        trial("service: it takes a socket that is bound", activated::inherited),
        trial("service: a socket at another place is refused", activated::bound_elsewhere),
        trial("service: traces of reviews reach a collector", traces::sent),
        trial("service: a collector that refuses is reported once", traces::refused),
        trial("service: an unusable collector is an error", traces::unusable),
        trial("replaced: hooks answer while the programs are replaced", replaced::without_service),
        trial(
            "replaced: the service answers, and guards what is installed",
            replaced::with_service,
        ),
        trial("service: it is killed and nothing is lost", killed::under_load),
    ];
    trials.extend(broken::trials());
    common::run(trials)
}

//! Exports of the journal to receivers on the loopback interface: what arrives when they take it, are
//! slow, refuse or lose it, and when the sender is killed.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "exports/commands.rs"]
mod commands;
mod common;
#[path = "exports/credentials.rs"]
mod credentials;
#[path = "exports/formats.rs"]
mod formats;
#[path = "exports/hardship.rs"]
mod hardship;
#[path = "exports/journal.rs"]
mod journal;
#[path = "exports/receiver.rs"]
mod receiver;
#[path = "exports/rsyslog.rs"]
mod rsyslog;
#[allow(dead_code, reason = "the service has tests of its own")]
#[path = "service/running.rs"]
mod running;
#[path = "exports/serving.rs"]
mod serving;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut trials = hardship::trials();
    trials.extend([
        trial("exports: a file has each record once, whatever was killed", hardship::to_a_file),
        trial("exports: a syslog server of others gets all over TLS", rsyslog::over_tls),
        trial("exports: events of OCSF are valid by the schema of others", formats::valid_ocsf),
        trial("exports: each builtin format writes every record of a session", formats::each),
        trial("exports: the service delivers, and no hook waits for it", serving::by_the_service),
        trial("exports: maintenance delivers without a service", serving::by_maintenance),
        trial("exports: a record that is refused stops or is passed over", commands::refused),
        trial("exports: what retention removes first is counted", commands::lost),
        trial(
            "exports: the list, doctor and the metrics show how far they are",
            commands::reported,
        ),
        trial("exports: a person moves a cursor, an agent does not", commands::moved),
        trial("exports: a trial reaches the sink and no cursor", commands::tried),
        trial("exports: the journal is followed", commands::followed),
        trial("exports: settings that cannot be used say why, and no secret", commands::unusable),
        trial("exports: a project sets none", commands::of_a_project),
        trial("credentials: a refused one is recorded until it is rotated", credentials::rotated),
        trial("credentials: a mistake has a fix and changes nothing", credentials::mistaken),
        trial("credentials: an agent changes none and reads none", credentials::guarded),
    ]);
    common::run(trials)
}

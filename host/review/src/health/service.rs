//! The resident service, if one is set up.

use super::finding::{Check, HealthFinding};
use portcullis_config::amount::format_span;
use portcullis_config::boundary::{BOUNDARY_FILE, Boundary, START_COMMAND, ServiceFault};
use portcullis_core::text::{count_noun, one_line};
use portcullis_protocol::{ServiceStatus, ask_status, ask_status_across};
use std::path::Path;

/// This program's version: a service of another one reviews with other plugins.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most changes of plugins that are told.
const MOST_CHANGES: usize = 8;
/// The most characters of one.
const CHANGE_CHARS: usize = 600;

/// Asks the service of a state folder; returns nothing if none is set up there, as is usual.
pub(super) fn ask_service(state: &Path) -> Vec<HealthFinding> {
    let status = match ask_status(state) {
        Ok(Some(status)) => status,
        Ok(None) => return Vec::new(),
        Err(error) => {
            let what = format!("it does not answer ({error}), so hooks review by themselves");
            let fix = "start it again with `portcullis serve`, or remove its socket";
            return vec![HealthFinding::warning(Check::Service, what, fix)];
        }
    };
    let held_back = status.held_back.iter().take(MOST_CHANGES).map(|change| {
        let what = one_line(change, CHANGE_CHARS);
        let fix = "the earlier plugins review beside them; put those back, or restart the service \
             to accept the change";
        HealthFinding::warning(Check::Service, what, fix)
    });
    std::iter::once(judge_status(&status)).chain(held_back).collect()
}

/// Asks the service of this machine's boundary; returns nothing if there is none, as is usual.
pub(super) fn ask_boundary() -> Option<HealthFinding> {
    let boundary = match Boundary::read_machine() {
        Ok(boundary) => boundary?,
        Err(problems) => {
            let what =
                format!("hooks refuse everything, since the boundary is unusable: {problems}");
            let fix = format!("an administrator has to fix `{BOUNDARY_FILE}`");
            return Some(HealthFinding::problem(Check::Service, what, fix));
        }
    };
    Some(match ask_status_across(boundary.user) {
        Ok(status) => judge_status(&status),
        Err(error) => {
            let then = match boundary.on_service_fault {
                ServiceFault::Block => "hooks refuse every action",
                ServiceFault::Embedded => "hooks review by themselves",
            };
            let what = format!("the service of the boundary does not answer ({error}), so {then}");
            let fix = format!("an administrator can start it: `{START_COMMAND}`");
            HealthFinding::problem(Check::Service, what, fix)
        }
    })
}

fn judge_status(status: &ServiceStatus) -> HealthFinding {
    if status.version != VERSION {
        let what = format!(
            "it is version {}, and this program is {VERSION}",
            one_line(&status.version, 32)
        );
        return HealthFinding::warning(Check::Service, what, "restart it");
    }
    let what = format!(
        "process {} answers, up for {}: {} reviewed",
        status.process,
        format_span(status.uptime.saturating_mul(1000)),
        count_noun(status.reviewed, "event")
    );
    HealthFinding::ok(Check::Service, what)
}

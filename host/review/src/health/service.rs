//! The resident service, if one is set up.

use super::finding::{Check, HealthFinding};
use portcullis_config::amount::format_span;
use portcullis_core::text::{count_noun, one_line};
use portcullis_protocol::ask_status;
use std::path::Path;

/// This program's version: a service of another one reviews with other plugins.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Asks the service of a state folder; returns `None` if none is set up there, as is usual.
pub(super) fn socket(state: &Path) -> Option<HealthFinding> {
    let status = match ask_status(state) {
        Ok(status) => status?,
        Err(error) => {
            let what = format!("it does not answer ({error}), so hooks review by themselves");
            let fix = "start it again with `portcullis serve`, or remove its socket";
            return Some(HealthFinding::warning(Check::Service, what, fix));
        }
    };
    if status.version != VERSION {
        let what = format!(
            "it is version {}, and this program is {VERSION}",
            one_line(&status.version, 32)
        );
        return Some(HealthFinding::warning(Check::Service, what, "restart it"));
    }
    let what = format!(
        "process {} answers, up for {}: {} reviewed",
        status.process,
        format_span(status.uptime.saturating_mul(1000)),
        count_noun(status.reviewed, "event")
    );
    Some(HealthFinding::ok(Check::Service, what))
}

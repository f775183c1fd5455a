//! Tests of notifications from the hook to a server on the loopback interface, a mail server, and a
//! program.

mod chat;
mod failing;
mod held;
mod pacing;
mod telling;
mod ways;

use crate::common::trial;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        trial("notifications: without a channel nothing waits", telling::silent),
        trial(
            "notifications: a blocked action is told once, masked, and started by the hook",
            telling::sent_once,
        ),
        trial("notifications: each channel is told of what it wants", telling::wanted),
        trial("notifications: an emergency stop is told of by default", telling::stopped),
        trial("notifications: after a 500 it waits, and comes later", failing::retried),
        trial(
            "notifications: failed messages are retried without another hook",
            failing::lingering,
        ),
        trial("notifications: killed between sending and keeping, it comes again", failing::killed),
        trial(
            "notifications: a dead channel loses nothing, and the others hear of it",
            failing::dead,
        ),
        trial("notifications: refused messages are given up, kept and named", failing::refused),
        trial(
            "notifications: undeliverable messages are removed after some days",
            failing::forgotten,
        ),
        trial("notifications: an agent that goes in circles floods nobody", pacing::gathered),
        trial(
            "notifications: collected messages stay together after a failure",
            pacing::fails_together,
        ),
        trial(
            "notifications: a stop comes at once, whatever was blocked before",
            pacing::stops_at_once,
        ),
        trial("notifications: a mail, and a program", ways::others),
        trial("notifications: through the channel's own proxy, and no other", ways::proxied),
        trial("notifications: a project can neither add nor change a channel", telling::by_project),
        trial(
            "notifications: a channel that cannot be used says why, and no secret",
            ways::unusable,
        ),
        trial(
            "notifications: observe mode blocks nothing and reports no block",
            telling::observing,
        ),
    ]
}

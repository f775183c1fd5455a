//! The page of the resident service: attacks on its door, and a real browser that looks and answers.
//!
//! The browser is Debian's Chromium, driven by a pinned package from the npm registry
//! (`page/drive.mjs`). It looks for pictures of each page in `target/pages`, which it writes. Without
//! a browser its tests are skipped; with `CI=true` they fail.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

#[path = "page/attacks.rs"]
mod attacks;
#[path = "page/browser.rs"]
mod browser;
#[path = "page/collectors.rs"]
mod collectors;
mod common;
#[path = "page/health.rs"]
mod health;
#[allow(dead_code, reason = "the tests of approvals use all of it")]
#[path = "approvals/held.rs"]
mod held;
#[path = "page/http.rs"]
mod http;
#[path = "page/operators.rs"]
mod operators;
#[path = "page/prometheus.rs"]
mod prometheus;
#[path = "page/proofs.rs"]
mod proofs;
#[path = "page/rooms.rs"]
mod rooms;
#[path = "page/served.rs"]
mod served;

use common::trial;
use std::process::ExitCode;

fn main() -> ExitCode {
    common::run(vec![
        trial("page: only its own host and origin are answered", attacks::doors),
        trial("page: a link works once, and codes cannot be tried", attacks::links),
        trial("page: a passkey is set up with one link of a terminal", attacks::enrollments),
        trial("page: without a cookie nothing is shown or changed", attacks::strangers),
        trial("page: an answer needs the form, the role and the proof", attacks::answers),
        trial("page: a message about an action leads to it", proofs::links),
        trial("page: a code of an authenticator allows once", proofs::codes),
        trial("page: what an agent wrote stays text", attacks::texts),
        trial("page: an operator decides about incidents, with the proof", operators::incidents),
        trial("page: a rollback puts back what was shown, and nothing else", operators::rollbacks),
        trial("page: checkpoints show what has changed, and put it back", operators::checkpoints),
        trial("page: metrics are collected with the token, and nothing else is", collectors::doors),
        trial("page: metrics are those of the command, in Prometheus' format", collectors::totals),
        trial("page: the reader of Prometheus' format refuses what it forbids", prometheus::reads),
        trial("page: its health is that of the service", health::follows),
        trial("page: rules can be tried, which runs and records nothing", rooms::rules),
        trial("page: the configuration shows origins and no credentials", rooms::configuration),
        trial("page: plugins that are held or in quarantine are shown", rooms::plugins),
        trial("page: a person allows and denies with the keyboard", browser::answers),
        trial("page: it works without scripts", browser::scriptless),
        trial("page: two people allow, one of them with a passkey", browser::passkey),
        trial("page: an operator resumes a session with the keyboard", browser::incident),
        trial("page: it shows what happens while it is open", browser::live),
        trial("page: what is typed stays while an update is on its way", browser::typing),
        trial("page: everybody can read the pages about sessions", browser::readable),
        trial("page: everybody can read the rooms", browser::rooms),
        trial("page: everybody can read the pages before the sign-in", browser::doors),
    ])
}

//! `/health`: whether the service can review, for whoever watches over it.

use super::served::Served;
use crate::common::site::{LIMIT, Site};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A change, whether the service can review then, and what keeps it from that.
type Row = (&'static str, fn(&Site) -> Result<()>, Option<&'static str>);

const ROWS: &[Row] = &[
    ("it has just started", |_| Ok(()), None),
    (
        "its configuration has a mistake",
        |site| site.write("config.toml", "mode = 3\n"),
        Some("the configuration cannot be used"),
    ),
    (
        "a file of rules is missing",
        |site| site.write("config.toml", "rules.files = [\"/nowhere/rules.toml\"]\n"),
        Some("the configuration cannot be used"),
    ),
    ("the configuration is right again", |site| site.write("config.toml", ""), None),
    ("its journal is gone", Site::forget_database, Some("the journal takes no records")),
    ("it may begin another one", Site::forget_journal, None),
];

/// The answer follows what hooks would meet, needs no cookie, and names nothing of the machine.
pub fn follows() -> Result<()> {
    let served = Served::start("page-health")?;
    let site = served.site();
    for (name, change, obstacle) in ROWS {
        change(site)?;
        let (status, expected) = match obstacle {
            None => (200, json!({ "status": "ok", "held_back": 0 })),
            Some(reason) => (503, json!({ "status": "unable", "reason": reason })),
        };
        // An answer is kept for a moment.
        let deadline = Instant::now() + LIMIT;
        loop {
            let answer = served.get("/health", &[])?;
            let body: Value = serde_json::from_str(&answer.body)?;
            if (answer.status, &body) == (status, &expected) {
                ensure!(answer.header("content-type") == Some("application/json"), "{name}");
                break;
            }
            ensure!(Instant::now() < deadline, "{name}: {} {}", answer.status, answer.body);
            sleep(Duration::from_millis(50));
        }
    }
    site.verify()
}

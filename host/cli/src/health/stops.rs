//! What is known of stopped sessions, and what was moved away in place of being deleted.

use super::finding::{Check, Finding, or_ok};
use crate::amount::size;
use crate::config::Config;
use crate::incidents::{self, Standing};
use crate::quarantine;
use anyhow::Result;
use portcullis_core::text::one_line;
use portcullis_store::Store;
use std::path::Path;

/// Looks at both.
pub fn check(store: &Store, state: &Path, config: &Config, now: u64) -> Vec<Finding> {
    let mend = "mend what it names, or move it away";
    let or_problem = |check, found: Result<Vec<Finding>>| {
        found.unwrap_or_else(|error| vec![Finding::warning(check, one_line(&format!("{error:#}"), 512), mend)])
    };
    let mut findings = or_problem(Check::Incidents, stops(store, state, config, now));
    findings.extend(or_problem(Check::Quarantine, moved(store, state)));
    findings
}

fn stops(store: &Store, state: &Path, config: &Config, now: u64) -> Result<Vec<Finding>> {
    let known = incidents::all(store, state, config.incidents.kept_days, now)?;
    let waiting = known.incidents.iter().filter(|incident| matches!(incidents::standing(store, incident), Ok(Standing::Stopped))).count();
    let damaged = known.damaged.iter().map(|damaged| {
        let mend = "move it away; while the journal has the stop, `portcullis incident show` tells of it all the same";
        Finding::warning(Check::Incidents, one_line(damaged, 512), mend)
    });
    let told = match (known.incidents.len(), waiting) {
        (0, _) => "no session was stopped".to_owned(),
        (all, 0) => format!("{all} are known, and no stopped session waits"),
        (all, waiting) => format!("{all} are known; {waiting} stopped sessions wait for a person: `portcullis incident list`"),
    };
    Ok(or_ok(damaged.collect(), Check::Incidents, told))
}

fn moved(store: &Store, state: &Path) -> Result<Vec<Finding>> {
    let known = quarantine::all(store, state)?;
    let kept: Vec<_> = known.entries.iter().filter(|entry| entry.standing() == quarantine::Standing::Kept).collect();
    let damaged = known.damaged.iter().map(|damaged| {
        let mend = "move it away; what it tells of stands in `.portcullis/quarantine` of its project";
        Finding::warning(Check::Quarantine, one_line(damaged, 512), mend)
    });
    let bytes = kept.iter().map(|entry| entry.size()).sum();
    let told = if kept.is_empty() { "nothing is kept".to_owned() } else { format!("{} are kept, {}", kept.len(), size(bytes)) };
    Ok(or_ok(damaged.collect(), Check::Quarantine, told))
}

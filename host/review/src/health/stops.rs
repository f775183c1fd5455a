//! Records of stopped sessions, and quarantined files.

use super::finding::{Check, HealthFinding, or_ok};
use crate::incidents::{self, IncidentStatus};
use crate::quarantine;
use crate::stopped;
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::amount::format_size;
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::{Home, Store};

/// Checks both.
pub(super) fn check(store: &Store, home: &Home, config: &Config, now: u64) -> Vec<HealthFinding> {
    let fix = "fix what it names, or move it away";
    let or_problem = |check, found: Result<Vec<HealthFinding>>| {
        found.unwrap_or_else(|error| {
            vec![HealthFinding::warning(check, one_line(&format!("{error:#}"), 512), fix)]
        })
    };
    let mut findings = or_problem(Check::Incidents, stops(store, home, config, now));
    findings.extend(or_problem(Check::Quarantine, moved(store, home)));
    findings
}

fn stops(store: &Store, home: &Home, config: &Config, now: u64) -> Result<Vec<HealthFinding>> {
    let known = incidents::list_incidents(store, home, config.incidents.kept_days, now)?;
    let waiting = known
        .incidents
        .iter()
        .filter(|incident| {
            matches!(incidents::incident_status(store, home, incident), Ok(IncidentStatus::Stopped))
        })
        .count();
    let damaged = known.damaged.iter().map(|damaged| {
        let fix = "move it away; while the journal has the stop, `portcullis incident show` still shows it";
        HealthFinding::warning(Check::Incidents, one_line(damaged, 512), fix)
    });
    let (_, foreign) = stopped::read_all(home)?;
    let foreign = foreign.iter().map(|foreign| {
        let fix =
            "find out who wrote it, and move it away: the session's actions are refused meanwhile";
        HealthFinding::problem(Check::Incidents, one_line(foreign, 512), fix)
    });
    let summary = match (known.incidents.len(), waiting) {
        (0, _) => "no session was stopped".to_owned(),
        (all, 0) => format!("{}, none needs your decision", count_noun(all as u64, "incident")),
        (all, 1) => format!(
            "{}, 1 needs your decision: `portcullis incident list`",
            count_noun(all as u64, "incident")
        ),
        (all, waiting) => {
            format!(
                "{}, {waiting} need your decision: `portcullis incident list`",
                count_noun(all as u64, "incident")
            )
        }
    };
    Ok(or_ok(damaged.chain(foreign).collect(), Check::Incidents, summary))
}

fn moved(store: &Store, home: &Home) -> Result<Vec<HealthFinding>> {
    let known = quarantine::list_quarantines(store, home)?;
    let kept: Vec<_> = known
        .entries
        .iter()
        .filter(|entry| entry.status() == quarantine::QuarantineStatus::Kept)
        .collect();
    let damaged = known.damaged.iter().map(|damaged| {
        let fix = "move it away; what it describes is in `.portcullis/quarantine` of its project";
        HealthFinding::warning(Check::Quarantine, one_line(damaged, 512), fix)
    });
    let bytes = kept.iter().map(|entry| entry.size()).sum();
    let summary = if kept.is_empty() {
        "nothing is kept".to_owned()
    } else {
        format!("{} are kept, {}", kept.len(), format_size(bytes))
    };
    Ok(or_ok(damaged.collect(), Check::Quarantine, summary))
}

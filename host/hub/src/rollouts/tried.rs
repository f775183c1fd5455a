//! Machines that only try a version: what they report.

use crate::database::Database;
use crate::failure::Failure;
use crate::machines::KnownMachine;
use crate::stored_orders::signed_number;
use portcullis_fleet::protocol::{RefusalKind, TrialReport};

/// The most actions of a machine's trial: sums over a fleet have to fit.
const MOST_ACTIONS: u64 = 1 << 40;

/// Notes what a machine says of the version that it tries. Its counts replace those before them, so
/// a request that comes again changes nothing.
pub async fn note_trial(
    database: &Database,
    machine: &KnownMachine,
    group: &str,
    report: &TrialReport,
) -> Result<(), Failure> {
    let TrialReport { version, actions, stricter, milder, faults } = *report;
    let is_beyond = actions > MOST_ACTIONS
        || [stricter.saturating_add(milder), faults].into_iter().any(|part| part > actions);
    if is_beyond {
        let reason = "a trial has more results than actions, or too many of them";
        return Err(Failure::refuse(RefusalKind::Malformed, reason));
    }
    let client = database.connect().await?;
    client
        .execute(
            "INSERT INTO rollout_trials \
             (group_name, version, machine, actions, stricter, milder, faults) \
             SELECT $1, $2::bigint, $3, $4::bigint, $5::bigint, $6::bigint, $7::bigint WHERE EXISTS \
             (SELECT FROM rollouts WHERE group_name = $1 AND version = $2) \
             ON CONFLICT (group_name, version, machine) DO UPDATE SET actions = $4, stricter = $5, \
             milder = $6, faults = $7 WHERE rollout_trials.actions < $4",
            &[
                &group,
                &signed_number(version),
                &machine.id(),
                &signed_number(actions),
                &signed_number(stricter),
                &signed_number(milder),
                &signed_number(faults),
            ],
        )
        .await?;
    Ok(())
}

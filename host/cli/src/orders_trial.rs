//! The orders that this machine only tries: what it tells the hub of them, and what it tries next.

use crate::fleet_error::FetchError;
use portcullis_config::clock::now_ms;
use portcullis_core::record::Record;
use portcullis_fleet::orders::OrdersTrust;
use portcullis_fleet::protocol::{OrdersAnswer, TrialReport};
use portcullis_fleet::{FleetFiles, OrdersFileError, OrdersTrial};
use portcullis_review::orders_trial::count_note;
use portcullis_store::{Durability, Filter, Home, Store, StoreError};
use std::ops::ControlFlow;

/// The most records that are read at a time.
const MOST: u64 = 20_000;

/// Returns the results of the trial, with the actions that were reviewed since the last time.
///
/// # Errors
/// Fails if the journal or the home cannot be used.
pub fn read_report(files: &FleetFiles, home: &Home) -> Result<Option<TrialReport>, FetchError> {
    let Some(mut trial) = files.trial().read_trial().map_err(OrdersFileError::from)? else {
        return Ok(None);
    };
    let store = Store::open_existing(home, Durability::Process)?;
    let before = trial.clone();
    let filter = Filter {
        after: Some(trial.read_through),
        kind: Some("review".into()),
        limit: Some(MOST),
        ..Filter::default()
    };
    store.query_records(&filter, |stored| {
        trial.read_through = stored.sequence;
        if let Ok(record) = serde_json::from_str::<Record>(&stored.record.document) {
            count_note(&record.details, &mut trial.report);
        }
        ControlFlow::Continue(())
    })?;
    if trial != before {
        files.trial().write_trial(&trial).map_err(OrdersFileError::from)?;
    }
    Ok(Some(trial.report))
}

/// Begins, keeps or ends a trial, as the hub answered; returns false if it was offered orders that
/// are not the operator's for this machine. Others are tried even if this machine could not use them:
/// then each action has a fault.
///
/// # Errors
/// Fails if the journal or the home cannot be used.
pub fn follow_answer(
    files: &FleetFiles,
    home: &Home,
    trust: &OrdersTrust,
    seen: u64,
    answer: &OrdersAnswer,
) -> Result<bool, FetchError> {
    let Some(version) = answer.trial else {
        files.trial().end_trial().map_err(OrdersFileError::from)?;
        return Ok(true);
    };
    let Some(signed) = answer.trial_orders.clone() else { return Ok(true) };
    let now = now_ms();
    let head = read_head(home, now)?;
    let begun = OrdersTrial::begin_trial(signed, trust, seen, head, now).ok();
    match begun.filter(|trial| trial.report.version == version) {
        Some(trial) => files.trial().write_trial(&trial).map_err(OrdersFileError::from)?,
        None => {
            files.trial().end_trial().map_err(OrdersFileError::from)?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_head(home: &Home, now: u64) -> Result<u64, StoreError> {
    Ok(Store::open_existing(home, Durability::Process)?.head_anchor(now)?.sequence)
}

//! Recurring work of a machine in a fleet: sends the journal to the hub, renews the certificate, and
//! fetches orders.
//!
//! A hub that does not answer, or is busy, is tried again after a random time that grows with each
//! failure: machines that were cut off together must not come back together.

use crate::error::{Error, Result};
use crate::fleet_error::FetchError;
use crate::fleet_orders::fetch_orders;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::mask::Masker;
use portcullis_core::text::{count_noun, one_line};
use portcullis_fleet::{
    FleetFiles, HubClient, HubError, JournalSender, OrdersArrival, SendError, WORK,
};
use portcullis_review::installed::derive_mask_key;
use portcullis_store::{Filter, Home, NewWork, Store, WorkItem};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The time between two attempts, in milliseconds: after a success, after the first failure, and at
/// most.
const PERIOD: u64 = 60 * 1000;
const FIRST_RETRY: u64 = 15 * 1000;
const LAST_RETRY: u64 = 15 * 60 * 1000;
/// The time for which one run sends. What is left then waits for the next, and other work gets its
/// turn.
const BUDGET: Duration = Duration::from_secs(20);
/// The longest time for which records outlive their retention because the hub does not have them
/// yet, in milliseconds.
const MOST_HELD: u64 = 30 * 24 * 60 * 60 * 1000;

/// Queues the work if this machine is in a fleet.
pub fn queue_work(store: &mut Store, home: &Home) -> Result<()> {
    if FleetFiles::of_home(home).is_member() {
        enqueue(store, now_ms())?;
    }
    Ok(())
}

/// Sends what the hub does not have, and queues the next attempt.
pub fn send_records(
    store: &mut Store,
    work: &WorkItem,
    home: &Home,
    places: &Paths,
    config: &Config,
) -> Result<Result<String>> {
    let files = FleetFiles::of_home(home);
    if !files.is_member() {
        store.work_done(work.id)?;
        return Ok(Ok("this machine is in no fleet".into()));
    }
    match send(store, home, &files, places, config) {
        Ok((what, is_complete)) => {
            store.work_done(work.id)?;
            enqueue(store, now_ms().saturating_add(if is_complete { PERIOD } else { 0 }))?;
            Ok(Ok(what))
        }
        Err(error) => {
            let line = one_line(&error.to_string(), 512);
            let wait = choose_wait(work.attempts, requested_wait(&error), random_number());
            store.work_failed(work.id, &line, now_ms().saturating_add(wait))?;
            Ok(Err(Error::from(error)))
        }
    }
}

/// Returns when the next attempt is due, if records wait for it.
pub fn next_attempt(store: &Store, home: &Home) -> Result<Option<u64>> {
    let files = FleetFiles::of_home(home);
    if !files.is_member() {
        return Ok(None);
    }
    let progress = files.read_progress()?.unwrap_or_default();
    if store.head_anchor(now_ms())?.sequence <= progress.sequence {
        return Ok(None);
    }
    let queued = store.queued_work()?;
    Ok(queued.into_iter().find(|kind| kind.kind == WORK).map(|kind| kind.first_due_at))
}

/// Returns the time before which records may be removed: not before the hub has them, except for
/// records that have waited for it too long.
pub fn hold_unsent(store: &Store, home: &Home, before: u64) -> Result<u64> {
    let files = FleetFiles::of_home(home);
    if !files.is_member() {
        return Ok(before);
    }
    let progress = files.read_progress()?.unwrap_or_default();
    let filter = Filter { after: Some(progress.sequence), limit: Some(1), ..Filter::default() };
    let mut oldest = u64::MAX;
    store.query_records(&filter, |stored| {
        oldest = stored.record.at;
        ControlFlow::Break(())
    })?;
    Ok(before.min(oldest).max(before.saturating_sub(MOST_HELD)))
}

fn send(
    store: &mut Store,
    home: &Home,
    files: &FleetFiles,
    places: &Paths,
    config: &Config,
) -> Result<(String, bool), SendError> {
    let Some(mut membership) = files.read_membership()? else {
        return Ok(("this machine is in no fleet".into(), true));
    };
    let mut client = HubClient::of_member(&membership)?;
    if membership.renewal_due(now_ms()) {
        membership = client.renew_certificate(&membership, env!("CARGO_PKG_VERSION"))?;
        files.write_membership(&membership)?;
        client = HubClient::of_member(&membership)?;
    }
    let news = tell_orders(fetch_orders(places, home, &client, false));
    let masker = Masker::new(derive_mask_key(home), &config.policy.mask);
    let mut sender = JournalSender {
        store,
        files,
        client: &client,
        membership: &membership,
        masker: &masker,
        detail: config.fleet_detail,
        portcullis: env!("CARGO_PKG_VERSION"),
    };
    let report = sender.send_journal(Instant::now() + BUDGET, now_ms)?;
    let rest = match report.waiting {
        0 => String::new(),
        waiting => format!("; {waiting} wait"),
    };
    Ok((
        format!("the hub has {} more{rest}{news}", count_noun(report.sent, "record")),
        report.waiting == 0,
    ))
}

/// Fetches orders whatever the configuration is: those that are in force may be what makes it
/// unusable.
pub fn fetch_orders_alone(places: &Paths, home: &Home) {
    let files = FleetFiles::of_home(home);
    if let Ok(Some(membership)) = files.read_membership()
        && let Ok(client) = HubClient::of_member(&membership)
    {
        // The configuration's own error follows.
        let _fetched = fetch_orders(places, home, &client, false);
    }
}

/// Describes what came of orders. A failure does not keep records from being sent; `fleet status`
/// reports it too.
fn tell_orders(fetched: std::result::Result<Option<OrdersArrival>, FetchError>) -> String {
    match fetched {
        Ok(None) => String::new(),
        Ok(Some(OrdersArrival::Taken(orders))) => format!("; took orders {}", orders.version),
        Ok(Some(OrdersArrival::Refused(refused, _))) => {
            format!("; refused orders: {}", refused.reason)
        }
        Err(error) => format!("; no orders: {}", one_line(&error.to_string(), 400)),
    }
}

fn enqueue(store: &mut Store, due_at: u64) -> Result<()> {
    store.enqueue_work(&NewWork { kind: WORK.to_owned(), due_at, ..NewWork::default() })?;
    Ok(())
}

/// Returns how long the hub asked to wait, in milliseconds.
fn requested_wait(error: &SendError) -> u64 {
    match error {
        SendError::Hub(HubError::Busy { after: Some(after), .. }) => {
            u64::try_from(after.as_millis()).unwrap_or(LAST_RETRY).min(LAST_RETRY)
        }
        _ => 0,
    }
}

/// Returns the time until the next attempt: a random part of a time that doubles with each failure,
/// after the time that the hub asked for.
fn choose_wait(failures: u64, requested: u64, random: u64) -> u64 {
    let doubled = FIRST_RETRY.saturating_mul(1 << failures.min(16)).min(LAST_RETRY);
    requested.saturating_add(random % doubled.max(1))
}

fn random_number() -> u64 {
    let mut bytes = [0; 8];
    // Without random bytes the wait is that of the clock's last digits.
    match getrandom::fill(&mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => now_ms(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound_and_never_undercut_the_hub() {
        for failures in [0, 1, 5, 6, 100, u64::MAX] {
            let most = FIRST_RETRY.saturating_mul(1 << failures.min(16)).min(LAST_RETRY);
            for random in [0, 1, most - 1, most, u64::MAX] {
                let wait = choose_wait(failures, 7_000, random);
                assert!((7_000..7_000 + most).contains(&wait), "{failures} {random}: {wait}");
            }
        }
        assert_eq!(choose_wait(0, 0, FIRST_RETRY - 1), FIRST_RETRY - 1);
    }
}

//! Fetches the orders of a fleet, and records what was taken and what was refused.
//!
//! Only `maintain` and the resident service do it: no hook waits for the network.

use crate::bundles::install::{InstallLock, restore_bundle};
use crate::bundles::source::{self, RegistryOptions};
use crate::error::Result;
use crate::fleet_error::FetchError;
use crate::orders_trial;
use portcullis_bundle::{Lock, LockedBundle};
use portcullis_config::clock::now_ms;
use portcullis_config::orders::{check_configuration, read_newest};
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_fleet::orders::{Orders, SUBJECT, taken_subject};
use portcullis_fleet::{FleetFiles, HubClient, Membership, OrdersArrival, OrdersFileError};
use portcullis_review::bundles::locks::RequiredBundle;
use portcullis_review::bundles::open_store;
use portcullis_review::bundles::policies::PolicyTexts;
use portcullis_review::bundles::receipt::{self, InstalledRef};
use portcullis_review::stored_records::write_record;
use portcullis_store::{Durability, Home, StoreError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// The time between two looks at a home that is in no fleet, and after a refusal or a failure.
const PAUSE: Duration = Duration::from_secs(30);
/// The least time between two requests.
const LEAST: Duration = Duration::from_secs(1);

/// Fetches the orders of a machine once; returns what came of them, or nothing if there are no newer
/// ones, or the machine takes none. With `waits`, the hub holds the request until there are some.
///
/// # Errors
/// Fails if the hub does not answer, or the home cannot be used.
pub fn fetch_orders(
    places: &Paths,
    home: &Home,
    client: &HubClient,
    waits: bool,
) -> std::result::Result<Option<OrdersArrival>, FetchError> {
    let files = FleetFiles::of_home(home);
    let membership = files.read_membership().map_err(OrdersFileError::from)?;
    let Some(trust) = membership.and_then(|membership| membership.orders) else { return Ok(None) };
    let own = files.orders();
    let state = own.read_state().map_err(OrdersFileError::from)?.ok_or(OrdersFileError::Missing)?;
    let refused = own.read_refused().map_err(OrdersFileError::from)?;
    let was_refused = refused.is_some();
    let trial = orders_trial::read_report(&files, home)?;
    let refused = refused.map(|refused| refused.reason);
    let answer = client.ask_orders(state.seen, refused, trial, waits)?;
    let follows = orders_trial::follow_answer(&files, home, &trust, state.seen, &answer)?;
    if waits && !follows && answer.orders.is_none() {
        // The hub would answer the next request at once with the same.
        sleep(PAUSE);
    }
    let Some(signed) = answer.orders else {
        if was_refused {
            own.forget_refused().map_err(OrdersFileError::from)?;
        }
        return Ok(None);
    };
    let now = now_ms();
    let before = read_newest(home, now)?.map(|(orders, _)| orders);
    let arrival = own.take_orders(&signed, &trust, now, |orders| {
        check_configuration(orders)?;
        fetch_bundles(places, home, orders)
            .map_err(|error| format!("a locked bundle cannot be had: {}", error.in_line()))
    })?;
    match &arrival {
        OrdersArrival::Taken(orders) => {
            let end = portcullis_config::clock::format_utc(orders.expires_at);
            let (version, group) = (orders.version, &orders.group);
            files.trial().end_trial().map_err(OrdersFileError::from)?;
            let summary = format!(
                "took version {version} of the orders for the group `{group}`, until {end} UTC"
            );
            // The hub tells by this record which orders the next ones were made under.
            record_orders(home, &taken_subject(version), &summary, now)?;
            if let Some(before) = before {
                forget_unlocked(home, &before, orders, own.path(), now);
            }
        }
        OrdersArrival::Refused(refused, false) => {
            let summary = format!("refused orders from the hub: {}", refused.reason);
            record_orders(home, SUBJECT, &summary, now)?;
        }
        OrdersArrival::Refused(_, true) => {}
    }
    Ok(Some(arrival))
}

/// Fetches orders in a thread of their own, as long as the process runs.
///
/// # Errors
/// Fails if the thread cannot be started.
pub fn follow_orders(places: Paths) -> std::io::Result<()> {
    let follow = move || {
        let mut kept = None;
        loop {
            let begun = Instant::now();
            let wait = match follow_once(&places, &mut kept) {
                Some(()) => LEAST.saturating_sub(begun.elapsed()),
                None => PAUSE,
            };
            sleep(wait);
        }
    };
    Builder::new().name("portcullis-orders".into()).spawn(follow).map(drop)
}

/// A connection to the hub that is kept from one request to the next, and the identity that it was
/// made with: for ten thousand machines, handshakes would be the hub's greatest work.
type KeptClient = Option<(Membership, HubClient)>;

/// Holds one request; returns nothing if there is a reason to wait before the next. `fleet status`
/// and the next `maintain` report a failure.
fn follow_once(places: &Paths, kept: &mut KeptClient) -> Option<()> {
    let home = Home::open_existing(&places.state).ok()??;
    let membership = FleetFiles::of_home(&home).read_membership().ok()??;
    membership.orders.as_ref()?;
    let (_, client) = match kept.take() {
        Some(same) if same.0 == membership => kept.insert(same),
        _ => {
            let client = HubClient::of_member(&membership).ok()?;
            kept.insert((membership, client))
        }
    };
    match fetch_orders(places, &home, client, true) {
        Ok(None | Some(OrdersArrival::Taken(_))) => Some(()),
        Ok(Some(OrdersArrival::Refused(..))) | Err(_) => {
            // The next request begins with a connection of its own.
            *kept = None;
            None
        }
    }
}

/// Installs the bundles that orders lock and that are not here, before the orders count: from then
/// on nothing runs without them.
fn fetch_bundles(places: &Paths, home: &Home, orders: &Orders) -> Result<()> {
    let lock = Lock::parse_lock(&orders.lock).unwrap_or_default();
    if lock.bundles().is_empty() {
        return Ok(());
    }
    let _turn = InstallLock::take_lock(places)?;
    let path = FleetFiles::of_home(home).orders().path().to_owned();
    let policies =
        PolicyTexts::read_texts(places)?.with_orders(orders, path.clone()).parse_texts()?;
    let store = open_store(places)?;
    let there = store.installed()?;
    for locked in lock.bundles() {
        let wanted = RequiredBundle { locked: locked.clone(), by: path.clone() };
        let installed = there.iter().find(|installed| installed.index.digest == locked.digest);
        if installed.is_some_and(|installed| store.read_bundle(installed).is_ok()) {
            portcullis_review::bundles::verify::verify_bundle(
                &store,
                &wanted,
                &policies,
                now_ms(),
            )?;
            continue;
        }
        let reference = source::of_locked(locked)?;
        let found = source::pull_bundle(&RegistryOptions::default().client()?, &reference)?;
        restore_bundle(places, &wanted, &found, &policies, now_ms())?;
    }
    Ok(())
}

/// Forgets the bundles that older orders locked and newer ones do not: the operator took them out,
/// and nobody on the machine did.
fn forget_unlocked(home: &Home, before: &Orders, now: &Orders, by: &std::path::Path, at: u64) {
    let locked = |orders: &Orders| Lock::parse_lock(&orders.lock).unwrap_or_default();
    let still = locked(now);
    let gone: Vec<InstalledRef> = locked(before)
        .bundles()
        .iter()
        .filter(|bundle| !still.bundles().iter().any(|other| other.digest == bundle.digest))
        .map(|LockedBundle { name, version, digest, .. }| InstalledRef {
            name: name.clone(),
            version: version.clone(),
            digest: *digest,
            by: by.to_owned(),
        })
        .collect();
    // If this fails, actions are refused until a person runs `bundle install`.
    let _forgotten = receipt::forget_bundles(home, &gone, at);
}

fn record_orders(
    home: &Home,
    subject: &str,
    summary: &str,
    at: u64,
) -> std::result::Result<(), StoreError> {
    let record = Record::outside_session(
        RecordKind::Configuration,
        subject,
        &one_line(summary, 800),
        at,
        &std::process::id().to_string(),
    );
    write_record(home, Durability::Process, &record)
}

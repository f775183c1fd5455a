//! Deliveries of exports where no service does them: after the other work and without its lock, so
//! that a slow sink delays nothing else.

use crate::error::Result;
use crate::export_delivery::{ExportOutcome, ExportWorker, describe_delivery};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_review::exports::{
    ConfiguredExport, ExportStatus, WORK, configured_exports, list_export_statuses,
};
use portcullis_store::{Home, NewWork, Store, WorkItem};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two runs of an export, in milliseconds.
const PERIOD: u64 = 60 * 1000;
/// The time for which one run delivers. What is left then waits for the next.
const BUDGET: Duration = Duration::from_secs(20);

/// Queues the work of each export; without exports there is none.
pub fn queue_work(store: &mut Store, config: &Config) -> Result<()> {
    for name in config.exports.keys() {
        enqueue(store, name, now_ms())?;
    }
    Ok(())
}

/// One export's name, and what its run did.
pub type ExportReport = (String, Result<String>);

/// Delivers the exports of this work, each in a thread of its own; returns what each did. `all` keeps
/// no waits.
pub fn deliver_exports(
    places: &Paths,
    home: &Home,
    config: &Config,
    due: Vec<WorkItem>,
    all: bool,
) -> Result<Vec<ExportReport>> {
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let exports = configured_exports(config, &places.person);
    let config = Arc::new(config.clone());
    let until = Instant::now() + BUDGET;
    let deliver = |name: &str, export: &ConfiguredExport| -> Result<Option<String>> {
        let home = Home::open_root(home.path())?;
        let mut worker = ExportWorker::open(home, config.durability)?;
        match worker.run_export(places, &config, (name, export), until, !all)? {
            ExportOutcome::Busy => Ok(None),
            ExportOutcome::Ran(delivered) => Ok(Some(describe_delivery(&delivered?))),
        }
    };
    let deliver = &deliver;
    let named = due.iter().filter_map(|work| Some((work, exports.get(&work.key)?)));
    let mut reports: Vec<ExportReport> = thread::scope(|scope| {
        let running: Vec<_> = named
            .map(|(work, export)| {
                let name = work.key.clone();
                (name, scope.spawn(move || deliver(&work.key, export)))
            })
            .collect();
        running
            .into_iter()
            .map(|(name, thread)| {
                let outcome = thread.join().unwrap_or_else(|_| {
                    Err(crate::error::Error::internal("a defect ended the delivery"))
                });
                let busy = || "another process delivers it".to_owned();
                (name, outcome.map(|said| said.unwrap_or_else(busy)))
            })
            .collect()
    });
    let mut store = Store::open_database(home, config.durability)?;
    for work in &due {
        store.work_done(work.id)?;
        if !exports.contains_key(&work.key) {
            reports.push((work.key.clone(), Ok("it is not configured any more".to_owned())));
        }
    }
    for status in configured_statuses(&exports, &store)? {
        if due.iter().any(|work| work.key == status.name) {
            enqueue(&mut store, &status.name, next_run(&status, now_ms()))?;
        }
    }
    Ok(reports)
}

/// Returns when the next delivery is due, if records wait for one.
pub fn next_attempt(store: &Store, places: &Paths, home: &Home) -> Result<Option<u64>> {
    let config = Config::load(places, Some(home))?;
    if config.exports.is_empty() {
        return Ok(None);
    }
    let exports = configured_exports(&config, &places.person);
    if !configured_statuses(&exports, store)?.iter().any(|status| status.waiting > 0) {
        return Ok(None);
    }
    let queued = store.queued_work()?;
    Ok(queued.into_iter().find(|kind| kind.kind == WORK).map(|kind| kind.first_due_at))
}

/// Returns when an export runs again: when its retry is due, or after the period.
fn next_run(status: &ExportStatus, now: u64) -> u64 {
    match status.state.retry_at {
        0 => now.saturating_add(PERIOD),
        retry_at => retry_at.max(now.saturating_add(1000)),
    }
}

fn configured_statuses(
    exports: &BTreeMap<String, ConfiguredExport>,
    store: &Store,
) -> Result<Vec<ExportStatus>> {
    let all = list_export_statuses(exports, store, now_ms())?;
    Ok(all.into_iter().filter(|status| status.is_configured).collect())
}

fn enqueue(store: &mut Store, name: &str, due_at: u64) -> Result<()> {
    let work =
        NewWork { kind: WORK.to_owned(), key: name.to_owned(), due_at, ..NewWork::default() };
    store.enqueue_work(&work)?;
    Ok(())
}

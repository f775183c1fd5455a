//! Tells open pages that the journal has changed.
//!
//! One task looks at the newest record while pages are open. Hooks write the journal from processes
//! of their own, so nobody else could tell.

use crate::access::Role;
use crate::site::Site;
use portcullis_review::approvals::WatchLock;
use portcullis_store::{Filter, Store};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(300);

/// The newest record, for those who wait for another one.
#[derive(Debug)]
pub(crate) struct Changes {
    newest: watch::Sender<u64>,
    /// The open pages of approvers.
    approvers: AtomicUsize,
}

impl Default for Changes {
    fn default() -> Self {
        Self { newest: watch::Sender::new(0), approvers: AtomicUsize::new(0) }
    }
}

/// An open page, until it is dropped.
pub(crate) struct OpenPage {
    site: Arc<Site>,
    role: Role,
}

impl Changes {
    /// Returns the newest positions, from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

impl OpenPage {
    pub(crate) fn open(site: Arc<Site>, role: Role) -> Self {
        if role >= Role::Approver {
            site.changes.approvers.fetch_add(1, Ordering::SeqCst);
        }
        Self { site, role }
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        if self.role >= Role::Approver {
            self.site.changes.approvers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Looks at the journal as long as pages are open. While an approver's is, a person watches: actions
/// wait for their answer.
pub(crate) async fn watch_journal(site: Arc<Site>) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut lock: Option<WatchLock> = None;
    loop {
        ticks.tick().await;
        if site.changes.approvers.load(Ordering::SeqCst) == 0 {
            lock = None;
        }
        if site.changes.newest.receiver_count() == 0 {
            continue;
        }
        let wants_lock = lock.is_none() && site.changes.approvers.load(Ordering::SeqCst) > 0;
        let reader = Arc::clone(&site);
        let look = move || {
            let reading = reader.open().ok()?;
            // A terminal that watches has it: then somebody is there already.
            let taken = if wants_lock { WatchLock::take(&reading.home).ok()? } else { None };
            Some((newest_position(&reading.store), taken))
        };
        let Ok(Some((newest, taken))) = tokio::task::spawn_blocking(look).await else { continue };
        lock = lock.or(taken);
        site.changes.newest.send_if_modified(|known| {
            let is_new = *known != newest;
            *known = newest;
            is_new
        });
    }
}

/// Returns the position behind the newest record: 0 in an empty journal.
fn newest_position(store: &Store) -> u64 {
    let mut newest = 0;
    let filter = Filter { newest_first: true, limit: Some(1), ..Filter::default() };
    let read = store.query_records(&filter, |stored| {
        newest = stored.sequence + 1;
        ControlFlow::Break(())
    });
    drop(read);
    newest
}

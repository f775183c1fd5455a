//! Looks at the journal while pages are open.
//!
//! Hooks write the journal from processes of their own, so nobody else could tell that it has changed.

use crate::shared::SharedPage;
use crate::site::Site;
use portcullis_review::approvals::WatchLock;
use portcullis_served::Role;
use portcullis_store::{Filter, Store};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(300);

/// An open page, until it is dropped.
pub(crate) struct OpenPage {
    site: Arc<Site>,
    role: Role,
}

impl OpenPage {
    pub(crate) fn open(site: Arc<Site>, role: Role) -> Self {
        site.changes.count_page(role, true);
        Self { site, role }
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.site.changes.count_page(self.role, false);
    }
}

/// Looks at the journals of all homes as long as pages are open. While an approver's is, a person
/// watches: actions wait for their answer.
pub(crate) async fn watch_journals(shared: Arc<SharedPage>) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut locks: BTreeMap<PathBuf, WatchLock> = BTreeMap::new();
    loop {
        ticks.tick().await;
        for site in shared.list_sites() {
            let state = &site.places.state;
            if !site.changes.is_watched() {
                locks.remove(state);
            }
            if !site.changes.are_awaited() {
                continue;
            }
            let wants_lock = !locks.contains_key(state) && site.changes.is_watched();
            let reader = Arc::clone(&site);
            let look = move || {
                let reading = reader.open().ok()?;
                // A terminal that watches has it: then somebody is there already.
                let taken = if wants_lock { WatchLock::take(&reading.home).ok()? } else { None };
                Some((newest_position(&reading.store), taken))
            };
            let Ok(Some((newest, taken))) = tokio::task::spawn_blocking(look).await else {
                continue;
            };
            if let Some(taken) = taken {
                locks.insert(state.clone(), taken);
            }
            site.changes.tell(newest);
        }
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

//! The newest record of the journal, for pages that are open.

use portcullis_served::Role;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

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

impl Changes {
    /// Returns the newest positions, from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    /// Returns true while an open page waits for a change.
    pub(crate) fn are_awaited(&self) -> bool {
        self.newest.receiver_count() > 0
    }

    /// Tells the newest position, if it is another one than before.
    pub(crate) fn tell(&self, newest: u64) {
        self.newest.send_if_modified(|known| {
            let is_new = *known != newest;
            *known = newest;
            is_new
        });
    }

    /// Returns true while a page of an approver is open.
    pub(crate) fn is_watched(&self) -> bool {
        self.approvers.load(Ordering::SeqCst) > 0
    }

    /// Counts a page of somebody of that role as open or, with `is_open` false, as closed.
    pub(crate) fn count_page(&self, role: Role, is_open: bool) {
        if role < Role::Approver {
            return;
        }
        if is_open {
            self.approvers.fetch_add(1, Ordering::SeqCst);
        } else {
            self.approvers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

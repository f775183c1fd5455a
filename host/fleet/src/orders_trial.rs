//! Orders that a machine tries: it reviews beside them, and they do not count.
//!
//! The hook notes in the record of each action what would have happened under them. The file has the
//! orders, how far the journal was read for such notes, and their counts, which the hub gets.

use crate::orders::{Orders, OrdersError, OrdersTrust, SignedOrders};
use crate::protocol::TrialReport;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::io;

/// The most bytes of the file: signed orders take twice their size in JSON.
const MOST: u64 = 2 << 20;

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrdersTrial {
    /// The orders.
    pub signed: SignedOrders,
    /// The newest record of the journal that was read for notes.
    pub read_through: u64,
    /// The version of the orders, and what would have happened under them.
    pub report: TrialReport,
}

/// The file in a home.
#[derive(Debug)]
pub struct TrialFile {
    document: SealedDocument,
}

impl OrdersTrial {
    /// Returns the trial of orders that the operator signed for this machine, and that are newer than
    /// those that it has. The records after `head` count.
    ///
    /// # Errors
    /// Fails if they are not for this machine now.
    pub fn begin_trial(
        signed: SignedOrders,
        trust: &OrdersTrust,
        seen: u64,
        head: u64,
        now: u64,
    ) -> Result<Self, OrdersError> {
        let orders = signed.verify_orders(&trust.key)?;
        orders.check_for(&trust.group, seen, now)?;
        let report = TrialReport { version: orders.version, ..TrialReport::default() };
        Ok(Self { signed, read_through: head, report })
    }

    /// Returns the orders, if they have not expired at `now`, in milliseconds since 1970.
    #[must_use]
    pub fn orders_at(&self, now: u64) -> Option<Orders> {
        // They were verified when the trial began, and sealed since.
        serde_json::from_str::<Orders>(&self.signed.orders)
            .ok()
            .filter(|orders| now < orders.expires_at)
    }
}

impl TrialFile {
    /// Names the file of a home.
    #[must_use]
    pub fn of_home(home: &Home) -> Self {
        let path = home.path().join("fleet").join("orders-trial");
        let key = home.derive_key("portcullis 2026 fleet orders trial");
        Self { document: SealedDocument::new(path, key, MOST) }
    }

    /// Returns the trial; none if there is none, or if somebody changed its file: it has no effect
    /// on any verdict, and the hub offers it again.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn read_trial(&self) -> Result<Option<OrdersTrial>, SealError> {
        match self.document.read_content() {
            Err(SealError::Forged) => Ok(None),
            other => other,
        }
    }

    /// Replaces the trial.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn write_trial(&self, trial: &OrdersTrial) -> Result<(), SealError> {
        self.document.write_content(trial)
    }

    /// Ends the trial; returns true if there was one.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn end_trial(&self) -> io::Result<bool> {
        self.document.remove()
    }
}

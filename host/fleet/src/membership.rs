//! A machine's place in a fleet: its identity, and how far it has sent its journal.
//!
//! Both are documents in the home, for its owner alone and sealed with its key. They are separate,
//! since the identity changes every few weeks and the progress with each batch.

use crate::hex_digits;
use crate::orders::OrdersTrust;
use crate::orders_file::{HeldOrders, OrdersFile, OrdersFileError};
use crate::orders_trial::TrialFile;
use crate::protocol::Position;
use crate::receipt::SignedReceipt;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::{Hash, Home};
use serde::{Deserialize, Serialize};
use std::io;

/// The most bytes of either document.
const MOST: u64 = 64 << 10;

/// A machine's identity in a fleet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    /// The hub's address, `https://HOST[:PORT]`.
    pub hub: String,
    /// The certificate of the hub's authority, in PEM. No other one is believed.
    pub authority: String,
    /// The key that verifies the hub's receipts, in PEM.
    pub receipt_key: String,
    /// The machine's id.
    pub machine: String,
    /// The labels of the token that it joined with.
    pub labels: Vec<(String, String)>,
    /// The machine's certificate, in PEM.
    pub certificate: String,
    /// The key of the certificate, in PEM. It was made on this machine and never leaves it.
    pub key: String,
    /// The time when the certificate was issued, in milliseconds since 1970.
    pub issued_at: u64,
    /// The time when it ends.
    pub expires_at: u64,
    /// The key whose orders this machine takes; none takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrdersTrust>,
}

impl Membership {
    /// Returns true once half of the certificate's life is over.
    #[must_use]
    pub const fn renewal_due(&self, now: u64) -> bool {
        let half = self.expires_at.saturating_sub(self.issued_at) / 2;
        now >= self.issued_at.saturating_add(half)
    }
}

impl std::fmt::Debug for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Membership")
            .field("hub", &self.hub)
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

/// The part of its journal that a machine has sent. It moves only after the hub has answered that
/// the records are durable there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The journal's id, which was chosen here by chance.
    pub journal: String,
    /// The newest record that the hub has.
    pub sequence: u64,
    /// Its hash.
    #[serde(with = "hex_digits")]
    pub hash: Hash,
    /// The hub's receipt for it.
    pub receipt: Option<SignedReceipt>,
    /// The time of the newest answer of the hub, in milliseconds since 1970; 0 for none.
    pub answered_at: u64,
    /// Records that were sent without their document as recorded.
    pub withheld: u64,
    /// The failures in a row of talking to the hub.
    pub failures: u32,
    /// The reason why the last attempt failed.
    pub last_error: Option<String>,
    /// True if the hub, or this machine, found that records do not continue what the hub has: only
    /// a person can go on.
    pub disputed: bool,
    /// The time at which the hub got the newest report of this machine's protection, in milliseconds
    /// since 1970; 0 for none.
    #[serde(default)]
    pub reported_at: u64,
}

impl Progress {
    /// Returns the place in the chain.
    #[must_use]
    pub const fn position(&self) -> Position {
        Position { sequence: self.sequence, hash: self.hash }
    }
}

/// The documents of a home.
#[derive(Debug)]
pub struct FleetFiles {
    membership: SealedDocument,
    progress: SealedDocument,
    orders: OrdersFile,
    trial: TrialFile,
}

impl FleetFiles {
    /// Names the documents of a home.
    #[must_use]
    pub fn of_home(home: &Home) -> Self {
        let folder = home.path().join("fleet");
        let document = |name: &str, key| SealedDocument::new(folder.join(name), key, MOST);
        Self {
            membership: document("membership", home.derive_key("portcullis 2026 fleet membership")),
            progress: document("progress", home.derive_key("portcullis 2026 fleet progress")),
            orders: OrdersFile::of_home(home),
            trial: TrialFile::of_home(home),
        }
    }

    /// Returns the file of the orders that the machine has taken.
    #[must_use]
    pub const fn orders(&self) -> &OrdersFile {
        &self.orders
    }

    /// Returns the file of the orders that the machine tries.
    #[must_use]
    pub const fn trial(&self) -> &TrialFile {
        &self.trial
    }

    /// Returns true if the machine is in a fleet, as far as can be told without reading anything.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.membership.path().exists()
    }

    /// Returns the machine's identity; none if it is in no fleet.
    ///
    /// # Errors
    /// Fails if it was not written with the home's key, or the system refuses.
    pub fn read_membership(&self) -> Result<Option<Membership>, SealError> {
        self.membership.read_content()
    }

    /// Replaces the machine's identity.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn write_membership(&self, membership: &Membership) -> Result<(), SealError> {
        self.membership.write_content(membership)
    }

    /// Returns the orders that the machine has at `now`, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if their file was changed, or is missing though the machine takes orders: that somebody
    /// removed it is never the absence of orders.
    pub fn read_orders(&self, now: u64) -> Result<Option<HeldOrders>, OrdersFileError> {
        if let Some(state) = self.orders.read_state()? {
            return state.into_held(now);
        }
        // The usual case, of a machine in no fleet, costs one look at each name.
        let takes = self.is_member()
            && self.read_membership()?.is_some_and(|membership| membership.orders.is_some());
        if takes { Err(OrdersFileError::Missing) } else { Ok(None) }
    }

    /// Returns the progress. One that is missing, or was changed, is none: the hub knows how far
    /// it got.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn read_progress(&self) -> Result<Option<Progress>, SealError> {
        match self.progress.read_content() {
            Err(SealError::Forged) => Ok(None),
            other => other,
        }
    }

    /// Replaces the progress.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn write_progress(&self, progress: &Progress) -> Result<(), SealError> {
        self.progress.write_content(progress)
    }

    /// Removes all; returns true if the machine was in a fleet.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn remove_all(&self) -> io::Result<bool> {
        self.progress.remove()?;
        self.trial.end_trial()?;
        // Before the membership: orders without one would stay in force, and nobody could end that.
        self.orders.remove_orders()?;
        self.membership.remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership(issued_at: u64, expires_at: u64) -> Membership {
        Membership {
            hub: "https://hub.example".into(),
            authority: String::new(),
            receipt_key: String::new(),
            machine: "m".into(),
            labels: Vec::new(),
            certificate: String::new(),
            key: String::new(),
            issued_at,
            expires_at,
            orders: None,
        }
    }

    #[test]
    fn a_certificate_is_renewed_at_half_its_life() {
        let it = membership(100, 300);
        assert!(!it.renewal_due(199) && it.renewal_due(200) && it.renewal_due(400));
    }

    #[test]
    fn a_changed_identity_is_an_error_and_a_changed_progress_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let files = FleetFiles::of_home(&home);
        assert_eq!(files.read_membership().unwrap(), None);
        files.write_membership(&membership(1, 2)).unwrap();
        files.write_progress(&Progress { sequence: 7, ..Progress::default() }).unwrap();
        assert_eq!(files.read_progress().unwrap().unwrap().sequence, 7);
        for name in ["membership", "progress"] {
            let path = home.path().join("fleet").join(name);
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, text.replacen(['1', '7'], "2", 1)).unwrap();
        }
        assert!(matches!(files.read_membership(), Err(SealError::Forged)));
        assert_eq!(files.read_progress().unwrap(), None);
        assert!(files.remove_all().unwrap() && !files.remove_all().unwrap());
    }
}

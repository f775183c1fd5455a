//! The orders that a machine has taken, in its home, sealed with its key.
//!
//! The hook reads them before each action, so they are a file of their own, which changes only with
//! new orders. A machine that takes orders always has the file: that somebody removed it is an
//! error, and never the absence of orders.

use crate::orders::{AfterExpiry, Orders, OrdersError, OrdersTrust, SignedOrders};
use portcullis_core::text::one_line;
use portcullis_fs::{SealError, SealedDocument, open_lock_file};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of the file: signed orders take twice their size in JSON.
const MOST: u64 = 2 << 20;
const FOLDER: &str = "fleet";
const FILE: &str = "orders";
const REFUSED: &str = "orders-refused";
const LOCK: &str = "orders.lock";
/// The most characters of a reason, which may quote the orders.
const MOST_REASON: usize = 500;

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrdersState {
    /// The newest version that was taken; 0 for none. No older one is taken again.
    pub seen: u64,
    /// The time when it was taken, in milliseconds since 1970.
    pub taken_at: u64,
    /// The orders.
    pub signed: Option<SignedOrders>,
}

/// Orders that were refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedOrders {
    /// The digest of what was refused, by which it is recognised when it comes again.
    pub digest: String,
    /// The reason.
    pub reason: String,
    /// The time when they were refused first, in milliseconds since 1970.
    pub at: u64,
}

/// The orders that a machine has, and whether they are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldOrders {
    /// The orders.
    pub orders: Orders,
    /// True if their time is over.
    pub is_expired: bool,
}

/// The result of orders' arrival.
#[derive(Debug, PartialEq, Eq)]
pub enum OrdersArrival {
    /// They are in force from now on.
    Taken(Box<Orders>),
    /// They were refused; the flag is true if exactly they were refused before.
    Refused(RefusedOrders, bool),
}

/// The files of the orders in a home.
#[derive(Debug)]
pub struct OrdersFile {
    document: SealedDocument,
    refused: SealedDocument,
    folder: PathBuf,
}

impl OrdersState {
    /// Returns the orders at `now`, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if this version does not understand what an older one has taken.
    pub fn into_held(self, now: u64) -> Result<Option<HeldOrders>, OrdersFileError> {
        let Some(signed) = self.signed else { return Ok(None) };
        // It was verified when it was taken, and sealed since.
        let orders: Orders = serde_json::from_str(&signed.orders)
            .map_err(|error| OrdersFileError::Unreadable(error.to_string()))?;
        let is_expired = now >= orders.expires_at;
        Ok(Some(HeldOrders { orders, is_expired }))
    }
}

impl HeldOrders {
    /// Returns true if the machine is held to them: they have not expired, or stay in force.
    #[must_use]
    pub const fn in_force(&self) -> bool {
        !(self.is_expired && matches!(self.orders.after_expiry, AfterExpiry::Own))
    }

    /// Returns true if nothing may run, since they have expired and say so.
    #[must_use]
    pub const fn blocks_all(&self) -> bool {
        self.is_expired && matches!(self.orders.after_expiry, AfterExpiry::Block)
    }
}

impl OrdersFile {
    /// Names the files of a home.
    #[must_use]
    pub fn of_home(home: &Home) -> Self {
        let folder = home.path().join(FOLDER);
        let document = |name: &str, key| SealedDocument::new(folder.join(name), key, MOST);
        Self {
            document: document(FILE, home.derive_key("portcullis 2026 fleet orders")),
            refused: document(REFUSED, home.derive_key("portcullis 2026 fleet refused orders")),
            folder,
        }
    }

    /// Returns the path of the file in a state folder.
    #[must_use]
    pub fn path_in(state: &Path) -> PathBuf {
        state.join(FOLDER).join(FILE)
    }

    /// Returns true if a state folder has the file, as far as can be told without reading it.
    #[must_use]
    pub fn exists_in(state: &Path) -> bool {
        Self::path_in(state).symlink_metadata().is_ok()
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.document.path()
    }

    /// Creates the file of a machine that takes orders, without any yet.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn begin_orders(&self) -> Result<(), SealError> {
        self.refused.remove()?;
        self.document.write_content(&OrdersState::default())
    }

    /// Returns the content; none for a machine that takes no orders.
    ///
    /// # Errors
    /// Fails if it was not written with the home's key, or the system refuses.
    pub fn read_state(&self) -> Result<Option<OrdersState>, SealError> {
        self.document.read_content()
    }

    /// Returns the orders that were refused last, if they were refused after the newest were taken.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn read_refused(&self) -> Result<Option<RefusedOrders>, SealError> {
        match self.refused.read_content() {
            Err(SealError::Forged) => Ok(None),
            other => other,
        }
    }

    /// Forgets the orders that were refused, since the hub offers them no longer.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn forget_refused(&self) -> io::Result<()> {
        self.refused.remove().map(drop)
    }

    /// Takes orders, or refuses them. `check_parts` finds what this machine cannot use.
    ///
    /// # Errors
    /// Fails if the files cannot be read or written; then nothing changes.
    pub fn take_orders(
        &self,
        signed: &SignedOrders,
        trust: &OrdersTrust,
        now: u64,
        check_parts: impl FnOnce(&Orders) -> Result<(), String>,
    ) -> Result<OrdersArrival, OrdersFileError> {
        // Service and `maintain` may both get orders: the later of two must be the newer.
        let lock = open_lock_file(&self.folder.join(LOCK))?;
        lock.lock()?;
        let state = self.read_state()?.ok_or(OrdersFileError::Missing)?;
        let checked = signed.verify_orders(&trust.key).and_then(|orders| {
            orders.check_for(&trust.group, state.seen, now)?;
            check_parts(&orders).map_err(OrdersError::Part)?;
            Ok(orders)
        });
        match checked {
            Ok(orders) => {
                self.document.write_content(&OrdersState {
                    seen: orders.version,
                    taken_at: now,
                    signed: Some(signed.clone()),
                })?;
                self.refused.remove()?;
                Ok(OrdersArrival::Taken(Box::new(orders)))
            }
            Err(error) => {
                let digest = digest_signed(signed);
                let before = self.read_refused()?.filter(|before| before.digest == digest);
                let again = before.is_some();
                let at = before.map_or(now, |before| before.at);
                let reason = one_line(&error.to_string(), MOST_REASON);
                let refused = RefusedOrders { digest, reason, at };
                self.refused.write_content(&refused)?;
                Ok(OrdersArrival::Refused(refused, again))
            }
        }
    }

    /// Removes the files; returns true if there were orders.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn remove_orders(&self) -> io::Result<bool> {
        self.refused.remove()?;
        self.document.remove()
    }
}

/// The reasons why a machine's orders cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum OrdersFileError {
    /// The file is gone.
    #[error("the fleet's orders are gone from this machine's home")]
    Missing,
    /// This version does not understand what an older one has taken.
    #[error("the fleet's orders are not understood: {0}")]
    Unreadable(String),
    /// The file was changed, or the system refuses.
    #[error("the fleet's orders cannot be used: {0}")]
    Seal(#[from] SealError),
    /// The system refuses.
    #[error("the fleet's orders cannot be used: {0}")]
    Io(#[from] io::Error),
}

fn digest_signed(signed: &SignedOrders) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&signed.orders, &signed.signature] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::FORMAT;
    use portcullis_bundle::SecretKey;

    const NOW: u64 = 1_000_000;

    fn orders(version: u64, after_expiry: AfterExpiry) -> Orders {
        Orders {
            format: FORMAT,
            group: "web".into(),
            version,
            not_before: NOW,
            expires_at: NOW + 100,
            after_expiry,
            configuration: String::new(),
            trust: String::new(),
            lock: String::new(),
            approvals: String::new(),
        }
    }

    #[test]
    fn only_newer_orders_are_taken_and_each_refusal_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let files = crate::FleetFiles::of_home(&home);
        let file = files.orders();
        let key = SecretKey::of_seed(&[1; 32]);
        let trust = OrdersTrust { key: key.public().to_pem().unwrap(), group: "web".into() };
        let sign = |version| SignedOrders::sign_orders(&orders(version, AfterExpiry::Keep), &key);
        let take = |version| file.take_orders(&sign(version), &trust, NOW, |_| Ok(()));
        assert!(take(1).is_err(), "a machine that takes no orders took some");
        file.begin_orders().unwrap();
        assert_eq!(files.read_orders(NOW).unwrap(), None);
        assert!(matches!(take(2).unwrap(), OrdersArrival::Taken(taken) if taken.version == 2));
        for (version, again) in [(1, false), (1, true), (2, false), (2, true)] {
            let refused = take(version).unwrap();
            assert!(
                matches!(&refused, OrdersArrival::Refused(_, known) if *known == again),
                "{version}: {refused:?}"
            );
        }
        assert!(file.read_refused().unwrap().unwrap().reason.contains("version 2 was seen"));
        let unusable = file.take_orders(&sign(3), &trust, NOW, |_| Err("no".into())).unwrap();
        assert!(matches!(unusable, OrdersArrival::Refused(refused, _) if refused.reason == "no"));
        assert_eq!(files.read_orders(NOW).unwrap().unwrap().orders.version, 2);
        assert!(matches!(take(3).unwrap(), OrdersArrival::Taken(_)));
        assert_eq!(file.read_refused().unwrap(), None);
        assert!(file.remove_orders().unwrap());
    }

    #[test]
    fn expired_orders_say_what_holds() {
        for (after_expiry, in_force, blocks) in [
            (AfterExpiry::Keep, true, false),
            (AfterExpiry::Own, false, false),
            (AfterExpiry::Block, true, true),
        ] {
            for is_expired in [false, true] {
                let held = HeldOrders { orders: orders(1, after_expiry), is_expired };
                let found = (held.in_force(), held.blocks_all());
                let expected = if is_expired { (in_force, blocks) } else { (true, false) };
                assert_eq!(found, expected, "{after_expiry:?} {is_expired}");
            }
        }
    }
}

//! The use of a call of this tier, and the fuel that it owes for that.

use crate::grants::GrantUses;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The use and the debt of a call, shared with its streams and requests.
#[derive(Clone, Default)]
pub(super) struct SharedLedger(Arc<Mutex<Ledger>>);

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) uses: GrantUses,
    /// Bytes that the host handled for the guest and that are not paid for yet.
    pub(super) unpaid_bytes: u64,
    /// Bytes of granted files that were asked for.
    pub(super) read_bytes: u64,
    /// Output that is not in the log yet.
    pub(super) output: Vec<u8>,
    /// The call has ended: nothing may be used any more.
    pub(super) closed: bool,
}

impl SharedLedger {
    pub(super) fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    pub(super) fn owe(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.unpaid_bytes = self.unpaid_bytes.saturating_add(bytes);
    }
}

//! The state of this tier during one call: the open resources, the terms of requests, the runtime.

use super::ledger::SharedLedger;
use super::requests::{HostHooks, RequestTerms};
use crate::grants::GrantUses;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi_http::WasiHttpCtx;

/// The most resources that are open at a time.
const MOST_RESOURCES: usize = 64;
/// The most bytes of the headers of a request, with what each costs the host.
pub(super) const HEADER_BYTES: usize = 16 << 10;

/// The state of this tier during one call.
#[derive(Default)]
pub(crate) struct GrantedState {
    pub(super) table: ResourceTable,
    pub(super) files: WasiFilesystemCtx,
    /// The names of open folders and files in records, by the number of their resource.
    pub(super) names: BTreeMap<u32, String>,
    pub(super) http: WasiHttpCtx,
    pub(super) hooks: HostHooks,
    pub(super) ledger: SharedLedger,
    pub(super) runtime: Option<Arc<Runtime>>,
    pub(super) waited: Duration,
    /// Calls into the host that are not paid for yet.
    pub(super) unpaid_calls: u64,
}

/// Returns the runtime of one call. It has no threads of its own.
///
/// # Errors
/// Fails if the system gives none.
pub(crate) fn new_runtime() -> wasmtime::Result<Arc<Runtime>> {
    Ok(Arc::new(Builder::new_current_thread().enable_time().build()?))
}

impl GrantedState {
    pub(crate) fn new(runtime: &Arc<Runtime>, requests: RequestTerms) -> Self {
        let ledger = SharedLedger::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(MOST_RESOURCES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HEADER_BYTES);
        Self {
            table,
            http,
            hooks: HostHooks::new(requests, ledger.clone()),
            ledger,
            runtime: Some(Arc::clone(runtime)),
            ..Self::default()
        }
    }

    /// Returns the number of calls and of bytes that are not paid for yet, and output for the log.
    pub(crate) fn take_unpaid(&mut self) -> (u64, u64, Vec<u8>) {
        let mut ledger = self.ledger.lock();
        let bytes = std::mem::take(&mut ledger.unpaid_bytes);
        (std::mem::take(&mut self.unpaid_calls), bytes, std::mem::take(&mut ledger.output))
    }

    /// Ends all uses, and returns those that were made.
    pub(crate) fn close(&self) -> GrantUses {
        let mut ledger = self.ledger.lock();
        ledger.closed = true;
        std::mem::take(&mut ledger.uses)
    }
}

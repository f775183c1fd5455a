//! WASI for plugins with granted folders or hosts: `wasmtime-wasi` and `wasmtime-wasi-http`, with
//! the operator's grants as their hooks.
//!
//! The crates bring the resources, the streams and the rules of `wasi:io`, `wasi:filesystem` and
//! `wasi:http`. The hooks decide what is opened (`files`) and what is sent (`requests`), and bound
//! all of it: each call costs fuel, each use is recorded, and no wait outlasts the call's deadline.
//! Clocks, randomness, variables and the log are those of the inert tier.
//!
//! The crates need an async runtime. It runs on the guest's own thread, and only while the guest
//! waits: nothing happens behind its back.

mod files;
mod requests;
mod safe_open;
mod streams;

use crate::grants::GrantUses;
use crate::state::{CallEnv, GuestState, charge_calls};
use crate::termination::Termination;
use requests::HostHooks;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use wasmtime::component::types::ComponentInstance;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{CallHook, StoreContextMut, Trap};
use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::p2::bindings::{self, sync};
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtx, WasiHttpCtxView};

/// The most resources that are open at a time.
const MOST_RESOURCES: usize = 64;
/// The most bytes of the headers of a request, with what each costs the host.
const HEADER_BYTES: usize = 16 << 10;
/// The longest time that one call may wait for anything: four requests, and some to spare. The
/// review's time usually ends before.
const MOST_WAITED: Duration = Duration::from_secs(6);
/// What ends by itself at the deadline is not interrupted at the same moment, so that the guest
/// learns what it was waiting for.
const GRACE: Duration = Duration::from_millis(10);

/// The state of this tier during one call.
#[derive(Default)]
pub(crate) struct GrantedState {
    table: ResourceTable,
    files: WasiFilesystemCtx,
    /// The names of open folders and files in records, by the number of their resource.
    names: BTreeMap<u32, String>,
    http: WasiHttpCtx,
    hooks: HostHooks,
    ledger: SharedLedger,
    runtime: Option<Arc<Runtime>>,
    waited: Duration,
    /// Calls into the host that are not paid for yet.
    unpaid_calls: u64,
}

/// What a call used and owes, shared with its streams and requests.
#[derive(Clone, Default)]
pub(crate) struct SharedLedger(Arc<Mutex<Ledger>>);

#[derive(Default)]
pub(crate) struct Ledger {
    uses: GrantUses,
    /// Bytes that the host handled for the guest and that are not paid for yet.
    unpaid_bytes: u64,
    /// Bytes of granted files that were asked for.
    read_bytes: u64,
    /// Output that is not in the log yet.
    output: Vec<u8>,
    /// The call has ended: nothing may be used any more.
    closed: bool,
}

impl SharedLedger {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn owe(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.unpaid_bytes = self.unpaid_bytes.saturating_add(bytes);
    }
}

/// Returns the runtime of one call. It has no threads of its own.
///
/// # Errors
/// Fails if the system gives none.
pub(crate) fn new_runtime() -> wasmtime::Result<Arc<Runtime>> {
    Ok(Arc::new(Builder::new_current_thread().enable_time().build()?))
}

impl GrantedState {
    pub(crate) fn new(env: &CallEnv<'_>, runtime: &Arc<Runtime>) -> Self {
        let ledger = SharedLedger::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(MOST_RESOURCES);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HEADER_BYTES);
        Self {
            table,
            http,
            hooks: HostHooks::new(env, ledger.clone()),
            ledger,
            runtime: Some(Arc::clone(runtime)),
            ..Self::default()
        }
    }

    /// Ends all uses, and returns those that were made.
    pub(crate) fn close(&self) -> GrantUses {
        let mut ledger = self.ledger.lock();
        ledger.closed = true;
        std::mem::take(&mut ledger.uses)
    }
}

impl GuestState {
    /// Returns this tier's state, which every call of a plugin in this tier has.
    fn granted(&mut self) -> &mut GrantedState {
        self.granted.get_or_insert_default()
    }

    /// Runs `work` until it is done, and requests meanwhile.
    ///
    /// # Errors
    /// Fails when the call's time is over.
    fn wait<T>(&mut self, work: impl AsyncFnOnce(&mut ResourceTable) -> T) -> wasmtime::Result<T> {
        let (started, deadline) = (Instant::now(), self.deadline);
        let granted = self.granted();
        let Some(runtime) = granted.runtime.clone() else { return Err(Trap::Interrupt.into()) };
        let patience = started + MOST_WAITED.saturating_sub(granted.waited);
        let until = deadline.map_or(patience, |deadline| patience.min(deadline + GRACE));
        let table = &mut granted.table;
        let done = runtime.block_on(async move {
            // Requests make progress here alone, also if the guest's own wait is over at once.
            tokio::task::yield_now().await;
            tokio::time::timeout_at(until.into(), work(table)).await
        });
        granted.waited += started.elapsed();
        done.map_err(|_late| match deadline {
            Some(deadline) if Instant::now() >= deadline => Trap::Interrupt.into(),
            _ => Termination::Waited(MOST_WAITED.as_secs()).into(),
        })
    }
}

/// Charges the guest for what the host did on its behalf, before the guest goes on.
pub(crate) fn settle(
    mut store: StoreContextMut<'_, GuestState>,
    hook: CallHook,
) -> wasmtime::Result<()> {
    if !matches!(hook, CallHook::ReturningFromHost) {
        return Ok(());
    }
    let state = store.data_mut();
    let Some(granted) = &mut state.granted else { return Ok(()) };
    let calls = std::mem::take(&mut granted.unpaid_calls);
    let (bytes, output) = {
        let mut ledger = granted.ledger.lock();
        (std::mem::take(&mut ledger.unpaid_bytes), std::mem::take(&mut ledger.output))
    };
    if !output.is_empty() {
        state.log.stream(&output);
    }
    if calls == 0 && bytes == 0 { Ok(()) } else { charge_calls(&mut store, calls, bytes) }
}

/// Returns the guest's state for a function of the crates; each call of one is paid for.
fn guest(state: &mut GuestState) -> &mut GuestState {
    state.granted().unpaid_calls += 1;
    state
}

fn http(state: &mut GuestState) -> WasiHttpCtxView<'_> {
    let granted = guest(state).granted();
    WasiHttpCtxView { hooks: &mut granted.hooks, table: &mut granted.table, ctx: &mut granted.http }
}

type Guest = HasSelf<GuestState>;

/// Defines an interface that a component imports under this name.
pub(crate) fn define(
    engine: &wasmtime::Engine,
    linker: &mut Linker<GuestState>,
    name: &str,
    instance: &ComponentInstance,
) -> wasmtime::Result<()> {
    // A component may import two releases of an interface; the crates' is for both.
    linker.allow_shadowing(true);
    match name.split('@').next().unwrap_or(name) {
        "wasi:io/error" => wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<
            _,
            HasSelf<ResourceTable>,
        >(linker, |state| &mut guest(state).granted().table),
        "wasi:io/poll" => sync::io::poll::add_to_linker::<_, Guest>(linker, guest),
        "wasi:io/streams" => sync::io::streams::add_to_linker::<_, Guest>(linker, guest),
        "wasi:cli/stdin" => bindings::cli::stdin::add_to_linker::<_, Guest>(linker, guest),
        "wasi:cli/stdout" => bindings::cli::stdout::add_to_linker::<_, Guest>(linker, guest),
        "wasi:cli/stderr" => bindings::cli::stderr::add_to_linker::<_, Guest>(linker, guest),
        "wasi:clocks/monotonic-clock" => {
            bindings::clocks::monotonic_clock::add_to_linker::<_, Guest>(linker, guest)
        }
        "wasi:filesystem/preopens" => {
            bindings::filesystem::preopens::add_to_linker::<_, Guest>(linker, guest)
        }
        "wasi:filesystem/types" => {
            sync::filesystem::types::add_to_linker::<_, Guest>(linker, guest)
        }
        "wasi:http/outgoing-handler" => {
            wasmtime_wasi_http::p2::bindings::http::outgoing_handler::add_to_linker::<_, WasiHttp>(
                linker, http,
            )
        }
        "wasi:http/types" => {
            let options = wasmtime_wasi_http::p2::bindings::http::types::LinkOptions::default();
            wasmtime_wasi_http::p2::bindings::http::types::add_to_linker::<_, WasiHttp>(
                linker, &options, http,
            )?;
            requests::refine(linker)
        }
        _ => super::define(engine, linker, name, instance),
    }
}

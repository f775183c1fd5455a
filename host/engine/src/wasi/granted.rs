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

mod file_stream;
mod files;
mod ledger;
mod refined;
mod requests;
mod resources;
mod safe_open;
mod streams;

pub(crate) use requests::RequestTerms;
pub(crate) use resources::{GrantedState, new_runtime};

use crate::state::GuestState;
use crate::termination::Termination;
use std::time::{Duration, Instant};
use wasmtime::Trap;
use wasmtime::component::types::ComponentInstance;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::p2::bindings::{self, sync};
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtxView};

/// The longest time that one call may wait for anything: four requests, and some to spare. The
/// review's time usually ends before.
const MOST_WAITED: Duration = Duration::from_secs(6);
/// What ends by itself at the deadline is not interrupted at the same moment, so that the guest
/// learns what it was waiting for.
const GRACE: Duration = Duration::from_millis(10);

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
            refined::define(linker)
        }
        _ => super::define(engine, linker, name, instance),
    }
}

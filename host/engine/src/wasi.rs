//! WASI for guests whose language runtime imports it even if they never use it: without effects,
//! unless a grant says otherwise (`grants`).
//!
//! Without a grant there are no arguments, no variables, no input, no files; output goes to the
//! plugin's log; the clock is fixed at the review's time; randomness is the same in each run. A
//! grant opens real clocks, real randomness, or variables by name, and each use of it is recorded.
//! Nothing is waited for, so nothing outlives fuel and deadline. Answers are built from each
//! function's own type, so that the same code serves every 0.2.x release of an interface.
//!
//! No function here changes anything outside the store, and only those that a component imports are
//! defined. A plugin that is granted folders to read or hosts to send requests to gets its streams,
//! files and requests from `granted`.

mod ambient;
pub(crate) mod granted;
mod values;

use crate::state::{GuestState, charge};
use crate::termination::Termination;
use ambient::{monotonic, random, variables, wall_clock};
use values::{all_ready, failure, octets, plain, weight};
use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, ResourceDynamic, ResourceType, Type, Val};

/// The one host type of all resources. There is nothing behind any handle.
const RESOURCE: u32 = 0;
/// The number of bytes that an output stream claims to accept at a time.
const WRITABLE: u64 = 4 << 10;

/// The behaviour of a function.
#[derive(Clone, Copy)]
enum HostFn {
    /// Returns the plainest value of its type: nothing, none, an empty list, success.
    Plain,
    /// Reports that the stream is at its end.
    Closed,
    /// Returns how much can be written.
    Writable,
    /// Writes its bytes to the log.
    Print,
    /// Returns true.
    Ready,
    /// Reports that all are ready.
    AllReady,
    /// Returns the review's time.
    WallClock,
    /// Returns a fixed time.
    Monotonic,
    /// Returns numbers that are the same in each run, or those that were granted.
    Random,
    /// Returns the granted variables.
    Variables,
    /// Returns no folders, and records that files were looked for.
    Folders,
    /// Refuses access to a file.
    Files,
    /// Ends the guest.
    Exit,
    /// Ends the guest: later releases may add functions that this version does not know.
    NotOffered,
}

/// Defines the functions of `instance`.
pub(crate) fn define(
    engine: &wasmtime::Engine,
    linker: &mut Linker<GuestState>,
    name: &str,
    instance: &ComponentInstance,
) -> wasmtime::Result<()> {
    let interface = name.split('@').next().unwrap_or(name).to_owned();
    let mut linker = linker.instance(name)?;
    for (item, export) in instance.exports(engine) {
        match export.ty {
            ComponentItem::Resource(_) => {
                linker.resource(item, ResourceType::host_dynamic(RESOURCE), let_go)?
            }
            ComponentItem::ComponentFunc(_) => {
                let host_fn = host_fn(&interface, item);
                let called = format!("{interface}#{item}");
                linker.func_new(item, move |store, ty, params, results| {
                    act(store, host_fn, &called, &ty, params, results)
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn host_fn(interface: &str, function: &str) -> HostFn {
    match (interface, function) {
        ("wasi:cli/exit", _) => HostFn::Exit,
        ("wasi:io/streams", "[method]output-stream.check-write") => HostFn::Writable,
        (
            "wasi:io/streams",
            "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush",
        ) => HostFn::Print,
        (
            "wasi:io/streams",
            "[method]output-stream.write-zeroes"
            | "[method]output-stream.blocking-write-zeroes-and-flush",
        ) => HostFn::Print,
        (
            "wasi:io/streams",
            "[method]output-stream.splice" | "[method]output-stream.blocking-splice",
        ) => HostFn::Closed,
        ("wasi:io/streams", "[method]input-stream.subscribe") => HostFn::Plain,
        ("wasi:io/streams", function) if function.starts_with("[method]input-stream.") => {
            HostFn::Closed
        }
        ("wasi:io/poll", "[method]pollable.ready") => HostFn::Ready,
        ("wasi:io/poll", "poll") => HostFn::AllReady,
        ("wasi:clocks/wall-clock", "now") => HostFn::WallClock,
        ("wasi:clocks/monotonic-clock", "now" | "resolution") => HostFn::Monotonic,
        ("wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed", _) => {
            HostFn::Random
        }
        ("wasi:filesystem/preopens", _) => HostFn::Folders,
        ("wasi:filesystem/types", "filesystem-error-code") => HostFn::Plain,
        ("wasi:filesystem/types", _) => HostFn::Files,
        ("wasi:cli/environment", "get-environment") => HostFn::Variables,
        ("wasi:cli/environment" | "wasi:cli/stdin" | "wasi:cli/stdout" | "wasi:cli/stderr", _) => {
            HostFn::Plain
        }
        (
            "wasi:io/streams"
            | "wasi:io/error"
            | "wasi:io/poll"
            | "wasi:clocks/wall-clock"
            | "wasi:clocks/monotonic-clock",
            _,
        ) => HostFn::Plain,
        (interface, _) if interface.starts_with("wasi:cli/terminal-") => HostFn::Plain,
        _ => HostFn::NotOffered,
    }
}

fn let_go(_: StoreContextMut<'_, GuestState>, _: u32) -> wasmtime::Result<()> {
    Ok(())
}

fn act(
    mut store: StoreContextMut<'_, GuestState>,
    host_fn: HostFn,
    called: &str,
    ty: &ComponentFunc,
    params: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    // A guest without fuel must not make the host do anything more.
    charge(&mut store, weight(params))?;
    params.iter().try_for_each(|param| release(&mut store, param))?;
    let answer = match ty.results().next() {
        Some(ty) => Some(answer(&mut store, host_fn, called, &ty, params)?),
        None => {
            effect(&mut store, host_fn, called)?;
            None
        }
    };
    if let (Some(answer), Some(result)) = (answer, results.first_mut()) {
        *result = answer;
    }
    Ok(())
}

fn effect(
    store: &mut StoreContextMut<'_, GuestState>,
    host_fn: HostFn,
    called: &str,
) -> wasmtime::Result<()> {
    match host_fn {
        HostFn::Exit => Err(Termination::Exit.into()),
        HostFn::Files => {
            store.data_mut().wants.files = true;
            Err(Termination::NotOffered(called.to_owned()).into())
        }
        HostFn::NotOffered => Err(Termination::NotOffered(called.to_owned()).into()),
        _ => Ok(()),
    }
}

fn answer(
    store: &mut StoreContextMut<'_, GuestState>,
    host_fn: HostFn,
    called: &str,
    ty: &Type,
    params: &[Val],
) -> wasmtime::Result<Val> {
    let not_offered = || Termination::NotOffered(called.to_owned());
    Ok(match host_fn {
        HostFn::Exit => return Err(Termination::Exit.into()),
        HostFn::NotOffered => return Err(Termination::NotOffered(called.to_owned()).into()),
        HostFn::Plain => plain(store, ty)?,
        HostFn::Closed => failure(ty, &["closed"]).ok_or_else(not_offered)?,
        HostFn::Writable => Val::Result(Ok(Some(Box::new(Val::U64(WRITABLE))))),
        HostFn::Print => {
            store.data_mut().log.stream(&octets(params.get(1)));
            plain(store, ty)?
        }
        HostFn::Ready => Val::Bool(true),
        HostFn::AllReady => all_ready(params),
        HostFn::WallClock => wall_clock(store.data_mut()),
        HostFn::Monotonic => Val::U64(monotonic(store.data_mut())),
        HostFn::Random => random(store, ty, params)?,
        HostFn::Variables => variables(store),
        HostFn::Folders => {
            let wants = &mut store.data_mut().wants;
            // Some runtimes look for files once when they start, regardless of the plugin; the
            // others do so when a file is opened.
            wants.files |= wants.answering_since.is_some();
            plain(store, ty)?
        }
        HostFn::Files => {
            store.data_mut().wants.files = true;
            failure(ty, &["not-permitted", "access"]).ok_or_else(not_offered)?
        }
    })
}

/// Releases a handle that the guest lent or gave away, as the host must; reading its number does
/// that.
fn release(store: &mut StoreContextMut<'_, GuestState>, value: &Val) -> wasmtime::Result<()> {
    match value {
        Val::Resource(handle) => ResourceDynamic::try_from_resource_any(*handle, store).map(drop),
        Val::Option(Some(inner)) => release(store, inner),
        Val::List(items) => items.iter().try_for_each(|item| release(store, item)),
        _ => Ok(()),
    }
}

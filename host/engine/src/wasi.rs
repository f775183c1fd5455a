//! WASI for guests whose language runtime imports it even if they never use it: without effects,
//! unless a grant says otherwise (`grants`).
//!
//! Without a grant there are no arguments, no variables, no input, no files; output goes to the
//! plugin's log; the clock is fixed at the review's time; randomness is the same in each run. A
//! grant opens real clocks, real randomness, variables by name, folders to read (`files`), or
//! requests to hosts by name (`http`), and each use of it is recorded. Only the answer of such a
//! host is waited for, within a bound, so nothing outlives fuel and deadline. Answers are built
//! from each function's own type, so that the same code serves every 0.2.x release of an interface.
//!
//! Apart from requests, no function here changes anything outside the store, and only those that a
//! component imports are defined. `wasmtime-wasi` and `wasmtime-wasi-http` are not used: they bring
//! along an async runtime, and their polls wait past fuel and deadline.

mod ambient;
mod files;
mod http;
mod resources;
mod safe_open;
mod values;

pub(crate) use resources::ResourceTable;

use crate::state::{GuestState, charge};
use crate::termination::Termination;
use ambient::{monotonic, random, variables, wall_clock};
use resources::HostResource;
use values::{all_ready, failure, octets, plain, weight};
use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, ResourceDynamic, ResourceType, Type, Val};

/// The one host type of all resources; the number of a handle identifies the object behind it
/// (`resources`).
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
    /// Returns the granted folders; without any, records that files were looked for.
    Folders,
    /// Reads in a granted folder; without any, refuses access.
    Files,
    /// Compares two handles: true if they refer to the same file.
    SameFile,
    /// Reads a stream: from a file, if there is one behind it; otherwise it is at its end.
    Read,
    /// Does the same, without returning the bytes.
    Skip,
    /// Sends requests to granted hosts.
    Http,
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
        ("wasi:io/streams", "[method]input-stream.read" | "[method]input-stream.blocking-read") => {
            HostFn::Read
        }
        ("wasi:io/streams", "[method]input-stream.skip" | "[method]input-stream.blocking-skip") => {
            HostFn::Skip
        }
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
        ("wasi:filesystem/types", "[method]descriptor.is-same-object") => HostFn::SameFile,
        ("wasi:filesystem/types", _) => HostFn::Files,
        ("wasi:http/types" | "wasi:http/outgoing-handler", _) => HostFn::Http,
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

/// The arguments of a call. Handles are numbers here: wasmtime's own representation can be read
/// only once.
struct Arguments<'a> {
    values: &'a [Val],
    handles: Vec<u32>,
    /// The objects behind the handles that the guest gave away.
    moved: Vec<Option<HostResource>>,
}

impl Arguments<'_> {
    /// Returns the number of the handle at this position; 0, which has no object, if there is none.
    fn handle(&self, at: usize) -> u32 {
        self.handles.get(at).copied().unwrap_or_default()
    }

    /// Returns the object that the guest gave away at this position.
    fn take(&mut self, at: usize) -> Option<HostResource> {
        self.moved.get_mut(at)?.take()
    }
}

fn let_go(mut store: StoreContextMut<'_, GuestState>, number: u32) -> wasmtime::Result<()> {
    drop(store.data_mut().resources.take(number));
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
    let looked: Vec<_> =
        params.iter().map(|param| behind(&mut store, param)).collect::<wasmtime::Result<_>>()?;
    let (handles, moved) = looked.into_iter().unzip();
    let mut given = Arguments { values: params, handles, moved };
    let answer = match ty.results().next() {
        Some(ty) => Some(answer(&mut store, host_fn, called, &ty, &mut given)?),
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
        HostFn::Files | HostFn::SameFile => {
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
    given: &mut Arguments<'_>,
) -> wasmtime::Result<Val> {
    let closed =
        || failure(ty, &["closed"]).ok_or_else(|| Termination::NotOffered(called.to_owned()));
    Ok(match host_fn {
        HostFn::Exit => return Err(Termination::Exit.into()),
        HostFn::NotOffered => return Err(Termination::NotOffered(called.to_owned()).into()),
        HostFn::Plain => plain(store, ty)?,
        HostFn::Closed => closed()?,
        HostFn::Read | HostFn::Skip => {
            let skips = matches!(host_fn, HostFn::Skip);
            match files::from_stream(store, skips, given)
                .or_else(|| http::read(store, skips, given))
            {
                Some(read) => read?,
                None => closed()?,
            }
        }
        HostFn::Writable => Val::Result(Ok(Some(Box::new(Val::U64(WRITABLE))))),
        HostFn::Print => match http::write(store, given) {
            Some(written) => written?,
            None => {
                store.data_mut().log.stream(&octets(given.values.get(1)));
                plain(store, ty)?
            }
        },
        HostFn::Http => http::call(store, called, ty, given)?,
        HostFn::Ready => Val::Bool(true),
        HostFn::AllReady => all_ready(given.values),
        HostFn::WallClock => wall_clock(store.data_mut()),
        HostFn::Monotonic => Val::U64(monotonic(store.data_mut())),
        HostFn::Random => random(store, ty, given.values)?,
        HostFn::Variables => variables(store),
        HostFn::Folders if store.data().grants.directories.is_empty() => {
            let wants = &mut store.data_mut().wants;
            // Some runtimes look for files once when they start, regardless of the plugin; the
            // others do so when a file is opened.
            wants.files |= wants.answering_since.is_some();
            plain(store, ty)?
        }
        HostFn::Folders => files::folders(store)?,
        HostFn::Files | HostFn::SameFile if store.data().grants.directories.is_empty() => {
            store.data_mut().wants.files = true;
            failure(ty, &["not-permitted", "access"])
                .ok_or_else(|| Termination::NotOffered(called.to_owned()))?
        }
        HostFn::SameFile => files::is_same(store, given),
        HostFn::Files => {
            let function = called.split('#').nth(1).unwrap_or_default();
            files::call(store, function, ty, given)?
        }
    })
}

/// Returns the number of a handle, and its object if the guest gave it away. The host must release
/// each handle that it was lent or given, and reading the number does that.
fn behind(
    store: &mut StoreContextMut<'_, GuestState>,
    value: &Val,
) -> wasmtime::Result<(u32, Option<HostResource>)> {
    match value {
        Val::Resource(handle) => {
            let found = ResourceDynamic::try_from_resource_any(*handle, &mut *store)?;
            let moved =
                if found.owned() { store.data_mut().resources.take(found.rep()) } else { None };
            Ok((found.rep(), moved))
        }
        Val::Option(Some(inner)) => behind(store, inner),
        Val::List(items) => {
            items.iter().try_for_each(|item| behind(store, item).map(drop))?;
            Ok((0, None))
        }
        _ => Ok((0, None)),
    }
}

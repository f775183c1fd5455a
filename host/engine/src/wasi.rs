//! WASI for guests whose language runtime imports it whether they use it or not: without effects, unless a
//! grant says otherwise (`grants`).
//!
//! Without one there are no arguments, no variables, no input, no files; output goes to the plugin's log; the
//! clock stands at the review's time; randomness is the same in each run. A grant opens real clocks, real
//! randomness, variables by name, folders to read (`files`), requests to hosts by name (`http`), and each use of it is
//! taken down. Nothing waits but for an answer of such a host, which has a bound, so nothing outlives fuel and
//! deadline. Answers are built from each function's own type, so that every 0.2.x release of an interface is served by
//! the same lines.
//!
//! No function here changes anything outside the store but by a request, and none is defined that a component does not
//! import. `wasmtime-wasi` and `wasmtime-wasi-http` are not used: they bring an async runtime along, and their polls
//! wait past fuel and deadline.

mod files;
mod http;
mod opening;
mod senses;
mod things;
mod values;

pub(crate) use things::Things;

use crate::faults::Ended;
use crate::host::charge;
use crate::state::State;
use senses::{monotonic, random, variables, wall_clock};
use things::Thing;
use values::{all_ready, failure, octets, plain, weight};
use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, ResourceDynamic, ResourceType, Type, Val};

/// All resources are of one host type; what is behind a handle, its number tells (`things`).
const RESOURCE: u32 = 0;
/// What an output stream says it can take at a time.
const WRITABLE: u64 = 4 << 10;

/// What a function does.
#[derive(Clone, Copy)]
enum Deed {
    /// Answers the plainest value of its type: nothing, none, an empty list, success.
    Plain,
    /// Answers that the stream is at its end.
    Closed,
    /// Answers how much can be written.
    Writable,
    /// Writes its bytes to the log.
    Print,
    /// Answers yes.
    Ready,
    /// Answers that all are ready.
    AllReady,
    /// Answers the review's time.
    WallClock,
    /// Answers a time that stands.
    Monotonic,
    /// Answers numbers that are the same in each run, or what was granted.
    Random,
    /// Answers the granted variables.
    Variables,
    /// Answers the granted folders; without any, remembers that files were looked for.
    Folders,
    /// Reads in a granted folder; without any, answers that it may not.
    Files,
    /// Says whether two handles are of one file.
    SameFile,
    /// Reads a stream: of a file, if one is behind it, else it is at its end.
    Read,
    /// The same, without handing the bytes over.
    Skip,
    /// Sends requests to granted hosts.
    Http,
    /// Ends the guest.
    Exit,
    /// Ends the guest: later releases may add functions that nobody thought about.
    NotOffered,
}

/// Defines what `instance` holds.
pub(crate) fn define(
    engine: &wasmtime::Engine,
    linker: &mut Linker<State>,
    name: &str,
    instance: &ComponentInstance,
) -> wasmtime::Result<()> {
    let interface = name.split('@').next().unwrap_or(name).to_owned();
    let mut linker = linker.instance(name)?;
    for (item, export) in instance.exports(engine) {
        match export.ty {
            ComponentItem::Resource(_) => linker.resource(item, ResourceType::host_dynamic(RESOURCE), let_go)?,
            ComponentItem::ComponentFunc(_) => {
                let deed = deed(&interface, item);
                let called = format!("{interface}#{item}");
                linker.func_new(item, move |store, ty, params, results| act(store, deed, &called, &ty, params, results))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn deed(interface: &str, function: &str) -> Deed {
    match (interface, function) {
        ("wasi:cli/exit", _) => Deed::Exit,
        ("wasi:io/streams", "[method]output-stream.check-write") => Deed::Writable,
        ("wasi:io/streams", "[method]output-stream.write" | "[method]output-stream.blocking-write-and-flush") => Deed::Print,
        ("wasi:io/streams", "[method]output-stream.write-zeroes" | "[method]output-stream.blocking-write-zeroes-and-flush") => Deed::Print,
        ("wasi:io/streams", "[method]output-stream.splice" | "[method]output-stream.blocking-splice") => Deed::Closed,
        ("wasi:io/streams", "[method]input-stream.subscribe") => Deed::Plain,
        ("wasi:io/streams", "[method]input-stream.read" | "[method]input-stream.blocking-read") => Deed::Read,
        ("wasi:io/streams", "[method]input-stream.skip" | "[method]input-stream.blocking-skip") => Deed::Skip,
        ("wasi:io/streams", function) if function.starts_with("[method]input-stream.") => Deed::Closed,
        ("wasi:io/poll", "[method]pollable.ready") => Deed::Ready,
        ("wasi:io/poll", "poll") => Deed::AllReady,
        ("wasi:clocks/wall-clock", "now") => Deed::WallClock,
        ("wasi:clocks/monotonic-clock", "now" | "resolution") => Deed::Monotonic,
        ("wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed", _) => Deed::Random,
        ("wasi:filesystem/preopens", _) => Deed::Folders,
        ("wasi:filesystem/types", "filesystem-error-code") => Deed::Plain,
        ("wasi:filesystem/types", "[method]descriptor.is-same-object") => Deed::SameFile,
        ("wasi:filesystem/types", _) => Deed::Files,
        ("wasi:http/types" | "wasi:http/outgoing-handler", _) => Deed::Http,
        ("wasi:cli/environment", "get-environment") => Deed::Variables,
        ("wasi:cli/environment" | "wasi:cli/stdin" | "wasi:cli/stdout" | "wasi:cli/stderr", _) => Deed::Plain,
        ("wasi:io/streams" | "wasi:io/error" | "wasi:io/poll" | "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock", _) => Deed::Plain,
        (interface, _) if interface.starts_with("wasi:cli/terminal-") => Deed::Plain,
        _ => Deed::NotOffered,
    }
}

/// What a function was called with. A handle is a number here: wasmtime's own form of one can be looked into once.
struct Arguments<'a> {
    values: &'a [Val],
    handles: Vec<u32>,
    /// What stood behind the handles that the guest gave away.
    moved: Vec<Option<Thing>>,
}

impl Arguments<'_> {
    /// The number behind the handle at this place; 0, which has nothing behind it, where there is none.
    fn handle(&self, at: usize) -> u32 {
        self.handles.get(at).copied().unwrap_or_default()
    }

    /// What the guest gave away at this place.
    fn take(&mut self, at: usize) -> Option<Thing> {
        self.moved.get_mut(at)?.take()
    }
}

fn let_go(mut store: StoreContextMut<'_, State>, number: u32) -> wasmtime::Result<()> {
    drop(store.data_mut().things.take(number));
    Ok(())
}

fn act(
    mut store: StoreContextMut<'_, State>,
    deed: Deed,
    called: &str,
    ty: &ComponentFunc,
    params: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    charge(&mut store, weight(params))?;
    let looked: Vec<_> = params.iter().map(|param| behind(&mut store, param)).collect::<wasmtime::Result<_>>()?;
    let (handles, moved) = looked.into_iter().unzip();
    let mut given = Arguments { values: params, handles, moved };
    let answer = match ty.results().next() {
        Some(ty) => Some(answer(&mut store, deed, called, &ty, &mut given)?),
        None => {
            effect(&mut store, deed, called)?;
            None
        }
    };
    if let (Some(answer), Some(result)) = (answer, results.first_mut()) {
        *result = answer;
    }
    Ok(())
}

fn effect(store: &mut StoreContextMut<'_, State>, deed: Deed, called: &str) -> wasmtime::Result<()> {
    match deed {
        Deed::Exit => Err(Ended::Exit.into()),
        Deed::Files | Deed::SameFile => {
            store.data_mut().wants.files = true;
            Err(Ended::NotOffered(called.to_owned()).into())
        }
        Deed::NotOffered => Err(Ended::NotOffered(called.to_owned()).into()),
        _ => Ok(()),
    }
}

fn answer(store: &mut StoreContextMut<'_, State>, deed: Deed, called: &str, ty: &Type, given: &mut Arguments<'_>) -> wasmtime::Result<Val> {
    let closed = || failure(ty, &["closed"]).ok_or_else(|| Ended::NotOffered(called.to_owned()));
    Ok(match deed {
        Deed::Exit => return Err(Ended::Exit.into()),
        Deed::NotOffered => return Err(Ended::NotOffered(called.to_owned()).into()),
        Deed::Plain => plain(store, ty)?,
        Deed::Closed => closed()?,
        Deed::Read | Deed::Skip => {
            let skips = matches!(deed, Deed::Skip);
            match files::from_stream(store, skips, given).or_else(|| http::read(store, skips, given)) {
                Some(read) => read?,
                None => closed()?,
            }
        }
        Deed::Writable => Val::Result(Ok(Some(Box::new(Val::U64(WRITABLE))))),
        Deed::Print => match http::write(store, given) {
            Some(written) => written?,
            None => {
                store.data_mut().log.stream(&octets(given.values.get(1)));
                plain(store, ty)?
            }
        },
        Deed::Http => http::call(store, called, ty, given)?,
        Deed::Ready => Val::Bool(true),
        Deed::AllReady => all_ready(given.values),
        Deed::WallClock => wall_clock(store.data_mut()),
        Deed::Monotonic => Val::U64(monotonic(store.data_mut())),
        Deed::Random => random(store, ty, given.values)?,
        Deed::Variables => variables(store),
        Deed::Folders if store.data().grants.directories.is_empty() => {
            let wants = &mut store.data_mut().wants;
            // Some runtimes ask once when they start, whatever the plugin does; the others when a file is opened.
            wants.files |= wants.answering_since.is_some();
            plain(store, ty)?
        }
        Deed::Folders => files::folders(store)?,
        Deed::Files | Deed::SameFile if store.data().grants.directories.is_empty() => {
            store.data_mut().wants.files = true;
            failure(ty, &["not-permitted", "access"]).ok_or_else(|| Ended::NotOffered(called.to_owned()))?
        }
        Deed::SameFile => files::is_same(store, given),
        Deed::Files => {
            let function = called.split('#').nth(1).unwrap_or_default();
            files::call(store, function, ty, given)?
        }
    })
}

/// The number behind a handle, and what was there if the guest gave it away. The host must give back each handle that
/// it was lent or given, which looking does.
fn behind(store: &mut StoreContextMut<'_, State>, value: &Val) -> wasmtime::Result<(u32, Option<Thing>)> {
    match value {
        Val::Resource(handle) => {
            let found = ResourceDynamic::try_from_resource_any(*handle, &mut *store)?;
            let moved = if found.owned() { store.data_mut().things.take(found.rep()) } else { None };
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

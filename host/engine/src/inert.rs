//! WASI without effects, for guests whose language runtime imports it whether they use it or not.
//!
//! No arguments, no variables, no input, no files; output goes to the plugin's log; the clock stands at
//! the review's time; randomness is the same in each run; nothing waits, so nothing outlives fuel and
//! deadline. Answers are built from each function's own type, so that every 0.2.x release of an
//! interface is served by the same lines.
//!
//! No function here has an effect outside the store, and none is defined that a component does not import.

use crate::faults::Ended;
use crate::host::charge;
use crate::state::State;
use wasmtime::StoreContextMut;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, ResourceDynamic, ResourceType, Type, Val};

/// All resources are of one host type: none has anything behind it.
const RESOURCE: u32 = 0;
/// Random bytes in one call.
const RANDOM_BYTES: u64 = 64 << 10;
/// What an output stream says it can take at a time.
const WRITABLE: u64 = 4 << 10;
/// Where the monotonic clock stands, in nanoseconds.
const MONOTONIC: u64 = 1_000_000_000;

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
    /// Answers numbers that are the same in each run.
    Random,
    /// Remembers that files were looked for, and has none.
    NoFolders,
    /// Answers that it may not.
    NoFile,
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
            ComponentItem::Resource(_) => linker.resource(item, ResourceType::host_dynamic(RESOURCE), |_, _| Ok(()))?,
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
        ("wasi:io/streams", "[method]output-stream.splice" | "[method]output-stream.blocking-splice") => Deed::Closed,
        ("wasi:io/streams", "[method]input-stream.subscribe") => Deed::Plain,
        ("wasi:io/streams", function) if function.starts_with("[method]input-stream.") => Deed::Closed,
        ("wasi:io/poll", "[method]pollable.ready") => Deed::Ready,
        ("wasi:io/poll", "poll") => Deed::AllReady,
        ("wasi:clocks/wall-clock", "now") => Deed::WallClock,
        ("wasi:clocks/monotonic-clock", "now" | "resolution") => Deed::Monotonic,
        ("wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed", _) => Deed::Random,
        ("wasi:filesystem/preopens", _) => Deed::NoFolders,
        ("wasi:filesystem/types", "filesystem-error-code") => Deed::Plain,
        ("wasi:filesystem/types", _) => Deed::NoFile,
        ("wasi:cli/environment" | "wasi:cli/stdin" | "wasi:cli/stdout" | "wasi:cli/stderr", _) => Deed::Plain,
        ("wasi:io/streams" | "wasi:io/error" | "wasi:io/poll" | "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock", _) => Deed::Plain,
        (interface, _) if interface.starts_with("wasi:cli/terminal-") => Deed::Plain,
        _ => Deed::NotOffered,
    }
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
    let answer = match ty.results().next() {
        Some(ty) => Some(answer(&mut store, deed, called, &ty, params)?),
        None => {
            effect(&mut store, deed, called)?;
            None
        }
    };
    params.iter().try_for_each(|param| release(&mut store, param))?;
    if let (Some(answer), Some(result)) = (answer, results.first_mut()) {
        *result = answer;
    }
    Ok(())
}

fn effect(store: &mut StoreContextMut<'_, State>, deed: Deed, called: &str) -> wasmtime::Result<()> {
    match deed {
        Deed::Exit => Err(Ended::Exit.into()),
        Deed::NoFile => {
            store.data_mut().wants.files = true;
            Err(Ended::NotOffered(called.to_owned()).into())
        }
        Deed::NotOffered => Err(Ended::NotOffered(called.to_owned()).into()),
        _ => Ok(()),
    }
}

fn answer(store: &mut StoreContextMut<'_, State>, deed: Deed, called: &str, ty: &Type, params: &[Val]) -> wasmtime::Result<Val> {
    Ok(match deed {
        Deed::Exit => return Err(Ended::Exit.into()),
        Deed::NotOffered => return Err(Ended::NotOffered(called.to_owned()).into()),
        Deed::Plain => plain(store, ty)?,
        Deed::Closed => failure(ty, &["closed"]).ok_or_else(|| Ended::NotOffered(called.to_owned()))?,
        Deed::Writable => Val::Result(Ok(Some(Box::new(Val::U64(WRITABLE))))),
        Deed::Print => {
            store.data_mut().log.stream(&bytes(params));
            plain(store, ty)?
        }
        Deed::Ready => Val::Bool(true),
        Deed::AllReady => all_ready(params),
        Deed::WallClock => wall_clock(store.data().now_ms),
        Deed::Monotonic => Val::U64(MONOTONIC),
        Deed::Random => random(store, ty, params)?,
        Deed::NoFolders => {
            let wants = &mut store.data_mut().wants;
            // Some runtimes ask once when they start, whatever the plugin does; the others when a file is opened.
            wants.files |= wants.answering;
            plain(store, ty)?
        }
        Deed::NoFile => {
            store.data_mut().wants.files = true;
            failure(ty, &["not-permitted", "access"]).ok_or_else(|| Ended::NotOffered(called.to_owned()))?
        }
    })
}

/// The plainest value of a type.
fn plain(store: &mut StoreContextMut<'_, State>, ty: &Type) -> wasmtime::Result<Val> {
    Ok(match ty {
        Type::Bool => Val::Bool(false),
        Type::S8 => Val::S8(0),
        Type::U8 => Val::U8(0),
        Type::S16 => Val::S16(0),
        Type::U16 => Val::U16(0),
        Type::S32 => Val::S32(0),
        Type::U32 => Val::U32(0),
        Type::S64 => Val::S64(0),
        Type::U64 => Val::U64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::Char => Val::Char(' '),
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Record(record) => {
            let fields = record.fields().map(|field| Ok((field.name.to_owned(), plain(store, &field.ty)?)));
            Val::Record(fields.collect::<wasmtime::Result<_>>()?)
        }
        Type::Tuple(tuple) => Val::Tuple(tuple.types().map(|ty| plain(store, &ty)).collect::<wasmtime::Result<_>>()?),
        Type::Enum(names) => Val::Enum(names.names().next().unwrap_or_default().to_owned()),
        Type::Result(result) => Val::Result(Ok(result.ok().map(|ty| plain(store, &ty)).transpose()?.map(Box::new))),
        Type::Own(_) => Val::Resource(ResourceDynamic::new_own(0, RESOURCE).try_into_resource_any(&mut *store)?),
        other => wasmtime::bail!("a value of the type {other:?} is not offered"),
    })
}

/// The failing side of a result, by the first of these names that its type has.
fn failure(ty: &Type, names: &[&str]) -> Option<Val> {
    let Type::Result(result) = ty else { return None };
    let error = match result.err() {
        None => None,
        Some(Type::Enum(ty)) => {
            let name = names.iter().find(|name| ty.names().any(|known| known == **name)).copied().or_else(|| ty.names().next())?;
            Some(Val::Enum(name.to_owned()))
        }
        Some(Type::Variant(ty)) => {
            let name = names.iter().find(|name| ty.cases().any(|case| case.name == **name && case.ty.is_none()))?;
            Some(Val::Variant((*name).to_owned(), None))
        }
        Some(_) => return None,
    };
    Some(Val::Result(Err(error.map(Box::new))))
}

fn all_ready(params: &[Val]) -> Val {
    let count = match params.first() {
        Some(Val::List(items)) => u32::try_from(items.len()).unwrap_or(u32::MAX),
        _ => 0,
    };
    Val::List((0..count).map(Val::U32).collect())
}

fn wall_clock(now_ms: u64) -> Val {
    let nanoseconds = u32::try_from(now_ms % 1000).unwrap_or_default() * 1_000_000;
    Val::Record(vec![("seconds".into(), Val::U64(now_ms / 1000)), ("nanoseconds".into(), Val::U32(nanoseconds))])
}

fn random(store: &mut StoreContextMut<'_, State>, ty: &Type, params: &[Val]) -> wasmtime::Result<Val> {
    match ty {
        Type::U64 => Ok(Val::U64(random_u64(store))),
        Type::Tuple(_) => Ok(Val::Tuple(vec![Val::U64(random_u64(store)), Val::U64(random_u64(store))])),
        _ => {
            let Some(Val::U64(wanted)) = params.first() else { return plain(store, ty) };
            let Some(length) = usize::try_from(*wanted).ok().filter(|_| *wanted <= RANDOM_BYTES) else {
                return Err(Ended::Random(*wanted).into());
            };
            charge(store, length)?;
            let mut bytes = vec![0; length];
            store.data_mut().random.fill(&mut bytes);
            Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
        }
    }
}

fn random_u64(store: &mut StoreContextMut<'_, State>) -> u64 {
    let mut bytes = [0; 8];
    store.data_mut().random.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

fn bytes(params: &[Val]) -> Vec<u8> {
    let byte = |value: &Val| if let Val::U8(byte) = value { Some(*byte) } else { None };
    match params.get(1) {
        Some(Val::List(items)) => items.iter().filter_map(byte).collect(),
        _ => Vec::new(),
    }
}

/// How many values a guest handed over; a value takes the host longer than a byte of text.
fn weight(params: &[Val]) -> usize {
    let one = |value: &Val| match value {
        Val::List(items) => items.len().saturating_mul(8),
        Val::String(text) => text.len(),
        _ => 1,
    };
    params.iter().map(one).fold(0, usize::saturating_add)
}

/// The host must give back each handle that it was lent or given.
fn release(store: &mut StoreContextMut<'_, State>, value: &Val) -> wasmtime::Result<()> {
    match value {
        Val::Resource(resource) => resource.resource_drop(&mut *store),
        Val::List(items) => items.iter().try_for_each(|item| release(store, item)),
        _ => Ok(()),
    }
}

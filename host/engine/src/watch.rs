//! The cost of single calls and the location of traps, for plugin authors. Off by default: no
//! verdict and no record holds any of it.

use portcullis_core::text::strip_quotes;
use std::time::Duration;
use wasmtime::{Error, WasmBacktrace};

/// The most bytes of a function's name.
const NAME_BYTES: usize = 160;

/// One call into a plugin.
#[derive(Clone, Debug)]
pub struct ObservedCall {
    /// The plugin's name.
    pub plugin: String,
    /// Its cost.
    pub cost: CallCost,
}

/// The cost of a call, and the trace if it trapped.
#[derive(Clone, Debug, Default)]
pub struct CallCost {
    /// The time until the guest was instantiated.
    pub instantiating: Duration,
    /// The time from then on until its answer was read.
    pub running: Duration,
    /// The bytes of all its memories together, at its end.
    pub memory_bytes: usize,
    /// Units of fuel.
    pub fuel: u64,
    /// The guest's functions, the innermost first; empty unless it trapped.
    pub trace: Vec<String>,
}

/// The time that loading a plugin took.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadTimes {
    /// The time for compiling it, or fetching it from the cache, and binding it.
    pub code: Duration,
    /// The time of its own `prepare`; zero if its answer was cached.
    pub preparing: Duration,
}

/// Returns the guest's functions that were running, by name if the component holds their names.
pub(crate) fn trace(error: &Error) -> Vec<String> {
    let frames =
        error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames).unwrap_or_default();
    let describe_frame = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => strip_quotes(&format!("{:#}", rustc_demangle::demangle(name)), NAME_BYTES),
        None => format!(
            "function {} (it has no name: build it with names, without `strip`)",
            frame.func_index()
        ),
    };
    frames.iter().map(describe_frame).collect()
}

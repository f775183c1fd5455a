//! What single calls cost and where they ended, for those who write plugins. Off unless it is asked for: no
//! verdict and no record holds any of it.

use portcullis_core::text::bare;
use std::time::Duration;
use wasmtime::{Error, WasmBacktrace};

/// The most bytes of a function's name.
const NAME_BYTES: usize = 160;

/// One call into a plugin.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The plugin's name.
    pub plugin: String,
    /// What it cost.
    pub cost: Cost,
}

/// What a call cost, and where it ended where it ended badly.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Until the guest stood ready.
    pub instantiating: Duration,
    /// From then on until its answer was read.
    pub running: Duration,
    /// All its memories together, when it ended.
    pub memory_bytes: usize,
    /// Units of fuel.
    pub fuel: u64,
    /// The guest's functions, the innermost first; empty unless it trapped.
    pub trace: Vec<String>,
}

/// What loading a plugin took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loading {
    /// Compiling it, or fetching what was compiled before, and binding it.
    pub code: Duration,
    /// Its own preparing; nothing where what it prepared was kept.
    pub preparing: Duration,
}

/// The guest's functions that were running, by their names where the component holds them.
pub(crate) fn trace(error: &Error) -> Vec<String> {
    let frames = error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames).unwrap_or_default();
    let told = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => bare(&format!("{:#}", rustc_demangle::demangle(name)), NAME_BYTES),
        None => format!("function {} (it has no name: build it with names, without `strip`)", frame.func_index()),
    };
    frames.iter().map(told).collect()
}

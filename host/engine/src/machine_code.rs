//! The settings of wasmtime that machine code depends on, and machine code made with them.

use rayon_core::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::sync::OnceLock;
use wasmtime::{CodeBuilder, Config, Strategy};

/// Bytes of stack for a guest. wasmtime's own default; a Rust guest keeps its frames in linear
/// memory and needs far less. The stack is on the thread that calls the guest, which therefore
/// needs 1 MiB at least.
pub const STACK_BYTES: usize = 512 << 10;

/// Frames in a trap's trace; the innermost names the location in a fault. A Rust panic alone takes
/// a dozen.
const TRACE_FRAMES: usize = 32;

/// Returns machine code for a component, in the form that the running engine loads.
pub(crate) fn machine_code(
    compiler: &wasmtime::Engine,
    component: &[u8],
) -> wasmtime::Result<Vec<u8>> {
    // Not `precompile_component`: if the text format is compiled in, that function accepts it too.
    let compile =
        || CodeBuilder::new(compiler).wasm_binary(component, None)?.compile_component_serialized();
    let pool = THREADS.get_or_init(|| threads().ok()).as_ref();
    pool.ok_or_else(|| wasmtime::Error::msg("there is no room for a thread to compile it on"))?
        .install(compile)
}

/// The thread pool that compiles all components of this process.
static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Builds a pool with a thread for each processor, or with the calling thread alone if no threads
/// can be started. wasmtime would use the process's global pool, which panics if it cannot be
/// created.
fn threads() -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new()
        .build()
        .or_else(|_| ThreadPoolBuilder::new().num_threads(1).use_current_thread().build())
}

/// Returns the settings that compiling and running must share; wasmtime refuses code that was
/// compiled with others.
pub(crate) fn common() -> Config {
    let mut config = Config::new();
    config.consume_fuel(true);
    config.epoch_interruption(true);
    // Async guests are off: without them a call costs a third (104 ns against 310).
    config.concurrency_support(false);
    config.max_wasm_stack(STACK_BYTES);
    config.wasm_backtrace_max_frames(std::num::NonZeroUsize::new(TRACE_FRAMES));
    // An instance lives for one call and touches little of its data. The shell reader has 1.4 MB:
    // mapping it makes a hook a fifth faster than copying it.
    config.memory_init_cow(true);
    // These are for the system's unwinder and for source lines. Nothing here uses them, and each
    // load would pay for them.
    config.native_unwind_info(false);
    config.generate_address_map(false);
    features(&mut config);
    config
}

/// Returns the configuration that guests are compiled with.
pub(crate) fn compiling() -> wasmtime::Result<Config> {
    let mut config = common();
    config.strategy(Strategy::Cranelift);
    // Naming the target turns off the detection of this machine's CPU features: a cached artefact
    // then runs on any machine of the architecture, and a replay gives the same result on each.
    config.target(env!("PORTCULLIS_TARGET"))?;
    config.cranelift_nan_canonicalization(true);
    Ok(config)
}

/// Sets the WebAssembly features. The defaults of the toolchains stay on (SIMD, bulk memory,
/// reference types, multi-value, extended constants). So do multiple memories, since adapters
/// between the parts of a QuickJS guest use them. Threads, garbage collection, exceptions and async
/// are not even compiled into the host.
fn features(config: &mut Config) {
    config.wasm_relaxed_simd(false);
    config.wasm_tail_call(false);
    config.wasm_memory64(false);
    config.wasm_custom_page_sizes(false);
    config.wasm_wide_arithmetic(false);
}

//! The one wasmtime engine: how guests are compiled and what no guest gets.

use crate::cache::CodeCache;
use crate::compile::{Workshop, machine_code};
use crate::shared::Shared;
use crate::web::Web;
use std::sync::{Arc, OnceLock};
use wasmtime::{Config, Strategy};

/// Bytes of stack for a guest. wasmtime's own default; a Rust guest keeps its frames in linear memory
/// and needs far less. It lies on the thread that calls the guest, which therefore needs 1 MiB at least.
pub const STACK_BYTES: usize = 512 << 10;

/// Frames of a trap's trace; the innermost names the place in a fault. A panic of Rust alone takes a dozen.
const TRACE_FRAMES: usize = 32;

/// Compiles and runs guests. Cheap to clone; one for each process.
///
/// Guests run in an engine that has no compiler: setting one up costs a hook more than loading a plugin,
/// and with a warm cache nothing is compiled.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CodeCache>>,
    pub(crate) workshop: Option<Arc<dyn Workshop>>,
    pub(crate) web: Web,
    pub(crate) shared: Arc<Shared>,
    compiler: Arc<OnceLock<wasmtime::Engine>>,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine lacks what compiled guests need.
    #[error("cannot run WebAssembly here: {0}")]
    Unsupported(String),
    /// Two plugins have one name.
    #[error("two plugins are called `{0}`; rename one in the configuration")]
    SameName(String),
    /// A name that cannot stand in records and settings.
    #[error("`{0}` cannot be a plugin's name; use 1 to 64 lower case letters, digits, `-` and `_`")]
    BadName(String),
    /// Records use the name for somebody else.
    #[error("`{0}` cannot be a plugin's name, since records name somebody else by it; rename the plugin's file")]
    ReservedName(String),
}

impl Engine {
    /// An engine that keeps compiled code in `cache`, or compiles anew in each process without one. It
    /// compiles what comes with the program; files need `compile_in`.
    ///
    /// # Errors
    /// If wasmtime cannot run on this machine.
    pub fn new(cache: Option<CodeCache>) -> Result<Self, EngineError> {
        let mut config = common();
        config.enable_compiler(false);
        let inner = wasmtime::Engine::new(&config).map_err(|error| EngineError::Unsupported(format!("{error:#}")))?;
        Ok(Self {
            inner,
            cache: cache.map(Arc::new),
            workshop: None,
            web: Web::default(),
            shared: Arc::default(),
            compiler: Arc::default(),
        })
    }

    /// Files are compiled there.
    #[must_use]
    pub fn compile_in(self, workshop: Arc<dyn Workshop>) -> Self {
        Self { workshop: Some(workshop), ..self }
    }

    /// Requests of plugins that may send any leave the machine there.
    #[must_use]
    pub fn reach_by(self, web: Web) -> Self {
        Self { web, ..self }
    }

    /// Machine code for a component that came with the program.
    pub(crate) fn compile(&self, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let compiler = match self.compiler.get() {
            Some(compiler) => compiler,
            None => {
                let made = wasmtime::Engine::new(&compiling()?)?;
                self.compiler.get_or_init(|| made)
            }
        };
        machine_code(compiler, component)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// What compiling and running must agree on; wasmtime refuses code that was compiled otherwise.
fn common() -> Config {
    let mut config = Config::new();
    config.consume_fuel(true);
    config.epoch_interruption(true);
    // No async guests: a call costs a third (104 ns against 310).
    config.concurrency_support(false);
    config.max_wasm_stack(STACK_BYTES);
    config.wasm_backtrace_max_frames(std::num::NonZeroUsize::new(TRACE_FRAMES));
    // Copying a guest's data into fresh memory beats mapping it: an instance lives for one call.
    config.memory_init_cow(false);
    // For the system's unwinder and for source lines: nothing here uses them, each load would pay.
    config.native_unwind_info(false);
    config.generate_address_map(false);
    features(&mut config);
    config
}

/// How guests are compiled.
pub(crate) fn compiling() -> wasmtime::Result<Config> {
    let mut config = common();
    config.strategy(Strategy::Cranelift);
    // Naming the target switches off what wasmtime would find out about this machine's CPU: a cached
    // artefact then runs on any machine of the architecture, and a replay gives the same on each.
    config.target(env!("PORTCULLIS_TARGET"))?;
    config.cranelift_nan_canonicalization(true);
    Ok(config)
}

/// What toolchains emit by default stays on (SIMD, bulk memory, reference types, multi-value, extended
/// constants); multiple memories do too, since adapters between the parts of a QuickJS guest use them.
/// Threads, garbage collection, exceptions and async are not even compiled into the host.
fn features(config: &mut Config) {
    config.wasm_relaxed_simd(false);
    config.wasm_tail_call(false);
    config.wasm_memory64(false);
    config.wasm_custom_page_sizes(false);
    config.wasm_wide_arithmetic(false);
}

//! The one wasmtime engine: how guests are compiled, and which features no guest gets.

use crate::cache::CodeCache;
use crate::compile::{Compiler, machine_code};
use crate::shared::Shared;
use crate::web::Web;
use std::sync::{Arc, OnceLock};
use wasmtime::{Config, Strategy};

/// Bytes of stack for a guest. wasmtime's own default; a Rust guest keeps its frames in linear
/// memory and needs far less. The stack is on the thread that calls the guest, which therefore
/// needs 1 MiB at least.
pub const STACK_BYTES: usize = 512 << 10;

/// Frames in a trap's trace; the innermost names the location in a fault. A Rust panic alone takes
/// a dozen.
const TRACE_FRAMES: usize = 32;

/// Compiles and runs guests. Cheap to clone; one for each process.
///
/// Guests run in an engine that has no compiler: setting one up costs a hook more than loading a plugin,
/// and with a warm cache nothing is compiled.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CodeCache>>,
    pub(crate) file_compiler: Option<Arc<dyn Compiler>>,
    pub(crate) web: Web,
    pub(crate) shared: Arc<Shared>,
    compiler: Arc<OnceLock<wasmtime::Engine>>,
}

/// The reason why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine lacks a feature that compiled guests need.
    #[error("cannot run WebAssembly here: {0}")]
    Unsupported(String),
    /// Two plugins have the same name.
    #[error("two plugins are called `{0}`; rename one in the configuration")]
    SameName(String),
    /// A name that is not valid in records and settings.
    #[error("`{0}` cannot be a plugin's name; use 1 to 64 lower case letters, digits, `-` and `_`")]
    BadName(String),
    /// A name that records use for somebody else.
    #[error(
        "`{0}` cannot be a plugin's name, since records name somebody else by it; rename the plugin's file"
    )]
    ReservedName(String),
}

impl Engine {
    /// Returns an engine that keeps compiled code in `cache`; without a cache, each process
    /// compiles again. The engine compiles the plugins that come with the program; files need
    /// `with_compiler`.
    ///
    /// # Errors
    /// Fails if wasmtime cannot run on this machine.
    pub fn new(cache: Option<CodeCache>) -> Result<Self, EngineError> {
        let mut config = common();
        config.enable_compiler(false);
        let inner = wasmtime::Engine::new(&config)
            .map_err(|error| EngineError::Unsupported(format!("{error:#}")))?;
        Ok(Self {
            inner,
            cache: cache.map(Arc::new),
            file_compiler: None,
            web: Web::default(),
            shared: Arc::default(),
            compiler: Arc::default(),
        })
    }

    /// Sets the compiler for files.
    #[must_use]
    pub fn with_compiler(self, file_compiler: Arc<dyn Compiler>) -> Self {
        Self { file_compiler: Some(file_compiler), ..self }
    }

    /// Sets the way in which permitted requests of plugins leave the machine.
    #[must_use]
    pub fn with_web(self, web: Web) -> Self {
        Self { web, ..self }
    }

    /// Returns machine code for a component that came with the program.
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

/// Returns the settings that compiling and running must share; wasmtime refuses code that was
/// compiled with others.
fn common() -> Config {
    let mut config = Config::new();
    config.consume_fuel(true);
    config.epoch_interruption(true);
    // Async guests are off: without them a call costs a third (104 ns against 310).
    config.concurrency_support(false);
    config.max_wasm_stack(STACK_BYTES);
    config.wasm_backtrace_max_frames(std::num::NonZeroUsize::new(TRACE_FRAMES));
    // Copying a guest's data into fresh memory is faster than mapping it: an instance lives for one
    // call.
    config.memory_init_cow(false);
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

//! The one engine of a process: it runs guests, and compiles those that come with the program.

use crate::cache::CodeCache;
use crate::compiler::Compiler;
use crate::loader::Loader;
use crate::machine_code::{common, compiling, machine_code};
use crate::pool::Pool;
use crate::shared::Shared;
use crate::web::Web;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

/// Compiles and runs guests. Cheap to clone; one for each process.
///
/// Guests run in an engine that has no compiler: setting one up costs a hook more than loading a
/// plugin, and with a warm cache nothing is compiled.
#[derive(Clone)]
pub struct Engine {
    inner: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CodeCache>>,
    pub(crate) file_compiler: Option<Arc<dyn Compiler>>,
    pub(crate) web: Web,
    pub(crate) shared: Arc<Shared>,
    /// The number of guests whose memory is left to the end of the process; none if it answers more
    /// than once.
    pub(crate) left: Option<Arc<AtomicUsize>>,
    /// The thread that loads plugins ahead; none if nobody asked for one.
    loader: Option<Loader>,
    compiler: Arc<OnceLock<wasmtime::Engine>>,
    /// The engine of the program's own plugins, if it keeps their memory between calls.
    pool: Option<Arc<Pool>>,
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
        "`{0}` cannot be a plugin's name, since records use it for another source; rename the plugin's file"
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
            left: None,
            loader: None,
            compiler: Arc::default(),
            pool: None,
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

    /// Keeps the memory of the program's own plugins between their calls, if the system has room
    /// for that: for a process that answers many events. Setting it up takes some milliseconds, so
    /// it comes before anything is loaded.
    #[must_use]
    pub fn with_pool(self) -> Self {
        Self { pool: Pool::reserve().map(Arc::new), shared: Arc::default(), ..self }
    }

    /// Returns the pool for a plugin, unless somebody else wrote it.
    pub(crate) fn pool_for(&self, foreign: bool) -> Option<&Pool> {
        self.pool.as_deref().filter(|_| !foreign)
    }

    /// Returns the engine that runs a plugin.
    pub(crate) fn runner(&self, foreign: bool) -> &wasmtime::Engine {
        self.pool_for(foreign).map_or(&self.inner, |pool| &pool.engine)
    }

    /// Starts a thread that loads plugins before they are called.
    #[must_use]
    pub fn with_loader(self) -> Self {
        Self { loader: Loader::start(), ..self }
    }

    /// Runs this on the loader's thread; without a loader, not at all.
    pub(crate) fn run_ahead(&self, load: impl FnOnce(&Self) + Send + 'static) {
        if let Some(loader) = &self.loader {
            // Its own loader would keep its thread alive.
            let engine = Self { loader: None, ..self.clone() };
            loader.run(move || load(&engine));
        }
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

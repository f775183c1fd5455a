//! Compiling: the one step that no fuel bounds, and the only code of the host that reads a third
//! party's bytes in full. So a file is compiled by a separate process with limited resources. The
//! engine defines the interface, the caller owns the process. Plugins that come with the program
//! are compiled here.
//!
//! This bounds the cost of compiling and the damage of a compiler crash. It does not help against a
//! compiler that makes wrong code of right input: its output is run.

use crate::cache::{CompileFailure, CompileLock, FAILURE_TTL};
use crate::engine::{Engine, compiling};
use crate::text;
use rayon_core::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wasmtime::CodeBuilder;

/// The most bytes of a compiler's reason that are reported.
const REASON_BYTES: usize = 400;

/// The limits of one compilation. The size of its input is bounded by
/// [`crate::MAX_COMPONENT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileLimits {
    /// Wall-clock time. Somebody waits for the answer.
    pub wall: Duration,
    /// Seconds of processor time, of all threads together.
    pub cpu_seconds: u64,
    /// Bytes of address space. CPython as a component needs 480 MB.
    pub memory_bytes: u64,
    /// Bytes of machine code; usually three times the component.
    pub output_bytes: u64,
}

/// The limit that was reached, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileLimit {
    /// Wall-clock time.
    #[error("compiling it takes longer than the {} s that it may take here", .0.as_secs())]
    Wall(Duration),
    /// Seconds of processor time.
    #[error("compiling it takes more than {0} s of processor time")]
    Cpu(u64),
    /// Bytes of memory.
    #[error("compiling it takes more than {} MiB of memory", .0 >> 20)]
    Memory(u64),
    /// Bytes of machine code.
    #[error("its machine code has more than {} MiB", .0 >> 20)]
    Output(u64),
}

/// The reason why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileEnd {
    /// The compiler rejected the component.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// It used up a limit.
    #[error(
        "{0}; make the plugin smaller, or let `portcullis doctor` try again, which takes more time"
    )]
    Limit(CompileLimit),
    /// The compiling process ended without an answer.
    #[error(
        "the process that compiled it ended without machine code: {0}; `portcullis doctor` tries again"
    )]
    Crashed(String),
    /// The time was used up by other plugins, or by another process that compiles this one.
    #[error(
        "the time for compiling was used up by other plugins, or by another process that compiles this one; `portcullis doctor` compiles all"
    )]
    NoTime,
    /// The process could not be started. Without it, nothing is compiled.
    #[error("the process that compiles plugins cannot be started: {0}")]
    Unavailable(String),
}

/// Compiles in a separate process.
pub trait Compiler: Send + Sync {
    /// Returns the limits of the next compilation; none if no time is left.
    fn limits(&self) -> Option<CompileLimits>;

    /// Returns true if a known failure is to be tried again.
    fn retries_failures(&self) -> bool;

    /// Accounts for time spent waiting while another process compiled the same component.
    fn waited(&self, time: Duration);

    /// Returns the answer of `compile_here` from the other process.
    ///
    /// # Errors
    /// Fails with the reason why there is no answer.
    fn compile(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd>;
}

/// Compiles in this process, without limits; the compiler process calls this. The machine code
/// comes with a checksum over it and the component, so that the engine recognises a complete
/// answer.
///
/// # Errors
/// Fails with the reason why the compiler rejects the component.
pub fn compile_here(component: &[u8]) -> Result<Vec<u8>, String> {
    let compiled = compiling()
        .and_then(|config| wasmtime::Engine::new(&config))
        .and_then(|compiler| machine_code(&compiler, component));
    let mut code = compiled.map_err(|error| reason(&error))?;
    let check = answer_checksum(component, &code);
    code.extend_from_slice(check.as_bytes());
    Ok(code)
}

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

/// Returns wasmtime's reason for rejecting something, for people.
pub(crate) fn reason(error: &wasmtime::Error) -> String {
    text::line(text::cut(&error.root_cause().to_string(), REASON_BYTES))
}

impl Engine {
    /// Waits while another process compiles this component, and makes others wait as long as the
    /// guard is held. None without a cache, since then no process could use the result of another.
    pub(crate) fn lock_compile(&self, digest: &str) -> Result<Option<CompileLock>, CompileEnd> {
        let (Some(file_compiler), Some(cache)) = (&self.file_compiler, &self.cache) else {
            return Ok(None);
        };
        let most = file_compiler.limits().ok_or(CompileEnd::NoTime)?.wall;
        let begun = Instant::now();
        let turn = cache.lock_compile(digest, most);
        // Only a real wait is charged: with even a moment less, a failure that is recorded now
        // would not cover the full limits of the next process.
        if !matches!(&turn, Ok(None) | Ok(Some(CompileLock { waited: false, .. }))) {
            file_compiler.waited(begun.elapsed());
        }
        turn.map_err(|_| CompileEnd::NoTime)
    }

    /// Has a third-party component compiled. A failure is cached for an hour, so that not every
    /// process pays for it again.
    pub(crate) fn compile_isolated(
        &self,
        digest: &str,
        component: &[u8],
    ) -> Result<Vec<u8>, CompileEnd> {
        let Some(file_compiler) = &self.file_compiler else {
            return Err(CompileEnd::Unavailable("none is set up".to_owned()));
        };
        let limits = file_compiler.limits().ok_or(CompileEnd::NoTime)?;
        let kept = self
            .cache
            .as_ref()
            .filter(|_| !file_compiler.retries_failures())
            .and_then(|cache| cache.failed(digest, FAILURE_TTL));
        if let Some(kept) = kept.filter(|kept| kept.limits.covers(&limits)) {
            return Err(kept.end);
        }
        let made = file_compiler
            .compile(component, &limits)
            .and_then(|answer| verified_code(component, answer));
        if let (Err(end), Some(cache)) = (&made, &self.cache)
            && matches!(end, CompileEnd::Invalid(_) | CompileEnd::Limit(_) | CompileEnd::Crashed(_))
        {
            cache.store_failure(digest, &CompileFailure { end: end.clone(), limits });
        }
        made
    }
}

impl CompileLimits {
    /// Returns true if none of `others` is larger: a compilation that failed under these fails
    /// under those.
    fn covers(&self, others: &Self) -> bool {
        others.wall <= self.wall
            && others.cpu_seconds <= self.cpu_seconds
            && others.memory_bytes <= self.memory_bytes
            && others.output_bytes <= self.output_bytes
    }
}

/// Returns the machine code of a compiler's answer, if it is complete and was made from this
/// component.
fn verified_code(component: &[u8], mut answer: Vec<u8>) -> Result<Vec<u8>, CompileEnd> {
    let length = answer.len().saturating_sub(blake3::OUT_LEN);
    let check = answer.split_off(length);
    let fits = blake3::Hash::from_slice(&check)
        .is_ok_and(|check| check == answer_checksum(component, &answer));
    if fits { Ok(answer) } else { Err(CompileEnd::Crashed("its answer is incomplete".to_owned())) }
}

/// Returns a checksum that detects truncation or a mix-up, but not forgery: it has no key.
fn answer_checksum(component: &[u8], code: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_derive_key("portcullis compiled component 1");
    hasher.update(blake3::hash(component).as_bytes()).update(code).finalize()
}

//! Compiling: the one step that no fuel bounds, and the one program of ours that reads a stranger's bytes
//! in full. So a file is compiled by a *workshop*: a process of its own that may use up so much and no more.
//! The engine knows the door, the caller owns the process. What comes with the program is compiled here.
//!
//! This bounds what compiling costs and what a compiler that crashes takes with it. It does not help
//! against a compiler that makes wrong code of right input: what it delivers is run.

use crate::cache::{BELIEVED, Failed, Turn};
use crate::engine::{Engine, compiling};
use crate::text;
use rayon_core::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wasmtime::CodeBuilder;

/// The most that is said of why the compiler does not accept something.
const REASON_BYTES: usize = 400;

/// What one compilation may use up. The size of what is compiled is bounded by [`crate::MAX_COMPONENT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileLimits {
    /// Time on the wall. Somebody waits for the answer.
    pub wall: Duration,
    /// Seconds of processor time, of all threads together.
    pub cpu_seconds: u64,
    /// Bytes of address space. CPython as a component takes 480 MB.
    pub memory_bytes: u64,
    /// Bytes of machine code; usually three times the component.
    pub output_bytes: u64,
}

/// One of those limits, as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileLimit {
    /// Time on the wall.
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

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CompileEnd {
    /// The compiler does not accept it.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// It used up a limit.
    #[error("{0}; make the plugin smaller, or let `portcullis doctor` try again, which takes more time")]
    Limit(CompileLimit),
    /// The process that compiled ended otherwise than by an answer.
    #[error("the process that compiled it ended without machine code: {0}; `portcullis doctor` tries again")]
    Crashed(String),
    /// Other plugins used up the time, or another process that compiles this one.
    #[error(
        "the time for compiling was used up by other plugins, or by another process that compiles this one; `portcullis doctor` compiles all"
    )]
    NoTime,
    /// The process could not be started. Nothing is compiled without it.
    #[error("the process that compiles plugins cannot be started: {0}")]
    Unavailable(String),
}

/// Compiles in a process of its own.
pub trait Workshop: Send + Sync {
    /// What the next compilation may use up; none where no time is left.
    fn limits(&self) -> Option<CompileLimits>;

    /// Tries again what is known to have failed.
    fn tries_again(&self) -> bool;

    /// So much time went by while another process compiled what this one wants too.
    fn waited(&self, time: Duration);

    /// What `compile_here` answers in that process.
    ///
    /// # Errors
    /// Why it answers nothing.
    fn compile(&self, component: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, CompileEnd>;
}

/// Compiles in this process, under no limit: what a workshop's process calls. The machine code comes with a
/// check value over it and the component, so that the engine knows a whole answer.
///
/// # Errors
/// Why the compiler does not accept it.
pub fn compile_here(component: &[u8]) -> Result<Vec<u8>, String> {
    let compiled = compiling().and_then(|config| wasmtime::Engine::new(&config)).and_then(|compiler| machine_code(&compiler, component));
    let mut code = compiled.map_err(|error| reason(&error))?;
    let check = check_value(component, &code);
    code.extend_from_slice(check.as_bytes());
    Ok(code)
}

/// Machine code for a component, in the form that the running engine loads.
pub(crate) fn machine_code(compiler: &wasmtime::Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    // Not `precompile_component`: where the text format is compiled in, it takes that too.
    let compile = || CodeBuilder::new(compiler).wasm_binary(component, None)?.compile_component_serialized();
    let pool = THREADS.get_or_init(|| threads().ok()).as_ref();
    pool.ok_or_else(|| wasmtime::Error::msg("there is no room for a thread to compile it on"))?.install(compile)
}

/// What all components of this process are compiled on.
static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// A thread for each processor; where there is no room for them, the one that asks first. wasmtime would take the
/// process's own pool, and that panics where it cannot be made.
fn threads() -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().build().or_else(|_| ThreadPoolBuilder::new().num_threads(1).use_current_thread().build())
}

/// Why wasmtime does not take something, for people.
pub(crate) fn reason(error: &wasmtime::Error) -> String {
    text::line(text::cut(&error.root_cause().to_string(), REASON_BYTES))
}

impl Engine {
    /// Waits while another process compiles this component, and keeps others waiting as long as the turn is held.
    /// None where nothing is kept that one could find for another.
    pub(crate) fn turn(&self, digest: &str) -> Result<Option<Turn>, CompileEnd> {
        let (Some(workshop), Some(cache)) = (&self.workshop, &self.cache) else { return Ok(None) };
        let most = workshop.limits().ok_or(CompileEnd::NoTime)?.wall;
        let begun = Instant::now();
        let turn = cache.turn(digest, most);
        // Even a moment less would be less than what a kept failure had.
        if !matches!(&turn, Ok(None) | Ok(Some(Turn { waited: false, .. }))) {
            workshop.waited(begun.elapsed());
        }
        turn.map_err(|_| CompileEnd::NoTime)
    }

    /// Has a stranger's component compiled. A failure is kept for an hour, so that not each process pays
    /// for it again.
    pub(crate) fn commission(&self, digest: &str, component: &[u8]) -> Result<Vec<u8>, CompileEnd> {
        let Some(workshop) = &self.workshop else {
            return Err(CompileEnd::Unavailable("none is set up".to_owned()));
        };
        let limits = workshop.limits().ok_or(CompileEnd::NoTime)?;
        let kept = self.cache.as_ref().filter(|_| !workshop.tries_again()).and_then(|cache| cache.failed(digest, BELIEVED));
        if let Some(kept) = kept.filter(|kept| kept.limits.cover(&limits)) {
            return Err(kept.end);
        }
        let made = workshop.compile(component, &limits).and_then(|answer| whole(component, answer));
        if let (Err(end), Some(cache)) = (&made, &self.cache)
            && matches!(end, CompileEnd::Invalid(_) | CompileEnd::Limit(_) | CompileEnd::Crashed(_))
        {
            cache.keep_failed(digest, &Failed { end: end.clone(), limits });
        }
        made
    }
}

impl CompileLimits {
    /// None of `others` is larger: what failed under these fails under those.
    fn cover(&self, others: &Self) -> bool {
        others.wall <= self.wall
            && others.cpu_seconds <= self.cpu_seconds
            && others.memory_bytes <= self.memory_bytes
            && others.output_bytes <= self.output_bytes
    }
}

/// The machine code of a workshop's answer, if that is all there and made from this component.
fn whole(component: &[u8], mut answer: Vec<u8>) -> Result<Vec<u8>, CompileEnd> {
    let length = answer.len().saturating_sub(blake3::OUT_LEN);
    let check = answer.split_off(length);
    let fits = blake3::Hash::from_slice(&check).is_ok_and(|check| check == check_value(component, &answer));
    if fits { Ok(answer) } else { Err(CompileEnd::Crashed("its answer is not whole".to_owned())) }
}

/// Finds what was cut off or mixed up, not what somebody forged: it has no key.
fn check_value(component: &[u8], code: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_derive_key("portcullis compiled component 1");
    hasher.update(blake3::hash(component).as_bytes()).update(code).finalize()
}

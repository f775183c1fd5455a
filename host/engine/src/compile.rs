//! Compiling: the one step that no fuel bounds, and the only code of the host that reads a third
//! party's bytes in full. So a file is compiled by a separate process with limited resources. The
//! engine defines the interface, the caller owns the process. Plugins that come with the program
//! are compiled here.
//!
//! This bounds the cost of compiling and the damage of a compiler crash. It does not help against a
//! compiler that makes wrong code of right input: its output is run.

use crate::cache::{CompileFailure, CompileLock, FAILURE_TTL};
use crate::compiler::CompileEnd;
use crate::engine::Engine;
use crate::machine_code::{compiling, machine_code};
use crate::text;
use std::time::Instant;

/// The most bytes of a compiler's reason that are reported.
const REASON_BYTES: usize = 400;

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
        let lock = cache.lock_compile(digest, most);
        // Only a real wait is charged: with even a moment less, a failure that is recorded now
        // would not cover the full limits of the next process.
        if !matches!(&lock, Ok(None) | Ok(Some(CompileLock { waited: false, .. }))) {
            file_compiler.waited(begun.elapsed());
        }
        lock.map_err(|_| CompileEnd::NoTime)
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
        // A lack of time, or of a process, says nothing about the component: such a failure is not
        // kept.
        if let (Err(end), Some(cache)) = (&made, &self.cache)
            && matches!(end, CompileEnd::Invalid(_) | CompileEnd::Limit(_) | CompileEnd::Crashed(_))
        {
            cache.store_failure(digest, &CompileFailure { end: end.clone(), limits });
        }
        made
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

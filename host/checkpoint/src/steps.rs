//! A hook for injecting failures.

use std::fmt;
use std::io;
use std::path::Path;

/// Called for every step that outlives the process, before it is taken. For tests of crashes and
/// full disks: a returned error counts as the step's own.
pub trait StepHook: fmt::Debug + Send + Sync {
    /// Runs before `act` is done to `path`.
    ///
    /// # Errors
    /// Fails if the step is to fail with this error.
    fn before(&self, act: &'static str, path: &Path) -> io::Result<()>;
}

/// Lets every step proceed.
#[derive(Debug)]
pub(crate) struct NoHook;

impl StepHook for NoHook {
    fn before(&self, _: &'static str, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

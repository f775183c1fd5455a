//! A place to make things fail.

use std::fmt;
use std::io;
use std::path::Path;

/// Is told of every step that outlives the process, before it is taken. For tests of crashes and full disks:
/// an error counts as the step's own.
pub trait Steps: fmt::Debug + Send + Sync {
    /// About to do `act` to `path`.
    ///
    /// # Errors
    /// The step is to fail with this error.
    fn before(&self, act: &'static str, path: &Path) -> io::Result<()>;
}

/// Lets every step be taken.
#[derive(Debug)]
pub(crate) struct Unhindered;

impl Steps for Unhindered {
    fn before(&self, _: &'static str, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

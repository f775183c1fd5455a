//! The errors before an agent runs, each with the object, the place and the fix in one line.

use std::io;
use std::path::PathBuf;

/// The reason why an agent was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The command is empty.
    #[error("there is no command to run: write the agent's command after `--`")]
    NoCommand,
    /// The agent's program did not start.
    #[error("`{program}` does not start: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// The system's error, with the fix.
        reason: String,
    },
    /// The kernel cannot enforce the required confinement.
    #[error(
        "the agent cannot be confined as required: {missing}; leave that out, or let the confinement be best effort"
    )]
    NotConfined {
        /// The missing parts.
        missing: String,
    },
    /// A folder of the confinement cannot be opened.
    #[error("`{}` cannot be opened, though the agent must be able to write there: {source}; make \
         it, or leave it out", .path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The watcher did not start or ended at once.
    #[error("the process that watches the agent does not run ({reason}), so the agent was not \
         started: is `{}` a working binary?", .program.display())]
    NoWatcher {
        /// The binary.
        program: PathBuf,
        /// The observation.
        reason: String,
    },
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl RunError {
    /// Returns a function that wraps a system error with the operation that failed.
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

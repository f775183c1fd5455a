//! What can go wrong before an agent runs, each with the thing, the place and the mend in one line.

use std::io;
use std::path::PathBuf;

/// Why an agent was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is nothing to start.
    #[error("there is no command to run: write it after `--`, as in `portcullis run -- claude -p \"...\"`")]
    NoCommand,
    /// The agent's program did not start.
    #[error("`{program}` does not start: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system says, with what to mend.
        reason: String,
    },
    /// The confinement that was required is not what the kernel can do.
    #[error("the agent cannot be confined as required: {missing}; leave that out, or let the confinement be best effort")]
    NotConfined {
        /// What is missing.
        missing: String,
    },
    /// A folder of the confinement cannot be opened.
    #[error("`{}` cannot be opened, though the agent shall write there: {source}; make it, or leave it out", .path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The watcher did not start or ended at once.
    #[error("the process that watches the agent does not run ({reason}), so the agent was not started: is `{}` a working binary?", .program.display())]
    NoWatcher {
        /// The binary.
        program: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl RunError {
    /// Blames the system for what was being done.
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

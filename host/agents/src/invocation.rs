//! The command that a client starts for an event.

use std::path::{Path, PathBuf};

/// An event with the settings of its handler.
#[derive(Clone, Copy, Debug)]
pub struct EventSubscription {
    /// The client's name of the event.
    pub event: &'static str,
    /// True if the client refuses when the handler dies, hangs or is missing.
    pub closed: bool,
    /// The timeout after which the client kills the handler, in seconds.
    pub timeout: u64,
}

/// The command that the client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The client's name on our command line.
    pub agent: &'static str,
    /// The program: an absolute path, or a name that the client looks up.
    pub program: PathBuf,
    /// Configuration and state folder, if they are pinned: an agent can redirect the environment
    /// through the client's own settings.
    pub pinned: Option<(PathBuf, PathBuf)>,
}

impl Invocation {
    /// Returns the arguments after the program.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut arguments = vec!["hook".to_owned(), self.agent.to_owned()];
        if let Some((config, state)) = &self.pinned {
            arguments.extend([
                "--config".to_owned(),
                text(config),
                "--state".to_owned(),
                text(state),
            ]);
        }
        arguments
    }
}

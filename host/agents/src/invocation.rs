//! The command that a client starts for an event.

use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// The timeout of a handler, in seconds: far above the time of a review, so that a loaded machine
/// does not cause refusals. A hook answers before it ([`DEADLINE`]).
pub const TIMEOUT: u64 = 30;

/// The time after which a hook refuses by itself: most clients run the tool after their timeout.
pub const DEADLINE: Duration = Duration::from_secs(24);

impl Invocation {
    /// Returns the program and its arguments as one line for a shell.
    #[must_use]
    pub fn shell_line(&self) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(self.arguments());
        words.map(|word| quote_word(&word)).collect::<Vec<_>>().join(" ")
    }

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

/// Returns a word as a POSIX shell reads it back.
pub(crate) fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

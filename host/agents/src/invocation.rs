//! The command that a client starts for an event.

use std::ffi::OsString;
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

/// The timeout of a handler before an action, in seconds, where a person may have to answer first
/// and the client does not ask them. Its command line names it, so that a hook never waits longer
/// than the client that started it: both come from the same line of the settings.
pub const ANSWER_TIMEOUT: u64 = 300;

/// The option of a hook that names its handler's timeout.
const TIMEOUT_OPTION: &str = "--timeout";

/// The time after which a hook refuses by itself: most clients run the tool after their timeout.
pub const DEADLINE: Duration = Duration::from_secs(24);

impl Invocation {
    /// Returns the program and its arguments for an event as one line for a shell.
    #[must_use]
    pub fn shell_line(&self, listened: &EventSubscription) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(self.event_arguments(listened));
        words.map(|word| quote_word(&word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the arguments after the program for an event: a longer timeout than the usual one is
    /// among them.
    #[must_use]
    pub fn event_arguments(&self, listened: &EventSubscription) -> Vec<String> {
        let mut arguments = self.arguments();
        if listened.timeout > TIMEOUT {
            arguments.extend([TIMEOUT_OPTION.to_owned(), listened.timeout.to_string()]);
        }
        arguments
    }

    /// Returns the arguments after the program that all events have.
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

/// Takes the timeout that the arguments of a hook name, in seconds; the usual one if they name
/// none. Returns `None` if they name it wrongly.
#[must_use]
pub fn take_timeout(arguments: &mut Vec<OsString>) -> Option<u64> {
    let Some(at) = arguments.iter().position(|word| word == TIMEOUT_OPTION) else {
        return Some(TIMEOUT);
    };
    let named = arguments.get(at + 1)?.to_str()?.parse().ok()?;
    arguments.drain(at..=at + 1);
    let once = arguments.iter().all(|word| word != TIMEOUT_OPTION);
    (once && (TIMEOUT..=LONGEST_TIMEOUT).contains(&named)).then_some(named)
}

/// The longest timeout that a hook takes, in seconds.
pub const LONGEST_TIMEOUT: u64 = 86_400;

/// Returns a word as a POSIX shell reads it back.
pub(crate) fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_taken_out_of_the_arguments() {
        for (arguments, expected, rest) in [
            (&["--config", "/c"][..], Some(30), &["--config", "/c"][..]),
            (&["--timeout", "300"], Some(300), &[]),
            (
                &["--state", "/s", "--timeout", "60", "--config", "/c"],
                Some(60),
                &["--state", "/s", "--config", "/c"],
            ),
            (&["--timeout"], None, &["--timeout"]),
            (&["--timeout", "soon"], None, &["--timeout", "soon"]),
            (&["--timeout", "29"], None, &[]),
            (&["--timeout", "86401"], None, &[]),
            (&["--timeout", "60", "--timeout", "60"], None, &["--timeout", "60"]),
        ] {
            let mut words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            assert_eq!(take_timeout(&mut words), expected, "{arguments:?}");
            assert_eq!(words, rest.iter().map(OsString::from).collect::<Vec<_>>(), "{arguments:?}");
        }
    }

    #[test]
    fn only_a_longer_timeout_is_named() {
        let invocation = Invocation { agent: "a", program: "/p".into(), pinned: None };
        let listened = |timeout| EventSubscription { event: "e", closed: false, timeout };
        assert_eq!(invocation.shell_line(&listened(TIMEOUT)), "/p hook a");
        assert_eq!(invocation.shell_line(&listened(3)), "/p hook a");
        assert_eq!(invocation.shell_line(&listened(300)), "/p hook a --timeout 300");
    }
}

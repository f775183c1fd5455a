//! The agent to start, and the connections of its streams.

use crate::confinement::Confinement;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// An agent that is about to be started.
#[derive(Debug, Clone)]
pub struct AgentCommand {
    /// The program, searched in `PATH`, and its arguments.
    pub command: Vec<OsString>,
    /// Its working folder; `None` for the caller's own.
    pub folder: Option<PathBuf>,
    /// Variables that are set or, without a value, removed; the others are the caller's.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The source of its standard input. Output and errors always go through the monitor.
    pub input: StandardInput,
    /// The restrictions that the kernel enforces on it.
    pub confinement: Confinement,
    /// True if it gets its own cgroup, provided that this user may create one.
    pub cgroup: bool,
    /// The time that processes may outlive the agent before they are stopped.
    pub linger: Duration,
    /// The time that a stop waits between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The length in bytes of the longest line that is read as an event. A longer one is passed on
    /// and counted.
    pub longest_line: usize,
}

impl AgentCommand {
    /// Returns an agent that inherits the caller's input and is not confined.
    pub fn new<Part: Into<OsString>>(command: impl IntoIterator<Item = Part>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            folder: None,
            environment: Vec::new(),
            input: StandardInput::Inherited,
            confinement: Confinement::default(),
            cgroup: true,
            linger: Duration::from_millis(200),
            grace: Duration::from_millis(300),
            longest_line: 4 << 20,
        }
    }
}

/// The source of an agent's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardInput {
    /// The caller's own.
    Inherited,
    /// Nothing to read.
    Nothing,
    /// The caller's writes to [`Run::take_input`](crate::Run::take_input).
    Written,
}

/// The way in which the caller's binary is started again as watcher and as launcher.
///
/// `program WATCHER ...` must call [`watcher_main`](crate::watcher_main) and `program LAUNCHER ...`
/// must call [`launcher_main`](crate::launcher_main), each with the arguments after that word.
#[derive(Debug, Clone)]
pub struct Reentry {
    /// The binary, by its absolute path.
    pub program: PathBuf,
    /// The word for the watcher.
    pub watcher: String,
    /// The word for the launcher.
    pub launcher: String,
}

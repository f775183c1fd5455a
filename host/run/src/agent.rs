//! What is started, and how it is connected.

use crate::confinement::Confinement;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// An agent that is about to be started.
#[derive(Debug, Clone)]
pub struct Agent {
    /// The program, searched in `PATH`, and its arguments.
    pub command: Vec<OsString>,
    /// Where it works; the caller's own folder when there is none.
    pub folder: Option<PathBuf>,
    /// Variables that are set or, without a value, taken away; the others are the caller's.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// Where its standard input comes from. Output and errors always go through the monitor.
    pub input: Input,
    /// What it cannot do, whatever it asks for.
    pub confinement: Confinement,
    /// Whether it gets a cgroup of its own, where this user may make one.
    pub cgroup: bool,
    /// How long what it started may outlive it, before it is stopped.
    pub linger: Duration,
    /// How long a stop waits between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes of the longest line that is read as an event. A longer one is passed on and counted.
    pub longest_line: usize,
}

impl Agent {
    /// An agent that inherits the caller's input and is not confined.
    pub fn new<Part: Into<OsString>>(command: impl IntoIterator<Item = Part>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            folder: None,
            environment: Vec::new(),
            input: Input::Inherited,
            confinement: Confinement::default(),
            cgroup: true,
            linger: Duration::from_millis(200),
            grace: Duration::from_millis(300),
            longest_line: 4 << 20,
        }
    }
}

/// Where an agent's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The caller's own.
    Inherited,
    /// Nothing to read.
    Nothing,
    /// What the caller writes: [`Run::input`](crate::Run::input).
    Written,
}

/// How the caller's binary is started again as watcher and as launcher.
///
/// `program WATCHER ...` must call [`watcher_main`](crate::watcher_main) and `program LAUNCHER ...` must call
/// [`launcher_main`](crate::launcher_main), each with the arguments after that word.
#[derive(Debug, Clone)]
pub struct Reentry {
    /// The binary, by its absolute path.
    pub program: PathBuf,
    /// The word for the watcher.
    pub watcher: String,
    /// The word for the launcher.
    pub launcher: String,
}

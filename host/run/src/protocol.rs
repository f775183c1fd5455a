//! The messages between caller, watcher and launcher: one JSON object per line, over pipes.

use crate::confinement::Confinement;
use crate::outcome::Exit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

/// The watcher's first argument; the command follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WatcherArgs {
    pub(crate) program: PathBuf,
    pub(crate) launcher: String,
    /// The descriptor for the caller's requests. It closes when the caller is gone.
    pub(crate) asks: i32,
    /// The descriptor for the watcher's messages.
    pub(crate) tells: i32,
    /// The cgroup that the agent goes into.
    pub(crate) group: Option<PathBuf>,
    pub(crate) confinement: Confinement,
}

/// The launcher's first argument; the command follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LauncherArgs {
    /// The descriptor for the reason why the agent does not start; it closes by itself if it does
    /// start.
    pub(crate) refusal: i32,
    pub(crate) watcher: i32,
    pub(crate) group: Option<PathBuf>,
    pub(crate) confinement: Confinement,
}

/// The caller's requests to the watcher.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum WatcherRequest {
    /// End the tree.
    Stop {
        /// Milliseconds between SIGTERM and SIGKILL.
        grace: u64,
    },
}

/// The watcher's messages.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub(crate) enum WatcherMessage {
    /// The agent runs, and leads its own session.
    Started { agent: i32 },
    /// The agent did not start; nothing runs.
    Refused { reason: String },
    /// The agent itself ended; its descendants may be alive.
    Ended { exit: Exit },
    /// A stop was received.
    Stopping,
    /// No process is left, or none that could be killed. The watcher ends after this.
    Gone { killed: u64, survivors: Vec<i32> },
}

/// Sends one message. The loss of the other side is noticed by reading.
pub(crate) fn send_message(mut to: impl Write, thing: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(thing)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Returns all messages of the other side until it is gone.
pub(crate) fn read_messages<Thing: DeserializeOwned>(
    from: impl Read,
) -> impl Iterator<Item = Thing> {
    BufReader::new(from)
        .lines()
        .map_while(Result::ok)
        .map_while(|line| serde_json::from_str(&line).ok())
}

/// Parses the first argument, and returns it with the command after it.
pub(crate) fn arguments<Parsed: DeserializeOwned>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Option<(Parsed, Vec<OsString>)> {
    let mut arguments = arguments.into_iter();
    let parsed = serde_json::from_str(arguments.next()?.to_str()?).ok()?;
    Some((parsed, arguments.collect()))
}

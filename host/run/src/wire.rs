//! What caller, watcher and launcher say to each other: one JSON object a line, over pipes.

use crate::confinement::Confinement;
use crate::outcome::Exit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

/// What the watcher is told as its first argument; the command follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(crate) program: PathBuf,
    pub(crate) launcher: String,
    /// What the caller asks comes from this descriptor. That it closes means that the caller is gone.
    pub(crate) asks: i32,
    /// What the watcher tells goes to this one.
    pub(crate) tells: i32,
    /// The cgroup that the agent goes into.
    pub(crate) group: Option<PathBuf>,
    pub(crate) confinement: Confinement,
}

/// What the launcher is told as its first argument; the command follows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// Why the agent does not start goes to this descriptor, which closes by itself when it does.
    pub(crate) refusal: i32,
    pub(crate) watcher: i32,
    pub(crate) group: Option<PathBuf>,
    pub(crate) confinement: Confinement,
}

/// What the caller asks of the watcher.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Ask {
    /// End the tree.
    Stop {
        /// Milliseconds between SIGTERM and SIGKILL.
        grace: u64,
    },
}

/// What the watcher tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub(crate) enum Tell {
    /// The agent runs, and leads a session of its own.
    Started { agent: i32 },
    /// The agent did not start; nothing runs.
    Refused { reason: String },
    /// The agent itself ended; what it started may live.
    Ended { exit: Exit },
    /// A stop was heard.
    Stopping,
    /// Nothing is left, or nothing that could be killed. The watcher ends after this.
    Gone { killed: u64, survivors: Vec<i32> },
}

/// Says one thing. The other side being gone is its own matter, and noticed by reading.
pub(crate) fn say(mut to: impl Write, thing: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(thing)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Everything that the other side says until it is gone.
pub(crate) fn hear<Thing: DeserializeOwned>(from: impl Read) -> impl Iterator<Item = Thing> {
    BufReader::new(from).lines().map_while(Result::ok).map_while(|line| serde_json::from_str(&line).ok())
}

/// The first argument, read, and the command after it.
pub(crate) fn arguments<Told: DeserializeOwned>(arguments: impl IntoIterator<Item = OsString>) -> Option<(Told, Vec<OsString>)> {
    let mut arguments = arguments.into_iter();
    let told = serde_json::from_str(arguments.next()?.to_str()?).ok()?;
    Some((told, arguments.collect()))
}

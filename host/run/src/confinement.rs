//! What the kernel keeps an agent from doing, and what it does not.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an agent and all that it starts cannot do. The default takes nothing away.
///
/// Confining takes the gain of privileges away too (`sudo`, set-user-id programs).
///
/// What cannot be said here, since the kernel has no words for it:
/// - reading everywhere but in named places: reading is not restricted;
/// - a folder that may be written but for one file in it;
/// - connections by name or address: TCP is restricted by port, UDP (and so DNS) and raw sockets are not;
/// - sockets that lie in a folder (`docker.sock`): connecting to one is no write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and folders below which it can write; `None` is everywhere. Terminals and `/dev/null` and its like are
    /// always added. The hooks are the agent's children, so what they write to must be among them.
    pub write: Option<Vec<PathBuf>>,
    /// TCP ports that it can connect to; `None` is all.
    pub connect: Option<Vec<u16>>,
    /// Whether it can signal only what it started, so that it can neither kill nor halt its watcher; abstract
    /// sockets of others are closed to it too.
    pub signals: bool,
    /// Whether the agent is not started at all when the kernel cannot do all of this.
    pub required: bool,
}

impl Confinement {
    /// Whether anything is taken away.
    pub fn is_nothing(&self) -> bool {
        self.write.is_none() && self.connect.is_none() && !self.signals
    }
}

/// What the running kernel can restrict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Writing: Landlock 1.
    pub write: bool,
    /// Emptying a file that is open for nothing else: Landlock 3.
    pub truncate: bool,
    /// Commands to devices: Landlock 5.
    pub devices: bool,
    /// Connecting by TCP: Landlock 4.
    pub connect: bool,
    /// Signals and abstract sockets: Landlock 6.
    pub signals: bool,
}

/// What of a confinement is enforced on the running kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// One row for each thing that can be asked for, and those that cannot.
    pub rows: Vec<(&'static str, Enforced)>,
}

/// Whether one thing is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforced {
    /// Asked for, and the kernel does it.
    Yes,
    /// Asked for, and the kernel cannot.
    Missing,
    /// Not asked for.
    NotAsked,
    /// No kernel can do it this way.
    Never,
}

//! The restrictions that the kernel enforces on an agent, and those that it cannot enforce.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The restrictions of an agent and of all that it starts. The default restricts nothing.
///
/// Confining also prevents a gain of privileges (`sudo`, set-user-id programs).
///
/// Restrictions that cannot be expressed, since the kernel does not offer them:
/// - reading everywhere except in named places: reading is not restricted;
/// - write access to a folder except for one file in it;
/// - connections by name or address: TCP is restricted by port, UDP (and so DNS) and raw sockets
///   are not;
/// - sockets in a folder (`docker.sock`): connecting to one is not a write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and folders below which it can write; `None` is everywhere. Terminals and `/dev/null`
    /// and the like are always added. The hooks are the agent's children, so the places that they
    /// write to must be in the list.
    pub write: Option<Vec<PathBuf>>,
    /// TCP ports that it can connect to; `None` is all.
    pub connect: Option<Vec<u16>>,
    /// True if it can signal only its own descendants, so that it can neither kill nor halt its
    /// watcher; abstract sockets of others are closed to it too.
    pub signals: bool,
    /// True if the agent must not start when the kernel cannot enforce all of this.
    pub required: bool,
}

impl Confinement {
    /// Returns true if nothing is restricted.
    pub fn is_nothing(&self) -> bool {
        self.write.is_none() && self.connect.is_none() && !self.signals
    }
}

/// The restrictions that the running kernel supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Writing: Landlock 1.
    pub write: bool,
    /// Truncating a file that is not open for writing otherwise: Landlock 3.
    pub truncate: bool,
    /// Device commands (ioctl): Landlock 5.
    pub devices: bool,
    /// Connecting by TCP: Landlock 4.
    pub connect: bool,
    /// Signals and abstract sockets: Landlock 6.
    pub signals: bool,
}

/// The parts of a confinement that the running kernel enforces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementReport {
    /// One row for each restriction that can be asked for, and for those that no kernel supports.
    pub rows: Vec<(&'static str, Enforced)>,
}

/// The state of one restriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforced {
    /// Asked for, and the kernel enforces it.
    Yes,
    /// Asked for, but the kernel cannot enforce it.
    Missing,
    /// Not asked for.
    NotAsked,
    /// No kernel can enforce it in this way.
    Never,
}

//! What an operator lets a plugin have of the machine: real clocks and randomness, variables by name, folders
//! to read, hosts to send requests to. Without a grant the plugin gets the answers of the inert tier (`wasi`), which
//! have no effect; one that imports `wasi:http` is not loaded without a host.
//!
//! Nothing here decides who may grant, and values are read by the caller: the engine looks at no environment.

mod hosts;

pub use hosts::Host;
pub(crate) use hosts::{Origin, Target};

use portcullis_core::plugins::{Grant, Use};
use std::path::PathBuf;

/// What one plugin is granted; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Clocks show the machine's time in place of the review's.
    pub clocks: bool,
    /// Where random bytes come from.
    pub random: Random,
    /// Variables, as name and value; at most [`MOST_VARIABLES`] count.
    pub environment: Vec<(String, String)>,
    /// Folders that can be read, never written.
    pub directories: Vec<Folder>,
    /// Hosts that requests may be sent to; at most [`MOST_HOSTS`] count.
    pub hosts: Vec<Host>,
    /// The plugin is loaded as if it had its hosts, and each request is refused: for a replay.
    pub offline: bool,
}

/// Where random bytes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Random {
    /// From the plugin's digest: the same in each call.
    #[default]
    Fixed,
    /// From this number: the same in each call.
    Seeded(u64),
    /// From the operating system.
    System,
}

/// A folder that a plugin may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// What it is called inside.
    pub shown: String,
}

/// The most variables that a plugin gets.
pub const MOST_VARIABLES: usize = 64;
/// The most folders that a plugin gets.
pub const MOST_FOLDERS: usize = 16;
/// The most hosts that a plugin gets.
pub const MOST_HOSTS: usize = 16;

impl Grants {
    /// Whether anything is granted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What was done with grants in one call, each thing once.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    all: Vec<Use>,
    more: u64,
}

/// The most different uses that are told of one call.
const MOST_USES: usize = 32;
/// The longest name of what was used, in bytes.
const WHAT_BYTES: usize = 256;

impl Uses {
    /// Takes down that something was used, and how many bytes came of it.
    pub(crate) fn used(&mut self, grant: Grant, what: &str, bytes: usize) {
        self.note(grant, what, bytes, None);
    }

    /// Takes down that something was refused.
    pub(crate) fn refused(&mut self, grant: Grant, what: &str, why: &'static str) {
        self.note(grant, what, 0, Some(why));
    }

    fn note(&mut self, grant: Grant, what: &str, bytes: usize, refused: Option<&'static str>) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let what = crate::text::line(crate::text::cut(what, WHAT_BYTES));
        let same = |known: &&mut Use| known.grant == grant && known.what == what && known.refused.as_deref() == refused;
        if let Some(known) = self.all.iter_mut().find(same) {
            known.count += 1;
            known.bytes = known.bytes.saturating_add(bytes);
        } else if self.all.len() < MOST_USES {
            self.all.push(Use { grant, what, count: 1, bytes, refused: refused.map(str::to_owned) });
        } else {
            self.more += 1;
        }
    }

    /// All of them; the last one stands for those that are not told.
    pub(crate) fn finish(mut self) -> Vec<Use> {
        if self.more > 0
            && let Some(last) = self.all.last_mut()
        {
            last.what.push_str(" and others");
            last.count = last.count.saturating_add(self.more);
        }
        self.all
    }
}

//! The access to the machine that an operator gives a plugin: real clocks and randomness, variables
//! by name, folders to read, hosts to send requests to. Without a grant the plugin gets the answers
//! of the inert tier (`wasi`), which have no effect. A plugin that imports `wasi:http` is not
//! loaded unless it has a host.
//!
//! This module does not decide who may grant, and the caller reads the values: the engine reads no
//! environment.

mod hosts;

pub use hosts::Host;
pub(crate) use hosts::{RequestOrigin, Target};

use portcullis_core::plugins::{Grant, GrantUse};
use std::path::PathBuf;

/// The grants of one plugin; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Clocks show the machine's time instead of the review's.
    pub clocks: bool,
    /// The source of random bytes.
    pub random: Random,
    /// Variables, as name and value; at most [`MOST_VARIABLES`] are used.
    pub environment: Vec<(String, String)>,
    /// Folders that can be read, never written.
    pub directories: Vec<GrantedFolder>,
    /// Hosts that requests may be sent to; at most [`MOST_HOSTS`] are used.
    pub hosts: Vec<Host>,
    /// The plugin is loaded as if it had its hosts, and each request is refused: for a replay.
    pub offline: bool,
}

/// The source of random bytes.
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
pub struct GrantedFolder {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its name inside the guest.
    pub shown: String,
}

/// The most variables that a plugin gets.
pub const MOST_VARIABLES: usize = 64;
/// The most folders that a plugin gets.
pub const MOST_FOLDERS: usize = 16;
/// The most hosts that a plugin gets.
pub const MOST_HOSTS: usize = 16;

impl Grants {
    /// Returns true if nothing is granted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the plugin gets real files or requests (`wasi::granted`).
    pub(crate) fn has_files_or_hosts(&self) -> bool {
        !self.directories.is_empty() || !self.hosts.is_empty()
    }
}

/// The uses of grants in one call, each different use once.
#[derive(Debug, Default)]
pub(crate) struct GrantUses {
    all: Vec<GrantUse>,
    more: u64,
}

/// The most different uses that are reported for one call.
const MOST_USES: usize = 32;
/// The longest name of a used object, in bytes.
const WHAT_BYTES: usize = 256;

impl GrantUses {
    /// Records a use and its number of bytes.
    pub(crate) fn used(&mut self, grant: Grant, what: &str, bytes: usize) {
        self.note(grant, what, 1, bytes, None);
    }

    /// Adds bytes to a use that is on record.
    pub(crate) fn add_bytes(&mut self, grant: Grant, what: &str, bytes: usize) {
        self.note(grant, what, 0, bytes, None);
    }

    /// Records a refusal.
    pub(crate) fn refused(&mut self, grant: Grant, what: &str, why: &'static str) {
        self.note(grant, what, 1, 0, Some(why));
    }

    /// Adds the uses of grants that are not in this list.
    pub(crate) fn extend(&mut self, others: Self) {
        self.more += others.more;
        for other in others.all {
            if self.all.len() < MOST_USES {
                self.all.push(other);
            } else {
                self.more += other.count;
            }
        }
    }

    fn note(
        &mut self,
        grant: Grant,
        what: &str,
        count: u64,
        bytes: usize,
        refused: Option<&'static str>,
    ) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let what = crate::text::line(crate::text::cut(what, WHAT_BYTES));
        let same = |known: &&mut GrantUse| {
            known.grant == grant && known.what == what && known.refused.as_deref() == refused
        };
        if let Some(known) = self.all.iter_mut().find(same) {
            known.count += count;
            known.bytes = known.bytes.saturating_add(bytes);
        } else if self.all.len() < MOST_USES {
            self.all.push(GrantUse {
                grant,
                what,
                count,
                bytes,
                refused: refused.map(str::to_owned),
            });
        } else {
            self.more += count;
        }
    }

    /// Returns all uses; the last one stands for those that are not listed.
    pub(crate) fn finish(mut self) -> Vec<GrantUse> {
        if self.more > 0
            && let Some(last) = self.all.last_mut()
        {
            last.what.push_str(" and others");
            last.count = last.count.saturating_add(self.more);
        }
        self.all
    }
}

//! What an action wants of package managers, before anybody has judged it.

use crate::ecosystems::Ecosystem;
use crate::packages::Package;

/// One thing that an action wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A package is added.
    Add(Package),
    /// Packages come from another registry.
    Registry {
        /// Whose packages.
        ecosystem: Ecosystem,
        /// The registry, as `host/path`.
        address: String,
        /// It is asked besides the usual one, and the higher version wins.
        extra: bool,
    },
    /// Packages may run code while they are installed; what turns that on.
    Scripts(String),
    /// A check of versions is passed over; what does it.
    Forced(String),
    /// A check of what is downloaded is turned off; what does it.
    Unverified(String),
    /// A lock file goes, or is not kept; what it is.
    Unlocked(String),
    /// Packages that nobody knows before the action runs; what names them.
    Unread(String),
}

/// Wishes with the text that shows them: a command, or the path of a manifest.
#[derive(Debug, Default)]
pub struct Wishes {
    /// In the order in which they were found.
    pub found: Vec<Found>,
}

/// A wish and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is wanted.
    pub wish: Wish,
    /// Where it stands: `command` or `path`.
    pub kind: &'static str,
    /// The command or the path.
    pub place: String,
}

impl Wishes {
    /// Adds wishes that stand in one place.
    pub fn add_all(
        &mut self,
        wishes: impl IntoIterator<Item = Wish>,
        kind: &'static str,
        place: &str,
    ) {
        let found = wishes.into_iter().map(|wish| Found { wish, kind, place: place.to_owned() });
        self.found.extend(found);
    }
}

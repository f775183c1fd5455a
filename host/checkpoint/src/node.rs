//! The file system object at a path.

use crate::path::text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The BLAKE3 digest of a file's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentDigest(pub [u8; 32]);

impl ContentDigest {
    /// Returns the digest of bytes in memory.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A time stamp of the file system: seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time {
    /// Whole seconds since 1970, negative before.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanoseconds: u32,
}

/// A file's metadata without its bytes. An equal stamp means equal bytes, unless the file changed
/// in the same tick of the file system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStamp {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of the bytes; any program can set it.
    pub modified: Time,
    /// Last change of anything; only the system sets it.
    pub changed: Time,
}

/// The reason why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Why {
    /// Git ignores it, and the policy leaves that out.
    Ignored,
    /// A folder of build output or installed packages.
    BuildOutput,
    /// Git's own folder.
    Git,
    /// Over the policy's size of a file.
    TooLarge,
    /// The policy's total of this checkpoint is reached.
    TotalReached,
    /// The vault has reached its maximum size.
    VaultFull,
    /// The budget was over.
    Budget,
    /// Permission was refused.
    Unreadable,
    /// It kept changing while it was read.
    Changing,
    /// A pipe, a socket or a device.
    Special,
    /// It is on another file system than its root.
    OtherFileSystem,
    /// More than 256 folders deep.
    TooDeep,
    /// A target below none of the roots, or one whose link leads out of them.
    OutsideRoots,
}

impl Why {
    /// Returns true if it is left out on purpose, since it can be reproduced or is not a tree's
    /// content. Such omissions do not make a checkpoint incomplete.
    #[must_use]
    pub fn by_choice(self) -> bool {
        matches!(self, Self::Ignored | Self::BuildOutput | Self::Git | Self::Special)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignored => "ignored by git",
            Self::BuildOutput => "build output",
            Self::Git => "git's own folder",
            Self::TooLarge => "too large",
            Self::TotalReached => "more than a checkpoint may hold",
            Self::VaultFull => "the vault is full",
            Self::Budget => "not reached in time",
            Self::Unreadable => "not readable",
            Self::Changing => "changed while it was read",
            Self::Special => "a pipe, socket or device",
            Self::OtherFileSystem => "on another file system",
            Self::TooDeep => "more than 256 folders deep",
            Self::OutsideRoots => "outside the roots",
        })
    }
}

/// A file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// In the vault under this digest.
    Kept(ContentDigest),
    /// Not in the vault; the stamp still identifies the file.
    LeftOut(Why, NodeStamp),
}

/// The object at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Node {
    /// Nothing.
    Missing,
    /// A regular file.
    File {
        /// Its bytes.
        content: Content,
        /// The number of its bytes.
        size: u64,
        /// Permission bits, `0o7777` at most.
        mode: u32,
        /// Last change of the bytes.
        modified: Time,
        /// True if it has holes.
        sparse: bool,
    },
    /// A symbolic link.
    Link {
        /// Its text, unchanged, wherever that leads.
        #[serde(with = "text")]
        text: Vec<u8>,
    },
    /// A folder; its entries have paths of their own.
    Folder {
        /// Permission bits, `0o7777` at most.
        mode: u32,
        /// The reason why its entries were not scanned; none if they were.
        closed: Option<Why>,
    },
    /// A pipe, a socket or a device.
    Special,
}

impl Node {
    /// Returns true if two nodes are the same to a person: kind, bytes, permission bits, text of
    /// the link. Times do not count. Files that were left out are the same if their stamps are.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { content, mode, .. },
                Self::File { content: other_content, mode: other_mode, .. },
            ) => mode == other_mode && content.same(other_content),
            (Self::Folder { mode, .. }, Self::Folder { mode: other_mode, .. }) => {
                mode == other_mode
            }
            _ => self == other,
        }
    }

    /// Returns the reason why it could not be restored; none if it could.
    #[must_use]
    pub fn left_out(&self) -> Option<Why> {
        match self {
            Self::File { content: Content::LeftOut(why, _), .. }
            | Self::Folder { closed: Some(why), .. } => Some(*why),
            Self::Special => Some(Why::Special),
            _ => None,
        }
    }

    /// Returns the digest of a file in the vault.
    #[must_use]
    pub fn digest(&self) -> Option<ContentDigest> {
        match self {
            Self::File { content: Content::Kept(digest), .. } => Some(*digest),
            _ => None,
        }
    }

    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }
}

impl Content {
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kept(one), Self::Kept(other)) => one == other,
            (Self::LeftOut(_, one), Self::LeftOut(_, other)) => one == other,
            _ => false,
        }
    }
}

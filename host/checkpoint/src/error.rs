//! The errors, each with the object, the place and the fix in one line.

use crate::difference::Difference;
use crate::id::{Id, InvalidId};
use crate::node::ContentDigest;
use portcullis_encryption::EncryptionError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a checkpoint cannot be taken, read or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// An id that is not valid for a checkpoint.
    #[error(transparent)]
    BadId(#[from] InvalidId),
    /// A checkpoint of that id exists already.
    #[error("there is a checkpoint `{id}` already: each call has one")]
    Exists {
        /// The id.
        id: Id,
    },
    /// No checkpoint has that id.
    #[error("there is no checkpoint `{id}`: it was never taken or is older than what is kept")]
    Unknown {
        /// The id.
        id: Id,
    },
    /// A root is not an absolute path to a folder.
    #[error("`{}` cannot be a root: name a folder by its absolute path", Shown(.path))]
    BadRoot {
        /// The path.
        path: PathBuf,
    },
    /// A target is not an absolute path.
    #[error("`{}` cannot be a target: name it by its absolute path, without `..`", Shown(.path))]
    BadTarget {
        /// The path.
        path: PathBuf,
    },
    /// The vault's folder is open to other users or belongs to somebody else.
    #[error("the folder `{}` is not yours alone: choose another one, or make it yours and run \
         `chmod 700` on it", Shown(.path))]
    NotPrivate {
        /// The folder.
        path: PathBuf,
    },
    /// The vault was written by another version.
    #[error("`{}` has the format of another version: use that version, or move the folder away", Shown(.path))]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the vault's lock.
    #[error("another process is busy with `{}`: try again when it has ended", Shown(.path))]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// A file of the vault is damaged.
    #[error("`{}` is damaged ({reason}): move it away; what it held is lost, other checkpoints are not", Shown(.path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The kind of damage.
        reason: &'static str,
    },
    /// A content is missing from the vault, or is damaged there.
    #[error("the content of `{}` is lost or damaged in the vault ({digest}): restore the other \
         paths without it", Shown(.path))]
    Lost {
        /// The file that it belongs to.
        path: PathBuf,
        /// The content.
        digest: ContentDigest,
    },
    /// A file of the vault cannot be encrypted or decrypted as long as a key is missing. Nothing is lost
    /// by that.
    #[error("cannot {action} `{}`: {source}", Shown(.path))]
    Encryption {
        /// The operation.
        action: &'static str,
        /// The file of the vault.
        path: PathBuf,
        /// The reason, with its fix.
        source: EncryptionError,
    },
    /// Some paths do not hold the state that the actions left; nothing was changed.
    #[error("{}: look at the difference, then restore the others by name, or force it", refusal(.paths))]
    Refused {
        /// The paths, all of them.
        paths: Vec<Difference>,
    },
    /// A link or a file is now in the place of a folder.
    #[error("`{}` is not a folder any more: move away what is there", Shown(.path))]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The system returned an error.
    #[error("cannot {action} `{}`: {source}", Shown(.path))]
    Io {
        /// The operation.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A restore began and could not be completed.
    #[error(
        "the restore `{undo}` is half done: {source}; fix that, then restore again, which completes it"
    )]
    HalfDone {
        /// The id of the restore's own checkpoint.
        undo: Id,
        /// The error that stopped it.
        source: Box<CheckpointError>,
    },
}

impl CheckpointError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Bytes that were encrypted for another place, or changed since, are damage; everything else can
    /// be fixed.
    pub(crate) fn encryption(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(EncryptionError) -> Self {
        let path = path.into();
        move |source| match source {
            EncryptionError::Changed => {
                Self::Damaged { path, reason: "it is not what was encrypted for this place" }
            }
            source => Self::Encryption { action, path, source },
        }
    }

    /// Returns the file of the vault that cannot be read any more, if that is final: it is damaged, or
    /// its key does not exist.
    pub(crate) fn unreadable(&self) -> Option<&Path> {
        match self {
            Self::Damaged { path, .. }
            | Self::Encryption { path, source: EncryptionError::KeyMissing { .. }, .. } => {
                Some(path)
            }
            _ => None,
        }
    }
}

fn refusal(paths: &[Difference]) -> String {
    let named = paths.first().map(|one| format!("`{}` is {}", Shown(&one.path), one.standing));
    match (named, paths.len()) {
        (Some(named), 0 | 1) => named,
        (Some(named), count) => {
            format!("{named}; changed since the action, too: {} more", count - 1)
        }
        (None, _) => "nothing to restore".into(),
    }
}

/// Formats a path on one line, whatever its name.
struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.to_string_lossy().escape_debug())
    }
}

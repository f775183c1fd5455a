//! The reasons why a text cannot be encrypted or decrypted.

use crate::key_id::{DataKind, Day};
use crate::master_id::MasterId;
use portcullis_credentials::CredentialFailure;
use std::io;
use std::path::{Path, PathBuf};

/// A text cannot be encrypted or decrypted, or a key cannot be kept. It repeats nothing of a key or a
/// text.
#[derive(Debug, thiserror::Error)]
pub enum EncryptionError {
    /// The place of a master key does not give it.
    #[error("the master key {id} is not available: {}: `portcullis encryption \
         status` shows where it is kept, and how it is unlocked or restored", .reason.what)]
    MasterUnavailable {
        /// Its id.
        id: MasterId,
        /// The reason.
        reason: CredentialFailure,
    },
    /// A master key is needed that this home does not know.
    #[error("the {kind} of {day} need the master key {id}, which this home does not have: \
         `portcullis encryption restore` takes it from a backup", kind = .kind.as_str())]
    MasterUnknown {
        /// Its id.
        id: MasterId,
        /// The kind of data.
        kind: DataKind,
        /// The day.
        day: Day,
    },
    /// The list of master keys cannot be read or written.
    #[error("{0}")]
    Masters(CredentialFailure),
    /// The key of a day is not there.
    #[error("the key of {day} for {} is not there: it was destroyed when its data was due, \
         or `keys` in the state folder is incomplete: restore it from a backup", .kind.as_str())]
    KeyMissing {
        /// The kind of data.
        kind: DataKind,
        /// The day.
        day: Day,
    },
    /// A key file is not one that this home wrote.
    #[error("`{}` is not a key of this home: restore it from a backup, or move it away", .path.display())]
    KeyDamaged {
        /// The file.
        path: PathBuf,
    },
    /// A text is not the one that was encrypted for its place.
    #[error("it is not the text that was encrypted for this place")]
    Changed,
    /// The passphrase does not open a locked key.
    #[error("the passphrase is wrong, or `{}` is damaged: try again, or use another backup", .path.display())]
    WrongPassphrase {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot {verb} `{}`: {source}", .path.display())]
    Io {
        /// The action that failed, such as `read` or `lock`.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    NoRandom(String),
}

impl EncryptionError {
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }
}

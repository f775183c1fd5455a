//! The store's errors. Each message names the subject, the place and the fix in one line.

use portcullis_encryption::EncryptionError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A reason that the home or the journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or folder of the home cannot be made, read or written.
    #[error("cannot {action} `{}`: {source}; check that the folder exists and that you may write \
         there", PathDisplay(.path))]
    Io {
        /// The failed action: `create`, `read`, `lock`, `rename`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A folder or a file is needed, but the path holds something of another kind.
    #[error("`{}` is not a {wanted}: move it away or choose another home", PathDisplay(.path))]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// `folder` or `file`.
        wanted: &'static str,
    },
    /// The home or its key belongs to another user.
    #[error("`{}` belongs to user {owner}, but this is user {user}: choose a home of your own or \
         run `chown {user} {}`", PathDisplay(.path), Quoted(.path))]
    ForeignOwner {
        /// The home or the key.
        path: PathBuf,
        /// The owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Others may change the home, or read the key.
    #[error("`{}` is open to other users (mode {mode:04o}): run `chmod {wanted} {}`", PathDisplay(.path), Quoted(.path))]
    OpenToOthers {
        /// The home or the key.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The mode it should have, as chmod takes it.
        wanted: &'static str,
    },
    /// The key is not a key.
    #[error("the key `{}` has {size} bytes instead of 32: restore it, or move it away and run \
         `portcullis recover`", PathDisplay(.path))]
    BadKey {
        /// The key's file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// No database exists, and the caller did not want one to be created.
    #[error("there is no journal `{}`: run `portcullis install AGENT`, or choose another home", PathDisplay(.path))]
    Missing {
        /// The expected path.
        path: PathBuf,
    },
    /// No database exists, although the home has had one.
    #[error("the journal `{}` is gone, though this home has had one (`{trace}` is there): restore \
         it from a backup, or have a person run `portcullis recover`, which begins a new one", PathDisplay(.path))]
    Vanished {
        /// Its former path.
        path: PathBuf,
        /// The evidence that it existed.
        trace: &'static str,
    },
    /// The states of a session were changed, added, removed or rolled back by something that does
    /// not hold the key.
    #[error("the state of the session `{}` in the journal `{}` was changed from outside \
         ({reason}): look with `portcullis audit verify`; begin a new session, or have a person \
         run `portcullis recover`, which keeps this journal and begins a new one", Line(.session), PathDisplay(.path))]
    ForgedState {
        /// The database.
        path: PathBuf,
        /// The session.
        session: String,
        /// The problem found.
        reason: &'static str,
    },
    /// The database is damaged or is not a Portcullis journal.
    #[error("the journal `{}` is damaged ({reason}): restore it from a copy, or run `portcullis \
         recover`, which keeps it and begins a new one", PathDisplay(.path))]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// The problem found.
        reason: String,
    },
    /// The journal was changed by something that does not hold the key, so nothing may follow it.
    #[error("the journal `{}` was changed from outside ({reason}): look with `portcullis audit \
         verify`, then run `portcullis recover`, which keeps it and begins a new one", PathDisplay(.path))]
    Tampered {
        /// The database.
        path: PathBuf,
        /// The problem found.
        reason: String,
    },
    /// A newer version wrote the database.
    #[error("the journal `{}` was written by a newer portcullis (format {found}, this one reads up \
         to {supported}): upgrade portcullis, or choose another home", PathDisplay(.path))]
    Newer {
        /// The database.
        path: PathBuf,
        /// The format found.
        found: i64,
        /// The newest format that this version reads.
        supported: i64,
    },
    /// The database or the home cannot be written.
    #[error("`{}` is read-only: make it and its folder writable for you, or choose another home", PathDisplay(.path))]
    ReadOnly {
        /// The database, or another file of the home.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("no room left to write `{}`: free disk space on its volume", PathDisplay(.path))]
    Full {
        /// The database, or another file of the home.
        path: PathBuf,
    },
    /// Another process held the lock until the timeout.
    #[error("`{}` was locked by another process for more than 2 s: end the process that holds it", PathDisplay(.path))]
    Busy {
        /// The database or the home's lock file.
        path: PathBuf,
    },
    /// A record with that id exists already.
    #[error("a record with the id `{}` is in the journal already: give each record an id of its own", Line(.id))]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A record that cannot be stored.
    #[error("the record `{}` cannot be stored: {reason}", Line(.id))]
    BadRecord {
        /// Its id.
        id: String,
        /// The mistake and the correct form.
        reason: &'static str,
    },
    /// Exceptions were changed, added, removed or rolled back by something that does not hold the
    /// key, so none may be relied on.
    #[error("the exceptions in the journal `{}` were changed from outside ({reason}): run \
         `portcullis allow --revoke-all`", PathDisplay(.path))]
    ForgedExceptions {
        /// The database.
        path: PathBuf,
        /// The exception, if known, and the problem found.
        reason: String,
    },
    /// An approval was changed or added by something that does not hold the key: it permits
    /// nothing.
    #[error("the approval `{}` in the journal `{}` was changed or added from outside: it does not \
         count", Line(.id), PathDisplay(.path))]
    ForgedApproval {
        /// The database.
        path: PathBuf,
        /// Its id.
        id: String,
    },
    /// An approval that cannot be stored or answered.
    #[error("the approval `{}` is not possible: {reason}", Line(.id))]
    BadApproval {
        /// Its id.
        id: String,
        /// The mistake.
        reason: &'static str,
    },
    /// The failure record of a plugin was changed or added by something that does not hold the key.
    #[error("what the journal `{}` says of the failures of the plugin `{}` was changed from \
         outside: run `portcullis plugin release {}`", PathDisplay(.path), Line(.plugin), Line(.plugin))]
    ForgedBreaker {
        /// The database.
        path: PathBuf,
        /// The plugin.
        plugin: String,
    },
    /// The failure record of a plugin cannot be kept.
    #[error("the failures of the plugin `{}` cannot be kept: {reason}", Line(.plugin))]
    BadBreaker {
        /// Its name.
        plugin: String,
        /// The mistake.
        reason: &'static str,
    },
    /// An exception that cannot be kept or spent.
    #[error("the exception `{}` cannot be used: {reason}", Line(.id))]
    BadException {
        /// Its id.
        id: String,
        /// The mistake and the correct form.
        reason: &'static str,
    },
    /// Queued work was changed or added by something that does not hold the key, so it must not be
    /// done.
    #[error("the waiting work {id} in the journal `{}` was changed from outside: run `portcullis \
         maintain` to drop it", PathDisplay(.path))]
    ForgedWork {
        /// The database.
        path: PathBuf,
        /// Its id.
        id: i64,
    },
    /// The cursor of an export was changed or added by something that does not hold the key.
    #[error("the cursor of the export `{}` in the journal `{}` was changed from outside: run \
         `portcullis exports reset {}`", Line(.name), PathDisplay(.path), Line(.name))]
    ForgedExport {
        /// The database.
        path: PathBuf,
        /// The export.
        name: String,
    },
    /// The cursor of an export cannot be kept.
    #[error("the cursor of the export `{}` cannot be kept: {reason}", Line(.name))]
    BadExport {
        /// The export.
        name: String,
        /// The mistake.
        reason: &'static str,
    },
    /// Work that cannot be kept.
    #[error("the work for `{}` cannot be kept: {reason}", Line(.key))]
    BadWork {
        /// Its key.
        key: String,
        /// The mistake and the correct form.
        reason: &'static str,
    },
    /// A line that is not a valid anchor.
    #[error("this is not an anchor of a journal ({reason}): give a line as it was printed")]
    BadAnchor {
        /// The mistake.
        reason: String,
    },
    /// Several records begin with that prefix.
    #[error("`{}` is the beginning of more than one id: {}", Line(.prefix), List(.candidates))]
    Ambiguous {
        /// The prefix that was looked up.
        prefix: String,
        /// The first ten ids that begin with it.
        candidates: Vec<String>,
    },
    /// A text cannot be encrypted or decrypted.
    #[error("the journal `{}` cannot be read or written: {reason}", PathDisplay(.path))]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// The text's day or key, and the fix.
        reason: String,
    },
    /// Anything else that the database reports.
    #[error("the journal `{}` cannot be used ({reason}): check its folder and volume", PathDisplay(.path))]
    Database {
        /// The database.
        path: PathBuf,
        /// The reported error.
        reason: String,
    },
}

/// A reason that a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Another commit to the session happened since the snapshot; take a new one.
    #[error("session `{}` moved from head {expected} to {found} since the snapshot: review again \
         on a new snapshot", Line(.session))]
    Moved {
        /// The session.
        session: String,
        /// The snapshot's head.
        expected: u64,
        /// The head now.
        found: u64,
    },
    /// An exception that the review relied on was spent or revoked since the snapshot; take a new
    /// one.
    #[error("the exception `{}` was spent or revoked since the snapshot: review again on a new snapshot", Line(.id))]
    Spent {
        /// Its id.
        id: String,
    },
    /// The failure record of a plugin has changed since the snapshot; take a new one.
    #[error("the failures of the plugin `{}` changed since the snapshot: review again on a new \
         snapshot", Line(.plugin))]
    Learned {
        /// The plugin.
        plugin: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            _ => Self::Io { action, path, source },
        }
    }

    pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), reason: reason.into() }
    }

    /// Returns the error for another commit of the transaction that this one ended.
    pub(crate) fn of_same_transaction(&self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::Full { .. } => Self::Full { path },
            Self::ReadOnly { .. } => Self::ReadOnly { path },
            Self::Busy { .. } => Self::Busy { path },
            Self::Corrupt { reason, .. } => Self::Corrupt { path, reason: reason.clone() },
            Self::Tampered { reason, .. } => Self::Tampered { path, reason: reason.clone() },
            Self::Database { reason, .. } => Self::Database { path, reason: reason.clone() },
            Self::Unreadable { reason, .. } => Self::Unreadable { path, reason: reason.clone() },
            other => Self::Database { path, reason: other.to_string() },
        }
    }

    pub(crate) fn tampered(path: &Path, reason: impl Into<String>) -> Self {
        Self::Tampered { path: path.to_owned(), reason: reason.into() }
    }

    /// Converts an SQLite error. All statements of this crate are fixed, so one that does not fit
    /// the tables means that the tables are foreign.
    pub(crate) fn database(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        let reason = error.to_string().replace(['\n', '\r'], " ");
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return match error {
                rusqlite::Error::ToSqlConversionFailure(carried) => {
                    match carried.downcast_ref::<EncryptionError>() {
                        Some(error) => Self::unreadable(&path, error),
                        None => Self::Database { path, reason },
                    }
                }
                rusqlite::Error::SqlInputError { .. }
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::QueryReturnedNoRows => Self::Corrupt { path, reason },
                _ => Self::Database { path, reason },
            };
        };
        match failure.code {
            Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed => {
                Self::Busy { path }
            }
            Code::ReadOnly => Self::ReadOnly { path },
            Code::DiskFull => Self::Full { path },
            Code::CannotOpen if path.exists() => Self::ReadOnly { path },
            Code::SystemIoFailure
                if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE =>
            {
                Self::Full { path }
            }
            Code::DatabaseCorrupt
            | Code::NotADatabase
            | Code::SchemaChanged
            | Code::TypeMismatch
            | Code::Unknown => Self::Corrupt { path, reason },
            _ => Self::Database { path, reason },
        }
    }
}

/// Shows a path in a message on one line, regardless of the characters in its name.
struct PathDisplay<'a>(&'a Path);

impl fmt::Display for PathDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Line(&self.0.to_string_lossy()).fmt(f)
    }
}

/// Shows a path quoted for a shell.
struct Quoted<'a>(&'a Path);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            f.write_str(&text)
        } else {
            write!(f, "'{}'", Line(&text.replace('\'', r"'\''")))
        }
    }
}

/// Shows text with its control characters escaped.
pub(crate) struct Line<'a>(pub(crate) &'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

/// Shows names in backticks.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{}`", if index == 0 { "" } else { ", " }, Line(name))?;
        }
        Ok(())
    }
}

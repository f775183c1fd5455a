//! What can go wrong, each with the thing, the place and the mend in one line.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the home or the journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or folder of the home cannot be made, read or written.
    #[error("cannot {action} `{}`: {source}; check that the folder exists and that you may write there", Shown(.path))]
    Io {
        /// What was tried: `create`, `read`, `lock`, `rename`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something of another kind stands where a folder or a file belongs.
    #[error("`{}` is not a {wanted}: move it away or choose another home", Shown(.path))]
    WrongKind {
        /// What stands there.
        path: PathBuf,
        /// `folder` or `file`.
        wanted: &'static str,
    },
    /// The home or its key belongs to somebody else.
    #[error("`{}` belongs to user {owner}, but this is user {user}: choose a home of your own or run `chown {user} {}`", Shown(.path), Quoted(.path))]
    ForeignOwner {
        /// The home or the key.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who runs this process.
        user: u32,
    },
    /// Others may change the home, or read the key.
    #[error("`{}` is open to other users (mode {mode:04o}): run `chmod {wanted} {}`", Shown(.path), Quoted(.path))]
    OpenToOthers {
        /// The home or the key.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// The mode it should have, as chmod takes it.
        wanted: &'static str,
    },
    /// The key is not a key.
    #[error("the key `{}` has {size} bytes instead of 32: restore it, or move it away and run `portcullis recover`", Shown(.path))]
    BadKey {
        /// The key's file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// There is no database, and the caller wanted none to be made.
    #[error("there is no journal `{}`: run `portcullis install claude`, or choose another home", Shown(.path))]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The database is damaged or no journal of ours.
    #[error("the journal `{}` is damaged ({reason}): restore it from a copy, or run `portcullis recover`, which keeps it and begins a new one", Shown(.path))]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// The journal was changed by something that does not hold the key, so nothing may follow it.
    #[error("the journal `{}` was changed from outside ({reason}): look with `portcullis audit verify`, then run `portcullis recover`, which keeps it and begins a new one", Shown(.path))]
    Tampered {
        /// The database.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// A newer version wrote the database.
    #[error("the journal `{}` was written by a newer portcullis (format {found}, this one reads up to {supported}): upgrade portcullis, or choose another home", Shown(.path))]
    Newer {
        /// The database.
        path: PathBuf,
        /// The format found.
        found: i64,
        /// The newest format that this version reads.
        supported: i64,
    },
    /// The database or the home cannot be written.
    #[error("`{}` is read-only: make it and its folder writable for you, or choose another home", Shown(.path))]
    ReadOnly {
        /// The database, or another file of the home.
        path: PathBuf,
    },
    /// There is no room left.
    #[error("no room left to write `{}`: free disk space on its volume", Shown(.path))]
    Full {
        /// The database, or another file of the home.
        path: PathBuf,
    },
    /// Somebody else held the lock for too long.
    #[error("`{}` was locked by another process for more than 2 s: end the process that holds it", Shown(.path))]
    Busy {
        /// The database or the home's lock file.
        path: PathBuf,
    },
    /// There is a record with that id.
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
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// Exceptions were changed, added, removed or put back by something that does not hold the key, so none
    /// may be relied on.
    #[error("the exceptions in the journal `{}` were changed from outside ({reason}): run `portcullis allow --revoke-all`", Shown(.path))]
    ForgedGrants {
        /// The database.
        path: PathBuf,
        /// Which exception, if that can be told, and what was seen.
        reason: String,
    },
    /// What is known of a plugin that failed was changed or added by something that does not hold the key.
    #[error("what the journal `{}` says of the failures of the plugin `{}` was changed from outside: run `portcullis plugin release {}`", Shown(.path), Line(.plugin), Line(.plugin))]
    ForgedBreaker {
        /// The database.
        path: PathBuf,
        /// The plugin.
        plugin: String,
    },
    /// What is known of a plugin that failed cannot be kept.
    #[error("the failures of the plugin `{}` cannot be kept: {reason}", Line(.plugin))]
    BadBreaker {
        /// Its name.
        plugin: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// An exception that cannot be kept or spent.
    #[error("the exception `{}` cannot be used: {reason}", Line(.id))]
    BadGrant {
        /// Its id.
        id: String,
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// Work that waits was changed or added by something that does not hold the key, so it may not be done.
    #[error("the waiting work {id} in the journal `{}` was changed from outside: run `portcullis maintain` to drop it", Shown(.path))]
    ForgedWork {
        /// The database.
        path: PathBuf,
        /// Its id.
        id: i64,
    },
    /// Work that cannot be kept.
    #[error("the work for `{}` cannot be kept: {reason}", Line(.key))]
    BadWork {
        /// Its key.
        key: String,
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// A line that is no anchor.
    #[error("this is no anchor of a journal ({reason}): give a line as it was printed")]
    BadAnchor {
        /// What does not fit.
        reason: String,
    },
    /// Several records begin with that prefix.
    #[error("`{}` is the beginning of more than one id: {}", Line(.prefix), List(.candidates))]
    Ambiguous {
        /// What was looked for.
        prefix: String,
        /// The first ten ids that begin with it.
        candidates: Vec<String>,
    },
    /// Anything else that the database reports.
    #[error("the journal `{}` cannot be used ({reason}): check its folder and volume", Shown(.path))]
    Database {
        /// The database.
        path: PathBuf,
        /// What was reported.
        reason: String,
    },
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Somebody else committed to the session since the snapshot; take a new one.
    #[error("session `{}` moved from head {expected} to {found} since the snapshot: review again on a new snapshot", Line(.session))]
    Moved {
        /// The session.
        session: String,
        /// The snapshot's head.
        expected: u64,
        /// The head now.
        found: u64,
    },
    /// An exception that the review relied on was spent or revoked since the snapshot; take a new one.
    #[error("the exception `{}` was spent or revoked since the snapshot: review again on a new snapshot", Line(.id))]
    Spent {
        /// Its id.
        id: String,
    },
    /// Something else is known by now of a plugin that failed; take a new snapshot.
    #[error("more is known by now of the failures of the plugin `{}`: review again on a new snapshot", Line(.plugin))]
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

    pub(crate) fn tampered(path: &Path, reason: impl Into<String>) -> Self {
        Self::Tampered { path: path.to_owned(), reason: reason.into() }
    }

    /// Names what SQLite reported. All our statements are fixed, so one that does not fit the tables
    /// means that the tables are not ours.
    pub(crate) fn database(path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        let reason = error.to_string().replace(['\n', '\r'], " ");
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return match error {
                rusqlite::Error::SqlInputError { .. }
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::QueryReturnedNoRows => Self::Corrupt { path, reason },
                _ => Self::Database { path, reason },
            };
        };
        match failure.code {
            Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed => Self::Busy { path },
            Code::ReadOnly => Self::ReadOnly { path },
            Code::DiskFull => Self::Full { path },
            Code::CannotOpen if path.exists() => Self::ReadOnly { path },
            Code::SystemIoFailure if failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => Self::Full { path },
            Code::DatabaseCorrupt | Code::NotADatabase | Code::SchemaChanged | Code::TypeMismatch | Code::Unknown => {
                Self::Corrupt { path, reason }
            }
            _ => Self::Database { path, reason },
        }
    }
}

/// A path for a message: on one line, whatever its name holds.
struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Line(&self.0.to_string_lossy()).fmt(f)
    }
}

/// A path as a shell takes it.
struct Quoted<'a>(&'a Path);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
        if !text.is_empty() && text.chars().all(plain) { f.write_str(&text) } else { write!(f, "'{}'", Line(&text.replace('\'', r"'\''"))) }
    }
}

/// Text with its control characters escaped.
pub(crate) struct Line<'a>(pub(crate) &'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") })
    }
}

/// Names in backticks.
struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{}`", if index == 0 { "" } else { ", " }, Line(name))?;
        }
        Ok(())
    }
}

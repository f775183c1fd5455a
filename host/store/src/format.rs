//! The number of the database's format, and its check.

use crate::error::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// The newest format that this version reads and the only one it writes.
pub(crate) const FORMAT: i64 = 7;

/// Returns the format of a database, if it is a Portcullis one.
pub(crate) fn read_format(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    match connection
        .prepare_cached("PRAGMA user_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| StoreError::database(path, &error))?
    {
        found @ 1..=FORMAT => Ok(found),
        0 => Err(StoreError::corrupt(path, "it is a database of something else")),
        found if found > FORMAT => {
            Err(StoreError::Newer { path: path.to_owned(), found, supported: FORMAT })
        }
        found => Err(StoreError::corrupt(path, format!("there is no format {found}"))),
    }
}

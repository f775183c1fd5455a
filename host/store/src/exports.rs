//! The cursors of exports: the last record that the sink of each has taken.
//!
//! A row holds the name of an export, its position in the journal, and a document that the caller
//! defines. It is sealed with the home's key, so nobody without the key can move a cursor forward.
//! Removing a row, or restoring an older one, is not detected: the export then sends records again.
//! A row with a wrong seal is an error until [`Store::remove_export_cursor`] removes it.

use crate::error::StoreError;
use crate::hash::Hash;
use crate::seal::{Keys, Seal};
use crate::store::Store;
use crate::work::time;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;

/// The place of an export in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportCursor {
    /// The export's name, not empty.
    pub name: String,
    /// The position of the last record that was taken; 0 before the first.
    pub sequence: u64,
    /// The hash of that record; zeros before the first.
    pub hash: Hash,
    /// The caller's notes, at most 16 KiB.
    pub document: String,
}

const MOST_DOCUMENT: usize = 16 << 10;
const COLUMNS: &str = "SELECT name, sequence, hash, document, seal FROM exports";

impl Store {
    /// Returns all cursors, by name.
    ///
    /// # Errors
    /// Fails with [`StoreError::ForgedExport`] if one was changed from outside, or if the database
    /// cannot be read.
    pub fn list_export_cursors(&self) -> Result<Vec<ExportCursor>, StoreError> {
        all_cursors(&self.connection, &self.keys, &self.path)
    }

    /// Returns an export's cursor; none if it has none yet.
    ///
    /// # Errors
    /// Fails in the same cases as [`Store::list_export_cursors`].
    pub fn find_export_cursor(&self, name: &str) -> Result<Option<ExportCursor>, StoreError> {
        let sql = format!("{COLUMNS} WHERE name = ?1");
        let read = |row: &Row<'_>| Ok(read(row, &self.keys, &self.path));
        let found = self.connection.query_row(&sql, [name], read).optional();
        found.map_err(|error| self.named(&error))?.transpose()
    }

    /// Puts an export's cursor in place of the one that it has.
    ///
    /// # Errors
    /// Fails if the name is empty or the document too long, or the database cannot be written.
    pub fn put_export_cursor(&mut self, cursor: &ExportCursor) -> Result<(), StoreError> {
        let bad = |reason| Err(StoreError::BadExport { name: cursor.name.clone(), reason });
        if cursor.name.is_empty() {
            return bad("it needs a name");
        }
        if cursor.document.len() > MOST_DOCUMENT {
            return bad("its notes are longer than 16 KiB");
        }
        self.write(|writer| {
            let ExportCursor { name, sequence, hash, document } = cursor;
            let code = seal(writer.keys, cursor).finish();
            let put = writer.transaction.execute(
                "INSERT OR REPLACE INTO exports VALUES (?1, ?2, ?3, ?4, ?5)",
                params![name, time(*sequence), hash, document, code],
            );
            put.map(drop).map_err(|error| writer.named(&error))
        })
    }

    /// Removes an export's cursor, even with a wrong seal; returns false if there is none.
    ///
    /// # Errors
    /// Fails if the database cannot be written.
    pub fn remove_export_cursor(&mut self, name: &str) -> Result<bool, StoreError> {
        self.write(|writer| {
            let removed = writer.transaction.execute("DELETE FROM exports WHERE name = ?1", [name]);
            removed.map(|count| count > 0).map_err(|error| writer.named(&error))
        })
    }
}

/// Returns all cursors, each checked.
pub(crate) fn all_cursors(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
) -> Result<Vec<ExportCursor>, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement = connection.prepare(&format!("{COLUMNS} ORDER BY name")).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(named)? {
        all.push(read(row, keys, path)?);
    }
    Ok(all)
}

fn read(row: &Row<'_>, keys: &Keys, path: &Path) -> Result<ExportCursor, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let name: String = row.get(0).map_err(named)?;
    let forged = || StoreError::ForgedExport { path: path.to_owned(), name: name.clone() };
    let (sequence, hash): (i64, Vec<u8>) = (row.get(1).map_err(named)?, row.get(2).map_err(named)?);
    let cursor = ExportCursor {
        name: name.clone(),
        sequence: u64::try_from(sequence).map_err(|_| forged())?,
        hash: Hash::try_from(hash).map_err(|_| forged())?,
        document: row.get(3).map_err(named)?,
    };
    let code: Vec<u8> = row.get(4).map_err(named)?;
    if seal(keys, &cursor).is(&code) { Ok(cursor) } else { Err(forged()) }
}

fn seal(keys: &Keys, cursor: &ExportCursor) -> Seal {
    Seal::new(&keys.export)
        .bytes(Some(cursor.name.as_bytes()))
        .number(Some(time(cursor.sequence)))
        .raw(&cursor.hash)
        .bytes(Some(cursor.document.as_bytes()))
}

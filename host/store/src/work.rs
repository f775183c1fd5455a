//! The rows of queued work, each sealed.

use crate::error::StoreError;
use crate::seal::{Keys, Seal};
use crate::writer::Writer;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use std::path::Path;

/// New work to queue. Kind and key together are unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewWork {
    /// The kind of task, not empty.
    pub kind: String,
    /// The object of the task: work of a kind and key that is already queued is not added twice.
    pub key: String,
    /// The earliest time, in milliseconds since 1970.
    pub due_at: u64,
    /// The input for the worker.
    pub document: String,
}

/// Queued work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkItem {
    /// Its id while it is queued.
    pub id: i64,
    /// The kind of task.
    pub kind: String,
    /// The object of the task.
    pub key: String,
    /// The earliest time, in milliseconds since 1970.
    pub due_at: u64,
    /// The number of failed attempts.
    pub attempts: u64,
    /// The error of the last attempt.
    pub last_error: Option<String>,
    /// The input for the worker.
    pub document: String,
}

/// The query for rows as [`read`] takes them.
pub(crate) const COLUMNS: &str =
    "SELECT id, kind, key, due_at, attempts, last_error, document, seal FROM work";

impl Writer<'_> {
    pub(crate) fn enqueue(&self, work: &NewWork) -> Result<bool, StoreError> {
        if work.kind.is_empty() {
            return Err(StoreError::BadWork { key: work.key.clone(), reason: "it needs a kind" });
        }
        let NewWork { kind, key, due_at, document } = work.clone();
        let work = WorkItem { id: 0, kind, key, due_at, attempts: 0, last_error: None, document };
        let sql = "INSERT INTO work (kind, key, due_at, attempts, last_error, document, seal) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (kind, key) DO NOTHING";
        let inserted = self.transaction.execute(sql, params_from_iter(work.sealed(self.keys)));
        Ok(inserted.map_err(|error| self.named(&error))? > 0)
    }

    pub(crate) fn update_work(&self, work: &WorkItem) -> rusqlite::Result<()> {
        let seal = work.sealed(self.keys).pop();
        let sql =
            "UPDATE work SET due_at = ?2, attempts = ?3, last_error = ?4, seal = ?5 WHERE id = ?1";
        self.transaction
            .execute(
                sql,
                params![work.id, time(work.due_at), time(work.attempts), work.last_error, seal],
            )
            .map(drop)
    }
}

impl WorkItem {
    /// Returns the columns except for the id, and their seal.
    fn sealed(&self, keys: &Keys) -> Vec<Value> {
        let mut values = vec![
            Value::Text(self.kind.clone()),
            Value::Text(self.key.clone()),
            Value::Integer(time(self.due_at)),
            Value::Integer(time(self.attempts)),
            self.last_error.clone().map_or(Value::Null, Value::Text),
            Value::Text(self.document.clone()),
        ];
        let seal = Seal::over(&keys.work, values.iter().map(Into::into)).finish();
        values.push(Value::Blob(seal.to_vec()));
        values
    }
}

/// Checks all queued work.
pub(crate) fn check(connection: &Connection, keys: &Keys, path: &Path) -> Result<(), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement = connection.prepare(COLUMNS).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    while let Some(row) = rows.next().map_err(named)? {
        read(row, keys, path)?;
    }
    Ok(())
}

/// Reads a row, and checks the seal before it uses any value: a forged row may hold anything.
pub(crate) fn read(row: &Row<'_>, keys: &Keys, path: &Path) -> Result<WorkItem, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let id: i64 = row.get(0).map_err(named)?;
    let seal: Vec<u8> = row.get(7).map_err(named)?;
    if !Seal::over_row(&keys.work, row, 1..7).map_err(named)?.is(&seal) {
        return Err(StoreError::ForgedWork { path: path.to_owned(), id });
    }
    let work = || -> rusqlite::Result<WorkItem> {
        let (kind, key, due_at) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(WorkItem {
            id,
            kind,
            key,
            due_at,
            attempts: row.get(4)?,
            last_error: row.get(5)?,
            document: row.get(6)?,
        })
    };
    work().map_err(named)
}

/// Converts a time; one past the database's range is treated as never.
pub(crate) fn time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

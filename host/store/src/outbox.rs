//! Queued work: tasks that no hook should do while a client waits for its answer.
//!
//! Delivery is at-least-once: work stays until [`Store::work_done`] removes it, so it is done again
//! if its process is killed in between. The caller decides the retry time. A row with a wrong seal
//! is an error that names it, and its work is never done; `work_done` removes it.

use crate::error::StoreError;
use crate::seal::{Keys, Seal};
use crate::store::Store;
use crate::writer::Writer;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
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

/// The amount of queued work of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkSummary {
    /// The kind of task.
    pub kind: String,
    /// The number of tasks.
    pub count: u64,
    /// The number of them that have failed before.
    pub failed: u64,
    /// The time when the first of them is due, in milliseconds since 1970.
    pub first_due_at: u64,
}

const COLUMNS: &str =
    "SELECT id, kind, key, due_at, attempts, last_error, document, seal FROM work";

impl Store {
    /// Adds work to the queue; returns false if work of that kind and key is already queued, which
    /// stays unchanged.
    ///
    /// # Errors
    /// Fails if the kind is empty, or the database cannot be written.
    pub fn enqueue(&mut self, work: &NewWork) -> Result<bool, StoreError> {
        self.write(|writer| writer.enqueue(work))
    }

    /// Returns true if work is due. Cheap enough for each hook.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn work_due(&self, now: u64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM work WHERE due_at <= ?1)";
        self.connection
            .query_row(sql, [time(now)], |row| row.get(0))
            .map_err(|error| self.named(&error))
    }

    /// Returns at most `most` tasks that are due, the longest due first.
    ///
    /// # Errors
    /// Fails with [`StoreError::ForgedWork`] for a row with a wrong seal, or if the database cannot
    /// be read.
    pub fn due(&self, now: u64, most: u64) -> Result<Vec<WorkItem>, StoreError> {
        let named = |error: rusqlite::Error| self.named(&error);
        let sql = format!("{COLUMNS} WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2");
        let mut statement = self.connection.prepare(&sql).map_err(named)?;
        let mut rows = statement.query([time(now), time(most)]).map_err(named)?;
        let mut due = Vec::new();
        while let Some(row) = rows.next().map_err(named)? {
            due.push(read(row, &self.keys, &self.path)?);
        }
        Ok(due)
    }

    /// Removes work, even with a wrong seal; returns false if the id does not exist.
    ///
    /// # Errors
    /// Fails if the database cannot be written.
    pub fn work_done(&mut self, id: i64) -> Result<bool, StoreError> {
        self.write(|writer| {
            let removed = writer
                .transaction
                .execute("DELETE FROM work WHERE id = ?1", [id])
                .map_err(|error| writer.named(&error))?;
            Ok(removed > 0)
        })
    }

    /// Postpones work until `retry_at`, and counts the failure; returns false if the id does not
    /// exist.
    ///
    /// # Errors
    /// Fails with [`StoreError::ForgedWork`] if its seal is wrong, or if the database cannot be
    /// written.
    pub fn work_failed(&mut self, id: i64, error: &str, retry_at: u64) -> Result<bool, StoreError> {
        self.write(|writer| {
            let read = |row: &Row<'_>| Ok(read(row, writer.keys, writer.path));
            let found = writer
                .transaction
                .query_row(&format!("{COLUMNS} WHERE id = ?1"), [id], read)
                .optional();
            let Some(work) = found.map_err(|error| writer.named(&error))?.transpose()? else {
                return Ok(false);
            };
            let attempts = work.attempts.saturating_add(1);
            let work =
                WorkItem { attempts, last_error: Some(error.to_owned()), due_at: retry_at, ..work };
            writer.update_work(&work).map_err(|error| writer.named(&error))?;
            Ok(true)
        })
    }

    /// Returns the amount of queued work, by kind.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn waiting(&self) -> Result<Vec<WorkSummary>, StoreError> {
        let read = || -> rusqlite::Result<Vec<WorkSummary>> {
            let sql = "SELECT kind, count(*), sum(attempts > 0), min(due_at) FROM work GROUP BY kind ORDER BY kind";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(WorkSummary {
                    kind: row.get(0)?,
                    count: row.get(1)?,
                    failed: row.get(2)?,
                    first_due_at: row.get(3)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.named(&error))
    }
}

impl Writer<'_> {
    pub(crate) fn enqueue(&self, work: &NewWork) -> Result<bool, StoreError> {
        if work.kind.is_empty() {
            return Err(StoreError::BadWork { key: work.key.clone(), reason: "it needs a kind" });
        }
        let NewWork { kind, key, due_at, document } = work.clone();
        let work = WorkItem { id: 0, kind, key, due_at, attempts: 0, last_error: None, document };
        let sql = "INSERT INTO work (kind, key, due_at, attempts, last_error, document, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (kind, key) DO NOTHING";
        let inserted = self.transaction.execute(sql, params_from_iter(work.sealed(self.keys)));
        Ok(inserted.map_err(|error| self.named(&error))? > 0)
    }

    fn update_work(&self, work: &WorkItem) -> rusqlite::Result<()> {
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
fn read(row: &Row<'_>, keys: &Keys, path: &Path) -> Result<WorkItem, StoreError> {
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
fn time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

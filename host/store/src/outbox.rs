//! Queued work: tasks that no hook should do while a client waits for its answer.
//!
//! Delivery is at-least-once: work stays until [`Store::work_done`] removes it, so it is done again
//! if its process is killed in between. The caller decides the retry time. A row with a wrong seal
//! is an error that names it, and its work is never done; `work_done` removes it.

use crate::error::StoreError;
use crate::store::Store;
use crate::work::{COLUMNS, NewWork, WorkItem, read, time};
use rusqlite::{OptionalExtension, Row};

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

impl Store {
    /// Adds work to the queue; returns false if work of that kind and key is already queued, which
    /// stays unchanged.
    ///
    /// # Errors
    /// Fails if the kind is empty, or the database cannot be written.
    pub fn enqueue_work(&mut self, work: &NewWork) -> Result<bool, StoreError> {
        self.write(|writer| writer.enqueue(work))
    }

    /// Returns true if work is due. Cheap enough for each hook.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn work_due(&self, now: u64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM work WHERE due_at <= ?1)";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([time(now)], |row| row.get(0)))
            .map_err(|error| self.named(&error))
    }

    /// Returns at most `most` tasks that are due, the longest due first.
    ///
    /// # Errors
    /// Fails with [`StoreError::ForgedWork`] for a row with a wrong seal, or if the database cannot
    /// be read.
    pub fn list_due(&self, now: u64, most: u64) -> Result<Vec<WorkItem>, StoreError> {
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
    pub fn queued_work(&self) -> Result<Vec<WorkSummary>, StoreError> {
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

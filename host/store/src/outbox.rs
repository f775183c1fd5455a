//! Work that waits: what no hook should do while a client waits for its answer.
//!
//! At least once: work stays until it is [`Store::work_done`], so whoever is killed in between does it
//! again. When to try again is the caller's to say. A row that we did not write is an error that names
//! it, and never done; `work_done` removes it.

use crate::error::StoreError;
use crate::seal::{Keys, Seal};
use crate::store::Store;
use crate::writer::Writer;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use std::path::Path;

/// Work to be kept. Kind and key together are unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewWork {
    /// What is to be done, not empty.
    pub kind: String,
    /// For what: work of that kind and key that waits already is not kept twice.
    pub key: String,
    /// Not before this, in milliseconds since 1970.
    pub due_at: u64,
    /// What the doer needs to know.
    pub document: String,
}

/// Work that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Names it as long as it waits.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    /// For what.
    pub key: String,
    /// Not before this, in milliseconds since 1970.
    pub due_at: u64,
    /// How often it failed.
    pub attempts: u64,
    /// Why it failed last.
    pub last_error: Option<String>,
    /// What the doer needs to know.
    pub document: String,
}

/// How much work of one kind waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What is to be done.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// How much of it has failed before.
    pub failed: u64,
    /// When the first of it is due, in milliseconds since 1970.
    pub first_due_at: u64,
}

const COLUMNS: &str = "SELECT id, kind, key, due_at, attempts, last_error, document, seal FROM work";

impl Store {
    /// Keeps work; false when work of that kind and key waits already, which stays as it is.
    ///
    /// # Errors
    /// It needs a kind, or the database cannot be written.
    pub fn enqueue(&mut self, work: &NewWork) -> Result<bool, StoreError> {
        self.write(|writer| writer.enqueue(work))
    }

    /// Work is due. Cheap enough for each hook.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn work_due(&self, now: u64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM work WHERE due_at <= ?1)";
        self.connection.query_row(sql, [time(now)], |row| row.get(0)).map_err(|error| self.named(&error))
    }

    /// The work that is due, the longest due first, at most so much.
    ///
    /// # Errors
    /// [`StoreError::ForgedWork`] for a row that we did not write, or the database cannot be read.
    pub fn due(&self, now: u64, most: u64) -> Result<Vec<Work>, StoreError> {
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

    /// Removes work, whoever wrote it; false when there is none with that id.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn work_done(&mut self, id: i64) -> Result<bool, StoreError> {
        self.write(|writer| {
            let removed = writer.transaction.execute("DELETE FROM work WHERE id = ?1", [id]).map_err(|error| writer.named(&error))?;
            Ok(removed > 0)
        })
    }

    /// Has work wait until `retry_at`, and counts the failure; false when there is none with that id.
    ///
    /// # Errors
    /// [`StoreError::ForgedWork`] when we did not write it, or the database cannot be written.
    pub fn work_failed(&mut self, id: i64, error: &str, retry_at: u64) -> Result<bool, StoreError> {
        self.write(|writer| {
            let read = |row: &Row<'_>| Ok(read(row, writer.keys, writer.path));
            let found = writer.transaction.query_row(&format!("{COLUMNS} WHERE id = ?1"), [id], read).optional();
            let Some(work) = found.map_err(|error| writer.named(&error))?.transpose()? else { return Ok(false) };
            let attempts = work.attempts.saturating_add(1);
            let work = Work { attempts, last_error: Some(error.to_owned()), due_at: retry_at, ..work };
            writer.update_work(&work).map_err(|error| writer.named(&error))?;
            Ok(true)
        })
    }

    /// How much waits, by kind.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Waiting>> {
            let sql = "SELECT kind, count(*), sum(attempts > 0), min(due_at) FROM work GROUP BY kind ORDER BY kind";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(Waiting { kind: row.get(0)?, count: row.get(1)?, failed: row.get(2)?, first_due_at: row.get(3)? })
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
        let work = Work { id: 0, kind, key, due_at, attempts: 0, last_error: None, document };
        let sql = "INSERT INTO work (kind, key, due_at, attempts, last_error, document, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                   ON CONFLICT (kind, key) DO NOTHING";
        let inserted = self.transaction.execute(sql, params_from_iter(work.sealed(self.keys)));
        Ok(inserted.map_err(|error| self.named(&error))? > 0)
    }

    fn update_work(&self, work: &Work) -> rusqlite::Result<()> {
        let seal = work.sealed(self.keys).pop();
        let sql = "UPDATE work SET due_at = ?2, attempts = ?3, last_error = ?4, seal = ?5 WHERE id = ?1";
        self.transaction.execute(sql, params![work.id, time(work.due_at), time(work.attempts), work.last_error, seal]).map(drop)
    }
}

impl Work {
    /// The columns but for the id, and their seal.
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

/// Checks all that waits.
pub(crate) fn check(connection: &Connection, keys: &Keys, path: &Path) -> Result<(), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement = connection.prepare(COLUMNS).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    while let Some(row) = rows.next().map_err(named)? {
        read(row, keys, path)?;
    }
    Ok(())
}

/// Checks the seal before it looks at anything: a forged row may hold anything.
fn read(row: &Row<'_>, keys: &Keys, path: &Path) -> Result<Work, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let id: i64 = row.get(0).map_err(named)?;
    let seal: Vec<u8> = row.get(7).map_err(named)?;
    if !Seal::over_row(&keys.work, row, 1..7).map_err(named)?.is(&seal) {
        return Err(StoreError::ForgedWork { path: path.to_owned(), id });
    }
    let work = || -> rusqlite::Result<Work> {
        let (kind, key, due_at) = (row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(Work { id, kind, key, due_at, attempts: row.get(4)?, last_error: row.get(5)?, document: row.get(6)? })
    };
    work().map_err(named)
}

/// Times past what the database takes are as good as never.
fn time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

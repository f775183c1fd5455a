//! The rows of queued work, each sealed.

use crate::cipher::{WORK, WORK_ERRORS};
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
        let insert = || {
            let document = self.keys.seal_text(work.due_at, &work.place(), &work.document)?;
            let values = work.values(document);
            let seal = Value::Blob(work.seal(self.keys).finish().to_vec());
            self.transaction.execute(sql, params_from_iter(values.into_iter().chain([seal])))
        };
        Ok(insert().map_err(|error| self.named(&error))? > 0)
    }

    pub(crate) fn update_work(&self, work: &WorkItem) -> rusqlite::Result<()> {
        let seal = work.seal(self.keys).finish();
        let error = work.last_error.as_deref();
        let error = error.map(|text| self.keys.seal_text(work.due_at, &work.error_place(), text));
        let sql =
            "UPDATE work SET due_at = ?2, attempts = ?3, last_error = ?4, seal = ?5 WHERE id = ?1";
        self.transaction
            .execute(
                sql,
                params![work.id, time(work.due_at), time(work.attempts), error.transpose()?, seal],
            )
            .map(drop)
    }
}

impl WorkItem {
    /// Returns what its document is bound to.
    fn place(&self) -> [&str; 3] {
        [WORK, &self.kind, &self.key]
    }

    fn error_place(&self) -> [&str; 3] {
        [WORK_ERRORS, &self.kind, &self.key]
    }

    /// Returns the columns except for the id and the seal.
    fn values(&self, document: String) -> [Value; 6] {
        [
            Value::Text(self.kind.clone()),
            Value::Text(self.key.clone()),
            Value::Integer(time(self.due_at)),
            Value::Integer(time(self.attempts)),
            self.last_error.clone().map_or(Value::Null, Value::Text),
            Value::Text(document),
        ]
    }

    /// Returns the seal of its columns, with the texts before they are encrypted.
    fn seal(&self, keys: &Keys) -> Seal {
        Seal::over(&keys.work, self.values(self.document.clone()).iter().map(Into::into))
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
    let forged = || StoreError::ForgedWork { path: path.to_owned(), id };
    // A forged row may hold values of another type.
    let text = |column: usize| row.get::<_, Option<String>>(column).map_err(|_| forged());
    let number = |column: usize| row.get::<_, u64>(column).map_err(|_| forged());
    let mut work = WorkItem {
        id,
        kind: text(1)?.unwrap_or_default(),
        key: text(2)?.unwrap_or_default(),
        due_at: number(3)?,
        attempts: number(4)?,
        last_error: None,
        document: String::new(),
    };
    let open =
        |place: &[&str], text| keys.open_text(place, text).map_err(named)?.ok_or_else(forged);
    let (last_error, document) = (text(5)?, text(6)?.unwrap_or_default());
    let last_error = last_error.map(|text| open(&work.error_place(), text)).transpose()?;
    work.document = open(&work.place(), document)?;
    work.last_error = last_error;
    if work.seal(keys).is(&seal) { Ok(work) } else { Err(forged()) }
}

/// Converts a time; one past the database's range is treated as never.
pub(crate) fn time(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

//! Looking records up. Nothing here writes, and nothing checks the chain: `verify` does.

use crate::error::StoreError;
use crate::record::{NewRecord, Stored};
use crate::store::Store;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Params, Row, params_from_iter};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

const COLUMNS: &str =
    "SELECT sequence, id, at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash FROM journal";
const CANDIDATES: usize = 10;

/// Which records; every part that is present must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this session.
    pub session: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// With this verdict.
    pub verdict: Option<String>,
    /// Not older than this, in milliseconds since 1970.
    pub since: Option<u64>,
    /// After this position: what an exporter has had.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: Option<u64>,
    /// Newest first, instead of in the order of the journal.
    pub newest_first: bool,
}

/// A session of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its id.
    pub session: String,
    /// How many records it has.
    pub records: u64,
    /// How many of them are reviews.
    pub reviews: u64,
    /// The time of its first record, in milliseconds since 1970.
    pub first_at: u64,
    /// The time of its newest record.
    pub last_at: u64,
}

impl Store {
    /// The record of that id, or the only one whose id begins so. None may mean that retention removed it:
    /// [`Store::start`] tells up to when it did.
    ///
    /// # Errors
    /// [`StoreError::Ambiguous`] when several begin so, or the database cannot be read.
    pub fn record(&self, id: &str) -> Result<Option<Stored>, StoreError> {
        if id.is_empty() {
            return Ok(None);
        }
        if let Some(exact) = self.select("WHERE id = ?1", [id])?.pop() {
            return Ok(Some(exact));
        }
        let range = format!("WHERE id > ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT {CANDIDATES}");
        let mut found = self.select(&range, [id])?;
        if found.len() > 1 {
            let candidates = found.into_iter().map(|stored| stored.record.id).collect();
            return Err(StoreError::Ambiguous { prefix: id.to_owned(), candidates });
        }
        Ok(found.pop())
    }

    /// The newest record of that kind about a tool call, by the client's own id of the call.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn call(&self, session: &str, call_id: &str, kind: &str) -> Result<Option<Stored>, StoreError> {
        let newest = "WHERE session = ?1 AND call_id = ?2 AND kind = ?3 ORDER BY sequence DESC LIMIT 1";
        Ok(self.select(newest, [session, call_id, kind])?.pop())
    }

    /// Which of these tool calls have a review, or a record that says that they had none. A call older than
    /// [`Store::start`] has neither any more.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn reviewed_calls(&self, session: &str, calls: &[&str]) -> Result<BTreeSet<String>, StoreError> {
        let read = || -> rusqlite::Result<BTreeSet<String>> {
            let mut reviewed = BTreeSet::new();
            let sql = "SELECT 1 FROM journal WHERE session = ?1 AND call_id = ?2 AND kind IN ('review', 'unreviewed') LIMIT 1";
            let mut statement = self.connection.prepare(sql)?;
            for call in calls {
                if statement.exists([session, call])? {
                    reviewed.insert((*call).to_owned());
                }
            }
            Ok(reviewed)
        };
        read().map_err(|error| self.named(&error))
    }

    /// The time of the newest record, in milliseconds since 1970; none in an empty journal. A clock before
    /// it was set back.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn newest_at(&self) -> Result<Option<u64>, StoreError> {
        let newest = "SELECT at FROM journal ORDER BY sequence DESC LIMIT 1";
        self.connection.query_row(newest, [], |row| row.get(0)).optional().map_err(|error| self.named(&error))
    }

    /// Hands each record that the filter lets through to `each`, one at a time, until it breaks. All come
    /// from one view, and while that is open the log cannot be emptied: what waits for a person or a
    /// network between records should go in steps, by `after` and `limit`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn query(&self, filter: &Filter, mut each: impl FnMut(Stored) -> ControlFlow<()>) -> Result<(), StoreError> {
        let (tail, values) = filter.clauses();
        let read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(&format!("{COLUMNS} {tail}"))?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                if each(stored(row)?).is_break() {
                    break;
                }
            }
            Ok(())
        };
        let outcome = read();
        outcome.map_err(|error| self.named(&error))
    }

    /// The sessions of the journal, the one with the newest record first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let read = || -> rusqlite::Result<Vec<SessionSummary>> {
            let mut statement = self.connection.prepare(
                "SELECT session, count(*), sum(kind = 'review'), min(at), max(at) FROM journal WHERE session IS NOT NULL \
                 GROUP BY session ORDER BY max(sequence) DESC",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(SessionSummary {
                    session: row.get(0)?,
                    records: row.get(1)?,
                    reviews: row.get(2)?,
                    first_at: row.get(3)?,
                    last_at: row.get(4)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.named(&error))
    }

    fn select(&self, tail: &str, values: impl Params) -> Result<Vec<Stored>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Stored>> {
            self.connection.prepare(&format!("{COLUMNS} {tail}"))?.query_map(values, stored)?.collect()
        };
        let outcome = read();
        outcome.map_err(|error| self.named(&error))
    }
}

impl Filter {
    /// The end of the statement, and its values.
    fn clauses(&self) -> (String, Vec<Value>) {
        let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let parts = [
            ("session = ?", self.session.clone().map(Value::Text)),
            ("kind = ?", self.kind.clone().map(Value::Text)),
            ("verdict = ?", self.verdict.clone().map(Value::Text)),
            ("at >= ?", self.since.map(number)),
            ("sequence > ?", self.after.map(number)),
        ];
        let mut text = String::new();
        let mut values = Vec::new();
        for (clause, value) in parts {
            if let Some(value) = value {
                text.push_str(if values.is_empty() { "WHERE " } else { " AND " });
                text.push_str(clause);
                values.push(value);
            }
        }
        text.push_str(if self.newest_first { " ORDER BY sequence DESC" } else { " ORDER BY sequence" });
        if let Some(limit) = self.limit {
            text.push_str(" LIMIT ?");
            values.push(number(limit));
        }
        (text, values)
    }
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        sequence: row.get(0)?,
        record: NewRecord {
            id: row.get(1)?,
            at: row.get(2)?,
            kind: row.get(3)?,
            step: row.get(6)?,
            call_id: row.get(7)?,
            subject: row.get(8)?,
            verdict: row.get(9)?,
            document: row.get(10)?,
        },
        session: row.get(4)?,
        agent: row.get(5)?,
        previous: row.get(11)?,
        hash: row.get(12)?,
    })
}

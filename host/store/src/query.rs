//! Queries for records. Nothing here writes, and nothing checks the chain: `verify` does that.

use crate::cipher::carry_error;
use crate::error::StoreError;
use crate::hash::RecordProof;
use crate::record::{NewRecord, StoredRecord};
use crate::seal::Keys;
use crate::store::Store;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{OptionalExtension, Params, Row, params_from_iter};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

const COLUMNS: &str = "SELECT sequence, id, at, kind, session, agent, step, call_id, subject, \
     verdict, document, previous, hash, erased_at, sealed FROM journal";
const CANDIDATES: usize = 10;

/// A filter for records; every condition that is present must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only records of this session.
    pub session: Option<String>,
    /// No records of sessions whose names begin with this.
    pub except: Option<String>,
    /// Only records of this kind.
    pub kind: Option<String>,
    /// Only records with this verdict.
    pub verdict: Option<String>,
    /// Only records that are not older than this, in milliseconds since 1970.
    pub since: Option<u64>,
    /// Only records after this position: the last one that an exporter has received.
    pub after: Option<u64>,
    /// The most records.
    pub limit: Option<u64>,
    /// Newest first, instead of in the order of the journal.
    pub newest_first: bool,
    /// Records whose documents cannot be decrypted, too, without them. Otherwise the query fails at the
    /// first such record.
    pub with_unreadable: bool,
}

/// A session of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its id.
    pub session: String,
    /// The number of its records.
    pub records: u64,
    /// The number of its reviews.
    pub reviews: u64,
    /// The time of its first record, in milliseconds since 1970.
    pub first_at: u64,
    /// The time of its newest record.
    pub last_at: u64,
}

impl Store {
    /// Returns the record with that id, or the only one whose id begins with it. None may mean that
    /// retention removed it: [`Store::start`] shows the time up to which it did.
    ///
    /// # Errors
    /// Fails with [`StoreError::Ambiguous`] if several ids begin with it, or if the database cannot
    /// be read.
    pub fn find_record(&self, id: &str) -> Result<Option<StoredRecord>, StoreError> {
        if id.is_empty() {
            return Ok(None);
        }
        if let Some(exact) = self.select("WHERE id = ?1", [id])?.pop() {
            return Ok(Some(exact));
        }
        // A range takes the prefix literally; LIKE would read `%` and `_` in it as patterns.
        let range =
            format!("WHERE id > ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT {CANDIDATES}");
        let mut found = self.select(&range, [id])?;
        if found.len() > 1 {
            let candidates = found.into_iter().map(|stored| stored.record.id).collect();
            return Err(StoreError::Ambiguous { prefix: id.to_owned(), candidates });
        }
        Ok(found.pop())
    }

    /// Returns the newest record of that kind about a tool call, by the client's own id of the
    /// call.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn find_call(
        &self,
        session: &str,
        call_id: &str,
        kind: &str,
    ) -> Result<Option<StoredRecord>, StoreError> {
        let newest =
            "WHERE session = ?1 AND call_id = ?2 AND kind = ?3 ORDER BY sequence DESC LIMIT 1";
        Ok(self.select(newest, [session, call_id, kind])?.pop())
    }

    /// Returns those of these tool calls that have a review, or a record of a missing review. A
    /// call older than [`Store::start`] no longer has either.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn reviewed_calls(
        &self,
        session: &str,
        calls: &[&str],
    ) -> Result<BTreeSet<String>, StoreError> {
        let read = || -> rusqlite::Result<BTreeSet<String>> {
            let mut reviewed = BTreeSet::new();
            let sql = "SELECT 1 FROM journal WHERE session = ?1 AND call_id = ?2 AND kind IN \
                 ('review', 'unreviewed') LIMIT 1";
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

    /// Returns the time of the newest record, in milliseconds since 1970; none in an empty journal.
    /// A clock that shows an earlier time was set back.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn newest_at(&self) -> Result<Option<u64>, StoreError> {
        let newest = "SELECT at FROM journal ORDER BY sequence DESC LIMIT 1";
        self.connection
            .query_row(newest, [], |row| row.get(0))
            .optional()
            .map_err(|error| self.named(&error))
    }

    /// Passes each record that matches the filter to `each`, one at a time, until it breaks. All
    /// come from one view, and while that is open the log cannot be emptied: a caller that waits
    /// for a person or a network between records should proceed in steps, using `after` and
    /// `limit`.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn query_records(
        &self,
        filter: &Filter,
        mut each: impl FnMut(StoredRecord) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let (tail, values) = filter.clauses();
        let read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(&format!("{COLUMNS} {tail}"))?;
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                if each(stored(row, &self.keys, filter.with_unreadable)?).is_break() {
                    break;
                }
            }
            Ok(())
        };
        let outcome = read();
        outcome.map_err(|error| self.named(&error))
    }

    /// Returns the subagents of a session that have a state.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn list_agents(&self, session: &str) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(
                "SELECT substr(part, 2) FROM states WHERE session = ?1 AND part GLOB 'a?*'",
            )?;
            statement.query_map([session], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.named(&error))
    }

    /// Returns the sessions of the journal, the one with the newest record first.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        let read = || -> rusqlite::Result<Vec<SessionSummary>> {
            let mut statement = self.connection.prepare(
                "SELECT session, count(*), sum(kind = 'review'), min(at), max(at) FROM journal \
                 WHERE session IS NOT NULL \
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

    fn select(&self, tail: &str, values: impl Params) -> Result<Vec<StoredRecord>, StoreError> {
        let read = || -> rusqlite::Result<Vec<StoredRecord>> {
            self.connection
                .prepare(&format!("{COLUMNS} {tail}"))?
                .query_map(values, |row| stored(row, &self.keys, false))?
                .collect()
        };
        let outcome = read();
        outcome.map_err(|error| self.named(&error))
    }
}

impl Filter {
    /// Returns the end of the statement, and its values.
    fn clauses(&self) -> (String, Vec<Value>) {
        let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let parts = [
            ("session = ?", self.session.clone().map(Value::Text)),
            ("instr(coalesce(session, ''), ?) <> 1", self.except.clone().map(Value::Text)),
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
        text.push_str(if self.newest_first {
            " ORDER BY sequence DESC"
        } else {
            " ORDER BY sequence"
        });
        if let Some(limit) = self.limit {
            text.push_str(" LIMIT ?");
            values.push(number(limit));
        }
        (text, values)
    }
}

fn stored(row: &Row<'_>, keys: &Keys, with_unreadable: bool) -> rusqlite::Result<StoredRecord> {
    let (id, erased_at): (String, Option<u64>) = (row.get(1)?, row.get(13)?);
    let document = match read_document(row, keys, &id) {
        // Anything else is an error of the database.
        Err(rusqlite::Error::ToSqlConversionFailure(error)) if with_unreadable => {
            ReadDocument { unreadable: Some(error.to_string()), ..ReadDocument::default() }
        }
        document => document?,
    };
    Ok(StoredRecord {
        sequence: row.get(0)?,
        record: NewRecord {
            id,
            at: row.get(2)?,
            kind: row.get(3)?,
            step: row.get(6)?,
            call_id: row.get(7)?,
            subject: row.get(8)?,
            verdict: row.get(9)?,
            document: document.text,
        },
        session: row.get(4)?,
        agent: row.get(5)?,
        previous: row.get(11)?,
        hash: row.get(12)?,
        proof: document.proof,
        erased_at,
        unreadable: document.unreadable,
    })
}

/// Reads the document of a row of [`COLUMNS`].
fn read_document(row: &Row<'_>, keys: &Keys, id: &str) -> rusqlite::Result<ReadDocument> {
    let sealed: Option<Vec<u8>> = row.get(14)?;
    match sealed {
        None => Ok(ReadDocument { text: row.get(10)?, ..ReadDocument::default() }),
        // What is left of an erased one is the hash of its ciphertext, beside the text in its place.
        Some(_) if row.get_ref(13)? != ValueRef::Null => {
            Ok(ReadDocument { text: row.get(10)?, ..ReadDocument::default() })
        }
        Some(sealed) => {
            let (text, proof) = keys.open_document(id, sealed).map_err(carry_error)?;
            Ok(ReadDocument { text, proof: Some(proof), unreadable: None })
        }
    }
}

#[derive(Default)]
struct ReadDocument {
    text: String,
    proof: Option<RecordProof>,
    unreadable: Option<String>,
}

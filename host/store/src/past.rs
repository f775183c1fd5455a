//! A session's past steps, for a review that looks back at many of them.

use crate::cipher::carry_error;
use crate::error::StoreError;
use crate::seal::Keys;
use rusqlite::{Connection, Row, params};
use std::path::Path;

/// The number of newest records that are examined if a hook asks for recent events.
const NEAR: u64 = 1000;

/// The past steps of one agent and recent events of its session, read on the connection that the
/// review already has open.
pub struct SessionHistory<'a> {
    connection: &'a Connection,
    keys: &'a Keys,
    path: &'a Path,
    session: &'a str,
    agent: Option<&'a str>,
}

impl<'a> SessionHistory<'a> {
    /// Creates it; an empty agent name is the main agent.
    pub(crate) fn new(
        connection: &'a Connection,
        keys: &'a Keys,
        path: &'a Path,
        session: &'a str,
        agent: Option<&'a str>,
    ) -> Self {
        Self { connection, keys, path, session, agent: agent.filter(|name| !name.is_empty()) }
    }

    /// Returns the number of the session's records, over all its agents, that have that verdict and
    /// are not older than `since`. Counts at most `most`, and reads only the journal's newest 1000
    /// records: cheap enough for a hook.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn count_recent(&self, verdict: &str, since: u64, most: u64) -> Result<u64, StoreError> {
        // Selected by position: the index of sessions would read all records of a long one.
        let sql = "SELECT count(*) FROM (SELECT 1 FROM journal WHERE sequence > (SELECT \
             max(sequence) FROM journal) - ?1 \
                   AND +session = ?2 AND verdict = ?3 AND at >= ?4 LIMIT ?5)";
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let values = params![number(NEAR), self.session, verdict, number(since), number(most)];
        let count = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, |row| row.get::<_, i64>(0)));
        count.map(i64::unsigned_abs).map_err(|error| StoreError::database(self.path, &error))
    }

    /// Returns the hashes of a step's records, in order: cheap, since no document is read and decrypted.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn step_hashes(&self, step: u64) -> Result<Vec<[u8; 32]>, StoreError> {
        self.query_step(HASHES, step, |row| row.get(0))
    }

    /// Returns a step's records, in order; none for a step that the journal does not hold.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn step_records(&self, step: u64) -> Result<Vec<StepRecord>, StoreError> {
        self.query_step(RECORDS, step, |row| {
            let (id, sealed): (String, Option<Vec<u8>>) = (row.get(2)?, row.get(3)?);
            let document = match sealed {
                Some(sealed) => self.keys.read_document(&id, sealed).map_err(carry_error)?,
                None => row.get(1)?,
            };
            Ok(StepRecord { hash: row.get(0)?, document })
        })
    }

    /// Runs one of the queries for a step's records, and reads each row.
    fn query_step<T>(
        &self,
        sql: &str,
        step: u64,
        read_row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let Ok(step) = i64::try_from(step) else { return Ok(Vec::new()) };
        let read = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params![self.session, self.agent, step], &read_row)?.collect()
        };
        read().map_err(|error| StoreError::database(self.path, &error))
    }
}

pub(crate) const RECORDS: &str = "SELECT hash, document, id, sealed FROM journal WHERE session = ?1 AND \
     agent IS ?2 AND step = ?3 AND erased_at IS NULL ORDER BY sequence";

pub(crate) const HASHES: &str = "SELECT hash FROM journal WHERE session = ?1 AND agent IS ?2 AND \
     step = ?3 AND erased_at IS NULL ORDER BY sequence";

/// One record of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// The record's hash in the chain. No other record of any journal has it.
    pub hash: [u8; 32],
    /// The document, in JSON.
    pub document: String,
}

//! The past steps of a session, for a review that looks back at many of them.

use crate::error::StoreError;
use rusqlite::{Connection, Statement, params};
use std::cell::RefCell;
use std::path::Path;

/// The past steps of one agent, on the connection that the review has open anyway.
pub struct Past<'a> {
    connection: &'a Connection,
    path: &'a Path,
    session: &'a str,
    agent: Option<&'a str>,
    /// Prepared for the first step that is looked at.
    statement: RefCell<Option<Statement<'a>>>,
}

impl<'a> Past<'a> {
    /// An empty agent name is the main agent.
    pub(crate) fn new(connection: &'a Connection, path: &'a Path, session: &'a str, agent: Option<&'a str>) -> Self {
        Self { connection, path, session, agent: agent.filter(|name| !name.is_empty()), statement: RefCell::new(None) }
    }

    /// The documents of a step's records, in order; none of a step that the journal does not hold.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn documents(&self, step: u64) -> Result<Vec<String>, StoreError> {
        let Ok(step) = i64::try_from(step) else { return Ok(Vec::new()) };
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut room = self.statement.borrow_mut();
            let statement = match &mut *room {
                Some(statement) => statement,
                empty => empty.insert(self.connection.prepare(DOCUMENTS)?),
            };
            statement.query_map(params![self.session, self.agent, step], |row| row.get(0))?.collect()
        };
        read().map_err(|error| StoreError::database(self.path, &error))
    }
}

const DOCUMENTS: &str = "SELECT document FROM journal WHERE session = ?1 AND agent IS ?2 AND step = ?3 ORDER BY sequence";

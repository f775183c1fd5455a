//! The failure records of plugins: one row for each, with a document that the caller defines.
//!
//! A review gets the rows with its snapshot and changes them with its commit, if they are unchanged
//! since then: so the failures seen by hooks of different sessions that run the same plugin all
//! count. A row is sealed with the home's key; one with a wrong seal is an error until a person
//! releases the plugin. The removal of a row is not detected: the plugin is then run again, which
//! is its purpose anyway.

use crate::cipher::BREAKERS;
use crate::error::StoreError;
use crate::record::{NewRecord, StoredRecord};
use crate::seal::{Keys, Seal};
use crate::store::Store;
use crate::writer::{Conflict, Writer};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;
use std::path::Path;

/// The failure records of plugins: documents by the plugin's name.
pub type Breakers = BTreeMap<String, String>;

/// A review's change to one failure record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerChange {
    /// The plugin's name, not empty.
    pub plugin: String,
    /// The document that the review found, if there was one.
    pub before: Option<String>,
    /// The new document, at most 4 KiB; none removes the record.
    pub after: Option<String>,
}

const MOST_DOCUMENT: usize = 4096;

impl Store {
    /// Returns the failure records of plugins.
    ///
    /// # Errors
    /// Fails if one was changed from outside, or the database cannot be read.
    pub fn breakers(&self) -> Result<Breakers, StoreError> {
        all_breakers(&self.connection, &self.keys, &self.path)
    }

    /// Removes a plugin's failure record, even one with a wrong seal, and appends the records that
    /// report it. If there is no failure record, returns none and writes nothing.
    ///
    /// # Errors
    /// Fails in the same cases as [`Store::append_records`].
    pub fn release_plugin(
        &mut self,
        plugin: &str,
        records: Vec<NewRecord>,
    ) -> Result<Option<Vec<StoredRecord>>, StoreError> {
        self.write(|writer| {
            let removed =
                writer.transaction.execute("DELETE FROM breakers WHERE plugin = ?1", [plugin]);
            match removed.map_err(|error| writer.named(&error))? {
                0 => Ok(None),
                _ => writer.append(None, None, records).map(Some),
            }
        })
    }
}

impl Writer<'_> {
    /// Makes the changes of a commit, unless one of the rows has changed since the snapshot.
    pub(crate) fn put_breakers(
        &self,
        at: u64,
        changes: &[BreakerChange],
    ) -> Result<Result<(), Conflict>, StoreError> {
        for change in changes {
            let BreakerChange { plugin, before, after } = change;
            let select = "SELECT document, seal FROM breakers WHERE plugin = ?1";
            let found = self.transaction.query_row(select, [plugin], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
            });
            let found = found.optional().map_err(|error| self.named(&error))?;
            let found = found.map(|row| open(self.keys, self.path, plugin, row)).transpose()?;
            if found != *before {
                return Ok(Err(Conflict::Breaker(plugin.clone())));
            }
            self.put_breaker(at, plugin, after.as_deref())?;
        }
        Ok(Ok(()))
    }

    fn put_breaker(&self, at: u64, plugin: &str, document: Option<&str>) -> Result<(), StoreError> {
        let bad = |reason| Err(StoreError::BadBreaker { plugin: plugin.to_owned(), reason });
        let done = match document {
            _ if plugin.is_empty() => return bad("it needs a name"),
            Some(document) if document.len() > MOST_DOCUMENT => {
                return bad("its record is longer than 4 KiB");
            }
            Some(document) => {
                let code = seal(self.keys, plugin, document).finish();
                self.keys.seal_text(at, &[BREAKERS, plugin], document).and_then(|document| {
                    self.transaction.execute(
                        "INSERT OR REPLACE INTO breakers VALUES (?1, ?2, ?3)",
                        params![plugin, document, code],
                    )
                })
            }
            None => self.transaction.execute("DELETE FROM breakers WHERE plugin = ?1", [plugin]),
        };
        done.map(drop).map_err(|error| self.named(&error))
    }
}

/// Returns all of them, each checked. Usually there are none.
pub(crate) fn all_breakers(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
) -> Result<Breakers, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement =
        connection.prepare_cached("SELECT plugin, document, seal FROM breakers").map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let mut all = Breakers::new();
    while let Some(row) = rows.next().map_err(named)? {
        let (plugin, document): (String, String) =
            (row.get(0).map_err(named)?, row.get(1).map_err(named)?);
        let code: Vec<u8> = row.get(2).map_err(named)?;
        let document = open(keys, path, &plugin, (document, code))?;
        all.insert(plugin, document);
    }
    Ok(all)
}

/// Returns the document of a row, checked.
fn open(
    keys: &Keys,
    path: &Path,
    plugin: &str,
    (document, code): (String, Vec<u8>),
) -> Result<String, StoreError> {
    keys.open_text(&[BREAKERS, plugin], document)
        .map_err(|error| StoreError::database(path, &error))?
        .filter(|document| seal(keys, plugin, document).is(&code))
        .ok_or_else(|| forged(path, plugin))
}

fn seal(keys: &Keys, plugin: &str, document: &str) -> Seal {
    Seal::new(&keys.breaker).bytes(Some(plugin.as_bytes())).bytes(Some(document.as_bytes()))
}

fn forged(path: &Path, plugin: &str) -> StoreError {
    StoreError::ForgedBreaker { path: path.to_owned(), plugin: plugin.to_owned() }
}

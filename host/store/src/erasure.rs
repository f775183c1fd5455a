//! Erasing documents on the request of a person, before retention removes them.
//!
//! The record stays in its place with everything that is not the document, so the chain holds. Its
//! ciphertext is overwritten in the database, and its log is emptied. A copy of either from before can be read as
//! long as the key of the day exists: until retention removes the last record of that day.

use crate::chain::Columns;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::record::NewRecord;
use crate::store::Store;
use crate::verify;
use crate::writer::Writer;
use rusqlite::params;

/// What takes the place of a record's document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedDocument {
    /// The record's position.
    pub sequence: u64,
    /// The text in its place, which stays plain.
    pub document: String,
}

/// What is to be erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// The documents of records.
    pub documents: Vec<ErasedDocument>,
    /// The sessions whose states, approvals and exceptions go.
    pub sessions: Vec<String>,
    /// The ids of other exceptions that go.
    pub exceptions: Vec<String>,
}

/// The result of an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasureResult {
    /// The number of records whose documents were erased now.
    pub records: u64,
    /// The number of approvals and exceptions that were removed.
    pub rows: u64,
    /// The number of sessions whose states were removed.
    pub sessions: u64,
}

impl Store {
    /// Erases what somebody asked for at a time (milliseconds since 1970), and appends the records that
    /// report it. A record that was erased before, or that
    /// retention removed meanwhile, is left out.
    ///
    /// # Errors
    /// Fails with [`StoreError::Tampered`] if a record is not as it was written, and in the same cases as
    /// [`Store::append_records`]. Nothing is erased then.
    pub fn erase_data(
        &mut self,
        erasure: &Erasure,
        at: u64,
        records: impl FnOnce(&ErasureResult) -> Vec<NewRecord>,
    ) -> Result<ErasureResult, StoreError> {
        // What is freed is overwritten, also in pages that other rows use.
        self.overwrite_freed(true)?;
        let result = self.write(|writer| {
            let mut result = ErasureResult::default();
            for document in &erasure.documents {
                result.records += u64::from(writer.erase_document(document, at)?);
            }
            for session in &erasure.sessions {
                result.sessions += u64::from(writer.remove_states(session)?);
                result.rows += writer.remove_rows(session)?;
            }
            for exception in &erasure.exceptions {
                result.rows += writer.remove_exceptions_where("id = ?1", exception)?;
            }
            writer.append(None, None, records(&result))?;
            Ok(result)
        });
        let emptied = self.checkpoint_log();
        self.overwrite_freed(false)?;
        let result = result?;
        emptied?;
        Ok(result)
    }

    fn overwrite_freed(&self, is_on: bool) -> Result<(), StoreError> {
        self.connection
            .pragma_update_and_check(None, "secure_delete", is_on, |_| Ok(()))
            .map_err(|error| self.named(&error))
    }
}

impl Writer<'_> {
    /// Erases the document of a record; false if there is none, or it was erased before.
    fn erase_document(&self, erased: &ErasedDocument, at: u64) -> Result<bool, StoreError> {
        let named = |error: rusqlite::Error| self.named(&error);
        let sequence = i64::try_from(erased.sequence).unwrap_or(i64::MAX);
        let query = format!("{} WHERE sequence = ?1", verify::COLUMNS);
        let mut statement = self.transaction.prepare_cached(&query).map_err(named)?;
        let mut rows = statement.query([sequence]).map_err(named)?;
        let Some(row) = rows.next().map_err(named)? else { return Ok(false) };
        let (previous, erased_at): (Hash, Option<i64>) =
            (row.get(11).map_err(named)?, row.get(16).map_err(named)?);
        if erased_at.is_some() {
            return Ok(false);
        }
        // A record that somebody changed is evidence, and must not get a new seal.
        let hash = verify::check(row, erased.sequence, &previous, self.keys).map_err(named)?;
        let hash = hash.map_err(|(at, flaw)| {
            StoreError::tampered(self.path, format!("at record {at}, {flaw}"))
        })?;
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        let update = || -> rusqlite::Result<usize> {
            let text = |column: usize| -> rusqlite::Result<Option<&[u8]>> {
                Ok(row.get_ref(column)?.as_bytes_or_null()?)
            };
            let texts = [text(3)?, text(4)?, text(5)?, text(6)?, text(7)?, text(8)?, text(9)?];
            let erased_by = Some((at, erased.document.as_bytes()));
            let columns = Columns { at: row.get(1)?, step: row.get(2)?, texts, erased: erased_by };
            let stored = text(17)?.map(|sealed| Hash::from(blake3::hash(sealed)));
            self.transaction.execute(
                "UPDATE journal SET document = ?2, key = NULL, erased_at = ?3, sealed = ?4, \
                 seal = ?5 WHERE sequence = ?1",
                params![sequence, erased.document, at, stored, columns.seal(&hash, self.keys)],
            )
        };
        update().map(|changed| changed > 0).map_err(named)
    }

    /// Removes the approvals and exceptions of a session.
    fn remove_rows(&self, session: &str) -> Result<u64, StoreError> {
        let approvals =
            self.transaction.execute("DELETE FROM approvals WHERE session = ?1", [session]);
        let approvals = approvals.map_err(|error| self.named(&error))?;
        Ok(approvals as u64 + self.remove_exceptions_where("session = ?1", session)?)
    }
}

//! Destroys the keys of days whose records retention removed.
//!
//! A key may still be needed by something that lives longer than the records of its day: a state of a
//! subagent that has not acted since, an exception for months, work that waits. Such texts get a key
//! of today first. Only a key that nothing in the database names is destroyed, and that is found out
//! under the write lock, so that no commit can use it at the same time.

use crate::cipher::{APPROVALS, BREAKERS, GRANTS, REASONS, WORK, WORK_ERRORS, key_of_text};
use crate::error::StoreError;
use crate::store::Store;
use crate::writer::Writer;
use portcullis_encryption::{DataKeys, DataKind, Day, DestroyedKeys, KeyId, MOST_DESTROYED};
use rusqlite::types::Value;
use std::collections::BTreeSet;

/// A column of encrypted texts.
struct TextColumn {
    table: &'static str,
    /// What names a row.
    row: &'static str,
    /// The columns that its texts are bound to, beside `place`.
    bound: &'static [&'static str],
    place: &'static str,
    column: &'static str,
}

/// The name of a row, what its text is bound to, and the text.
type StoredText = (Value, Vec<String>, String);

const TEXTS: &[TextColumn] = &[
    TextColumn { table: "grants", row: "rowid", bound: &["id"], place: GRANTS, column: "document" },
    TextColumn {
        table: "approvals",
        row: "rowid",
        bound: &["id"],
        place: APPROVALS,
        column: "document",
    },
    TextColumn {
        table: "approvals",
        row: "rowid",
        bound: &["id"],
        place: REASONS,
        column: "reason",
    },
    TextColumn {
        table: "work",
        row: "id",
        bound: &["kind", "key"],
        place: WORK,
        column: "document",
    },
    TextColumn {
        table: "work",
        row: "id",
        bound: &["kind", "key"],
        place: WORK_ERRORS,
        column: "last_error",
    },
    TextColumn {
        table: "breakers",
        row: "plugin",
        bound: &["plugin"],
        place: BREAKERS,
        column: "document",
    },
];

impl Store {
    /// Destroys the keys of days before yesterday that nothing needs any more; `now` is in
    /// milliseconds since 1970.
    pub(crate) fn destroy_due_keys(&mut self, now: u64) -> Result<DestroyedKeys, StoreError> {
        let limit = Day::of_time(now).minus_days(1);
        let old = self.keys.data.keys_before(DataKind::Journal, limit);
        let old = old.map_err(|error| StoreError::unreadable(&self.path, &error))?;
        let due: BTreeSet<KeyId> = {
            let used = self.keys_of_records().map_err(|error| self.named(&error))?;
            old.into_iter().filter(|id| !used.contains(id)).collect()
        };
        if due.is_empty() {
            return Ok(DestroyedKeys::default());
        }
        self.write(|writer| {
            writer.renew_texts(&due, now).map_err(|error| writer.named(&error))?;
            writer.renew_states(&due, now)
        })?;
        // A power cut must not bring a text back whose key is gone.
        self.checkpoint_log()?;
        let mut all = DestroyedKeys::default();
        loop {
            let destroyed = self.write(|writer| {
                let needed = writer.needed_keys().map_err(|error| writer.named(&error))?;
                let destroyed = writer.keys.data.destroy_keys(DataKind::Journal, limit, &needed);
                destroyed.map_err(|error| StoreError::unreadable(writer.path, &error))
            })?;
            all.count += destroyed.count;
            all.newest = all.newest.max(destroyed.newest);
            if destroyed.count < MOST_DESTROYED {
                return Ok(all);
            }
            self.give_way();
        }
    }

    /// Removes waiting work, approvals, exceptions and failure records of plugins whose texts cannot be
    /// decrypted: for a person who goes on without the lost master key. Returns the number of rows.
    ///
    /// # Errors
    /// Fails in the same cases as [`Store::append_records`].
    pub fn drop_unreadable_rows(&mut self) -> Result<u64, StoreError> {
        self.write(|writer| {
            let dropped = writer.drop_unreadable().map_err(|error| writer.named(&error))?;
            if dropped > 0 {
                writer.anchor_exceptions()?;
            }
            Ok(dropped)
        })
    }

    fn keys_of_records(&self) -> rusqlite::Result<BTreeSet<KeyId>> {
        keys_of_records(&self.connection)
    }
}

impl Writer<'_> {
    /// Encrypts texts whose key is due with a key of today.
    fn renew_texts(&self, due: &BTreeSet<KeyId>, now: u64) -> rusqlite::Result<()> {
        for column in TEXTS {
            let update = format!(
                "UPDATE {} SET {} = ?2 WHERE {} = ?1",
                column.table, column.column, column.row
            );
            for (row, bound, text) in self.read_texts(column)? {
                if key_of_text(&text).is_none_or(|key| !due.contains(&key)) {
                    continue;
                }
                let place: Vec<&str> =
                    [column.place].into_iter().chain(bound.iter().map(String::as_str)).collect();
                // What does not decrypt was changed from outside; its reader says so.
                let Some(plain) = self.keys.open_text(&place, text)? else { continue };
                let renewed = self.keys.seal_text(now, &place, &plain)?;
                self.transaction.execute(&update, rusqlite::params![row, renewed])?;
            }
        }
        Ok(())
    }

    fn drop_unreadable(&self) -> rusqlite::Result<u64> {
        let mut dropped = 0;
        for column in TEXTS {
            let delete = format!("DELETE FROM {} WHERE {} = ?1", column.table, column.row);
            for (row, bound, text) in self.read_texts(column)? {
                let place: Vec<&str> =
                    [column.place].into_iter().chain(bound.iter().map(String::as_str)).collect();
                if !matches!(self.keys.open_text(&place, text), Ok(Some(_))) {
                    dropped += self.transaction.execute(&delete, [row])? as u64;
                }
            }
        }
        Ok(dropped)
    }

    /// Returns the encrypted texts of a column.
    fn read_texts(&self, column: &TextColumn) -> rusqlite::Result<Vec<StoredText>> {
        let query = format!(
            "SELECT {}, {}, {} FROM {} WHERE {} LIKE 'enc1:%'",
            column.row,
            column.column,
            column.bound.join(", "),
            column.table,
            column.column
        );
        let mut statement = self.transaction.prepare(&query)?;
        let rows = statement.query_map([], |row| {
            let bound = (2..2 + column.bound.len()).map(|place| row.get(place));
            Ok((row.get(0)?, bound.collect::<rusqlite::Result<_>>()?, row.get(1)?))
        })?;
        rows.collect()
    }

    /// Returns all keys that something in the database names.
    fn needed_keys(&self) -> rusqlite::Result<BTreeSet<KeyId>> {
        let mut needed = keys_of_records(&self.transaction)?;
        for column in TEXTS {
            let texts = self.read_texts(column)?;
            needed.extend(texts.iter().filter_map(|(_, _, text)| key_of_text(text)));
        }
        let mut statement =
            self.transaction.prepare("SELECT state FROM states WHERE state IS NOT NULL")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            needed.extend(row.get_ref(0)?.as_bytes().ok().and_then(DataKeys::key_of));
        }
        Ok(needed)
    }

    /// Encrypts a state whose key is due with a key of today.
    pub(crate) fn renew_state(
        &self,
        place: &[&str],
        state: Vec<u8>,
        due: &BTreeSet<KeyId>,
        now: u64,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        if DataKeys::key_of(&state).is_none_or(|key| !due.contains(&key)) {
            return Ok(None);
        }
        let plain = self.keys.open_state(place, state)?;
        self.keys.seal_state(now, place, plain).map(Some)
    }
}

fn keys_of_records(connection: &rusqlite::Connection) -> rusqlite::Result<BTreeSet<KeyId>> {
    let mut statement =
        connection.prepare("SELECT DISTINCT key FROM journal WHERE key IS NOT NULL")?;
    let keys = statement.query_map([], |row| row.get(0).map(KeyId::of_number))?;
    keys.collect()
}

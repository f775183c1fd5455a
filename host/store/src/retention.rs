//! Retention: removing the oldest records, and leaving a start from which the rest still verifies.
//!
//! - Only a whole beginning of the journal is removed, never the newest record, and each record is
//!   checked first: a changed record stays, as evidence, and so do all records that follow it.
//! - A session's state is removed in the transaction that removes the session's last record. A
//!   session is live as long as the journal holds a record of it, and each of its reviews leaves
//!   one.
//! - Once nothing needs the key of a day any more, the key is destroyed: see `due_keys`.
//! - Transactions are small, with pauses between them, so that hooks need not wait. A process that
//!   is killed leaves a shorter journal that verifies.

use crate::chain::{Head, JournalStart, SealedStart};
use crate::error::StoreError;
use crate::store::{OVERDUE, Store};
use crate::verify;
use crate::writer::Writer;
use rusqlite::params;
use std::collections::BTreeSet;
use std::time::Duration;

/// The result of a pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// The number of removed records.
    pub records: u64,
    /// The number of sessions whose states were removed.
    pub sessions: u64,
    /// The number of removed exceptions that had ended.
    pub grants: u64,
    /// The number of destroyed keys: nothing that was encrypted with them is readable any more, also
    /// not in backups.
    pub keys: u64,
    /// Bytes that the database file no longer needs; it shrinks with the next checkpoint.
    pub bytes: u64,
    /// The beginning of the journal now; none if nothing was ever removed.
    pub start: Option<JournalStart>,
    /// Position and time of the oldest remaining record. One that a wrong clock dated in the future
    /// stays until records after it are old.
    pub oldest: Option<(u64, u64)>,
}

/// The most records in a transaction, and the most bytes of documents: a few milliseconds.
const BATCH: u64 = 64;
const BATCH_BYTES: usize = 256 << 10;
/// Pages released in a transaction.
const PAGES: u32 = 64;
/// Free pages that stay for the next records.
const SPARE: u64 = 128;
/// Half of the log's length at which a commit empties it.
const LONG_LOG: u64 = OVERDUE / 2;
/// Longer than the longest interval between two attempts of a hook to get the lock, so that it gets
/// its turn.
const PAUSE: Duration = Duration::from_millis(3);

impl Store {
    /// Removes the records older than `before`, data that no longer belongs to any record, and
    /// exceptions that ended before then; `now` determines which records are dated in the future.
    /// Both are in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails with [`StoreError::Tampered`] at an invalid record, and in the same cases as
    /// [`Store::append_records`]. Records removed before that stay removed, and the journal
    /// verifies as before.
    pub fn prune_before(&mut self, before: u64, now: u64) -> Result<PruneResult, StoreError> {
        let mut pruned = PruneResult::default();
        let last = self.last_old(before, now)?;
        while let Some(batch) = self.write(|writer| writer.prune(last, now))? {
            pruned.records += batch.records;
            pruned.sessions += batch.sessions;
            self.give_way();
        }
        pruned.grants = self.write(|writer| {
            writer.expire_exceptions(now)?;
            writer.remove_approvals(before)?;
            writer.remove_exceptions(before)
        })?;
        pruned.keys = self.destroy_due_keys(now)?.count;
        pruned.bytes = self.give_back()?;
        pruned.start = self.start()?;
        pruned.oldest = self.oldest().map_err(|error| self.named(&error))?;
        Ok(pruned)
    }

    /// Returns the beginning of the journal; none if nothing was removed.
    ///
    /// # Errors
    /// Fails if it was changed from outside, or the database cannot be read.
    pub fn start(&self) -> Result<Option<JournalStart>, StoreError> {
        let sealed = SealedStart::read(&self.connection).map_err(|error| self.named(&error))?;
        sealed.map(|sealed| sealed.genuine(&self.keys, &self.path)).transpose()
    }

    /// Returns the last old record that has only old ones before it. A record dated in the future
    /// was dated by a wrong clock: it counts as old as the records after it.
    fn last_old(&self, before: u64, now: u64) -> Result<u64, StoreError> {
        let read = || -> rusqlite::Result<u64> {
            let mut last = 0;
            let mut statement =
                self.connection.prepare("SELECT sequence, at FROM journal ORDER BY sequence")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let (sequence, at): (i64, i64) = (row.get(0)?, row.get(1)?);
                let at = u64::try_from(at).unwrap_or(0);
                if at < before {
                    last = u64::try_from(sequence).unwrap_or(0);
                } else if at <= now {
                    break;
                }
            }
            Ok(last)
        };
        read().map_err(|error| self.named(&error))
    }

    fn oldest(&self) -> rusqlite::Result<Option<(u64, u64)>> {
        let mut statement = self
            .connection
            .prepare("SELECT sequence, at FROM journal ORDER BY sequence LIMIT 1")?;
        let mut rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.next().transpose()
    }

    /// Releases free pages. A database created by an older version keeps them for later records.
    fn give_back(&mut self) -> Result<u64, StoreError> {
        let pragma = |name: &str| -> Result<u64, StoreError> {
            self.connection
                .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
                .map_err(|error| self.named(&error))
        };
        let (size, before) = (pragma("page_size")?, pragma("page_count")?);
        let mut free = pragma("freelist_count")?;
        while free > SPARE {
            self.give_back_some().map_err(|error| self.named(&error))?;
            let left = self
                .connection
                .query_row("PRAGMA freelist_count", [], |row| row.get(0))
                .map_err(|error| self.named(&error))?;
            if left >= free {
                break;
            }
            free = left;
            self.give_way();
        }
        let after: u64 = self
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .map_err(|error| self.named(&error))?;
        Ok(before.saturating_sub(after) * size)
    }

    fn give_back_some(&self) -> rusqlite::Result<()> {
        let mut statement =
            self.connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Lets hooks take their turn. As long as this process has the database open, none of them
    /// reads the log. It is therefore emptied rarely, since that may make a hook wait for the disk,
    /// but before a hook would have to do it.
    pub(crate) fn give_way(&mut self) {
        if self.log_size() >= LONG_LOG {
            // Pages that cannot be released without waiting are released with a later batch, or
            // with the next checkpoint.
            let _emptied = self.empty_log();
        }
        std::thread::sleep(PAUSE);
    }
}

struct Batch {
    records: u64,
    sessions: u64,
}

impl Writer<'_> {
    /// Removes one batch of the records up to `last`; returns none if nothing is left to remove.
    fn prune(&self, last: u64, now: u64) -> Result<Option<Batch>, StoreError> {
        let newest = self.anchor()?.sequence;
        let last = last.min(newest.saturating_sub(1));
        let begin = self.begin()?;
        if last <= begin.sequence {
            return Ok(None);
        }
        let (head, at, sessions) = self.check_batch(begin, last)?;
        let mut removed = 0;
        let remove = || -> rusqlite::Result<()> {
            self.transaction
                .execute("DELETE FROM journal WHERE sequence <= ?1", [head.sequence])?;
            let start = JournalStart {
                sequence: head.sequence,
                hash: head.hash,
                at,
                pruned_at: now.min(i64::MAX as u64),
            };
            let sql = "INSERT OR REPLACE INTO start (only, sequence, hash, at, pruned_at, mac) \
                 VALUES (1, ?1, ?2, ?3, ?4, ?5)";
            self.transaction.execute(
                sql,
                params![
                    start.sequence,
                    start.hash,
                    start.at,
                    start.pruned_at,
                    start.mac(self.keys)
                ],
            )?;
            Ok(())
        };
        remove().map_err(|error| self.named(&error))?;
        for session in &sessions {
            removed += self.forget(session)?;
        }
        Ok(Some(Batch { records: head.sequence - begin.sequence, sessions: removed }))
    }

    fn begin(&self) -> Result<Head, StoreError> {
        let sealed = SealedStart::read(&self.transaction).map_err(|error| self.named(&error))?;
        let start = sealed.map(|sealed| sealed.genuine(self.keys, self.path)).transpose()?;
        Ok(start.map_or(Head::EMPTY, |start| Head {
            sequence: start.sequence,
            hash: start.hash,
            ..Head::EMPTY
        }))
    }

    /// Follows the chain through a batch; returns its end, the time there, and the sessions in it.
    fn check_batch(
        &self,
        begin: Head,
        last: u64,
    ) -> Result<(Head, u64, BTreeSet<String>), StoreError> {
        let named = |error: rusqlite::Error| self.named(&error);
        let (mut head, mut at, mut sessions, mut bytes) = (begin, 0, BTreeSet::new(), 0);
        let sql =
            format!("{} WHERE sequence <= ?1 ORDER BY sequence LIMIT {BATCH}", verify::COLUMNS);
        let mut statement = self.transaction.prepare(&sql).map_err(named)?;
        let mut rows = statement.query([last]).map_err(named)?;
        while let Some(row) = rows.next().map_err(named)? {
            let expected = head.sequence + 1;
            let hash = verify::check(row, expected, &head.hash, self.keys).map_err(named)?;
            let hash = hash.map_err(|(at, flaw)| {
                StoreError::tampered(self.path, format!("at record {at}, {flaw}"))
            })?;
            head = Head { sequence: expected, hash, ..Head::EMPTY };
            at = row.get(1).map_err(named)?;
            sessions.extend(row.get::<_, Option<String>>(5).map_err(named)?);
            bytes += row
                .get_ref(10)
                .map_err(named)?
                .as_bytes_or_null()
                .ok()
                .flatten()
                .map_or(0, <[u8]>::len);
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        if head == begin {
            let missing = begin.sequence + 1;
            return Err(StoreError::tampered(
                self.path,
                format!("at record {missing}, {}", verify::Flaw::Missing),
            ));
        }
        Ok((head, at, sessions))
    }

    /// Removes the states of a session that has no more records.
    fn forget(&self, session: &str) -> Result<u64, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM journal WHERE session = ?1)";
        let live: bool = self
            .transaction
            .query_row(sql, [session], |row| row.get(0))
            .map_err(|error| self.named(&error))?;
        if live { Ok(0) } else { self.remove_states(session).map(u64::from) }
    }
}

//! A write transaction: the data that is written together, and the checks against the journal's
//! anchor.

use crate::buckets::Buckets;
use crate::chain::{Columns, Head, StoredAnchor};
use crate::error::StoreError;
use crate::format::FORMAT;
use crate::hash::hash_record;
use crate::mark::{self, MarkState};
use crate::record::{NewRecord, StoredRecord};
use crate::seal::Keys;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::path::Path;

/// A write transaction.
pub(crate) struct Writer<'a> {
    pub(crate) transaction: Transaction<'a>,
    pub(crate) path: &'a Path,
    pub(crate) keys: &'a Keys,
    /// The home's mark; none if nothing depends on it yet.
    pub(crate) mark: Option<MarkState>,
}

/// Something that a review relied on and that has changed since, by its id or name.
pub(crate) enum Conflict {
    Exception(String),
    Breaker(String),
}

impl Writer<'_> {
    pub(crate) fn named(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::database(self.path, error)
    }

    pub(crate) fn append(
        &self,
        session: Option<&str>,
        agent: Option<&str>,
        records: Vec<NewRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let mut head = self.anchor()?;
        let mut insert =
            self.transaction.prepare_cached(INSERT).map_err(|error| self.named(&error))?;
        let mut stored = Vec::with_capacity(records.len());
        for record in records {
            let (at, step) = checked(&record)?;
            let (previous, sequence) = (head.hash, head.sequence.saturating_add(1));
            let sealed = self.keys.seal_document(&record.id, record.at, &record.document);
            let sealed = sealed.map_err(|error| StoreError::unreadable(self.path, &error))?;
            let proof = sealed.as_ref().map(|sealed| sealed.proof);
            let hash = hash_record(&previous, sequence, record.document.as_bytes(), proof.as_ref());
            let seal = Columns::of(&record, session, agent, at, step).seal(&hash, self.keys);
            let NewRecord { id, kind, call_id, subject, verdict, document, .. } = &record;
            let plain = if sealed.is_none() { document.as_str() } else { "" };
            let (key, commitment, bytes) = match &sealed {
                Some(sealed) => {
                    (Some(sealed.key.to_number()), Some(sealed.commitment), Some(&sealed.bytes))
                }
                None => (None, None, None),
            };
            insert
                .execute(params![
                    sequence, id, at, kind, session, agent, step, call_id, subject, verdict, plain,
                    previous, hash, seal, key, commitment, bytes
                ])
                .map_err(|error| self.refused(&error, id))?;
            head = Head { sequence, hash, ..head };
            let (session, agent) = (session.map(str::to_owned), agent.map(str::to_owned));
            stored.push(StoredRecord {
                sequence,
                session,
                agent,
                record,
                previous,
                hash,
                proof,
                erased_at: None,
                unreadable: None,
            });
        }
        self.move_anchor(&head)?;
        Ok(stored)
    }

    /// Returns the time of a commit with these records: that of the newest one, or else that of the
    /// journal's newest record.
    pub(crate) fn time_of(&self, records: &[NewRecord]) -> Result<u64, StoreError> {
        if let Some(at) = records.iter().map(|record| record.at).max() {
            return Ok(at);
        }
        let newest = "SELECT at FROM journal ORDER BY sequence DESC LIMIT 1";
        let at = self.transaction.query_row(newest, [], |row| row.get(0)).optional();
        at.map(Option::unwrap_or_default).map_err(|error| self.named(&error))
    }

    /// Returns the anchor, from which the journal continues, not from the newest row, so that a
    /// cut-off end stays visible as a gap.
    pub(crate) fn anchor(&self) -> Result<Head, StoreError> {
        self.anchor_and_buckets().map(|(head, _)| head)
    }

    /// Returns the anchor of the home's own journal, and the digests that it covers.
    pub(crate) fn anchor_and_buckets(&self) -> Result<(Head, Buckets), StoreError> {
        genuine(&self.transaction, self.keys, self.path, self.mark)
    }

    pub(crate) fn move_anchor(&self, head: &Head) -> Result<(), StoreError> {
        let grants = head.grants.as_ref().map_or(&[] as &[u8], |digest| digest.as_slice());
        self.transaction
            .prepare_cached("UPDATE anchor SET sequence = ?1, hash = ?2, code = ?3, grants = ?4")
            .and_then(|mut update| {
                update.execute(params![head.sequence, head.hash, head.mac(self.keys), grants])
            })
            .map_err(|error| self.named(&error))?;
        Ok(())
    }

    fn refused(&self, error: &rusqlite::Error, id: &str) -> StoreError {
        match error.sqlite_error().map(|failure| failure.extended_code) {
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE) => {
                StoreError::DuplicateId { id: id.to_owned() }
            }
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
                StoreError::tampered(self.path, "it has records after its anchor")
            }
            Some(rusqlite::ffi::SQLITE_TOOBIG) => StoreError::BadRecord {
                id: id.to_owned(),
                reason: "it is larger than the database takes",
            },
            _ => self.named(error),
        }
    }
}

/// Returns the anchor of the home's own journal, and the digests that it covers.
pub(crate) fn genuine(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
    mark: Option<MarkState>,
) -> Result<(Head, Buckets), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let anchored = StoredAnchor::read(connection).map_err(named)?;
    let buckets = anchored.as_ref().map(|anchored| anchored.buckets.clone()).unwrap_or_default();
    let head = StoredAnchor::genuine(anchored, keys, path)?;
    let known = mark
        .map(|mark| mark::find_contradiction(mark, connection, &head, FORMAT))
        .transpose()
        .map_err(named)?;
    match known.flatten() {
        Some(reason) => Err(StoreError::tampered(path, reason)),
        None => Ok((head, buckets)),
    }
}

const INSERT: &str = "INSERT INTO journal \
    (sequence, id, at, kind, session, agent, step, call_id, subject, verdict, document, previous, hash, seal, \
     key, commitment, sealed) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

fn checked(record: &NewRecord) -> Result<(i64, Option<i64>), StoreError> {
    let bad = |reason| StoreError::BadRecord { id: record.id.clone(), reason };
    if record.id.is_empty() || record.kind.is_empty() {
        return Err(bad("it needs an id and a kind"));
    }
    let at = i64::try_from(record.at)
        .map_err(|_| bad("its time is beyond the year 292 million: give milliseconds"))?;
    let step =
        record.step.map(i64::try_from).transpose().map_err(|_| bad("its step is beyond 2^63"))?;
    Ok((at, step))
}

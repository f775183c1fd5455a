//! Exceptions that a person granted, kept until they are spent, revoked or expired.
//!
//! The caller defines the document; this module stores it, reports which exceptions are live, and
//! ends single-use ones together with the commit that relied on them.
//!
//! Each row is sealed with the home's key. A seal alone would let somebody who lacks the key
//! restore a row from before it was spent, so the journal's anchor, which moves with each commit,
//! covers a digest of all live rows. A row that was changed, added, removed or restored is an error
//! wherever exceptions are read, until a person revokes them all. The removal of an ended exception
//! is visible only in the journal.

use crate::chain::StoredAnchor;
use crate::cipher::GRANTS;
use crate::error::{Line, StoreError};
use crate::hash::Hash;
use crate::record::{NewRecord, StoredRecord};
use crate::seal::{Keys, Seal, read_values};
use crate::store::Store;
use crate::writer::{Conflict, Writer};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use std::path::Path;

/// An exception as it was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredException {
    /// Unique among all exceptions, not empty.
    pub id: String,
    /// The only session that it applies to; none for all.
    pub session: Option<String>,
    /// True if the first commit that relies on it ends it.
    pub once: bool,
    /// Milliseconds since 1970.
    pub granted_at: u64,
    /// The expiry time, in milliseconds since 1970. The caller that relies on it must check it.
    pub expires_at: u64,
    /// The excepted action, at most 64 KiB.
    pub document: String,
}

/// The reason that an exception is no longer live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionEnd {
    /// It was for a single use, and a commit relied on it.
    Spent,
    /// A person revoked it.
    Revoked,
    /// It expired.
    Expired,
}

/// An exception and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExceptionRecord {
    /// As it was granted.
    pub grant: StoredException,
    /// The kind and time of its end, in milliseconds since 1970; none while it is live, or before
    /// its expiry is noticed.
    pub ended: Option<(ExceptionEnd, u64)>,
}

const MOST_LIVE: usize = 64;
const MOST_DOCUMENT: usize = 64 << 10;

/// The place of the document among the columns.
const DOCUMENT: usize = 5;

const COLUMNS: &str = "grants.id, grants.session, grants.once, grants.granted_at, \
     grants.expires_at, grants.document, grants.ended, grants.ended_at, grants.seal";

impl Store {
    /// Stores an exception, and appends the records that report it to its session. Exceptions that
    /// expired before it was granted end now.
    ///
    /// # Errors
    /// Fails if its id is taken, it cannot be kept, 64 exceptions are live already, or the
    /// exceptions were changed from outside, and in the same cases as [`Store::append_records`].
    /// Nothing is written then.
    pub fn add_exception(
        &mut self,
        grant: StoredException,
        records: Vec<NewRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.write(|writer| {
            writer.add_exception(&grant)?;
            writer.append(grant.session.as_deref(), None, records)
        })
    }

    /// Returns all exceptions that are kept, the newest first; ended ones stay until
    /// [`Store::prune_before`] removes them.
    ///
    /// # Errors
    /// Fails if the exceptions were changed from outside, or the database cannot be read.
    pub fn list_exceptions(&mut self) -> Result<Vec<ExceptionRecord>, StoreError> {
        let (path, keys) = (&self.path, &self.keys);
        let view =
            self.connection.transaction().map_err(|error| StoreError::database(path, &error))?;
        all_exceptions(&view, keys, path)
    }

    /// Ends an exception, and appends the records that report it to its session. If no exception
    /// with that id is live, returns none and writes nothing.
    ///
    /// # Errors
    /// Fails if the exceptions were changed from outside, and in the same cases as
    /// [`Store::append_records`].
    pub fn revoke_exception(
        &mut self,
        id: &str,
        at: u64,
        records: Vec<NewRecord>,
    ) -> Result<Option<Vec<StoredRecord>>, StoreError> {
        self.write(|writer| {
            let Some(grant) = writer.live_exceptions()?.into_iter().find(|grant| grant.id == id)
            else {
                return Ok(None);
            };
            writer.end_exception(&grant, ExceptionEnd::Revoked, at)?;
            writer.anchor_exceptions()?;
            writer.append(grant.session.as_deref(), None, records).map(Some)
        })
    }

    /// Ends all exceptions, and removes those with a wrong seal: this is the recovery when they
    /// were changed from outside. `records` gets the ids of those that ended and of those that were
    /// removed.
    ///
    /// # Errors
    /// Fails in the same cases as [`Store::append_records`].
    pub fn revoke_all_exceptions(
        &mut self,
        at: u64,
        records: impl FnOnce(&[String], &[String]) -> Vec<NewRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.write(|writer| {
            let ExceptionAudit { live, forged } =
                writer.sort_exceptions().map_err(|error| writer.named(&error))?;
            for grant in &live {
                writer.end_exception(grant, ExceptionEnd::Revoked, at)?;
            }
            for (row, _) in &forged {
                writer
                    .transaction
                    // By number: the id of a forged row may not be text, and then does not find it.
                    .execute("DELETE FROM grants WHERE rowid = ?1", [row])
                    .map_err(|error| writer.named(&error))?;
            }
            writer.anchor_exceptions()?;
            let ended: Vec<_> = live.into_iter().map(|grant| grant.id).collect();
            let removed: Vec<_> = forged.into_iter().map(|(_, id)| id).collect();
            writer.append(None, None, records(&ended, &removed))
        })
    }
}

impl Writer<'_> {
    /// Stores an exception. Those that expired before it was granted end now.
    pub(crate) fn add_exception(&self, grant: &StoredException) -> Result<(), StoreError> {
        check_new(grant)?;
        self.expire_exceptions(grant.granted_at)?;
        let bad = |reason| StoreError::BadException { id: grant.id.clone(), reason };
        if self.live_exceptions()?.len() >= MOST_LIVE {
            return Err(bad("there are 64 live ones already: revoke some"));
        }
        let row = ExceptionRecord { grant: grant.clone(), ended: None };
        self.insert_exception(&row).map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::ConstraintViolation) => bad("its id is taken"),
            _ => self.named(&error),
        })?;
        self.anchor_exceptions()
    }

    /// Ends the single-use exceptions among `ids`; the others only have to be still live. They end
    /// at the time of the newest of the records that are committed with them.
    pub(crate) fn spend(
        &self,
        session: &str,
        ids: &[String],
        records: &[NewRecord],
    ) -> Result<Result<(), Conflict>, StoreError> {
        let Some(first) = ids.first() else { return Ok(Ok(())) };
        let Some(at) = records.iter().map(|record| record.at).max() else {
            return Err(StoreError::BadException {
                id: first.clone(),
                reason: "it is spent without a record: commit one with it",
            });
        };
        let live = self.live_exceptions()?;
        for id in ids {
            let fits = |grant: &&StoredException| {
                grant.id == *id && grant.session.as_deref().is_none_or(|only| only == session)
            };
            match live.iter().find(fits) {
                None => return Ok(Err(Conflict::Exception(id.clone()))),
                Some(grant) if grant.once => self.end_exception(grant, ExceptionEnd::Spent, at)?,
                Some(_) => {}
            }
        }
        self.anchor_exceptions().map(Ok)
    }

    /// Ends those that have expired, so that lists are correct and their places are free again.
    pub(crate) fn expire_exceptions(&self, now: u64) -> Result<(), StoreError> {
        let live = self.live_exceptions()?;
        let expired: Vec<_> = live.iter().filter(|grant| grant.expires_at <= now).collect();
        for grant in &expired {
            self.end_exception(grant, ExceptionEnd::Expired, grant.expires_at)?;
        }
        if expired.is_empty() { Ok(()) } else { self.anchor_exceptions() }
    }

    /// Removes those that ended before a time.
    pub(crate) fn remove_exceptions(&self, before: u64) -> Result<u64, StoreError> {
        let mut removed = 0;
        for granted in all_exceptions(&self.transaction, self.keys, self.path)? {
            if granted.ended.is_some_and(|(_, at)| at < before) {
                let deleted = self
                    .transaction
                    .execute("DELETE FROM grants WHERE id = ?1", [&granted.grant.id]);
                removed += deleted.map_err(|error| self.named(&error))? as u64;
            }
        }
        Ok(removed)
    }

    /// Removes those that a condition on one value names, live ones too.
    pub(crate) fn remove_exceptions_where(
        &self,
        condition: &str,
        value: &str,
    ) -> Result<u64, StoreError> {
        // The rows that stay are checked before the anchor covers them again.
        self.live_exceptions()?;
        let delete = format!("DELETE FROM grants WHERE {condition}");
        let removed = self.transaction.execute(&delete, [value]);
        let removed = removed.map_err(|error| self.named(&error))?;
        if removed > 0 {
            self.anchor_exceptions()?;
        }
        Ok(removed as u64)
    }

    fn live_exceptions(&self) -> Result<Vec<StoredException>, StoreError> {
        live_exceptions(&self.transaction, self.keys, self.path)
    }

    fn insert_exception(&self, granted: &ExceptionRecord) -> rusqlite::Result<()> {
        let StoredException { id, granted_at, document, .. } = &granted.grant;
        let mut values = granted.values();
        if let Some(value) = values.get_mut(DOCUMENT) {
            *value = Value::Text(self.keys.seal_text(*granted_at, &[GRANTS, id], document)?);
        }
        values.push(Value::Blob(granted.seal(self.keys).finish().to_vec()));
        let sql = "INSERT INTO grants (id, session, once, granted_at, expires_at, document, ended, \
             ended_at, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        self.transaction.execute(sql, params_from_iter(values)).map(drop)
    }

    fn end_exception(
        &self,
        grant: &StoredException,
        end: ExceptionEnd,
        at: u64,
    ) -> Result<(), StoreError> {
        let granted =
            ExceptionRecord { grant: grant.clone(), ended: Some((end, at.min(MOST_TIME))) };
        let seal = granted.seal(self.keys).finish();
        let sql = "UPDATE grants SET ended = ?2, ended_at = ?3, seal = ?4 WHERE id = ?1";
        self.transaction
            .execute(sql, params![grant.id, end.as_str(), at.min(MOST_TIME), seal])
            .map_err(|error| self.named(&error))?;
        Ok(())
    }

    /// Updates the anchor to cover the rows that are live now. The rows that were live before must
    /// have been checked.
    pub(crate) fn anchor_exceptions(&self) -> Result<(), StoreError> {
        let mut head = self.anchor()?;
        let read = || -> rusqlite::Result<Vec<Vec<u8>>> {
            let mut live = self
                .transaction
                .prepare("SELECT seal FROM grants WHERE ended IS NULL ORDER BY id")?;
            live.query_map([], |row| row.get(0))?.collect()
        };
        let seals = read().map_err(|error| self.named(&error))?;
        head.grants = digest(seals.iter().map(Vec::as_slice));
        self.move_anchor(&head)
    }

    fn sort_exceptions(&self) -> rusqlite::Result<ExceptionAudit> {
        let mut statement = self.transaction.prepare(&format!(
            "SELECT {COLUMNS}, grants.rowid FROM grants ORDER BY grants.rowid"
        ))?;
        let mut sorted = ExceptionAudit::default();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match read(row, 0, self.keys)? {
                Ok((granted, _)) if granted.ended.is_none() => sorted.live.push(granted.grant),
                Ok(_) => {}
                Err(id) => sorted.forged.push((row.get(9)?, id)),
            }
        }
        Ok(sorted)
    }
}

/// The live rows with a valid seal, and row and id of those with a wrong one.
#[derive(Default)]
struct ExceptionAudit {
    live: Vec<StoredException>,
    forged: Vec<(i64, String)>,
}

/// Returns the live exceptions. Usually there are none, and a hook should pay no more than the
/// query that shows this; the next commit checks the anchor, which confirms it.
pub(crate) fn live_exceptions(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
) -> Result<Vec<StoredException>, StoreError> {
    // The anchor's part finds the case that the live rows were removed.
    let sql = "SELECT EXISTS (SELECT 1 FROM grants WHERE ended IS NULL) OR EXISTS (SELECT 1 FROM \
         anchor WHERE grants <> x'')";
    let any: bool = connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| StoreError::database(path, &error))?;
    if any { check_live(connection, keys, path) } else { Ok(Vec::new()) }
}

/// Checks them one by one and all together. Uses one statement, and so one view.
fn check_live(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
) -> Result<Vec<StoredException>, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let sql = format!(
        "SELECT anchor.sequence, anchor.hash, anchor.code, anchor.grants, anchor.sessions, {COLUMNS} \
         FROM anchor LEFT JOIN grants ON grants.ended IS NULL ORDER BY grants.id"
    );
    let mut statement = connection.prepare(&sql).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let (mut anchored, mut live, mut seals) = (None, Vec::new(), Vec::new());
    while let Some(row) = rows.next().map_err(named)? {
        anchored = Some(StoredAnchor::from_row(row).map_err(named)?);
        // Without a live row the join still gives one: the anchor's, which should cover none then.
        if row.get_ref(5).map_err(named)? == rusqlite::types::ValueRef::Null {
            break;
        }
        let (granted, seal) = read(row, 5, keys).map_err(named)?.map_err(|id| forged(path, id))?;
        live.push(granted.grant);
        seals.push(seal);
    }
    if digest(seals.iter().map(Hash::as_slice))
        != StoredAnchor::genuine(anchored, keys, path)?.grants
    {
        return Err(StoreError::ForgedExceptions {
            path: path.to_owned(),
            reason: "one was removed, or put back".to_owned(),
        });
    }
    Ok(live)
}

/// Returns all exceptions, live and ended, with the same checks.
pub(crate) fn all_exceptions(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
) -> Result<Vec<ExceptionRecord>, StoreError> {
    live_exceptions(connection, keys, path)?;
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement = connection
        .prepare(&format!("SELECT {COLUMNS} FROM grants ORDER BY granted_at DESC, id"))
        .map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(named)? {
        let (granted, _) = read(row, 0, keys).map_err(named)?.map_err(|id| forged(path, id))?;
        all.push(granted);
    }
    Ok(all)
}

fn forged(path: &Path, id: String) -> StoreError {
    StoreError::ForgedExceptions {
        path: path.to_owned(),
        reason: format!("`{}` is not as it was granted", Line(&id)),
    }
}

/// Returns the exception whose columns begin there, and its seal; if the seal is wrong, its id.
fn read(
    row: &Row<'_>,
    from: usize,
    keys: &Keys,
) -> rusqlite::Result<Result<(ExceptionRecord, Hash), String>> {
    let seal: Vec<u8> = row.get(from + 8)?;
    let id = row.get_ref(from)?.as_bytes_or_null()?.unwrap_or_default();
    let id = String::from_utf8_lossy(id).into_owned();
    let mut values = read_values(row, from..from + 8)?;
    let is_opened = keys.open_value(&[GRANTS, &id], values.get_mut(DOCUMENT))?;
    let genuine = Seal::over(&keys.grant, values.iter().map(Into::into));
    let document = values.into_iter().nth(DOCUMENT);
    let (true, Some(Value::Text(document))) = (is_opened && genuine.is(&seal), document) else {
        return Ok(Err(id));
    };
    let grant = StoredException {
        id: row.get(from)?,
        session: row.get(from + 1)?,
        once: row.get(from + 2)?,
        granted_at: row.get(from + 3)?,
        expires_at: row.get(from + 4)?,
        document,
    };
    let end: Option<String> = row.get(from + 6)?;
    let ended = end.as_deref().and_then(ExceptionEnd::from_str).zip(row.get(from + 7)?);
    Ok(Ok((ExceptionRecord { grant, ended }, genuine.finish())))
}

fn digest<'s>(mut seals: impl Iterator<Item = &'s [u8]>) -> Option<Hash> {
    let first = seals.next()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(first);
    seals.for_each(|seal| {
        hasher.update(seal);
    });
    Some(hasher.finalize().into())
}

const MOST_TIME: u64 = i64::MAX as u64;

fn check_new(grant: &StoredException) -> Result<(), StoreError> {
    let reason = if grant.id.is_empty() {
        "it needs an id"
    } else if grant.granted_at.max(grant.expires_at) > MOST_TIME {
        "its times are beyond the year 292 million: give milliseconds"
    } else if grant.document.len() > MOST_DOCUMENT {
        "its document is longer than 64 KiB"
    } else {
        return Ok(());
    };
    Err(StoreError::BadException { id: grant.id.clone(), reason })
}

impl ExceptionEnd {
    /// Returns `spent`, `revoked` or `expired`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spent => "spent",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }

    fn from_str(name: &str) -> Option<Self> {
        [Self::Spent, Self::Revoked, Self::Expired].into_iter().find(|end| end.as_str() == name)
    }
}

impl ExceptionRecord {
    fn values(&self) -> Vec<Value> {
        let StoredException { id, session, once, granted_at, expires_at, document } = &self.grant;
        let time = |time: u64| Value::Integer(i64::try_from(time).unwrap_or(i64::MAX));
        let optional =
            |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
        vec![
            Value::Text(id.clone()),
            optional(session.as_deref()),
            Value::Integer(i64::from(*once)),
            time(*granted_at),
            time(*expires_at),
            Value::Text(document.clone()),
            optional(self.ended.map(|(end, _)| end.as_str())),
            self.ended.map_or(Value::Null, |(_, at)| time(at)),
        ]
    }

    fn seal(&self, keys: &Keys) -> Seal {
        Seal::over(&keys.grant, self.values().iter().map(Into::into))
    }
}

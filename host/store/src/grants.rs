//! Exceptions that a person granted: kept until they are spent, revoked or expired.
//!
//! The document is the caller's; this module keeps it, says which exceptions are live, and ends those
//! that count once together with the commit that relied on them.
//!
//! Each row is sealed with the home's key. A seal alone would let somebody who lacks the key put back a
//! row as it was before it was spent, so the journal's anchor, which moves with each commit, covers a
//! digest of all live rows. A row that was changed, added, removed or put back is an error wherever
//! exceptions are read, until a person revokes them all. That an ended exception was removed shows in
//! the journal alone.

use crate::chain::{Anchored, Hash};
use crate::error::{Line, StoreError};
use crate::record::{NewRecord, Stored};
use crate::seal::{Keys, Seal};
use crate::store::{Commit, Store};
use crate::writer::{Overtaken, Writer};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use std::path::Path;

/// An exception as it was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Unique among all exceptions, not empty.
    pub id: String,
    /// The only session that it holds for; none for all.
    pub session: Option<String>,
    /// It ends with the first commit that relies on it.
    pub once: bool,
    /// Milliseconds since 1970.
    pub granted_at: u64,
    /// Milliseconds since 1970; from then on it does not hold, which whoever relies on it has to check.
    pub expires_at: u64,
    /// What it excepts, at most 64 KiB.
    pub document: String,
}

/// Why an exception is no longer live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantEnd {
    /// It counted once, and a commit relied on it.
    Spent,
    /// A person took it back.
    Revoked,
    /// Its time was over.
    Expired,
}

/// An exception and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// As it was granted.
    pub grant: Grant,
    /// How and when it ended, in milliseconds since 1970; none while it is live, or was not yet found to
    /// have expired.
    pub ended: Option<(GrantEnd, u64)>,
}

const MOST_LIVE: usize = 64;
const MOST_DOCUMENT: usize = 64 << 10;

const COLUMNS: &str = "grants.id, grants.session, grants.once, grants.granted_at, grants.expires_at, grants.document, grants.ended, grants.ended_at, grants.seal";

impl Store {
    /// Keeps an exception, and appends the records that say so to its session. Exceptions that expired
    /// before it was granted end now.
    ///
    /// # Errors
    /// Its id is taken, it cannot be kept, there are 64 live ones already, the exceptions were changed from
    /// outside, or as for [`Store::append`]. Nothing is written then.
    pub fn add_grant(&mut self, grant: Grant, records: Vec<NewRecord>) -> Result<Vec<Stored>, StoreError> {
        check_new(&grant)?;
        self.write(|writer| {
            writer.expire_grants(grant.granted_at)?;
            let bad = |reason| StoreError::BadGrant { id: grant.id.clone(), reason };
            if writer.live_grants()?.len() >= MOST_LIVE {
                return Err(bad("there are 64 live ones already: revoke some"));
            }
            let row = Granted { grant: grant.clone(), ended: None };
            writer.insert_grant(&row).map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::ConstraintViolation) => bad("its id is taken"),
                _ => writer.named(&error),
            })?;
            writer.anchor_grants()?;
            writer.append(grant.session.as_deref(), None, records)
        })
    }

    /// All exceptions that are kept, the newest first; ended ones stay until [`Store::prune`] removes them.
    ///
    /// # Errors
    /// The exceptions were changed from outside, or the database cannot be read.
    pub fn grants(&mut self) -> Result<Vec<Granted>, StoreError> {
        let (path, keys) = (&self.path, &self.keys);
        let view = self.connection.transaction().map_err(|error| StoreError::database(path, &error))?;
        all(&view, keys, path)
    }

    /// Ends an exception, and appends the records that say so to its session. None when there is no live
    /// one with that id: nothing is written then.
    ///
    /// # Errors
    /// The exceptions were changed from outside, or as for [`Store::append`].
    pub fn revoke_grant(&mut self, id: &str, at: u64, records: Vec<NewRecord>) -> Result<Option<Vec<Stored>>, StoreError> {
        self.write(|writer| {
            let Some(grant) = writer.live_grants()?.into_iter().find(|grant| grant.id == id) else { return Ok(None) };
            writer.end_grant(&grant, GrantEnd::Revoked, at)?;
            writer.anchor_grants()?;
            writer.append(grant.session.as_deref(), None, records).map(Some)
        })
    }

    /// Ends all exceptions, and removes those that were not written by us: the way on when they were
    /// changed from outside. `records` gets the ids of those that ended and of those that were removed.
    ///
    /// # Errors
    /// As for [`Store::append`].
    pub fn revoke_all_grants(
        &mut self,
        at: u64,
        records: impl FnOnce(&[String], &[String]) -> Vec<NewRecord>,
    ) -> Result<Vec<Stored>, StoreError> {
        self.write(|writer| {
            let Sorted { live, forged } = writer.sort_grants().map_err(|error| writer.named(&error))?;
            for grant in &live {
                writer.end_grant(grant, GrantEnd::Revoked, at)?;
            }
            for (row, _) in &forged {
                writer.transaction.execute("DELETE FROM grants WHERE rowid = ?1", [row]).map_err(|error| writer.named(&error))?;
            }
            writer.anchor_grants()?;
            let ended: Vec<_> = live.into_iter().map(|grant| grant.id).collect();
            let removed: Vec<_> = forged.into_iter().map(|(_, id)| id).collect();
            writer.append(None, None, records(&ended, &removed))
        })
    }
}

impl Writer<'_> {
    /// Ends the exceptions that count once; the others only have to be live still.
    pub(crate) fn spend(&self, session: &str, commit: &Commit) -> Result<Result<(), Overtaken>, StoreError> {
        let Some(first) = commit.spend.first() else { return Ok(Ok(())) };
        let Some(at) = commit.records.iter().map(|record| record.at).max() else {
            return Err(StoreError::BadGrant { id: first.clone(), reason: "it is spent without a record: commit one with it" });
        };
        let live = self.live_grants()?;
        for id in &commit.spend {
            let fits = |grant: &&Grant| grant.id == *id && grant.session.as_deref().is_none_or(|only| only == session);
            match live.iter().find(fits) {
                None => return Ok(Err(Overtaken::Grant(id.clone()))),
                Some(grant) if grant.once => self.end_grant(grant, GrantEnd::Spent, at)?,
                Some(_) => {}
            }
        }
        self.anchor_grants().map(Ok)
    }

    /// Ends those whose time was over, for lists and for room.
    pub(crate) fn expire_grants(&self, now: u64) -> Result<(), StoreError> {
        let live = self.live_grants()?;
        let expired: Vec<_> = live.iter().filter(|grant| grant.expires_at <= now).collect();
        for grant in &expired {
            self.end_grant(grant, GrantEnd::Expired, grant.expires_at)?;
        }
        if expired.is_empty() { Ok(()) } else { self.anchor_grants() }
    }

    /// Removes those that ended before a time.
    pub(crate) fn remove_grants(&self, before: u64) -> Result<u64, StoreError> {
        let mut removed = 0;
        for granted in all(&self.transaction, self.keys, self.path)? {
            if granted.ended.is_some_and(|(_, at)| at < before) {
                let deleted = self.transaction.execute("DELETE FROM grants WHERE id = ?1", [&granted.grant.id]);
                removed += deleted.map_err(|error| self.named(&error))? as u64;
            }
        }
        Ok(removed)
    }

    fn live_grants(&self) -> Result<Vec<Grant>, StoreError> {
        live(&self.transaction, self.keys, self.path)
    }

    fn insert_grant(&self, granted: &Granted) -> rusqlite::Result<()> {
        let mut values = granted.values();
        values.push(Value::Blob(granted.seal(self.keys).finish().to_vec()));
        let sql = "INSERT INTO grants (id, session, once, granted_at, expires_at, document, ended, ended_at, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        self.transaction.execute(sql, params_from_iter(values)).map(drop)
    }

    fn end_grant(&self, grant: &Grant, end: GrantEnd, at: u64) -> Result<(), StoreError> {
        let granted = Granted { grant: grant.clone(), ended: Some((end, at.min(MOST_TIME))) };
        let seal = granted.seal(self.keys).finish();
        let sql = "UPDATE grants SET ended = ?2, ended_at = ?3, seal = ?4 WHERE id = ?1";
        self.transaction.execute(sql, params![grant.id, end.as_str(), at.min(MOST_TIME), seal]).map_err(|error| self.named(&error))?;
        Ok(())
    }

    /// Has the anchor cover the rows that are live now. What was live before must have been checked.
    fn anchor_grants(&self) -> Result<(), StoreError> {
        let mut head = self.anchor()?;
        let read = || -> rusqlite::Result<Vec<Vec<u8>>> {
            let mut live = self.transaction.prepare("SELECT seal FROM grants WHERE ended IS NULL ORDER BY id")?;
            live.query_map([], |row| row.get(0))?.collect()
        };
        let seals = read().map_err(|error| self.named(&error))?;
        head.grants = digest(seals.iter().map(Vec::as_slice));
        self.move_anchor(&head)
    }

    fn sort_grants(&self) -> rusqlite::Result<Sorted> {
        let mut statement = self.transaction.prepare(&format!("SELECT {COLUMNS}, grants.rowid FROM grants ORDER BY grants.rowid"))?;
        let mut sorted = Sorted::default();
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

/// The live ones that we wrote, and row and id of those that we did not.
#[derive(Default)]
struct Sorted {
    live: Vec<Grant>,
    forged: Vec<(i64, String)>,
}

/// The live exceptions. Mostly there are none, and a hook should not pay for more than to see that; the
/// anchor that says so is checked by whatever is committed next.
pub(crate) fn live(connection: &Connection, keys: &Keys, path: &Path) -> Result<Vec<Grant>, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM grants WHERE ended IS NULL) OR EXISTS (SELECT 1 FROM anchor WHERE grants <> x'')";
    let any: bool = connection.query_row(sql, [], |row| row.get(0)).map_err(|error| StoreError::database(path, &error))?;
    if any { check_live(connection, keys, path) } else { Ok(Vec::new()) }
}

/// Checks them one by one and all together. One statement, so one view.
fn check_live(connection: &Connection, keys: &Keys, path: &Path) -> Result<Vec<Grant>, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let sql = format!(
        "SELECT anchor.sequence, anchor.hash, anchor.mac, anchor.grants, {COLUMNS} \
         FROM anchor LEFT JOIN grants ON grants.ended IS NULL ORDER BY grants.id"
    );
    let mut statement = connection.prepare(&sql).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let (mut anchored, mut live, mut seals) = (None, Vec::new(), Vec::new());
    while let Some(row) = rows.next().map_err(named)? {
        anchored = Some(Anchored::from_row(row).map_err(named)?);
        if row.get_ref(4).map_err(named)? == rusqlite::types::ValueRef::Null {
            break;
        }
        let (granted, seal) = read(row, 4, keys).map_err(named)?.map_err(|id| forged(path, id))?;
        live.push(granted.grant);
        seals.push(seal);
    }
    if digest(seals.iter().map(Hash::as_slice)) != Anchored::genuine(anchored, keys, path)?.grants {
        return Err(StoreError::ForgedGrants { path: path.to_owned(), reason: "one was removed, or put back".to_owned() });
    }
    Ok(live)
}

/// All exceptions, live and ended, checked likewise.
pub(crate) fn all(connection: &Connection, keys: &Keys, path: &Path) -> Result<Vec<Granted>, StoreError> {
    live(connection, keys, path)?;
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM grants ORDER BY granted_at DESC, id")).map_err(named)?;
    let mut rows = statement.query([]).map_err(named)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(named)? {
        let (granted, _) = read(row, 0, keys).map_err(named)?.map_err(|id| forged(path, id))?;
        all.push(granted);
    }
    Ok(all)
}

fn forged(path: &Path, id: String) -> StoreError {
    StoreError::ForgedGrants { path: path.to_owned(), reason: format!("`{}` is not as it was granted", Line(&id)) }
}

/// The exception whose columns begin there, and its seal; its id when we did not write it.
fn read(row: &Row<'_>, from: usize, keys: &Keys) -> rusqlite::Result<Result<(Granted, Hash), String>> {
    let seal: Vec<u8> = row.get(from + 8)?;
    let genuine = Seal::over_row(&keys.grant, row, from..from + 8)?;
    if !genuine.is(&seal) {
        let id = row.get_ref(from)?.as_bytes_or_null()?.unwrap_or_default();
        return Ok(Err(String::from_utf8_lossy(id).into_owned()));
    }
    let grant = Grant {
        id: row.get(from)?,
        session: row.get(from + 1)?,
        once: row.get(from + 2)?,
        granted_at: row.get(from + 3)?,
        expires_at: row.get(from + 4)?,
        document: row.get(from + 5)?,
    };
    let end: Option<String> = row.get(from + 6)?;
    let ended = end.as_deref().and_then(GrantEnd::from_str).zip(row.get(from + 7)?);
    Ok(Ok((Granted { grant, ended }, genuine.finish())))
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

fn check_new(grant: &Grant) -> Result<(), StoreError> {
    let reason = if grant.id.is_empty() {
        "it needs an id"
    } else if grant.granted_at.max(grant.expires_at) > MOST_TIME {
        "its times are beyond the year 292 million: give milliseconds"
    } else if grant.document.len() > MOST_DOCUMENT {
        "its document is longer than 64 KiB"
    } else {
        return Ok(());
    };
    Err(StoreError::BadGrant { id: grant.id.clone(), reason })
}

impl GrantEnd {
    /// `spent`, `revoked` or `expired`.
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

impl Granted {
    fn values(&self) -> Vec<Value> {
        let Grant { id, session, once, granted_at, expires_at, document } = &self.grant;
        let time = |time: u64| Value::Integer(i64::try_from(time).unwrap_or(i64::MAX));
        let optional = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
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

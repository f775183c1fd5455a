//! The states of sessions, and their protection against being changed, removed or restored from
//! outside.
//!
//! - A state is sealed with its session, its part (the session's own or an agent's), the commit
//!   that wrote it and its bytes.
//! - A session has one row in `heads`: its commits so far, and the seal of each of its states that
//!   counts. That row is sealed too, so a state that is older than the session is invalid.
//! - Sessions are divided into 64 buckets. The anchor, which moves with each commit, covers a
//!   digest of the rows of each bucket, so that all rows of a session together cannot be removed or
//!   restored either. Checking one session reads only the rows of its bucket.

use crate::buckets::{BUCKETS, Buckets, DIGEST, EMPTY, bucket_of};
use crate::chain::{Head, StoredAnchor};
use crate::cipher::STATES;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::seal::{Keys, Seal};
use crate::writer::Writer;
use portcullis_encryption::KeyId;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn digest<'s>(seals: impl Iterator<Item = &'s Hash>) -> [u8; DIGEST] {
    let (mut hasher, mut digest) = (blake3::Hasher::new(), EMPTY);
    for seal in seals {
        hasher.update(seal);
    }
    if hasher.count() > 0 {
        hasher.finalize_xof().fill(&mut digest);
    }
    digest
}

const SESSION: &str = "s";

fn agent_part(agent: Option<&str>) -> String {
    format!("a{}", agent.unwrap_or_default())
}

/// A session's row in `heads`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    /// The session's commits so far.
    head: u64,
    /// The seal of each state that counts, by its part.
    parts: BTreeMap<String, Hash>,
}

impl Row {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (part, seal) in &self.parts {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
            bytes.extend(seal);
        }
        bytes
    }

    fn decode(head: u64, mut bytes: &[u8]) -> Option<Self> {
        let mut parts = BTreeMap::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (part, rest) =
                rest.split_at_checked(usize::try_from(u64::from_be_bytes(*length)).ok()?)?;
            let (seal, rest) = rest.split_first_chunk::<32>()?;
            parts.insert(String::from_utf8(part.to_vec()).ok()?, *seal);
            bytes = rest;
        }
        Some(Self { head, parts })
    }
}

fn row_seal(keys: &Keys, session: &str, head: u64, parts: &[u8]) -> Seal {
    Seal::new(&keys.session)
        .bytes(Some(session.as_bytes()))
        .raw(&head.to_be_bytes())
        .bytes(Some(parts))
}

fn state_seal(
    keys: &Keys,
    session: &str,
    part: &str,
    written: Option<i64>,
    state: Option<&[u8]>,
) -> Seal {
    Seal::new(&keys.state)
        .bytes(Some(session.as_bytes()))
        .bytes(Some(part.as_bytes()))
        .number(written)
        .bytes(state)
}

/// The rows of one bucket, checked against the anchor.
struct Bucket {
    seals: BTreeMap<String, Hash>,
    /// The row of the requested session.
    row: Option<Row>,
}

/// Without the `+`, SQLite compiles the statement again whenever the bucket is another one.
pub(crate) const BUCKET: &str = "SELECT session, seal, CASE session WHEN ?2 THEN head END, CASE session WHEN ?2 \
     THEN parts END FROM heads WHERE bucket = +?1 ORDER BY session";

/// A state as stored: its part, the commit that wrote it, and its bytes.
type StoredState = (String, Option<i64>, Vec<u8>);

/// Reads the bucket of a session.
fn read_bucket(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
    buckets: &Buckets,
    session: &str,
) -> Result<Bucket, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let number = bucket_of(session);
    let mut statement = connection.prepare_cached(BUCKET).map_err(named)?;
    let mut rows = statement.query(params![number, session]).map_err(named)?;
    let mut bucket = Bucket { seals: BTreeMap::new(), row: None };
    while let Some(row) = rows.next().map_err(named)? {
        let name: String = row.get(0).map_err(named)?;
        let seal: Vec<u8> = row.get(1).map_err(named)?;
        let Ok(code) = Hash::try_from(seal) else { return Err(forged(path, &name, CHANGED)) };
        if name == session {
            let (head, parts): (u64, Vec<u8>) =
                (row.get(2).map_err(named)?, row.get(3).map_err(named)?);
            let found = Row::decode(head, &parts)
                .filter(|_| row_seal(keys, session, head, &parts).is(&code));
            bucket.row = Some(found.ok_or_else(|| forged(path, session, CHANGED))?);
        }
        bucket.seals.insert(name, code);
    }
    if digest(bucket.seals.values()) == *buckets.get(number) {
        Ok(bucket)
    } else {
        Err(forged(path, session, MOVED))
    }
}

const CHANGED: &str = "it is not as it was written";
const MOVED: &str = "it, or a neighbour of it, was removed, added or put back";
const MISSING: &str = "a part of it was removed";
const STRAY: &str = "a part of it was added or put back";

fn forged(path: &Path, session: &str, reason: &'static str) -> StoreError {
    StoreError::ForgedState { path: path.to_owned(), session: session.to_owned(), reason }
}

/// The states that a commit writes; one that is none keeps the old one.
pub(crate) struct NewStates {
    /// The time of the commit, in milliseconds since 1970.
    pub(crate) at: u64,
    /// The number of the session's commits, with this one.
    pub(crate) head: u64,
    pub(crate) session: Option<Vec<u8>>,
    pub(crate) agent: Option<Vec<u8>>,
}

/// The states of a session that concern one agent.
pub(crate) struct SessionStates {
    /// The number of the session's commits.
    pub(crate) head: u64,
    pub(crate) session: Option<Vec<u8>>,
    pub(crate) agent: Option<Vec<u8>>,
}

/// Reads the states of a session and of one agent. The connection must be in one view.
pub(crate) fn read(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
    buckets: &Buckets,
    session: &str,
    agent: Option<&str>,
) -> Result<SessionStates, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let row = read_bucket(connection, keys, path, buckets, session)?.row.unwrap_or_default();
    let own = agent_part(agent);
    let mut found = BTreeMap::new();
    let sql = "SELECT part, written, state FROM states WHERE session = ?1 AND part IN (?2, ?3)";
    let mut statement = connection.prepare_cached(sql).map_err(named)?;
    let mut states = statement.query(params![session, SESSION, own]).map_err(named)?;
    while let Some(state) = states.next().map_err(named)? {
        let (part, written): (String, Option<i64>) =
            (state.get(0).map_err(named)?, state.get(1).map_err(named)?);
        let bytes: Option<Vec<u8>> = state.get(2).map_err(named)?;
        let listed = row.parts.get(&part).ok_or_else(|| forged(path, session, STRAY))?;
        if !state_seal(keys, session, &part, written, bytes.as_deref()).is(listed) {
            return Err(forged(path, session, CHANGED));
        }
        let state = keys.open_state(&[STATES, session, &part], bytes.unwrap_or_default());
        found.insert(part, state.map_err(named)?);
    }
    if [SESSION, own.as_str()]
        .iter()
        .any(|part| row.parts.contains_key(*part) && !found.contains_key(*part))
    {
        return Err(forged(path, session, MISSING));
    }
    let (session, agent) = (found.remove(SESSION), found.remove(&own));
    Ok(SessionStates { head: row.head, session, agent })
}

/// Returns the number of a session's commits so far, unchecked: the commit checks the row.
pub(crate) fn head(connection: &Connection, session: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT head FROM heads WHERE bucket = ?1 AND session = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row(params![bucket_of(session), session], |row| row.get(0));
    Ok(found.optional()?.unwrap_or(0))
}

/// Checks all states of all sessions.
pub(crate) fn check(connection: &Connection, keys: &Keys, path: &Path) -> Result<(), StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    let anchored = StoredAnchor::read(connection).map_err(named)?;
    let buckets = anchored.as_ref().map(|anchored| anchored.buckets.clone()).unwrap_or_default();
    StoredAnchor::genuine(anchored, keys, path)?;
    let mut sessions = connection
        .prepare("SELECT session FROM heads UNION SELECT session FROM states ORDER BY session")
        .map_err(named)?;
    let mut rows = sessions.query([]).map_err(named)?;
    while let Some(row) = rows.next().map_err(named)? {
        let session: String = row.get(0).map_err(named)?;
        let listed =
            read_bucket(connection, keys, path, &buckets, &session)?.row.unwrap_or_default().parts;
        let found = seals(connection, keys, &session).map_err(named)?;
        if found.keys().any(|part| !listed.contains_key(part)) {
            return Err(forged(path, &session, STRAY));
        }
        if listed != found {
            return Err(forged(
                path,
                &session,
                if listed.len() > found.len() { MISSING } else { CHANGED },
            ));
        }
    }
    // No row reveals a bucket whose only session was removed.
    let mut filled = connection.prepare("SELECT DISTINCT bucket FROM heads").map_err(named)?;
    let filled: Vec<usize> =
        filled.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(named)?;
    match (0..BUCKETS).find(|bucket| !filled.contains(bucket) && *buckets.get(*bucket) != EMPTY) {
        Some(_) => Err(StoreError::tampered(path, "the states of a session were removed")),
        None => Ok(()),
    }
}

/// Returns the seals of a session's states as stored.
fn seals(
    connection: &Connection,
    keys: &Keys,
    session: &str,
) -> rusqlite::Result<BTreeMap<String, Hash>> {
    let mut statement =
        connection.prepare("SELECT part, written, state FROM states WHERE session = ?1")?;
    let mut rows = statement.query([session])?;
    let mut seals = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let part: String = row.get(0)?;
        let state: Option<&[u8]> = row.get_ref(2)?.as_bytes_or_null()?;
        let seal = state_seal(keys, session, &part, row.get(1)?, state).finish();
        seals.insert(part, seal);
    }
    Ok(seals)
}

/// Seals the content of a database of an older format as it is; returns the number of its sessions.
///
/// If the anchor is invalid, it stays unchanged, so that the journal is not mistaken for a good
/// one.
pub(crate) fn seal_all(connection: &Connection, keys: &Keys) -> rusqlite::Result<u64> {
    let mut statement =
        connection.prepare("SELECT session, written FROM states WHERE part = ''")?;
    let heads: BTreeMap<String, u64> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let (mut buckets, mut by_bucket) = (Buckets::default(), BTreeMap::<usize, Vec<Hash>>::new());
    for (session, head) in &heads {
        connection.execute("DELETE FROM states WHERE session = ?1 AND part = ''", [session])?;
        let row = Row { head: *head, parts: seals(connection, keys, session)? };
        by_bucket
            .entry(bucket_of(session))
            .or_default()
            .push(put_row(connection, keys, session, &row)?);
    }
    for (bucket, seals) in by_bucket {
        buckets.set(bucket, digest(seals.iter()));
    }
    if let Some(anchored) = StoredAnchor::read(connection)?.filter(|anchored| anchored.holds(keys))
    {
        let head = Head { sessions: buckets.hash(), ..anchored.head };
        connection.execute(
            "UPDATE anchor SET sessions = ?1, code = ?2",
            params![buckets.as_bytes(), head.mac(keys)],
        )?;
    }
    Ok(heads.len() as u64)
}

fn put_row(
    connection: &Connection,
    keys: &Keys,
    session: &str,
    row: &Row,
) -> rusqlite::Result<Hash> {
    let parts = row.encode();
    let seal = row_seal(keys, session, row.head, &parts).finish();
    let sql = "INSERT INTO heads (bucket, session, seal, head, parts) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT DO UPDATE SET seal = excluded.seal, head = excluded.head, parts = excluded.parts";
    let mut statement = connection.prepare_cached(sql)?;
    statement.execute(params![bucket_of(session), session, seal, row.head, parts])?;
    Ok(seal)
}

impl Writer<'_> {
    /// Writes the new states of a commit. The other rows in the
    /// session's bucket are checked first: the new anchor must not cover a change made there.
    pub(crate) fn put_states(
        &self,
        session: &str,
        agent: Option<&str>,
        mut new: NewStates,
    ) -> Result<(), StoreError> {
        let (head, buckets) = self.anchor_and_buckets()?;
        let mut bucket = read_bucket(&self.transaction, self.keys, self.path, &buckets, session)?;
        let mut row = bucket.row.take().unwrap_or_default();
        row.head = new.head;
        let mut write = || -> rusqlite::Result<Hash> {
            let sql = "INSERT INTO states (session, part, written, state) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT DO UPDATE SET written = excluded.written, state = excluded.state";
            let mut put = self.transaction.prepare_cached(sql)?;
            let agent = agent_part(agent);
            for (part, state) in [(SESSION, new.session.take()), (&agent, new.agent.take())] {
                let Some(state) = state else { continue };
                let state = self.keys.seal_state(new.at, &[STATES, session, part], state)?;
                let written = i64::try_from(row.head).unwrap_or(i64::MAX);
                put.execute(params![session, part, written, state])?;
                row.parts.insert(
                    part.to_owned(),
                    state_seal(self.keys, session, part, Some(written), Some(&state)).finish(),
                );
            }
            put_row(&self.transaction, self.keys, session, &row)
        };
        let seal = write().map_err(|error| self.named(&error))?;
        bucket.seals.insert(session.to_owned(), seal);
        self.move_sessions(head, buckets, session, &bucket)
    }

    /// Removes the states of a session; returns true if it had any.
    pub(crate) fn remove_states(&self, session: &str) -> Result<bool, StoreError> {
        let (head, buckets) = self.anchor_and_buckets()?;
        let mut bucket = read_bucket(&self.transaction, self.keys, self.path, &buckets, session)?;
        let remove = || -> rusqlite::Result<()> {
            self.transaction.execute("DELETE FROM states WHERE session = ?1", [session])?;
            self.transaction.execute(
                "DELETE FROM heads WHERE bucket = ?1 AND session = ?2",
                params![bucket_of(session), session],
            )?;
            Ok(())
        };
        if bucket.seals.remove(session).is_none() {
            return Ok(false);
        }
        remove().map_err(|error| self.named(&error))?;
        self.move_sessions(head, buckets, session, &bucket).map(|()| true)
    }

    /// Encrypts the states whose keys are due with a key of today. A state that was changed from
    /// outside stays as it is: sealing it again would make it look genuine.
    pub(crate) fn renew_states(&self, due: &BTreeSet<KeyId>, now: u64) -> Result<(), StoreError> {
        let list = || -> rusqlite::Result<Vec<String>> {
            let mut sessions = self.transaction.prepare("SELECT session FROM heads")?;
            sessions.query_map([], |row| row.get(0))?.collect()
        };
        for session in list().map_err(|error| self.named(&error))? {
            let (head, buckets) = self.anchor_and_buckets()?;
            let mut bucket =
                read_bucket(&self.transaction, self.keys, self.path, &buckets, &session)?;
            let Some(mut row) = bucket.row.take() else { continue };
            let mut renew = || -> rusqlite::Result<Option<Hash>> {
                let mut is_renewed = false;
                for (part, written, state) in self.states_of(&session)? {
                    let listed = row.parts.get(&part);
                    let seal = state_seal(self.keys, &session, &part, written, Some(&state));
                    if !listed.is_some_and(|listed| seal.is(listed)) {
                        continue;
                    }
                    let place = [STATES, session.as_str(), part.as_str()];
                    let Some(state) = self.renew_state(&place, state, due, now)? else { continue };
                    self.transaction.execute(
                        "UPDATE states SET state = ?3 WHERE session = ?1 AND part = ?2",
                        params![session, part, state],
                    )?;
                    let seal = state_seal(self.keys, &session, &part, written, Some(&state));
                    row.parts.insert(part, seal.finish());
                    is_renewed = true;
                }
                let put = || put_row(&self.transaction, self.keys, &session, &row);
                is_renewed.then(put).transpose()
            };
            if let Some(seal) = renew().map_err(|error| self.named(&error))? {
                bucket.seals.insert(session.clone(), seal);
                self.move_sessions(head, buckets, &session, &bucket)?;
            }
        }
        Ok(())
    }

    /// Returns the states of a session as stored.
    fn states_of(&self, session: &str) -> rusqlite::Result<Vec<StoredState>> {
        let sql =
            "SELECT part, written, state FROM states WHERE session = ?1 AND state IS NOT NULL";
        let mut statement = self.transaction.prepare_cached(sql)?;
        let states =
            statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        states.collect()
    }

    fn move_sessions(
        &self,
        mut head: Head,
        mut buckets: Buckets,
        session: &str,
        bucket: &Bucket,
    ) -> Result<(), StoreError> {
        buckets.set(bucket_of(session), digest(bucket.seals.values()));
        head.sessions = buckets.hash();
        let sql = "UPDATE anchor SET sessions = ?1, code = ?2";
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut update| update.execute(params![buckets.as_bytes(), head.mac(self.keys)]))
            .map_err(|error| self.named(&error))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let parts = [("s", [1; 32]), ("a", [2; 32]), ("ascout", [3; 32])];
        let row = Row { head: 7, parts: parts.map(|(part, seal)| (part.to_owned(), seal)).into() };
        let bytes = row.encode();
        assert_eq!(Row::decode(7, &bytes), Some(row));
        assert_eq!(Row::decode(7, &[]), Some(Row { head: 7, parts: BTreeMap::new() }));
        for cut in [1, 8, 9, bytes.len() - 1] {
            assert_eq!(Row::decode(7, &bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn each_bucket_has_its_digest() {
        let mut buckets = Buckets::default();
        assert_eq!(buckets.hash(), None);
        buckets.set(BUCKETS - 1, [9; DIGEST]);
        assert_eq!((buckets.get(BUCKETS - 1), buckets.get(0)), (&[9; DIGEST][..], &EMPTY[..]));
        buckets.set(BUCKETS - 1, digest([].iter()));
        assert_eq!(buckets.hash(), None);
    }
}

//! One review's transaction: the snapshot that it begins with, and all that it commits together.
//!
//! All writes of a commit (states, records, anchor, spent exceptions, work, the session's head) are
//! one transaction.

use crate::breakers::{self, BreakerChange, Breakers};
use crate::error::{CommitError, StoreError};
use crate::exceptions::{self, StoredException};
use crate::mark::MarkState;
use crate::past::SessionHistory;
use crate::record::{NewRecord, StoredRecord};
use crate::seal::Keys;
use crate::sessions::{self, NewStates};
use crate::store::Store;
use crate::work::NewWork;
use crate::writer::{self, Conflict, Writer};
use rusqlite::Connection;
use std::path::Path;

/// The state of a session at the beginning of a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSnapshot {
    /// The session.
    pub session_id: String,
    /// The subagent; none for the main agent.
    pub agent_id: Option<String>,
    /// The number of the session's commits, over all its agents; 0 for a session not seen before.
    pub head: u64,
    /// The session's state.
    pub session: Option<Vec<u8>>,
    /// The agent's own state; the main agent has one too.
    pub agent: Option<Vec<u8>>,
    /// The exceptions that are live and apply to this session. The reviewer must check their
    /// expiry.
    pub exceptions: Vec<StoredException>,
    /// The failure records of plugins.
    pub breakers: Breakers,
}

/// The changes that a review makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The session's new state; none keeps the old one.
    pub session_state: Option<Vec<u8>>,
    /// The agent's new state; none keeps the old one.
    pub agent_state: Option<Vec<u8>>,
    /// Records, in order.
    pub records: Vec<NewRecord>,
    /// Ids of the exceptions that the review relied on. Single-use ones end with this commit; all
    /// of them must still be live.
    pub spend: Vec<String>,
    /// The id of the approval that the review relied on, which a person allowed. It is used up with
    /// this commit.
    pub approval: Option<String>,
    /// Work to queue in the same transaction.
    pub work: Vec<NewWork>,
    /// The new failure records of plugins, at most one change for each plugin.
    pub breakers: Vec<BreakerChange>,
}

impl Store {
    /// Returns the current state of a session. An empty agent name is the main agent.
    ///
    /// # Errors
    /// Fails if the session's states, the exceptions or the whole journal were changed from
    /// outside, or the database cannot be read.
    pub fn take_snapshot(
        &self,
        session: &str,
        agent: Option<&str>,
    ) -> Result<SessionSnapshot, StoreError> {
        snapshot(&self.connection, &self.keys, &self.path, Some(self.mark), session, agent)
    }

    /// Commits the changes of a review on `snapshot`, unless the session moved since.
    ///
    /// # Errors
    /// Fails with [`CommitError::Moved`] if it moved, with [`CommitError::Spent`] if an exception
    /// that the review relied on is no longer live, and with [`CommitError::Learned`] if the
    /// failure record of a plugin has changed: nothing was written. Otherwise fails in the same
    /// cases as [`Store::append_records`].
    pub fn commit_review(
        &mut self,
        snapshot: &SessionSnapshot,
        commit: Commit,
    ) -> Result<Vec<StoredRecord>, CommitError> {
        let base = snapshot.base();
        self.write_commit(Box::new(move |writer| writer.commit_unmoved(&base, commit)))
    }

    /// Returns the past steps of an agent; an empty name is the main agent.
    #[must_use]
    pub fn session_history<'a>(
        &'a self,
        session: &'a str,
        agent: Option<&'a str>,
    ) -> SessionHistory<'a> {
        SessionHistory::new(&self.connection, &self.keys, &self.path, session, agent)
    }

    /// Reviews and commits under the write lock, so that nobody can move the session: `review` gets
    /// the snapshot, and other writers wait for it, for at most 2 s.
    ///
    /// # Errors
    /// Fails with the error of `review`, in which case nothing is written, and in the same cases as
    /// [`Store::append_records`].
    pub fn commit_locked<T, E: From<StoreError>>(
        &mut self,
        session: &str,
        agent: Option<&str>,
        review: impl FnOnce(&SessionSnapshot, &SessionHistory<'_>) -> Result<(Commit, T), E>,
    ) -> Result<(Vec<StoredRecord>, T), E> {
        self.write(|writer| {
            let snapshot = snapshot(
                &writer.transaction,
                writer.keys,
                writer.path,
                writer.mark,
                session,
                agent,
            )?;
            let past =
                SessionHistory::new(&writer.transaction, writer.keys, writer.path, session, agent);
            let (commit, value) = review(&snapshot, &past)?;
            // Nobody else can have ended it, so it never was in the snapshot.
            let foreign = |overtaken| match overtaken {
                Conflict::Exception(id) => {
                    StoreError::BadException { id, reason: "it is not live in this session" }
                }
                Conflict::Breaker(plugin) => {
                    StoreError::BadBreaker { plugin, reason: "they are not as the snapshot says" }
                }
            };
            Ok((writer.commit(&snapshot.base(), commit)?.map_err(foreign)?, value))
        })
    }
}

/// The part of a snapshot that a commit on it needs.
#[derive(Clone, Debug)]
pub(crate) struct CommitBase {
    session: String,
    agent: Option<String>,
    head: u64,
}

impl SessionSnapshot {
    pub(crate) fn base(&self) -> CommitBase {
        CommitBase {
            session: self.session_id.clone(),
            agent: self.agent_id.clone(),
            head: self.head,
        }
    }
}

impl Writer<'_> {
    /// Writes a commit, unless the session moved since the snapshot. After an error, the caller
    /// must roll back.
    pub(crate) fn commit_unmoved(
        &self,
        base: &CommitBase,
        commit: Commit,
    ) -> Result<Vec<StoredRecord>, CommitError> {
        let found =
            sessions::head(&self.transaction, &base.session).map_err(|error| self.named(&error))?;
        if found != base.head {
            let session = base.session.clone();
            return Err(CommitError::Moved { session, expected: base.head, found });
        }
        self.commit(base, commit)?.map_err(|overtaken| match overtaken {
            Conflict::Exception(id) => CommitError::Spent { id },
            Conflict::Breaker(plugin) => CommitError::Learned { plugin },
        })
    }

    /// Writes a commit. After an error of either kind, the caller must roll back.
    fn commit(
        &self,
        base: &CommitBase,
        commit: Commit,
    ) -> Result<Result<Vec<StoredRecord>, Conflict>, StoreError> {
        let agent = base.agent.as_deref();
        if let Err(overtaken) = self.spend(&base.session, &commit.spend, &commit.records)? {
            return Ok(Err(overtaken));
        }
        if let Some(id) = &commit.approval
            && !self.use_approval(&base.session, id, &commit.records)?
        {
            return Ok(Err(Conflict::Exception(id.clone())));
        }
        let at = self.time_of(&commit.records)?;
        if let Err(overtaken) = self.put_breakers(at, &commit.breakers)? {
            return Ok(Err(overtaken));
        }
        let states = NewStates {
            at,
            head: base.head.saturating_add(1),
            session: commit.session_state,
            agent: commit.agent_state,
        };
        self.put_states(&base.session, agent, states)?;
        for work in &commit.work {
            self.enqueue(work)?;
        }
        self.append(Some(&base.session), agent, commit.records).map(Ok)
    }
}

/// Reads a snapshot; all of it is from one view.
fn snapshot(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
    mark: Option<MarkState>,
    session: &str,
    agent: Option<&str>,
) -> Result<SessionSnapshot, StoreError> {
    let named = |error: rusqlite::Error| StoreError::database(path, &error);
    // Under the write lock there is a transaction already, and SQLite does not nest them.
    let _view = connection
        .is_autocommit()
        .then(|| connection.unchecked_transaction())
        .transpose()
        .map_err(named)?;
    let agent = agent.filter(|name| !name.is_empty());
    let (session_id, agent_id) = (session.to_owned(), agent.map(str::to_owned));
    let (_, buckets) = writer::genuine(connection, keys, path, mark)?;
    let states = sessions::read(connection, keys, path, &buckets, session, agent)?;
    let mut snapshot = SessionSnapshot {
        session_id,
        agent_id,
        head: states.head,
        session: states.session,
        agent: states.agent,
        exceptions: Vec::new(),
        breakers: Breakers::new(),
    };
    snapshot.exceptions = exceptions::live_exceptions(connection, keys, path)?;
    snapshot.breakers = breakers::all_breakers(connection, keys, path)?;
    snapshot.exceptions.retain(|grant| grant.session.as_deref().is_none_or(|only| only == session));
    Ok(snapshot)
}

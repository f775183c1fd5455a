//! Actions that wait for a person's answer.
//!
//! The process that asks adds a row, reads it again and again, and acts on the answer itself. A
//! person's command writes the answer, once, and only while the row waits. The caller defines the
//! document and the digest of the action.
//!
//! Each row is sealed with the home's key. A row that was changed or added from outside is an error
//! for its reader, and one that was removed is not an answer: neither is a permission. A row that
//! was restored from before its end permits nothing either, since only the process that added it
//! acts on it, and its id is new.

use crate::cipher::{APPROVALS, REASONS};
use crate::error::StoreError;
use crate::exceptions::StoredException;
use crate::record::{NewRecord, StoredRecord};
use crate::seal::{Keys, Seal, read_values};
use crate::store::Store;
use crate::work::{NewWork, time};
use crate::writer::Writer;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter};
use std::path::Path;

/// An action that waits for a person, as it was asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredApproval {
    /// Unique, not empty, and not to be guessed.
    pub id: String,
    /// The session of the action.
    pub session: String,
    /// The digest of the exact action, not empty. The answer names it.
    pub digest: String,
    /// Milliseconds since 1970.
    pub asked_at: u64,
    /// The time until which somebody waits for the answer, in milliseconds since 1970.
    pub expires_at: u64,
    /// The text that a person is shown, at most 256 KiB.
    pub document: String,
}

/// The state of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody has answered.
    Waiting,
    /// A person allowed the action, and it has not been let run yet.
    Allowed,
    /// A person allowed the action, and it was let run.
    Used,
    /// A person denied the action.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The agent's client gave the action up.
    Withdrawn,
    /// A person allowed the action, but its later review did not let it run.
    Changed,
}

/// The effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEffect {
    /// The action may run.
    Allows,
    /// The action must not run.
    Denies,
    /// Somebody else has to answer too: the approval goes on waiting.
    IsNoted,
}

/// A document that takes the place of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    /// The document that the answer was made for.
    pub from: String,
    /// The document after it, at most 256 KiB.
    pub to: String,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// Its effect.
    pub effect: AnswerEffect,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The person's words, at most 1 KiB; may be empty.
    pub reason: String,
    /// What the answer changes in the document.
    pub document: Option<DocumentChange>,
    /// What they allow beside this one action; it begins together with the answer.
    pub exception: Option<StoredException>,
}

/// An approval and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// As it was asked about.
    pub asked: StoredApproval,
    /// Its state.
    pub state: ApprovalState,
    /// The time of its newest state, in milliseconds since 1970; none while it waits.
    pub ended_at: Option<u64>,
    /// The person's words.
    pub reason: String,
}

/// All approvals that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalList {
    /// The genuine ones, the newest first.
    pub genuine: Vec<ApprovalRecord>,
    /// The ids of those that were changed or added from outside, and never count.
    pub forged: Vec<String>,
}

const MOST_WAITING: usize = 64;
/// So that one agent cannot take the place of all others.
const MOST_OF_SESSION: usize = 16;
const MOST_DOCUMENT: usize = 256 << 10;
const MOST_REASON: usize = 1024;
const LONG_DOCUMENT: &str = "its document is longer than 256 KiB";

/// The places of the encrypted texts among the columns.
const DOCUMENT: usize = 5;
const REASON: usize = 8;

/// The query for rows as [`read`] takes them.
const SELECT: &str = "SELECT id, session, digest, asked_at, expires_at, document, state, ended_at, \
     reason, seal, rowid FROM approvals";

impl Store {
    /// Adds an action that waits, queues work, and appends the records that report it to its
    /// session.
    ///
    /// # Errors
    /// Fails if its id is taken, it cannot be kept, or 64 wait at that time already, or 16 of its
    /// session, and in the same cases as [`Store::append_records`]. Nothing is written then.
    pub fn add_approval(
        &mut self,
        asked: StoredApproval,
        work: &[NewWork],
        records: Vec<NewRecord>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        check_new(&asked)?;
        self.write(|writer| {
            let waiting = list_waiting(&writer.transaction, writer.keys, asked.asked_at);
            let bad = |reason| StoreError::BadApproval { id: asked.id.clone(), reason };
            let waiting = waiting.map_err(|error| writer.named(&error))?;
            if waiting.len() >= MOST_WAITING {
                return Err(bad("64 actions are waiting already: answer some"));
            }
            let is_of_session = |row: &&ApprovalRecord| row.asked.session == asked.session;
            if waiting.iter().filter(is_of_session).count() >= MOST_OF_SESSION {
                return Err(bad("16 actions of its session are waiting already: answer some"));
            }
            let session = asked.session.clone();
            let row = ApprovalRecord {
                asked: asked.clone(),
                state: ApprovalState::Waiting,
                ended_at: None,
                reason: String::new(),
            };
            let sql = "INSERT INTO approvals (id, session, digest, asked_at, expires_at, document, \
                 state, ended_at, reason, seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
            let add = || {
                let values = row.stored_values(writer.keys)?;
                writer.transaction.execute(sql, params_from_iter(values))
            };
            let added = add();
            added.map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::ConstraintViolation) => bad("its id is taken"),
                _ => writer.named(&error),
            })?;
            for task in work {
                writer.enqueue(task)?;
            }
            writer.append(Some(&session), None, records)
        })
    }

    /// Returns an approval; none if there is none of that id. Holds no lock afterwards.
    ///
    /// # Errors
    /// Fails if it was changed from outside, or the database cannot be read.
    pub fn find_approval(&self, id: &str) -> Result<Option<ApprovalRecord>, StoreError> {
        find(&self.connection, &self.keys, &self.path, id)
    }

    /// Returns all approvals that are kept; ended ones stay until [`Store::prune_before`] removes
    /// them.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn list_approvals(&self) -> Result<ApprovalList, StoreError> {
        list(&self.connection, &self.keys, "TRUE", &[]).map_err(|error| self.named(&error))
    }

    /// Returns the genuine ones that wait at a time (milliseconds since 1970), the newest first.
    /// Those that have ended cost nothing.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn list_waiting_approvals(&self, now: u64) -> Result<Vec<ApprovalRecord>, StoreError> {
        list_waiting(&self.connection, &self.keys, now).map_err(|error| self.named(&error))
    }

    /// Writes a person's answer to the action of that digest, and appends the records that report
    /// it to its session. Returns false and writes nothing if it does not wait at the answer's
    /// time.
    ///
    /// # Errors
    /// Fails if the row was changed from outside, has another digest or another document than the
    /// answer was made for, and in the same cases as
    /// [`Store::append_records`] and, with an exception, [`Store::add_exception`]. Nothing is
    /// written then.
    pub fn answer_approval(
        &mut self,
        id: &str,
        digest: &str,
        answer: &ApprovalAnswer,
        records: Vec<NewRecord>,
    ) -> Result<bool, StoreError> {
        let bad = |reason| StoreError::BadApproval { id: id.to_owned(), reason };
        if answer.reason.len() > MOST_REASON {
            return Err(bad("its reason is longer than 1 KiB"));
        }
        self.write(|writer| {
            let Some(row) = writer.approval(id)?.filter(|row| row.is_waiting(answer.at)) else {
                return Ok(false);
            };
            if row.asked.digest != digest {
                return Err(bad("it is for another action than the one that was shown"));
            }
            let state = match answer.effect {
                AnswerEffect::Allows => ApprovalState::Allowed,
                AnswerEffect::Denies => ApprovalState::Denied,
                AnswerEffect::IsNoted => ApprovalState::Waiting,
            };
            let row = match &answer.document {
                Some(change) if change.from != row.asked.document => {
                    return Err(bad("somebody else answered it at the same time: look again"));
                }
                Some(change) if change.to.len() > MOST_DOCUMENT => return Err(bad(LONG_DOCUMENT)),
                Some(change) => row.with_document(change.to.clone()),
                None => row,
            };
            if let Some(exception) = &answer.exception {
                writer.add_exception(exception)?;
            }
            writer.put_approval(row, state, answer.at, &answer.reason, records)?;
            Ok(true)
        })
    }

    /// Ends an approval that waits, or one that was allowed and cannot be used, and appends the
    /// records that report it to its session. Returns the approval as it is then: somebody may
    /// have answered before, and then nothing is written; none if there is none of that id.
    ///
    /// # Errors
    /// Fails if the row was changed from outside, and in the same cases as
    /// [`Store::append_records`].
    pub fn end_approval(
        &mut self,
        id: &str,
        end: ApprovalState,
        at: u64,
        records: Vec<NewRecord>,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        self.write(|writer| {
            let Some(row) = writer.approval(id)? else { return Ok(None) };
            let from = match end {
                ApprovalState::Changed => ApprovalState::Allowed,
                _ => ApprovalState::Waiting,
            };
            if row.state != from {
                return Ok(Some(row));
            }
            let words = row.reason.clone();
            writer.put_approval(row, end, at, &words, records).map(Some)
        })
    }
}

impl Writer<'_> {
    fn approval(&self, id: &str) -> Result<Option<ApprovalRecord>, StoreError> {
        find(&self.transaction, self.keys, self.path, id)
    }

    fn put_approval(
        &self,
        row: ApprovalRecord,
        state: ApprovalState,
        at: u64,
        reason: &str,
        records: Vec<NewRecord>,
    ) -> Result<ApprovalRecord, StoreError> {
        let ended_at = (state != ApprovalState::Waiting).then_some(at);
        let row = ApprovalRecord { state, ended_at, reason: reason.to_owned(), ..row };
        let sql = "INSERT OR REPLACE INTO approvals (id, session, digest, asked_at, expires_at, \
             document, state, ended_at, reason, seal) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        row.stored_values(self.keys)
            .and_then(|values| self.transaction.execute(sql, params_from_iter(values)))
            .map_err(|error| self.named(&error))?;
        self.append(Some(&row.asked.session), None, records)?;
        Ok(row)
    }

    /// Uses a person's permission up; returns false if there is none for this session.
    pub(crate) fn use_approval(
        &self,
        session: &str,
        id: &str,
        records: &[NewRecord],
    ) -> Result<bool, StoreError> {
        let at = records.iter().map(|record| record.at).max().unwrap_or_default();
        let allowed = |row: &ApprovalRecord| {
            row.state == ApprovalState::Allowed && row.asked.session == session
        };
        let Some(row) = self.approval(id)?.filter(allowed) else { return Ok(false) };
        let words = row.reason.clone();
        self.put_approval(row, ApprovalState::Used, at, &words, Vec::new())?;
        Ok(true)
    }

    /// Removes those that were asked about before a time, and those that are not genuine.
    pub(crate) fn remove_approvals(&self, before: u64) -> Result<(), StoreError> {
        let remove = || -> rusqlite::Result<()> {
            let mut statement = self.transaction.prepare(SELECT)?;
            let mut rows = statement.query([])?;
            let mut old = Vec::new();
            while let Some(row) = rows.next()? {
                if read(row, self.keys)?.is_none_or(|found| found.asked.asked_at < before) {
                    old.push(row.get::<_, i64>(10)?);
                }
            }
            for row in old {
                self.transaction.execute("DELETE FROM approvals WHERE rowid = ?1", [row])?;
            }
            Ok(())
        };
        remove().map_err(|error| self.named(&error))
    }
}

fn find(
    connection: &Connection,
    keys: &Keys,
    path: &Path,
    id: &str,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let found = connection
        .query_row(&format!("{SELECT} WHERE id = ?1"), [id], |row| read(row, keys))
        .optional()
        .map_err(|error| StoreError::database(path, &error))?;
    match found {
        None => Ok(None),
        Some(Some(genuine)) => Ok(Some(genuine)),
        Some(None) => Err(StoreError::ForgedApproval { path: path.to_owned(), id: id.to_owned() }),
    }
}

fn list_waiting(
    connection: &Connection,
    keys: &Keys,
    now: u64,
) -> rusqlite::Result<Vec<ApprovalRecord>> {
    let waiting = "state = 'waiting' AND expires_at > ?1";
    Ok(list(connection, keys, waiting, params![time(now)])?.genuine)
}

/// Reads the rows of a condition, the newest first.
fn list(
    connection: &Connection,
    keys: &Keys,
    condition: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<ApprovalList> {
    let query = format!("{SELECT} WHERE {condition} ORDER BY asked_at DESC, id");
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query(values)?;
    let mut all = ApprovalList::default();
    while let Some(row) = rows.next()? {
        match read(row, keys)? {
            Some(genuine) => all.genuine.push(genuine),
            None => {
                let id = row.get_ref(0)?.as_bytes_or_null()?.unwrap_or_default();
                all.forged.push(String::from_utf8_lossy(id).into_owned());
            }
        }
    }
    Ok(all)
}

/// Reads a row, and checks the seal before it uses any value; none if the seal is wrong.
fn read(row: &Row<'_>, keys: &Keys) -> rusqlite::Result<Option<ApprovalRecord>> {
    let seal: Vec<u8> = row.get(9)?;
    let mut values = read_values(row, 0..9)?;
    let id = match values.first() {
        Some(Value::Text(id)) => id.clone(),
        _ => return Ok(None),
    };
    let is_opened = keys.open_value(&[APPROVALS, &id], values.get_mut(DOCUMENT))?
        && keys.open_value(&[REASONS, &id], values.get_mut(REASON))?;
    if !is_opened || !Seal::over(&keys.approval, values.iter().map(Into::into)).is(&seal) {
        return Ok(None);
    }
    let mut text = |column: usize| match values.get_mut(column) {
        Some(Value::Text(text)) => std::mem::take(text),
        _ => String::new(),
    };
    let asked = StoredApproval {
        id: row.get(0)?,
        session: row.get(1)?,
        digest: row.get(2)?,
        asked_at: row.get(3)?,
        expires_at: row.get(4)?,
        document: text(DOCUMENT),
    };
    let Some(state) = ApprovalState::from_str(&row.get::<_, String>(6)?) else { return Ok(None) };
    let (ended_at, reason) = (row.get(7)?, text(REASON));
    Ok(Some(ApprovalRecord { asked, state, ended_at, reason }))
}

fn check_new(asked: &StoredApproval) -> Result<(), StoreError> {
    let reason = if asked.id.is_empty() {
        "it needs an id"
    } else if asked.digest.is_empty() {
        "it needs the digest of its action"
    } else if asked.document.len() > MOST_DOCUMENT {
        LONG_DOCUMENT
    } else {
        return Ok(());
    };
    Err(StoreError::BadApproval { id: asked.id.clone(), reason })
}

impl ApprovalState {
    const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Allowed,
        Self::Used,
        Self::Denied,
        Self::Expired,
        Self::Withdrawn,
        Self::Changed,
    ];

    /// Returns `waiting`, `allowed`, `used`, `denied`, `expired`, `withdrawn` or `changed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Allowed => "allowed",
            Self::Used => "used",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Changed => "changed",
        }
    }

    fn from_str(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl ApprovalRecord {
    fn with_document(self, document: String) -> Self {
        Self { asked: StoredApproval { document, ..self.asked }, ..self }
    }

    /// Returns true if an answer at that time (milliseconds since 1970) is in time.
    #[must_use]
    pub const fn is_waiting(&self, now: u64) -> bool {
        matches!(self.state, ApprovalState::Waiting) && now < self.asked.expires_at
    }

    /// Returns its state at a time (milliseconds since 1970): one whose time is over has expired,
    /// even if the process that waited did not live to write it.
    #[must_use]
    pub const fn state_at(&self, now: u64) -> ApprovalState {
        match self.state {
            ApprovalState::Waiting if now >= self.asked.expires_at => ApprovalState::Expired,
            state => state,
        }
    }

    /// Returns the columns with their texts encrypted, and the seal of what they were before.
    fn stored_values(&self, keys: &Keys) -> rusqlite::Result<Vec<Value>> {
        let mut values = self.sealed(keys);
        let StoredApproval { id, asked_at, document, .. } = &self.asked;
        for (column, table, text) in
            [(DOCUMENT, APPROVALS, document), (REASON, REASONS, &self.reason)]
        {
            if let Some(value) = values.get_mut(column) {
                *value = Value::Text(keys.seal_text(*asked_at, &[table, id], text)?);
            }
        }
        Ok(values)
    }

    /// Returns the columns and their seal.
    fn sealed(&self, keys: &Keys) -> Vec<Value> {
        let StoredApproval { id, session, digest, asked_at, expires_at, document } = &self.asked;
        let mut values = vec![
            Value::Text(id.clone()),
            Value::Text(session.clone()),
            Value::Text(digest.clone()),
            Value::Integer(time(*asked_at)),
            Value::Integer(time(*expires_at)),
            Value::Text(document.clone()),
            Value::Text(self.state.as_str().to_owned()),
            self.ended_at.map_or(Value::Null, |at| Value::Integer(time(at))),
            Value::Text(self.reason.clone()),
        ];
        let seal = Seal::over(&keys.approval, values.iter().map(Into::into)).finish();
        values.push(Value::Blob(seal.to_vec()));
        values
    }
}

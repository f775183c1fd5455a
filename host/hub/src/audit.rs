//! The audit of the hub's own people: one entry for each act, chained as a journal is.
//!
//! An entry is written in the transaction of the act that it names, so neither is there without the
//! other. Its hash is the journal's own (`portcullis_store::hash_record`), and the hub's receipt key
//! seals each hash: somebody with the database alone can remove the newest entries, which a head
//! that was kept elsewhere shows, and can change or insert none.

use crate::database::Database;
use crate::failure::Failure;
use deadpool_postgres::Transaction;
use portcullis_bundle::SecretKey;
use portcullis_core::text::one_line;
use portcullis_store::{Hash, hash_record};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_postgres::Row;

/// The beginning of the sealed bytes: no other signature of the key can pass for a seal.
const DOMAIN: &[u8] = b"portcullis hub audit v1\n";
/// The layout of a document.
const LAYOUT: u8 = 1;
/// The most bytes of a text in an entry.
const MOST_TEXT: usize = 500;
/// The entries that a verification reads at once.
const PAGE: i64 = 1000;

/// The ways in which people act on a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A command on a machine that has the hub's folder.
    Command,
    /// The hub's pages.
    Page,
}

/// A person who acts, and the way in which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The person's name; for a failed sign-in, empty.
    pub name: String,
    /// The way.
    pub channel: Channel,
}

/// The acts that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// A person was added.
    AddUser,
    /// A person got another role.
    ChangeRole,
    /// A link to sign in was made for a person.
    MakeLink,
    /// A person was removed.
    RemoveUser,
    /// A person's browsers were signed out by somebody else.
    EndSessions,
    /// A person signed in.
    SignIn,
    /// Somebody could not sign in.
    RefuseSignIn,
    /// A person signed out.
    SignOut,
    /// A form was not carried out: its sender's role is too small, or it was not one of the page.
    RefuseForm,
    /// A join token was made.
    CreateToken,
    /// A machine was revoked.
    RevokeMachine,
    /// An incident was settled.
    SettleIncident,
    /// Orders were published.
    PublishOrders,
    /// The share of a version was changed.
    ChangeShare,
    /// A rollout was paused.
    PauseRollout,
    /// A rollout was let go on.
    ResumeRollout,
    /// A person enrolled a passkey.
    AddPasskey,
    /// A person removed a passkey.
    RemovePasskey,
    /// An approver answered a machine's question on the page.
    AnswerQuestion,
    /// An answer to a machine's question was not taken.
    RefuseAnswer,
    /// A person may not sign in for the time being.
    DisableUser,
    /// A person may sign in again.
    EnableUser,
    /// A person said of a review that it was wrong, or right.
    MarkReview,
    /// A person called a finding about the fleet harmless.
    MarkFinding,
    /// A person wants a finding about the fleet listed again.
    UnmarkFinding,
    /// A person proposed a change of the configuration.
    ProposeRule,
    /// A proposal was taken back.
    WithdrawProposal,
    /// The records of some days were written to files.
    ExportRecords,
}

impl Act {
    /// Returns its name, for people and in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AddUser => "add-user",
            Self::ChangeRole => "change-role",
            Self::MakeLink => "make-link",
            Self::RemoveUser => "remove-user",
            Self::EndSessions => "end-sessions",
            Self::SignIn => "sign-in",
            Self::RefuseSignIn => "refuse-sign-in",
            Self::SignOut => "sign-out",
            Self::RefuseForm => "refuse-form",
            Self::CreateToken => "create-token",
            Self::RevokeMachine => "revoke-machine",
            Self::SettleIncident => "settle-incident",
            Self::PublishOrders => "publish-orders",
            Self::ChangeShare => "change-share",
            Self::PauseRollout => "pause-rollout",
            Self::ResumeRollout => "resume-rollout",
            Self::AddPasskey => "add-passkey",
            Self::RemovePasskey => "remove-passkey",
            Self::AnswerQuestion => "answer-question",
            Self::RefuseAnswer => "refuse-answer",
            Self::DisableUser => "disable-user",
            Self::EnableUser => "enable-user",
            Self::MarkReview => "mark-review",
            Self::MarkFinding => "mark-finding",
            Self::UnmarkFinding => "unmark-finding",
            Self::ProposeRule => "propose-rule",
            Self::WithdrawProposal => "withdraw-proposal",
            Self::ExportRecords => "export-records",
        }
    }
}

/// An entry as the chain covers it, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditDocument {
    /// The layout.
    pub version: u8,
    /// The time by the database's clock, in milliseconds since 1970.
    pub at: u64,
    /// The person; empty if nobody is known.
    pub by: String,
    /// The way in which the person acted.
    pub channel: Channel,
    /// The act.
    pub act: Act,
    /// The thing that it is about: a person, a machine, an incident, a group.
    pub subject: String,
    /// Named values.
    #[serde(skip_serializing_if = "Map::is_empty", default)]
    pub details: Map<String, Value>,
}

/// An act before it is recorded.
#[derive(Clone, Debug)]
pub struct NewEntry {
    act: Act,
    subject: String,
    details: Map<String, Value>,
}

/// An entry as it is stored.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// Its place in the chain, from 1 on.
    pub sequence: u64,
    /// The hash of the entry before it.
    pub previous: Hash,
    /// Its hash.
    pub hash: Hash,
    seal: Vec<u8>,
    text: String,
}

/// The first entry that does not fit, or none, and how far the chain holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditVerification {
    /// The entries before the first one that does not fit.
    pub entries: u64,
    /// The hash of the newest of them; zeros if there is none.
    pub head: Hash,
    /// The first place that is wrong, and why.
    pub first_bad: Option<(u64, &'static str)>,
}

/// The key that seals entries.
pub struct AuditLog {
    key: SecretKey,
}

impl NewEntry {
    /// Names an act and its subject.
    pub fn of_act(act: Act, subject: &str) -> Self {
        Self { act, subject: one_line(subject, MOST_TEXT), details: Map::new() }
    }

    /// Adds a named value; texts are cut.
    #[must_use]
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(one_line(&text, MOST_TEXT)),
            other => other,
        };
        self.details.insert(name.to_owned(), value);
        self
    }
}

impl StoredEntry {
    /// Returns the document; `None` if somebody has damaged it.
    pub fn parse_document(&self) -> Option<AuditDocument> {
        serde_json::from_str(&self.text).ok()
    }

    fn of_row(row: &Row) -> Result<Self, Failure> {
        let damaged = || Failure::internal("the database holds an entry of the audit that is none");
        let hash = |bytes: Vec<u8>| Hash::try_from(bytes).map_err(|_| damaged());
        Ok(Self {
            sequence: u64::try_from(row.get::<_, i64>(0)).map_err(|_| damaged())?,
            previous: hash(row.get(1))?,
            hash: hash(row.get(2))?,
            seal: row.get(3),
            text: row.get(4),
        })
    }
}

impl AuditLog {
    /// Creates the log of a hub with this receipt key.
    pub const fn of_key(key: SecretKey) -> Self {
        Self { key }
    }

    /// Records an act of a person; it counts when the transaction is committed.
    pub async fn append_entry(
        &self,
        transaction: &Transaction<'_>,
        by: &Actor,
        entry: NewEntry,
    ) -> Result<(), Failure> {
        let head = "SELECT sequence, hash, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
                    FROM audit_head FOR UPDATE";
        let row = transaction.query_one(head, &[]).await?;
        let (newest, previous): (i64, Vec<u8>) = (row.get(0), row.get(1));
        let damaged = || Failure::internal("the head of the audit is damaged");
        let previous = Hash::try_from(previous).map_err(|_| damaged())?;
        let sequence = newest.checked_add(1).ok_or_else(damaged)?;
        let document = AuditDocument {
            version: LAYOUT,
            at: u64::try_from(row.get::<_, i64>(2)).unwrap_or(0),
            by: one_line(&by.name, MOST_TEXT),
            channel: by.channel,
            act: entry.act,
            subject: entry.subject,
            details: entry.details,
        };
        let text = serde_json::to_string(&document).map_err(Failure::internal)?;
        let place = u64::try_from(sequence).map_err(|_| damaged())?;
        let hash = hash_record(&previous, place, text.as_bytes(), None);
        let seal = self.key.sign_bytes(&sealed_bytes(place, &hash));
        transaction
            .execute(
                "INSERT INTO audit (sequence, previous, hash, seal, document) \
                 VALUES ($1, $2, $3, $4, $5)",
                &[&sequence, &previous.as_slice(), &hash.as_slice(), &seal, &text],
            )
            .await?;
        transaction
            .execute("UPDATE audit_head SET sequence = $1, hash = $2", &[&sequence, &&hash[..]])
            .await?;
        Ok(())
    }

    /// Records an act that changed nothing else, such as a sign-in that was refused.
    pub async fn record_act(
        &self,
        database: &Database,
        by: &Actor,
        entry: NewEntry,
    ) -> Result<(), Failure> {
        let mut client = database.connect().await?;
        let transaction = client.transaction().await?;
        self.append_entry(&transaction, by, entry).await?;
        Ok(transaction.commit().await?)
    }

    /// Follows the whole chain: places, hashes, seals, and the head that the database names.
    pub async fn verify_chain(&self, database: &Database) -> Result<AuditVerification, Failure> {
        let mut client = database.connect().await?;
        // Entries that come meanwhile are not seen half.
        let transaction = client
            .build_transaction()
            .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        let mut found = AuditVerification { entries: 0, head: Hash::default(), first_bad: None };
        loop {
            let after = i64::try_from(found.entries).unwrap_or(i64::MAX);
            let page = read_page(&transaction, after).await?;
            if page.is_empty() {
                break;
            }
            for entry in &page {
                if let Some(flaw) = self.find_flaw(&found, entry) {
                    found.first_bad = Some((found.entries.saturating_add(1), flaw));
                    return Ok(found);
                }
                (found.entries, found.head) = (entry.sequence, entry.hash);
            }
        }
        let head = transaction.query_one("SELECT sequence, hash FROM audit_head", &[]).await?;
        let (sequence, hash): (i64, Vec<u8>) = (head.get(0), head.get(1));
        if u64::try_from(sequence) != Ok(found.entries) || hash != found.head {
            let place = found.entries.saturating_add(1);
            found.first_bad = Some((place, "the newest entry is not the one that the head names"));
        }
        Ok(found)
    }

    fn find_flaw(&self, found: &AuditVerification, entry: &StoredEntry) -> Option<&'static str> {
        if entry.sequence != found.entries.saturating_add(1) {
            return Some("an entry is missing");
        }
        if entry.previous != found.head {
            return Some("it does not follow the entry before it");
        }
        if hash_record(&entry.previous, entry.sequence, entry.text.as_bytes(), None) != entry.hash {
            return Some("it does not have the hash of its document");
        }
        let sealed = sealed_bytes(entry.sequence, &entry.hash);
        if !self.key.public().has_signed(&sealed, &entry.seal) {
            return Some("it is not sealed with the hub's receipt key");
        }
        entry.parse_document().is_none().then_some("its document is not understood")
    }
}

/// Returns the newest entries, the newest first, before a place if one is named.
pub async fn list_entries(
    database: &Database,
    before: Option<u64>,
    most: u32,
) -> Result<Vec<StoredEntry>, Failure> {
    let client = database.connect().await?;
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let rows = client
        .query(
            "SELECT sequence, previous, hash, seal, document FROM audit WHERE sequence < $1 \
             ORDER BY sequence DESC LIMIT $2",
            &[&before, &i64::from(most)],
        )
        .await?;
    rows.iter().map(StoredEntry::of_row).collect()
}

/// Returns the hash of the entry at a place; `None` if there is none.
pub async fn find_hash(database: &Database, sequence: u64) -> Result<Option<Hash>, Failure> {
    let Ok(sequence) = i64::try_from(sequence) else { return Ok(None) };
    let client = database.connect().await?;
    let found =
        client.query_opt("SELECT hash FROM audit WHERE sequence = $1", &[&sequence]).await?;
    Ok(found.and_then(|row| Hash::try_from(row.get::<_, Vec<u8>>(0)).ok()))
}

/// Describes the named values of an entry in one line.
pub fn describe_details(details: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}: {}", one_line(&value, 500))
    };
    details.iter().map(one).collect::<Vec<_>>().join(", ")
}

async fn read_page(transaction: &Transaction<'_>, after: i64) -> Result<Vec<StoredEntry>, Failure> {
    let rows = transaction
        .query(
            "SELECT sequence, previous, hash, seal, document FROM audit WHERE sequence > $1 \
             ORDER BY sequence LIMIT $2",
            &[&after, &PAGE],
        )
        .await?;
    rows.iter().map(StoredEntry::of_row).collect()
}

fn sealed_bytes(sequence: u64, hash: &Hash) -> Vec<u8> {
    [DOMAIN, &sequence.to_be_bytes(), hash].concat()
}

//! The messages between a machine and the hub: JSON over HTTPS, both sides with a certificate of
//! the hub's own authority.
//!
//! | request | certificate | body | answer |
//! |---|---|---|---|
//! | `GET /v1/authority` | none | none | [`Authority`] |
//! | `POST /v1/join` | none | [`JoinRequest`] | [`Admission`] |
//! | `POST /v1/renew` | the machine's | [`RenewRequest`] | [`Admission`] |
//! | `POST /v1/records` | the machine's | [`Batch`] | [`Acceptance`] |
//! | `GET /v1/heads` | the machine's | none | [`KnownHeads`] |
//! | `POST /v1/orders` | the machine's | [`OrdersRequest`] | [`OrdersAnswer`] |
//! | `POST /v1/protection` | the machine's | [`ProtectionReport`] | `{}` |
//! | `POST /v1/approvals` | the machine's | [`ApprovalsRequest`] | [`ApprovalsAnswer`] |
//! | `POST /v1/approver/questions` | none | [`ApproverSigned`]: a request | [`ApproverQuestions`] |
//! | `POST /v1/approver/answers` | none | [`ApproverSigned`]: an answer | [`AnswerReceipt`] |
//! | `POST /v1/leave` | the machine's | none | [`Farewell`] |
//! | `GET /health` | none | none | `{}` |
//!
//! Every other answer is a [`Refusal`] with a status that is not 200. Both sides refuse unknown
//! fields, another [`VERSION`] and bodies beyond [`MOST_BODY`]: a field that one side does not
//! understand may be the one that matters.
//!
//! A batch states the hash of each record and that of the one before it, so the hub can follow the
//! chain over all of them. Where the document comes as it was recorded ([`SentRecord::exact`]), the
//! hub also recomputes its hash.

use crate::approvals::ApproverSigned;
use crate::hex_digits;
use crate::orders::SignedOrders;
use crate::receipt::SignedReceipt;
use portcullis_bundle::KeyId;
use portcullis_store::{Hash, RecordProof, to_hex};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The version of all messages.
pub const VERSION: u32 = 1;
/// The most records of a batch.
pub const MOST_RECORDS: usize = 500;
/// The size of a batch's records from which no further one is added, in bytes of JSON.
pub const BATCH_BYTES: usize = 1 << 20;
/// The most bytes of a document that is sent; a larger one is left out, and counted.
pub const MOST_DOCUMENT: usize = 1 << 20;
/// The most bytes of a request or an answer. A batch that is nearly full still takes a record with
/// the largest document, each of whose bytes takes two in JSON.
pub const MOST_BODY: usize = 4 << 20;
/// The longest time for which the hub holds a request for orders.
pub const LONGEST_WAIT: Duration = Duration::from_secs(25);
/// The most actions that wait on one machine.
pub const MOST_QUESTIONS: usize = 64;
/// The most bytes of a column, such as a record's id or subject.
pub const MOST_TEXT: usize = 4 << 10;

/// The detail of what leaves a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentDetail {
    /// Documents as recorded, which are masked. The hub recomputes their hashes.
    #[default]
    Full,
    /// The summary in one line, verdict, risk, reasons, patterns and faults.
    Summary,
    /// Time, kind, session, tool and verdict, without any text of an action.
    Outline,
}

impl SentDetail {
    /// All levels, by their names in the configuration.
    pub const ALL: [(&'static str, Self); 3] =
        [("full", Self::Full), ("summary", Self::Summary), ("outline", Self::Outline)];

    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Summary => "summary",
            Self::Outline => "outline",
        }
    }

    /// Returns the level of that name.
    #[must_use]
    pub fn find_level(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, level)| level)
    }
}

/// A place in a journal's chain. Sequence 0 with a hash of zeros is the place before the first
/// record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The record's sequence.
    pub sequence: u64,
    /// The record's hash.
    #[serde(with = "hex_digits")]
    pub hash: Hash,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = to_hex(&self.hash);
        write!(f, "record {} ({})", self.sequence, digits.get(..12).unwrap_or_default())
    }
}

/// The certificate of the hub's authority. A machine believes it only if it has the digest in the
/// join token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// The certificate in PEM.
    pub certificate: String,
}

/// The request of a machine that has a join token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// [`VERSION`].
    pub version: u32,
    /// The secret of the token.
    pub secret: String,
    /// The machine's own name, for people; it proves nothing.
    pub name: String,
    /// The version of Portcullis on the machine.
    pub portcullis: String,
    /// The request for a certificate, in PEM. The hub takes nothing but the key from it.
    pub request: String,
}

impl fmt::Debug for JoinRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinRequest").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The request for the next certificate, before the current one ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// [`VERSION`].
    pub version: u32,
    /// The version of Portcullis on the machine.
    pub portcullis: String,
    /// The request for a certificate, in PEM.
    pub request: String,
}

/// The identity that the hub gives to a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// The machine's id, which the hub chose.
    pub machine: String,
    /// The labels of the token that it joined with.
    pub labels: Vec<(String, String)>,
    /// Its certificate in PEM.
    pub certificate: String,
    /// The time when the certificate was issued, in milliseconds since 1970.
    pub issued_at: u64,
    /// The time when it ends.
    pub expires_at: u64,
    /// The key that verifies the hub's receipts, in PEM.
    pub receipt_key: String,
}

/// Records of one journal in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// [`VERSION`].
    pub version: u32,
    /// The machine's id, which has to be the certificate's.
    pub machine: String,
    /// The journal's id, which the machine chose.
    pub journal: String,
    /// The version of Portcullis on the machine.
    pub portcullis: String,
    /// The place after which the machine's journal begins: retention has removed what was before.
    pub start: Position,
    /// The newest record of the machine's journal.
    pub head: Position,
    /// The detail that the machine sends.
    pub detail: SentDetail,
    /// The records; none if the machine only shows its head.
    pub records: Vec<SentRecord>,
}

/// A record on its way to the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentRecord {
    /// Its position in the journal.
    pub sequence: u64,
    /// The hash of the record before it.
    #[serde(with = "hex_digits")]
    pub previous: Hash,
    /// Its hash.
    #[serde(with = "hex_digits")]
    pub hash: Hash,
    /// Its id.
    pub id: String,
    /// Its time by the machine's clock, in milliseconds since 1970.
    pub at: u64,
    /// Its kind.
    pub kind: String,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The tool or the event.
    pub subject: String,
    /// The verdict of a review.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<String>,
    /// The document, as much of it as leaves the machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<String>,
    /// True if the document is the recorded one, byte for byte.
    pub exact: bool,
    /// What leads from an exact document to the hash, if the machine keeps the record encrypted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<SentProof>,
}

/// The proof of a record as the store defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentProof {
    /// The random bytes of its commitment.
    #[serde(with = "hex_digits")]
    pub salt: Hash,
    /// The hash of the ciphertext that the machine holds.
    #[serde(with = "hex_digits")]
    pub stored: Hash,
}

impl From<RecordProof> for SentProof {
    fn from(proof: RecordProof) -> Self {
        Self { salt: proof.salt, stored: proof.stored }
    }
}

impl From<SentProof> for RecordProof {
    fn from(proof: SentProof) -> Self {
        Self { salt: proof.salt, stored: proof.stored }
    }
}

/// The hub has the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// The newest record that is durable at the hub; the machine need not send anything up to it.
    pub accepted_through: u64,
    /// The hub's receipt for it; none as long as the hub has no record of this journal.
    pub receipt: Option<SignedReceipt>,
}

/// The journals of the asking machine that the hub knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHeads {
    /// Each journal's id with the newest record that the hub has of it, the newest journal first.
    pub heads: Vec<(String, Position)>,
}

/// The request for orders. The hub holds it until there are newer ones than the machine has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrdersRequest {
    /// [`VERSION`].
    pub version: u32,
    /// The newest version of orders that the machine has taken; 0 for none.
    pub seen: u64,
    /// The reason why it refuses those that it was offered last, if it does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
    /// The seconds for which the hub may hold the request, at most [`LONGEST_WAIT`].
    pub wait_seconds: u32,
    /// The orders that the machine tries, with what would have happened under them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<TrialReport>,
}

/// The results of a trial of orders: counts of the actions that were reviewed under them too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialReport {
    /// The version of the orders.
    pub version: u64,
    /// The actions.
    pub actions: u64,
    /// Those with a stricter verdict under the tried orders.
    pub stricter: u64,
    /// Those with a milder one.
    pub milder: u64,
    /// Those whose review under the tried orders had a fault.
    pub faults: u64,
}

/// The newest orders for the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrdersAnswer {
    /// The orders; none if there are no newer ones.
    pub orders: Option<SignedOrders>,
    /// The version that the machine should try; none ends a trial.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial: Option<u64>,
    /// The orders of that version, if the machine does not try them yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trial_orders: Option<SignedOrders>,
}

/// The most findings of a report.
pub const MOST_FINDINGS: usize = 32;
/// The most bytes of a text in a finding.
pub const MOST_FINDING_TEXT: usize = 500;

/// The findings of `portcullis doctor` on a machine. It is the machine's word, and proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectionReport {
    /// [`VERSION`].
    pub version: u32,
    /// The worst level of all findings, those that were left out included.
    pub worst: FindingLevel,
    /// The findings that are not in order, at most [`MOST_FINDINGS`], the worst first.
    pub findings: Vec<ReportedFinding>,
    /// The findings that were left out.
    pub omitted: u32,
}

/// A finding. Its texts are masked, and empty if the machine sends no texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedFinding {
    /// The subject of the check.
    pub check: String,
    /// The level.
    pub level: FindingLevel,
    /// The observation, in one line.
    pub what: String,
    /// The advice.
    pub fix: String,
}

/// The severity of a finding, as `portcullis doctor` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    /// Everything is as expected.
    Ok,
    /// An intentional choice.
    Note,
    /// The guard works, but something weakens it or will.
    Warning,
    /// The guard does not work.
    Problem,
}

impl FindingLevel {
    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    /// Returns the level of that name.
    #[must_use]
    pub fn find_level(name: &str) -> Option<Self> {
        [Self::Ok, Self::Note, Self::Warning, Self::Problem]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// All actions that wait on a machine for an approver. The hub holds the request until there is an
/// answer to one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsRequest {
    /// [`VERSION`].
    pub version: u32,
    /// The actions; one that is left out waits no longer.
    pub waiting: Vec<WaitingQuestion>,
    /// The seconds for which the hub may hold the request, at most [`LONGEST_WAIT`].
    pub wait_seconds: u32,
}

/// An action that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingQuestion {
    /// The id of the approval on the machine.
    pub question: String,
    /// The seconds for which it still waits.
    pub left_seconds: u32,
    /// The text of the question, which the hub needs once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The people who have allowed it, if more than one has to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub allowed_by: Vec<String>,
    /// The keys whose answers the machine has dealt with.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub answered: Vec<KeyId>,
}

/// The answers that the machine has not dealt with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsAnswer {
    /// The answers.
    pub answers: Vec<ApproverSigned>,
    /// The questions whose text the hub does not have.
    pub missing: Vec<String>,
}

/// The questions that wait for an approver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproverQuestions {
    /// The questions, the oldest first within each group.
    pub questions: Vec<OfferedQuestion>,
}

/// A question as the hub shows it to an approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedQuestion {
    /// The question's text. An answer is about exactly these bytes.
    pub text: String,
    /// The machine's own name; it proves nothing.
    pub machine_name: String,
    /// The machine's group.
    pub group: String,
    /// The roles that may answer by now.
    pub roles: Vec<String>,
    /// The people who have allowed it.
    pub allowed_by: Vec<String>,
    /// The seconds for which it still waits.
    pub left_seconds: u32,
}

/// The hub has an approver's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerReceipt {
    /// The machine that gets it.
    pub machine: String,
    /// The id of the approval.
    pub question: String,
}

/// The answer to a machine that leaves: its certificates count no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Farewell {
    /// The records of the machine that the hub keeps.
    pub records: u64,
}

/// The answer to a request that was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The sort of reason, for the machine.
    pub refused: RefusalKind,
    /// The reason in one line, for people.
    pub reason: String,
    /// The newest record that the hub has of the journal, where that matters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<Position>,
}

/// The sorts of reasons for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request is not understood, too large or of another version.
    Malformed,
    /// The token is unknown, used up or expired.
    Token,
    /// The request needs a certificate of a machine.
    Unidentified,
    /// The certificate is not, or no longer, that of a machine of this hub.
    Unknown,
    /// The machine was revoked.
    Revoked,
    /// The request names another machine than the certificate.
    Foreign,
    /// The records do not continue what the hub has: it raised an incident.
    Incident,
    /// The hub has too much to do, or its database does not answer: the request may come again.
    Busy,
    /// There is no such address.
    NotFound,
    /// The hub has a defect.
    Internal,
}

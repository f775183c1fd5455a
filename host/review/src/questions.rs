//! Questions about actions that wait for a person: what the person is shown, and the journal's
//! records of a question and of its end.

use portcullis_core::action::Timestamp;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{cut_text, one_line};
use portcullis_store::{AnswerEffect, ApprovalState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The subject of the records.
pub const SUBJECT: &str = "approval";
/// The key of the approval's id in a record's details.
const APPROVAL: &str = "approval";
/// The key of the state.
pub(crate) const ANSWER: &str = "answer";
/// The key of the reason for asking.
pub(crate) const WHY: &str = "why";
/// The key of the address of the page on which it can be answered.
pub(crate) const PAGE: &str = "page";
/// The most bytes of the action in a record's summary.
const MOST_ACTION: usize = 240;
/// The most bytes of a person's words.
const MOST_WORDS: usize = 1024;

/// An action that waits, as a person is shown it: the document of its row. Everything is masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedAction {
    /// The client, or the door, that the agent uses.
    pub client: String,
    /// The session.
    pub session: String,
    /// The subagent, if one acts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The id of the review that asks.
    pub review: String,
    /// The tool.
    pub tool: String,
    /// The action in one line.
    pub summary: String,
    /// All parameters, as JSON text.
    pub parameters: String,
    /// The folder that it would run in.
    pub cwd: String,
    /// The reasons for asking, the primary one first.
    pub reasons: Vec<String>,
    /// The lines that it would change; empty in older rows.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<AskedChange>,
    /// The number of people who have to allow it.
    #[serde(default = "one_person")]
    pub people: u8,
    /// The people who have allowed it, where more than one has to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub consents: Vec<Consent>,
}

/// A person's consent to an action that another one has to allow, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The name under which they prove who they are.
    pub name: String,
    /// Milliseconds since 1970.
    pub at: Timestamp,
}

const fn one_person() -> u8 {
    1
}

impl AskedAction {
    /// Returns true if as many people as have to have allowed it. One alone leaves no consent.
    #[must_use]
    pub fn is_agreed(&self) -> bool {
        let mut names: Vec<&str> = self.consents.iter().map(|who| who.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        self.people < 2 || names.len() >= usize::from(self.people)
    }
}

/// One thing that an action would change, masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedChange {
    /// What would happen, and where: `changes src/main.rs`.
    pub what: String,
    /// The lines that would change, as `diff -u` prints them; none where they are not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diff: Option<String>,
}

/// Returns an action's parameters by name, each as text.
#[must_use]
pub fn list_parameters(json: &str) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    match serde_json::from_str(json) {
        Ok(Value::Object(members)) => {
            members.into_iter().map(|(name, value)| (name, text(value))).collect()
        }
        _ => vec![("parameters".to_owned(), json.to_owned())],
    }
}

/// Returns the record of a person's answer. `lasts` says that it counts for the rest of the session,
/// `by` who it was, and how that is known.
pub(crate) fn answer_record(
    id: &str,
    asked: &AskedAction,
    effect: AnswerEffect,
    lasts: bool,
    words: &str,
    by: &str,
    at: Timestamp,
) -> Record {
    let (state, what) = match (effect, lasts) {
        (AnswerEffect::Denies, _) => (ApprovalState::Denied, "a person denied this"),
        (AnswerEffect::Allows, false) => (ApprovalState::Allowed, "a person allowed this once"),
        (AnswerEffect::Allows, true) => {
            (ApprovalState::Allowed, "a person allowed this in its session")
        }
        (AnswerEffect::IsNoted, _) => {
            (ApprovalState::Waiting, "a person allowed this, and another one has to")
        }
    };
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    let seed = format!("{}\0{}", state.as_str(), asked.consents.len());
    let mut record = record(id, asked, state, &format!("{what}{said}"), at, &seed);
    // A record that says `waiting` announces a new question.
    if effect == AnswerEffect::IsNoted {
        record.details.insert(ANSWER.into(), "consent".into());
    }
    record.details.insert("by".into(), by.into());
    if !words.is_empty() {
        record.details.insert("reason".into(), cut_text(words, MOST_WORDS).into());
    }
    record
}

/// Returns the record of a question, or of its end without an answer. `seconds` is how long it
/// waits, or waited.
pub(crate) fn question_record(
    id: &str,
    asked: &AskedAction,
    state: ApprovalState,
    seconds: u64,
    at: Timestamp,
) -> Record {
    let what = match state {
        ApprovalState::Waiting => format!("waits up to {seconds} s for a person"),
        ApprovalState::Expired => format!("no person answered within {seconds} s"),
        ApprovalState::Withdrawn => "the agent's client gave it up before an answer".to_owned(),
        _ => "a person allowed it, but by then it would have done something else".to_owned(),
    };
    let mut record = record(id, asked, state, &what, at, state.as_str());
    if let (ApprovalState::Waiting, Some(why)) = (state, asked.reasons.first()) {
        record.details.insert(WHY.into(), one_line(why, MOST_WORDS).into());
    }
    record
}

/// Returns the approval that a record announces.
pub(crate) fn waiting_id(record: &Record) -> Option<&str> {
    let detail = |key: &str| record.details.get(key)?.as_str();
    let waits = record.subject == SUBJECT && detail(ANSWER)? == ApprovalState::Waiting.as_str();
    detail(APPROVAL).filter(|_| waits)
}

fn record(
    id: &str,
    asked: &AskedAction,
    state: ApprovalState,
    what: &str,
    at: Timestamp,
    seed: &str,
) -> Record {
    let shown = one_line(&asked.summary, MOST_ACTION);
    let seed = format!("{id}\0{seed}");
    let summary = format!("{what} ({shown})");
    let mut record = Record::outside_session(RecordKind::Exception, SUBJECT, &summary, at, &seed);
    record.client.clone_from(&asked.client);
    record.session.clone_from(&asked.session);
    record.agent.clone_from(&asked.agent);
    record.details.insert(APPROVAL.into(), id.into());
    record.details.insert("review".into(), asked.review.clone().into());
    record.details.insert(ANSWER.into(), state.as_str().into());
    record
}

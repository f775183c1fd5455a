//! A person's answer to an action that waits: the same from a terminal and from the page.

use crate::questions::{AskedAction, Consent, answer_record};
use crate::stored_records::to_store;
use anyhow::{Context, Result, bail};
use portcullis_core::action::Timestamp;
use portcullis_core::exceptions::{Exception, ExceptionScope};
use portcullis_core::record::Record;
use portcullis_core::text::one_line;
use portcullis_store::{
    AnswerEffect, ApprovalAnswer, ApprovalRecord, DocumentChange, Store, StoredException,
};

/// The most bytes of a person's words.
pub const MOST_WORDS: usize = 512;
/// The time for which an action stays allowed in its session, in milliseconds: that of
/// `portcullis allow --session`.
pub const SESSION_LIFE: u64 = 8 * 60 * 60 * 1000;

/// The decision of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonDecision {
    /// It does not run.
    Deny,
    /// It runs now.
    AllowOnce,
    /// It runs now, and the same action runs without a question in the rest of its session.
    AllowInSession,
}

/// The person who answers.
#[derive(Clone, Copy, Debug)]
pub struct Answerer<'a> {
    /// Their name; `None` if one person cannot be told from another.
    pub name: Option<&'a str>,
    /// The words for the record, such as `a person at a terminal`.
    pub described: &'a str,
}

/// A person's answer.
#[derive(Clone, Copy, Debug)]
pub struct PersonAnswer<'a> {
    /// Their decision.
    pub decision: PersonDecision,
    /// Their words to the agent; may be empty.
    pub words: &'a str,
    /// The person.
    pub by: Answerer<'a>,
    /// Milliseconds since 1970.
    pub at: Timestamp,
}

/// The result of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// The action runs, unless more speaks against it by now.
    Allowed,
    /// The action does not run.
    Denied,
    /// Another person has to allow it, too.
    NeedsAnother,
    /// It does not count: two people have to allow this, and nobody knows who this one is.
    NeedsName,
    /// It does not count: the same person has allowed it already.
    SamePerson,
    /// Nothing waits for it any more.
    TooLate,
}

/// Writes a person's answer to the action that they were shown.
///
/// # Errors
/// Fails if the action cannot be allowed in its session, the row is another one than was shown, or
/// the journal cannot be written. Nothing is written then.
pub fn give_answer(
    store: &mut Store,
    row: &ApprovalRecord,
    answer: &PersonAnswer<'_>,
) -> Result<AnswerResult> {
    let mut asked = read_asked(row)?;
    let words = one_line(answer.words, MOST_WORDS);
    let allows = answer.decision != PersonDecision::Deny;
    let mut document = None;
    if allows && asked.people > 1 {
        let Some(name) = answer.by.name else { return Ok(AnswerResult::NeedsName) };
        if asked.consents.iter().any(|consent| consent.name == name) {
            return Ok(AnswerResult::SamePerson);
        }
        asked.consents.push(Consent { name: name.to_owned(), at: answer.at });
        let to = serde_json::to_string(&asked).context("the approval cannot be written")?;
        document = Some(DocumentChange { from: row.asked.document.clone(), to });
    }
    let (effect, result) = match (allows, asked.is_agreed()) {
        (false, _) => (AnswerEffect::Denies, AnswerResult::Denied),
        (true, true) => (AnswerEffect::Allows, AnswerResult::Allowed),
        (true, false) => (AnswerEffect::IsNoted, AnswerResult::NeedsAnother),
    };
    // What two people agreed on is one run: none of them alone makes more of it.
    let exception = match (answer.decision, effect) {
        (PersonDecision::AllowInSession, AnswerEffect::Allows) if asked.people < 2 => {
            Some(except_in_session(store, row, &asked, &words, answer.at)?)
        }
        _ => None,
    };
    let lasts = exception.is_some();
    let by = answer.by.described;
    let record = answer_record(&row.asked.id, &asked, effect, lasts, &words, by, answer.at);
    let stored = ApprovalAnswer { effect, at: answer.at, reason: words, document, exception };
    let is_given = store.answer_approval(
        &row.asked.id,
        &row.asked.digest,
        &stored,
        vec![to_store(&record)],
    )?;
    Ok(if is_given { result } else { AnswerResult::TooLate })
}

/// Reads what a person is shown.
///
/// # Errors
/// Fails if the document is damaged.
pub fn read_asked(row: &ApprovalRecord) -> Result<AskedAction> {
    serde_json::from_str(&row.asked.document)
        .with_context(|| format!("the approval {} cannot be read", one_line(&row.asked.id, 64)))
}

/// Makes the exception for the same action in the rest of its session.
fn except_in_session(
    store: &Store,
    row: &ApprovalRecord,
    asked: &AskedAction,
    words: &str,
    at: Timestamp,
) -> Result<StoredException> {
    let Some(review) = store.find_record(&asked.review)? else {
        bail!("the review `{}` is not in the journal: allow it once", one_line(&asked.review, 64));
    };
    let review: Record = serde_json::from_str(&review.record.document)
        .context("the review of the action cannot be read")?;
    let terms = ExceptionScope {
        // The store keeps approvals and exceptions apart, and the review tells them apart by id.
        id: format!("{}-session", row.asked.id),
        session: Some(asked.session.clone()),
        project: None,
        once: false,
        granted_at: at,
        expires_at: at.saturating_add(SESSION_LIFE),
        reason: words.to_owned(),
    };
    let exception = Exception::from_review(&review, terms).map_err(anyhow::Error::msg)?;
    Ok(StoredException {
        id: exception.id.clone(),
        session: exception.session.clone(),
        once: exception.once,
        granted_at: exception.granted_at,
        expires_at: exception.expires_at,
        document: serde_json::to_string(&exception).context("the exception cannot be written")?,
    })
}

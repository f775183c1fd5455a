//! Writes a person's answer to an action that waits.

use crate::site::Site;
use anyhow::{Context, Result};
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::questions::{AskedAction, answer_record};
use portcullis_review::reviewer::to_store;
use portcullis_store::{ApprovalAnswer, ApprovalRecord};
use serde::Deserialize;

/// The most bytes of a person's words.
const MOST_WORDS: usize = 512;

/// The form of an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct AnswerForm {
    pub(crate) token: String,
    pub(crate) id: String,
    /// The digest of the action that was shown.
    pub(crate) digest: String,
    pub(crate) answer: String,
    #[serde(default)]
    pub(crate) words: String,
    #[serde(default)]
    pub(crate) proof: String,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Allowed,
    Denied,
    /// Nothing waits for it any more.
    TooLate,
    /// The proof is missing or wrong.
    NotProved,
    /// Too many proofs were wrong.
    Closed,
}

/// Gives an answer. Denying needs no proof: it lets nothing run.
///
/// # Errors
/// Fails if the action is another one than was shown, or the journal cannot be written.
pub(crate) fn give_answer(site: &Site, form: &AnswerForm) -> Result<Answered> {
    let allowed = form.answer == "allow";
    let mut reading = site.open()?;
    let settings = site.proof_settings()?;
    if allowed {
        if site.is_closed() {
            return Ok(Answered::Closed);
        }
        if !site.prover.check(&settings, &form.proof, now_ms() / 1000)? {
            site.note_failure();
            return Ok(Answered::NotProved);
        }
    }
    let Some(row) = reading.store.find_approval(&form.id)? else { return Ok(Answered::TooLate) };
    let asked = read_asked(&row)?;
    let words = one_line(&form.words, MOST_WORDS);
    let at = now_ms();
    let by = if allowed { settings.described() } else { "a person on the page" };
    let record = answer_record(&form.id, &asked, allowed, &words, by, at);
    let answer = ApprovalAnswer { allowed, at, reason: words };
    let is_given =
        reading.store.answer_approval(&form.id, &form.digest, &answer, vec![to_store(&record)])?;
    Ok(match (is_given, allowed) {
        (false, _) => Answered::TooLate,
        (true, true) => Answered::Allowed,
        (true, false) => Answered::Denied,
    })
}

/// Reads what a person is shown.
///
/// # Errors
/// Fails if the document is damaged.
pub(crate) fn read_asked(row: &ApprovalRecord) -> Result<AskedAction> {
    serde_json::from_str(&row.asked.document)
        .with_context(|| format!("the approval {} cannot be read", row.asked.id))
}

//! Writes a person's answer to an action that waits.

use crate::site::{GivenProof, ProofCheck, ProvedForm, Site};
use anyhow::{Result, bail};
use portcullis_config::clock::now_ms;
use portcullis_core::text::one_line;
use portcullis_review::answers::{self, AnswerResult, Answerer, PersonAnswer, PersonDecision};
use portcullis_served::Role;
use serde::Deserialize;

/// The form of an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct AnswerForm {
    pub(crate) token: String,
    pub(crate) id: String,
    /// The digest of the action that was shown.
    pub(crate) digest: String,
    pub(crate) answer: FormAnswer,
    #[serde(default)]
    pub(crate) words: String,
    #[serde(flatten)]
    pub(crate) proof: GivenProof,
}

/// The button of the form.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormAnswer {
    Allow,
    AllowInSession,
    Deny,
}

impl ProvedForm for AnswerForm {
    const LEAST: Role = Role::Approver;

    fn token(&self) -> &str {
        &self.token
    }

    fn purpose(&self) -> String {
        format!("{:?} {} {}", self.answer, self.id, self.digest)
    }

    fn proof(&self) -> &GivenProof {
        &self.proof
    }
}

impl FormAnswer {
    const fn decision(self) -> PersonDecision {
        match self {
            Self::Allow => PersonDecision::AllowOnce,
            Self::AllowInSession => PersonDecision::AllowInSession,
            Self::Deny => PersonDecision::Deny,
        }
    }
}

/// The result of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// It was taken, or could not count.
    Settled(AnswerResult),
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
    let decision = form.answer.decision();
    let mut reading = site.open()?;
    let at = now_ms();
    let mut proved = None;
    if decision != PersonDecision::Deny {
        match site.check_proof(&reading.home, form)? {
            ProofCheck::Right(person) => proved = Some(person),
            ProofCheck::Wrong => return Ok(Answered::NotProved),
            ProofCheck::Closed => return Ok(Answered::Closed),
        }
    }
    let found = reading.store.find_approval(&form.id)?;
    let Some(row) = found else { return Ok(Answered::Settled(AnswerResult::TooLate)) };
    if row.asked.digest != form.digest {
        bail!("the approval `{}` is for another action than was shown", one_line(&form.id, 64));
    }
    let described = proved.as_ref().map_or("a person on the page", |who| &who.described);
    let by = Answerer { name: proved.as_ref().and_then(|who| who.name.as_deref()), described };
    let answer = PersonAnswer { decision, words: &form.words, by, at };
    answers::give_answer(&mut reading.store, &row, &answer).map(Answered::Settled)
}

//! Approvals from a hub: the question that a machine puts to the approvers of its fleet, and an
//! approver's signed answer.
//!
//! The approvers come in the signed orders, with their keys, so neither a hub nor its database can
//! add one. An answer names the machine, the question and the digest of the question's whole text, so
//! one to another text counts for nothing. What a person was shown is up to the program that showed
//! it: their own at a terminal, the hub's on its page. An approver signs with a key in a file, or with
//! a passkey on the hub's page; a machine verifies both.

mod passkey;
mod rules;

pub use passkey::{
    OrderedPasskey, PasskeyAssertion, PasskeyError, PasskeyPage, challenge_of, is_synced,
};
pub use rules::{ApprovalRules, Approver, ApproverKey, Escalation, RulesError};

use portcullis_bundle::{KeyError, KeyId, PublicKey, SecretKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of the signed bytes of an answer.
const ANSWER_DOMAIN: &[u8] = b"portcullis fleet approval v1\n";
/// The beginning of what the challenge of a passkey's answer is the digest of.
const PASSKEY_DOMAIN: &[u8] = b"portcullis fleet approval by passkey v1\n";
/// The beginning of the signed bytes of an approver's request to the hub.
const REQUEST_DOMAIN: &[u8] = b"portcullis fleet approver request v1\n";
/// The most bytes of a question.
pub const MOST_QUESTION: usize = 300 << 10;
/// The most bytes of a signed text of an approver.
const MOST_SIGNED: usize = 8 << 10;
/// The most bytes of an approver's words to the agent.
pub const MOST_WORDS: usize = 512;
/// The most time between the clocks of approver, hub and machine, in milliseconds.
pub const SKEW: u64 = 5 * 60 * 1000;

/// A question, as the machine words it once. Its text as JSON is what an answer is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetQuestion {
    /// The machine's id.
    pub machine: String,
    /// The id of the approval on the machine.
    pub question: String,
    /// The digest of the exact action.
    pub digest: String,
    /// The time when it was asked, by the machine's clock, in milliseconds since 1970.
    pub asked_at: u64,
    /// The time until which the action waits.
    pub expires_at: u64,
    /// The role that is asked first.
    pub role: String,
    /// The action, as a person on the machine is shown it; masked.
    pub asked: Value,
}

impl FleetQuestion {
    /// Returns its text.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Texts and numbers always become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a text.
    ///
    /// # Errors
    /// Fails if it is too large, or no question.
    pub fn parse_text(text: &str) -> Result<Self, String> {
        if text.len() > MOST_QUESTION {
            return Err(format!("a question has at most {MOST_QUESTION} bytes"));
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// Returns the digest of a question's text, which an answer names.
#[must_use]
pub fn digest_question(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// An approver's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetAnswer {
    /// The machine that asks.
    pub machine: String,
    /// The id of the approval.
    pub question: String,
    /// The digest of the question's text, as the approver was shown it.
    pub digest: String,
    /// True if the action may run, once.
    pub allows: bool,
    /// Their words to the agent; may be empty.
    pub words: String,
    /// The time, by the approver's clock, in milliseconds since 1970.
    pub at: u64,
}

impl FleetAnswer {
    /// Returns its text, whose bytes are signed.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Texts and numbers always become JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the challenge with which a passkey signs an answer of that text.
    #[must_use]
    pub fn challenge_of_text(text: &str) -> String {
        challenge_of(PASSKEY_DOMAIN, text)
    }
}

/// A text that an approver signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproverSigned {
    /// The text: its bytes are what is signed.
    pub text: String,
    /// The id of the key.
    pub key: KeyId,
    /// The signature in base64.
    pub signature: String,
    /// The rest of what a passkey's device signed; none for a key in a file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub passkey: Option<PasskeyAssertion>,
}

/// An approver's request for the questions that wait for them. The hub takes it only for a short
/// time, and from nobody whom no orders name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproverRequest {
    /// The hub's address, so that no other hub can use it.
    pub hub: String,
    /// The time, by the approver's clock, in milliseconds since 1970.
    pub at: u64,
}

/// The reasons why an answer does not count.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The key belongs to no approver.
    #[error("the key {0} is none of the approvers of this machine's orders")]
    Unlisted(KeyId),
    /// The signature is not that of the key.
    #[error("it is not signed with the key that it names")]
    Signature,
    /// The text is not understood.
    #[error("it is not understood: {0}")]
    Malformed(String),
    /// It is about something else.
    #[error("it is for another {0}")]
    Foreign(&'static str),
    /// The approver has none of the roles that may answer by now.
    #[error("`{name}` has none of the roles that may answer by now: {roles}")]
    Role {
        /// The approver.
        name: String,
        /// The roles.
        roles: String,
    },
    /// The time of the answer does not fit the question.
    #[error("it was given at another time than the question waits")]
    Time,
    /// A key cannot be read.
    #[error("the key cannot be used: {0}")]
    Key(#[from] KeyError),
    /// A passkey did not sign it.
    #[error(transparent)]
    Passkey(#[from] PasskeyError),
}

/// An answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAnswer {
    /// The approver's name.
    pub name: String,
    /// Their key.
    pub key: KeyId,
    /// The sort of the key, for people.
    pub key_sort: &'static str,
    /// The answer.
    pub answer: FleetAnswer,
}

impl ApproverSigned {
    /// Signs an answer.
    ///
    /// # Errors
    /// Fails if the key has no id.
    pub fn sign_answer(answer: &FleetAnswer, key: &SecretKey) -> Result<Self, KeyError> {
        Self::sign_text(ANSWER_DOMAIN, answer.to_text(), key)
    }

    /// Signs a request.
    ///
    /// # Errors
    /// Fails if the key has no id.
    pub fn sign_request(request: &ApproverRequest, key: &SecretKey) -> Result<Self, KeyError> {
        Self::sign_text(REQUEST_DOMAIN, serde_json::to_string(request).unwrap_or_default(), key)
    }

    fn sign_text(domain: &[u8], text: String, key: &SecretKey) -> Result<Self, KeyError> {
        let signature = key.sign_bytes(&[domain, text.as_bytes()].concat());
        let signature = data_encoding::BASE64.encode(&signature);
        Ok(Self { text, key: key.public().id()?, signature, passkey: None })
    }

    /// Returns the answer without checking who signed it.
    ///
    /// # Errors
    /// Fails if it is too large, or not understood.
    pub fn read_answer(&self) -> Result<FleetAnswer, AnswerError> {
        let answer: FleetAnswer = self.parse()?;
        if answer.words.len() > MOST_WORDS {
            return Err(AnswerError::Malformed("its words are too long".into()));
        }
        Ok(answer)
    }

    /// Returns the answer, if the holder of this key signed it.
    ///
    /// # Errors
    /// Fails like [`Self::read_answer`], and if the signature is another one.
    pub fn verify_answer(&self, key: &ApproverKey) -> Result<FleetAnswer, AnswerError> {
        match (key, &self.passkey) {
            (ApproverKey::File(key), None) => self.check_signature(ANSWER_DOMAIN, key)?,
            (ApproverKey::Passkey(passkey, page), Some(assertion)) => {
                self.check_size()?;
                let (signature, text) = (&self.signature, &self.text);
                passkey.verify_assertion(assertion, signature, page, PASSKEY_DOMAIN, text)?;
            }
            _ => return Err(AnswerError::Signature),
        }
        self.read_answer()
    }

    /// Returns the request, if the holder of this key signed it. Passkeys sign none.
    ///
    /// # Errors
    /// Fails if it is too large or not understood, and if the signature is another one.
    pub fn verify_request(&self, key: &ApproverKey) -> Result<ApproverRequest, AnswerError> {
        match key {
            ApproverKey::File(key) if self.passkey.is_none() => {
                self.check_signature(REQUEST_DOMAIN, key)?;
            }
            _ => return Err(AnswerError::Signature),
        }
        self.parse()
    }

    fn check_size(&self) -> Result<(), AnswerError> {
        if self.text.len() > MOST_SIGNED || self.signature.len() > 1024 {
            return Err(AnswerError::Malformed("it is too large".into()));
        }
        Ok(())
    }

    fn check_signature(&self, domain: &[u8], key: &PublicKey) -> Result<(), AnswerError> {
        self.check_size()?;
        let signature = data_encoding::BASE64
            .decode(self.signature.as_bytes())
            .map_err(|_| AnswerError::Signature)?;
        if key.has_signed(&[domain, self.text.as_bytes()].concat(), &signature) {
            Ok(())
        } else {
            Err(AnswerError::Signature)
        }
    }

    fn parse<T: for<'a> Deserialize<'a>>(&self) -> Result<T, AnswerError> {
        if self.text.len() > MOST_SIGNED {
            return Err(AnswerError::Malformed("it is too large".into()));
        }
        serde_json::from_str(&self.text).map_err(|error| AnswerError::Malformed(error.to_string()))
    }
}

/// Returns an answer to the question of that text if it counts at `now`, in milliseconds since 1970:
/// an approver of these rules signed exactly this, may answer by now, and did so while it waits.
///
/// # Errors
/// Fails with the reason for which it does not.
pub fn verify_answer(
    signed: &ApproverSigned,
    rules: &ApprovalRules,
    text: &str,
    now: u64,
) -> Result<VerifiedAnswer, AnswerError> {
    let question = FleetQuestion::parse_text(text).map_err(AnswerError::Malformed)?;
    let found = rules.find_approver(&signed.key);
    let (approver, key) = found.ok_or(AnswerError::Unlisted(signed.key))?;
    let answer = signed.verify_answer(&key)?;
    if answer.machine != question.machine {
        return Err(AnswerError::Foreign("machine"));
    }
    if answer.question != question.question {
        return Err(AnswerError::Foreign("question"));
    }
    if answer.digest != digest_question(text) {
        return Err(AnswerError::Foreign("action"));
    }
    let waited = now.saturating_sub(question.asked_at) / 1000;
    let roles: Vec<&str> = rules.list_roles(waited).collect();
    if !roles.iter().any(|role| approver.has_role(role)) {
        return Err(AnswerError::Role { name: approver.name.clone(), roles: roles.join(", ") });
    }
    let is_timely = now < question.expires_at
        && answer.at.saturating_add(SKEW) >= question.asked_at
        && answer.at <= now.saturating_add(SKEW);
    if !is_timely {
        return Err(AnswerError::Time);
    }
    let (name, key_sort) = (approver.name.clone(), key.as_str());
    Ok(VerifiedAnswer { name, key: signed.key, key_sort, answer })
}

#[cfg(test)]
mod tests;

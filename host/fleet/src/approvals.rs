//! Approvals from a hub: the question that a machine puts to the approvers of its fleet, and an
//! approver's signed answer.
//!
//! The approvers come in the signed orders, with their keys, so neither a hub nor its database can
//! add one. An answer names the machine, the question and the digest of the question's whole text:
//! whoever shows an approver another text gets a signature that counts for nothing.

use portcullis_bundle::{KeyError, KeyId, PublicKey, SecretKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The beginning of the signed bytes of an answer.
const ANSWER_DOMAIN: &[u8] = b"portcullis fleet approval v1\n";
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
/// The most approvers, and the most escalations.
const MOST_APPROVERS: usize = 200;
const MOST_ESCALATIONS: usize = 5;

/// The approvers of a group of machines: a part of its orders, as TOML.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRules {
    /// The role that is asked first.
    pub role: String,
    /// The approvers.
    #[serde(rename = "approver")]
    pub approvers: Vec<Approver>,
    /// The roles that may answer, too, after some time.
    #[serde(rename = "escalation", default)]
    pub escalations: Vec<Escalation>,
}

/// A person who may answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approver {
    /// Their name, which tells one person from another.
    pub name: String,
    /// Their public key, in PEM.
    pub key: String,
    /// Their roles.
    pub roles: Vec<String>,
}

/// A role that may answer, too, once nobody has for some time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    /// The seconds after the question.
    pub after_seconds: u64,
    /// The role.
    pub role: String,
}

/// The reasons why rules of approvals cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// It is not TOML of this form.
    #[error("it is not understood: {0}")]
    Malformed(String),
    /// Something contradicts the rest.
    #[error("{0}")]
    Inconsistent(String),
}

impl ApprovalRules {
    /// Parses rules.
    ///
    /// # Errors
    /// Fails if the text is not TOML of this form, if a name or a key is there twice, or if nobody
    /// has a role that is asked.
    pub fn parse_rules(text: &str) -> Result<Self, RulesError> {
        let rules: Self = toml::from_str(text)
            .map_err(|error| RulesError::Malformed(error.message().to_owned()))?;
        rules.check_rules().map_err(RulesError::Inconsistent)?;
        Ok(rules)
    }

    fn check_rules(&self) -> Result<(), String> {
        if self.approvers.len() > MOST_APPROVERS || self.escalations.len() > MOST_ESCALATIONS {
            return Err(format!(
                "there are at most {MOST_APPROVERS} approvers and {MOST_ESCALATIONS} escalations"
            ));
        }
        let mut keys = Vec::new();
        for approver in &self.approvers {
            let name = &approver.name;
            if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
                return Err("a name of an approver has 1 to 64 characters".into());
            }
            if self.approvers.iter().filter(|other| other.name == *name).count() > 1 {
                return Err(format!("two approvers have the name `{name}`"));
            }
            let id = PublicKey::from_pem(approver.key.trim()).and_then(|key| key.id());
            let id = id.map_err(|error| format!("the key of `{name}`: {error}"))?;
            if keys.contains(&id) {
                return Err(format!("the key of `{name}` is another approver's too"));
            }
            keys.push(id);
        }
        for role in self.list_roles(u64::MAX) {
            if !self.approvers.iter().any(|approver| approver.has_role(role)) {
                return Err(format!("no approver has the role `{role}`"));
            }
        }
        Ok(())
    }

    /// Returns the roles that may answer once a question has waited that long.
    pub fn list_roles(&self, waited_seconds: u64) -> impl Iterator<Item = &str> {
        let later =
            self.escalations.iter().filter(move |later| later.after_seconds <= waited_seconds);
        std::iter::once(self.role.as_str()).chain(later.map(|later| later.role.as_str()))
    }

    /// Returns the approver who has that key.
    #[must_use]
    pub fn find_approver(&self, key: &KeyId) -> Option<(&Approver, PublicKey)> {
        self.approvers.iter().find_map(|approver| {
            let public = PublicKey::from_pem(approver.key.trim()).ok()?;
            (public.id().ok()? == *key).then_some((approver, public))
        })
    }
}

impl Approver {
    /// Returns true if they have the role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}

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
}

/// An answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAnswer {
    /// The approver's name.
    pub name: String,
    /// Their key.
    pub key: KeyId,
    /// The answer.
    pub answer: FleetAnswer,
}

impl ApproverSigned {
    /// Signs an answer.
    ///
    /// # Errors
    /// Fails if the key has no id.
    pub fn sign_answer(answer: &FleetAnswer, key: &SecretKey) -> Result<Self, KeyError> {
        Self::sign_text(ANSWER_DOMAIN, serde_json::to_string(answer).unwrap_or_default(), key)
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
        Ok(Self { text, key: key.public().id()?, signature })
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
    pub fn verify_answer(&self, key: &PublicKey) -> Result<FleetAnswer, AnswerError> {
        self.check_signature(ANSWER_DOMAIN, key)?;
        self.read_answer()
    }

    /// Returns the request, if the holder of this key signed it.
    ///
    /// # Errors
    /// Fails if it is too large or not understood, and if the signature is another one.
    pub fn verify_request(&self, key: &PublicKey) -> Result<ApproverRequest, AnswerError> {
        self.check_signature(REQUEST_DOMAIN, key)?;
        self.parse()
    }

    fn check_signature(&self, domain: &[u8], key: &PublicKey) -> Result<(), AnswerError> {
        if self.text.len() > MOST_SIGNED || self.signature.len() > 1024 {
            return Err(AnswerError::Malformed("it is too large".into()));
        }
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
    Ok(VerifiedAnswer { name: approver.name.clone(), key: signed.key, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;

    fn key(seed: u8) -> SecretKey {
        SecretKey::of_seed(&[seed; 32])
    }

    fn rules_text(approvers: &[(&str, u8, &[&str])]) -> String {
        let mut text =
            "role = \"oncall\"\n[[escalation]]\nafter_seconds = 60\nrole = \"lead\"\n".to_owned();
        for (name, seed, roles) in approvers {
            let pem = key(*seed).public().to_pem().unwrap();
            text.push_str(&format!(
                "[[approver]]\nname = \"{name}\"\nkey = \"\"\"\n{pem}\"\"\"\nroles = {roles:?}\n"
            ));
        }
        text
    }

    fn rules() -> ApprovalRules {
        let approvers: [(&str, u8, &[&str]); 3] =
            [("ann", 1, &["oncall"]), ("bob", 2, &["lead"]), ("eve", 3, &["viewer"])];
        ApprovalRules::parse_rules(&rules_text(&approvers)).unwrap()
    }

    fn question() -> FleetQuestion {
        FleetQuestion {
            machine: "m-1".into(),
            question: "q1".into(),
            digest: "d".into(),
            asked_at: NOW,
            expires_at: NOW + 240_000,
            role: "oncall".into(),
            asked: serde_json::json!({ "tool": "Bash", "summary": "crontab -r" }),
        }
    }

    fn answer() -> FleetAnswer {
        FleetAnswer {
            machine: "m-1".into(),
            question: "q1".into(),
            digest: digest_question(&question().to_text()),
            allows: true,
            words: "fine".into(),
            at: NOW + 1000,
        }
    }

    #[test]
    fn an_answer_counts_only_from_an_approver_for_exactly_this_question_in_time() {
        type Change = fn(&mut FleetAnswer);
        let rows: &[(&str, u8, u64, Change, &str)] = &[
            ("as asked", 1, 1000, |_| {}, ""),
            ("denied", 1, 1000, |answer| answer.allows = false, ""),
            ("unlisted", 9, 1000, |_| {}, "none of the approvers"),
            ("another role", 3, 1000, |_| {}, "none of the roles"),
            ("before the escalation", 2, 59_000, |_| {}, "none of the roles"),
            ("after the escalation", 2, 60_000, |answer| answer.at = NOW + 60_000, ""),
            ("another machine", 1, 1000, |answer| answer.machine = "m-2".into(), "another machine"),
            (
                "another question",
                1,
                1000,
                |answer| answer.question = "q2".into(),
                "another question",
            ),
            ("another action", 1, 1000, |answer| answer.digest = "x".into(), "another action"),
            ("too late", 1, 240_000, |_| {}, "another time"),
            ("long before", 1, 1000, |answer| answer.at = NOW - SKEW - 1, "another time"),
            ("in the future", 1, 1000, |answer| answer.at = NOW + SKEW + 1001, "another time"),
            ("long words", 1, 1000, |answer| answer.words = "x".repeat(513), "too long"),
        ];
        let text = question().to_text();
        for (name, seed, later, change, said) in rows {
            let mut answer = answer();
            change(&mut answer);
            let signed = ApproverSigned::sign_answer(&answer, &key(*seed)).unwrap();
            let found = verify_answer(&signed, &rules(), &text, NOW + later);
            match found {
                Ok(found) => assert!(said.is_empty() && found.answer == answer, "{name}"),
                Err(error) => {
                    let shown = error.to_string();
                    assert!(!said.is_empty() && shown.contains(said), "{name}: {shown}");
                }
            }
        }
    }

    #[test]
    fn a_changed_answer_is_not_the_approvers() {
        let signed = ApproverSigned::sign_answer(&answer(), &key(1)).unwrap();
        let text = question().to_text();
        let undomained = key(1).sign_bytes(signed.text.as_bytes());
        let request = ApproverRequest { hub: "https://hub.example".into(), at: NOW };
        let request = ApproverSigned::sign_request(&request, &key(1)).unwrap();
        let rows = [
            (
                "altered words",
                ApproverSigned { text: signed.text.replace("fine", "do"), ..signed.clone() },
            ),
            ("a denial made to allow", {
                let denial = FleetAnswer { allows: false, ..answer() };
                let signed = ApproverSigned::sign_answer(&denial, &key(1)).unwrap();
                ApproverSigned { text: signed.text.replace("false", "true"), ..signed }
            }),
            (
                "signed by somebody else",
                ApproverSigned {
                    key: key(1).public().id().unwrap(),
                    ..ApproverSigned::sign_answer(&answer(), &key(2)).unwrap()
                },
            ),
            (
                "without the domain",
                ApproverSigned {
                    signature: data_encoding::BASE64.encode(&undomained),
                    ..signed.clone()
                },
            ),
            (
                "a request's signature",
                ApproverSigned { signature: request.signature, ..signed.clone() },
            ),
            ("no signature", ApproverSigned { signature: String::new(), ..signed.clone() }),
        ];
        for (name, signed) in rows {
            let found = verify_answer(&signed, &rules(), &text, NOW + 1000);
            assert!(matches!(found, Err(AnswerError::Signature)), "{name}: {found:?}");
        }
        // A hub that shows another action gets a signature that counts for nothing.
        let mut shown = question();
        shown.asked = serde_json::json!({ "tool": "Bash", "summary": "ls" });
        let tricked = FleetAnswer { digest: digest_question(&shown.to_text()), ..answer() };
        let tricked = ApproverSigned::sign_answer(&tricked, &key(1)).unwrap();
        let found = verify_answer(&tricked, &rules(), &text, NOW + 1000);
        assert!(matches!(found, Err(AnswerError::Foreign("action"))), "{found:?}");
    }

    #[test]
    fn rules_name_each_person_once_and_somebody_for_each_role() {
        let (oncall, lead): (&[&str], &[&str]) = (&["oncall"], &["lead"]);
        type Approver<'a> = (&'a str, u8, &'a [&'a str]);
        let rows: [(&str, Vec<Approver<'_>>, &str); 6] = [
            ("complete", vec![("ann", 1, oncall), ("bob", 2, lead)], ""),
            ("nobody for a role", vec![("ann", 1, oncall)], "no approver has the role `lead`"),
            ("a name twice", vec![("ann", 1, oncall), ("ann", 2, lead)], "have the name `ann`"),
            ("a key twice", vec![("ann", 1, oncall), ("bob", 1, lead)], "another approver's"),
            ("no name", vec![("", 1, oncall), ("bob", 2, lead)], "1 to 64"),
            ("nobody", Vec::new(), "not understood"),
        ];
        for (name, approvers, said) in rows {
            let found = ApprovalRules::parse_rules(&rules_text(&approvers));
            let shown = found.err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(shown.is_empty(), said.is_empty(), "{name}: {shown}");
            assert!(shown.contains(said), "{name}: {shown}");
        }
        let text = "role = \"a\"\nextra = 1\napprover = []\n";
        assert!(ApprovalRules::parse_rules(text).is_err());
    }
}

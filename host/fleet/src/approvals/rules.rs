//! The approvers of a group of machines, as the orders name them.

use super::passkey::{OrderedPasskey, PasskeyPage};
use portcullis_bundle::{KeyError, KeyId, PublicKey};
use serde::Deserialize;

/// The most approvers, and the most escalations.
const MOST_APPROVERS: usize = 200;
const MOST_ESCALATIONS: usize = 5;
/// The most passkeys of one approver.
const MOST_PASSKEYS: usize = 8;

/// The approvers of a group of machines: a part of its orders, as TOML.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRules {
    /// The role that is asked first.
    pub role: String,
    /// The page of the hub on which passkeys sign: its origin.
    pub page: Option<PasskeyPage>,
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
    /// Their public key, in PEM, with which they answer from a terminal.
    pub key: Option<String>,
    /// Their passkeys, with which they answer on the page.
    #[serde(rename = "passkey", default)]
    pub passkeys: Vec<OrderedPasskey>,
    /// Their roles.
    pub roles: Vec<String>,
}

/// A key with which an approver signs.
#[derive(Clone, Debug)]
pub enum ApproverKey {
    /// A key in a file.
    File(PublicKey),
    /// A key on a device, which signs on this page alone.
    Passkey(OrderedPasskey, PasskeyPage),
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
            let ids = approver.key_ids().map_err(|why| format!("the key of `{name}`: {why}"))?;
            if ids.is_empty() || approver.passkeys.len() > MOST_PASSKEYS {
                return Err(format!(
                    "`{name}` has a key, passkeys or both, at most {MOST_PASSKEYS} passkeys"
                ));
            }
            if self.page.is_none() && !approver.passkeys.is_empty() {
                return Err(format!("`{name}` has a passkey, and `page` is missing"));
            }
            for id in ids {
                if keys.contains(&id) {
                    return Err(format!(
                        "the key of `{name}` is there twice, or another approver's too"
                    ));
                }
                keys.push(id);
            }
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
    pub fn find_approver(&self, key: &KeyId) -> Option<(&Approver, ApproverKey)> {
        self.approvers.iter().find_map(|approver| {
            let found = approver.list_keys(self.page.as_ref()).into_iter();
            let found = found.filter_map(Result::ok).find(|(id, _)| id == key)?;
            Some((approver, found.1))
        })
    }
}

impl Approver {
    /// Returns true if they have the role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }

    /// Returns their keys with their ids: the one in a file, and passkeys, which sign on `page`.
    #[must_use]
    pub fn list_keys(
        &self,
        page: Option<&PasskeyPage>,
    ) -> Vec<Result<(KeyId, ApproverKey), KeyError>> {
        let in_file = self.key.iter().map(|pem| {
            let key = PublicKey::from_pem(pem.trim())?;
            Ok((key.id()?, ApproverKey::File(key)))
        });
        let passkeys = self.passkeys.iter().filter_map(|passkey| Some((passkey, page?)));
        let passkeys = passkeys.map(|(passkey, page)| {
            Ok((passkey.key_id()?, ApproverKey::Passkey(passkey.clone(), page.clone())))
        });
        in_file.chain(passkeys).collect()
    }

    fn key_ids(&self) -> Result<Vec<KeyId>, String> {
        self.passkeys.iter().try_for_each(OrderedPasskey::check_form)?;
        let in_file = self.key.iter().map(|pem| PublicKey::from_pem(pem.trim())?.id());
        let all = in_file.chain(self.passkeys.iter().map(OrderedPasskey::key_id));
        all.collect::<Result<_, KeyError>>().map_err(|error| error.to_string())
    }
}

impl ApproverKey {
    /// Returns its sort, for people.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::File(_) => "key",
            Self::Passkey(..) => "passkey",
        }
    }
}

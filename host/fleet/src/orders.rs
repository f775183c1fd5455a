//! Orders: what an operator tells a group of machines, in one signed document.
//!
//! The operator's key signs it, which no hub has: a hub can withhold orders, and cannot make or
//! change any. Each document names its group, a version that only grows, when it counts and until
//! when, and what holds after that. A machine takes only a newer one than it has seen.
//!
//! Orders tighten the machine's own configuration and never loosen it; `portcullis-config` has that
//! rule for every key.

use crate::approvals::ApprovalRules;
use portcullis_bundle::{KeyError, Lock, PublicKey, SecretKey, TrustPolicy};
use serde::{Deserialize, Serialize};

/// The beginning of the signed bytes: no other signature of the key can pass for one of orders.
const DOMAIN: &[u8] = b"portcullis fleet orders v1\n";
/// The format of the document.
pub const FORMAT: u32 = 1;
/// The most bytes of signed orders.
pub const MOST_ORDERS: usize = 256 << 10;
/// The group of machines whose token names none.
pub const DEFAULT_GROUP: &str = "default";
/// The label of a join token that names the group.
pub const GROUP_LABEL: &str = "group";
/// The subject of a record about orders.
pub const SUBJECT: &str = "fleet-orders";
/// The most time between the clocks of operator and machine, in milliseconds.
const SKEW: u64 = 5 * 60 * 1000;
/// The longest life of orders, in days.
pub const MOST_DAYS: u32 = 366;

/// The configuration of a machine once its orders have expired and no newer ones have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterExpiry {
    /// They stay in force.
    #[default]
    Keep,
    /// The machine's own configuration, without orders.
    Own,
    /// Every action is refused.
    Block,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// [`FORMAT`].
    pub format: u32,
    /// The group of machines.
    pub group: String,
    /// The version, from 1; it only grows.
    pub version: u64,
    /// The time from which they count, in milliseconds since 1970.
    pub not_before: u64,
    /// The time when they expire.
    pub expires_at: u64,
    /// The rule once they have expired.
    pub after_expiry: AfterExpiry,
    /// The text of a configuration, which tightens the machine's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub configuration: String,
    /// The text of a trust policy, which bundles have to satisfy besides the machine's own; it also
    /// revokes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trust: String,
    /// The text of a lock: the bundles that have to run, besides those of the machine's own locks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lock: String,
    /// The text of the rules of approvals: who may answer for these machines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approvals: String,
}

/// The orders that a machine takes. A person chose the key when the machine joined; nothing that
/// comes from the hub changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrdersTrust {
    /// The operator's public key, in PEM.
    pub key: String,
    /// The machine's group.
    pub group: String,
}

/// Orders as they travel: the text that was signed, and the signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedOrders {
    /// The document as JSON. Its bytes are what is signed.
    pub orders: String,
    /// The signature in base64.
    pub signature: String,
}

/// The reasons why orders do not count.
#[derive(Debug, thiserror::Error)]
pub enum OrdersError {
    /// The key in PEM is none.
    #[error("the key of the orders cannot be read: {0}")]
    Key(#[from] KeyError),
    /// The signature is not that of the key.
    #[error("they are not signed with the key that this machine knows")]
    Signature,
    /// The text has too many bytes.
    #[error("they have more than {MOST_ORDERS} bytes")]
    TooLarge,
    /// The signed text is not a document of this format.
    #[error("they are not understood: {0}")]
    Malformed(String),
    /// They are for other machines.
    #[error("they are for the group `{named}`, and this machine is in `{own}`")]
    OtherGroup {
        /// The group that they name.
        named: String,
        /// The machine's.
        own: String,
    },
    /// A newer version was seen.
    #[error("they have version {version}, and version {seen} was seen before")]
    Older {
        /// Their version.
        version: u64,
        /// The newest that was seen.
        seen: u64,
    },
    /// They do not count yet.
    #[error("they count only from a later time")]
    TooEarly,
    /// They expired before they came.
    #[error("they have expired")]
    Expired,
    /// A part cannot be used.
    #[error("{0}")]
    Part(String),
}

impl SignedOrders {
    /// Signs orders.
    #[must_use]
    pub fn sign_orders(orders: &Orders, key: &SecretKey) -> Self {
        // Texts and numbers always become JSON.
        let text = serde_json::to_string(orders).unwrap_or_default();
        let signature = data_encoding::BASE64.encode(&key.sign_bytes(&signed_bytes(&text)));
        Self { orders: text, signature }
    }

    /// Returns the document without checking who signed it.
    ///
    /// # Errors
    /// Fails if it is too large, or not a document of this format.
    pub fn read_unverified(&self) -> Result<Orders, OrdersError> {
        if self.orders.len() > MOST_ORDERS || self.signature.len() > 1024 {
            return Err(OrdersError::TooLarge);
        }
        let orders: Orders = serde_json::from_str(&self.orders)
            .map_err(|error| OrdersError::Malformed(error.to_string()))?;
        orders.check_form()?;
        Ok(orders)
    }

    /// Returns the document, if the holder of this key signed it.
    ///
    /// # Errors
    /// Fails if the key is none, or if signature, size or text are not as expected.
    pub fn verify_orders(&self, key_pem: &str) -> Result<Orders, OrdersError> {
        if self.orders.len() > MOST_ORDERS || self.signature.len() > 1024 {
            return Err(OrdersError::TooLarge);
        }
        let key = PublicKey::from_pem(key_pem)?;
        let signature = data_encoding::BASE64
            .decode(self.signature.as_bytes())
            .map_err(|_| OrdersError::Signature)?;
        if !key.has_signed(&signed_bytes(&self.orders), &signature) {
            return Err(OrdersError::Signature);
        }
        self.read_unverified()
    }
}

impl Orders {
    /// Checks everything that needs no machine: the format, the times, and that trust policy and
    /// lock are ones.
    ///
    /// # Errors
    /// Fails with the first problem.
    pub fn check_form(&self) -> Result<(), OrdersError> {
        let malformed = |what: &str| Err(OrdersError::Malformed(what.to_owned()));
        if self.format != FORMAT {
            return malformed("another format than this version of Portcullis reads");
        }
        if !is_group(&self.group) {
            return malformed("a group has 1 to 64 of a-z, A-Z, 0-9, `.`, `_`, `-`");
        }
        if self.version == 0 || i64::try_from(self.version).is_err() {
            return malformed("versions count from 1");
        }
        if self.expires_at <= self.not_before || i64::try_from(self.expires_at).is_err() {
            return malformed("they expire before they count");
        }
        if !self.trust.is_empty() {
            TrustPolicy::parse_policy(&self.trust)
                .map_err(|error| OrdersError::Part(format!("the trust policy: {error}")))?;
        }
        if !self.lock.is_empty() {
            Lock::parse_lock(&self.lock)
                .map_err(|error| OrdersError::Part(format!("the lock: {error}")))?;
        }
        if !self.approvals.is_empty() {
            ApprovalRules::parse_rules(&self.approvals)
                .map_err(|error| OrdersError::Part(format!("the approvals: {error}")))?;
        }
        Ok(())
    }

    /// Checks that a machine of `group`, which has seen version `seen`, may take them at `now`, in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// Fails with the reason.
    pub fn check_for(&self, group: &str, seen: u64, now: u64) -> Result<(), OrdersError> {
        if self.group != group {
            let (named, own) = (self.group.clone(), group.to_owned());
            return Err(OrdersError::OtherGroup { named, own });
        }
        if self.version <= seen {
            return Err(OrdersError::Older { version: self.version, seen });
        }
        if now >= self.expires_at {
            return Err(OrdersError::Expired);
        }
        if now.saturating_add(SKEW) < self.not_before {
            return Err(OrdersError::TooEarly);
        }
        Ok(())
    }
}

/// Returns true if a group can have that name, which is also the value of a label.
#[must_use]
pub fn is_group(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
}

/// Returns the group that labels of a join token name.
#[must_use]
pub fn group_of(labels: &[(String, String)]) -> &str {
    let named = labels.iter().find(|(name, _)| name == GROUP_LABEL);
    named.map_or(DEFAULT_GROUP, |(_, group)| group)
}

/// Returns the subject of the record that orders were taken: it names their version whatever part of
/// a record leaves the machine.
#[must_use]
pub fn taken_subject(version: u64) -> String {
    format!("{SUBJECT} {version}")
}

/// Returns the version that a record's subject names as taken.
#[must_use]
pub fn taken_version(subject: &str) -> Option<u64> {
    subject.strip_prefix(SUBJECT)?.strip_prefix(' ')?.parse().ok()
}

fn signed_bytes(text: &str) -> Vec<u8> {
    [DOMAIN, text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;

    fn orders() -> Orders {
        Orders {
            format: FORMAT,
            group: "web".into(),
            version: 3,
            not_before: NOW,
            expires_at: NOW + 1000,
            after_expiry: AfterExpiry::Keep,
            configuration: "mode = \"blocking\"\n".into(),
            trust: String::new(),
            lock: String::new(),
            approvals: String::new(),
        }
    }

    #[test]
    fn only_the_keys_own_text_counts() {
        let (key, other) = (SecretKey::of_seed(&[1; 32]), SecretKey::of_seed(&[2; 32]));
        let pem = |key: &SecretKey| key.public().to_pem().unwrap();
        let signed = SignedOrders::sign_orders(&orders(), &key);
        assert_eq!(signed.verify_orders(&pem(&key)).unwrap(), orders());
        assert!(matches!(signed.verify_orders(&pem(&other)), Err(OrdersError::Signature)));
        assert!(matches!(signed.verify_orders("none"), Err(OrdersError::Key(_))));
        let with = |orders: String| SignedOrders { orders, ..signed.clone() };
        let changed = with(signed.orders.replace("\"version\":3", "\"version\":4"));
        assert!(matches!(changed.verify_orders(&pem(&key)), Err(OrdersError::Signature)));
        let large = with("x".repeat(MOST_ORDERS + 1));
        assert!(matches!(large.verify_orders(&pem(&key)), Err(OrdersError::TooLarge)));
        let undomained = SignedOrders {
            signature: data_encoding::BASE64.encode(&key.sign_bytes(signed.orders.as_bytes())),
            ..signed.clone()
        };
        assert!(matches!(undomained.verify_orders(&pem(&key)), Err(OrdersError::Signature)));
        let unknown = signed.orders.replacen('{', "{\"more\":1,", 1);
        let signature = data_encoding::BASE64.encode(&key.sign_bytes(&signed_bytes(&unknown)));
        let unknown = SignedOrders { orders: unknown, signature };
        assert!(matches!(unknown.verify_orders(&pem(&key)), Err(OrdersError::Malformed(_))));
    }

    #[test]
    fn a_document_has_a_form() {
        type Change = fn(&mut Orders);
        let rows: &[(&str, Change, &str)] = &[
            ("as it is", |_| {}, ""),
            ("another format", |orders| orders.format = 2, "another format"),
            ("no group", |orders| orders.group.clear(), "a group has"),
            ("markup", |orders| orders.group = "<b>".into(), "a group has"),
            ("version 0", |orders| orders.version = 0, "count from 1"),
            ("a huge version", |orders| orders.version = u64::MAX, "count from 1"),
            ("no life", |orders| orders.expires_at = orders.not_before, "expire before"),
            ("no policy", |orders| orders.trust = "x = 1".into(), "the trust policy"),
            ("no lock", |orders| orders.lock = "x = 1".into(), "the lock"),
            ("no rules", |orders| orders.approvals = "x = 1".into(), "the approvals"),
        ];
        for (name, change, said) in rows {
            let mut changed = orders();
            change(&mut changed);
            let problem = changed.check_form().err().map(|error| error.to_string());
            assert_eq!(problem.is_none(), said.is_empty(), "{name}: {problem:?}");
            assert!(problem.unwrap_or_default().contains(said), "{name}");
        }
    }

    #[test]
    fn a_machine_takes_what_is_for_it_newer_and_in_time() {
        for (group, seen, now, expected) in [
            ("web", 2, NOW, ""),
            ("web", 0, NOW + 999, ""),
            ("web", 2, NOW - SKEW, ""),
            ("db", 2, NOW, "for the group `web`"),
            ("web", 3, NOW, "version 3 was seen"),
            ("web", 9, NOW, "version 9 was seen"),
            ("web", 2, NOW + 1000, "have expired"),
            ("web", 2, NOW - SKEW - 1, "later time"),
        ] {
            let found = orders().check_for(group, seen, now).err().map(|error| error.to_string());
            let found = found.unwrap_or_default();
            assert_eq!(found.is_empty(), expected.is_empty(), "{group} {seen} {now}: {found}");
            assert!(found.contains(expected), "{group} {seen} {now}: {found}");
        }
    }
}

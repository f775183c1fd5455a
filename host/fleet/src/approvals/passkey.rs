//! Passkeys of approvers: a device signs what a browser asks it to, and a machine verifies that by
//! itself.
//!
//! A device signs a challenge, the origin of the page and its own flags. The challenge is the digest
//! of the very text that an approver's key would sign, so a signature counts for one answer to one
//! question of one machine. A random challenge, as libraries for sign-in make it, would have to be
//! believed: whoever serves the page could exchange what it stands for.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use portcullis_bundle::{KeyError, KeyId, PublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The most bytes of a credential's id, as the standard bounds it.
const MOST_CREDENTIAL: usize = 1023;
/// The most bytes of what a browser adds, each part in base64.
const MOST_PART: usize = 4 << 10;
/// The bytes of the authenticator's data: the digest of the name, the flags and a counter.
const LEAST_DATA: usize = 37;
/// The flags of the authenticator's data.
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const NEW_CREDENTIAL: u8 = 0x40;
const EXTENSIONS: u8 = 0x80;

/// A passkey as orders name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderedPasskey {
    /// The credential's id, in base64url.
    pub credential: String,
    /// The public key, in PEM.
    pub key: String,
    /// True if the device may copy it to others of the person, by way of its maker.
    pub synced: bool,
}

/// The page on which passkeys sign, by the orders: its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PasskeyPage {
    origin: String,
}

/// The parts that a device and a browser add to a signature, in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyAssertion {
    /// The browser's JSON: the challenge, and the origin of the page that asked.
    pub client_data: String,
    /// The device's bytes: the digest of the page's name, flags, a counter.
    pub authenticator_data: String,
}

/// The reasons why what a passkey signed does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// A part is too large, or not of the standard's form.
    #[error("what the passkey's device signed is not of the usual form")]
    Malformed,
    /// The browser made it for something else than an assertion.
    #[error("it was not made to prove who somebody is")]
    OtherUse,
    /// It was signed for another text.
    #[error("the passkey signed another answer")]
    OtherText,
    /// Another page asked for it.
    #[error("another page asked for it than the one that the orders name")]
    OtherPage,
    /// The device did not check who is there.
    #[error("the passkey's device did not verify its user")]
    Unverified,
    /// A passkey that stays on its device claims to be copied, or the other way round.
    #[error("the passkey is synced otherwise than the orders say")]
    OtherSync,
    /// The signature is not that of the key.
    #[error("it is not signed with the passkey that it names")]
    Signature,
}

/// The fields of the browser's JSON that are judged. Others may be added to the standard.
#[derive(Deserialize)]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    is_cross_origin: bool,
    #[serde(rename = "topOrigin")]
    top_origin: Option<String>,
}

impl PasskeyPage {
    /// Returns the page at an origin, `https://HOST[:PORT]`; without TLS only on this machine.
    ///
    /// # Errors
    /// Fails with the form that is expected.
    pub fn parse_origin(origin: &str) -> Result<Self, String> {
        let wrong = || format!("the page `{origin}` is not of the form `https://HOST[:PORT]`");
        let (host, is_secure) = match origin.split_once("://") {
            Some(("https", host)) => (host, true),
            Some(("http", host)) => (host, false),
            _ => return Err(wrong()),
        };
        let (name, port) =
            host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
        let is_port =
            |port: &str| port.parse::<u16>().is_ok_and(|number| number.to_string() == port);
        let allowed = |letter: char| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || ".-".contains(letter)
        };
        let is_name = (1..=253).contains(&name.len())
            && name.chars().all(allowed)
            && name.split('.').all(|part| !part.is_empty())
            // An address in numbers cannot have passkeys.
            && name.chars().any(|letter| letter.is_ascii_lowercase());
        if !is_name || !port.is_none_or(is_port) {
            return Err(wrong());
        }
        if !is_secure && name != "localhost" && !name.ends_with(".localhost") {
            return Err(format!("the page `{origin}` is one without TLS on another machine"));
        }
        Ok(Self { origin: origin.to_owned() })
    }

    /// Returns the origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the name of the relying party, for which devices keep their keys: the host alone.
    #[must_use]
    pub fn name(&self) -> &str {
        let host = self.origin.split_once("://").map_or("", |(_, host)| host);
        host.split_once(':').map_or(host, |(name, _)| name)
    }
}

impl TryFrom<String> for PasskeyPage {
    type Error = String;

    fn try_from(origin: String) -> Result<Self, String> {
        Self::parse_origin(&origin)
    }
}

impl From<PasskeyPage> for String {
    fn from(page: PasskeyPage) -> Self {
        page.origin
    }
}

impl OrderedPasskey {
    /// Returns the public key.
    ///
    /// # Errors
    /// Fails if it is not a key of a supported kind.
    pub fn public_key(&self) -> Result<PublicKey, KeyError> {
        PublicKey::from_pem(self.key.trim())
    }

    /// Returns the id of the public key, which people compare.
    ///
    /// # Errors
    /// Fails if it is not a key of a supported kind.
    pub fn key_id(&self) -> Result<KeyId, KeyError> {
        self.public_key()?.id()
    }

    /// Checks that it can be used at all.
    ///
    /// # Errors
    /// Fails with the reason.
    pub fn check_form(&self) -> Result<(), String> {
        let id = BASE64URL_NOPAD.decode(self.credential.as_bytes()).unwrap_or_default();
        if !(1..=MOST_CREDENTIAL).contains(&id.len()) {
            return Err("the id of a passkey is not one in base64url".into());
        }
        let wrong = |error: KeyError| format!("the key of a passkey: {error}");
        let usual = self.public_key().and_then(|key| key.to_pem()).map_err(wrong)?;
        // Text around the key would go into the file that an operator signs.
        if usual.trim() != self.key.trim() {
            return Err(
                "the key of a passkey is not in PEM alone, in lines of 64 characters".into()
            );
        }
        Ok(())
    }

    /// Returns nothing if this passkey's device signed exactly this text for this page, and verified
    /// its user. `domain` tells texts of one use from those of another.
    ///
    /// The device's counter is not judged: whoever can use a copy of the key counts on, copies that a
    /// maker syncs count 0, and each text counts once anyway.
    ///
    /// # Errors
    /// Fails with the first reason for which it does not count.
    pub fn verify_assertion(
        &self,
        assertion: &PasskeyAssertion,
        signature: &str,
        page: &PasskeyPage,
        domain: &[u8],
        text: &str,
    ) -> Result<(), PasskeyError> {
        let decode = |part: &str| {
            let bytes = BASE64.decode(part.as_bytes()).ok().filter(|_| part.len() <= MOST_PART);
            bytes.ok_or(PasskeyError::Malformed)
        };
        let client_data = decode(&assertion.client_data)?;
        let data = decode(&assertion.authenticator_data)?;
        let signature = decode(signature)?;
        check_client_data(&client_data, page, domain, text)?;
        self.check_device_data(&data, page)?;
        let key = self.public_key().map_err(|_| PasskeyError::Signature)?;
        let signed = [data.as_slice(), &Sha256::digest(&client_data)].concat();
        if key.has_signed(&signed, &signature) { Ok(()) } else { Err(PasskeyError::Signature) }
    }

    fn check_device_data(&self, data: &[u8], page: &PasskeyPage) -> Result<(), PasskeyError> {
        let (name, rest) = data.split_at_checked(32).ok_or(PasskeyError::Malformed)?;
        let flags = *rest.first().ok_or(PasskeyError::Malformed)?;
        let has = |flag: u8| flags & flag != 0;
        let is_whole = data.len() >= LEAST_DATA && (data.len() == LEAST_DATA || has(EXTENSIONS));
        if !is_whole || has(NEW_CREDENTIAL) || (has(BACKED_UP) && !has(BACKUP_ELIGIBLE)) {
            return Err(PasskeyError::Malformed);
        }
        if name != Sha256::digest(page.name().as_bytes()).as_slice() {
            return Err(PasskeyError::OtherPage);
        }
        if !has(USER_PRESENT) || !has(USER_VERIFIED) {
            return Err(PasskeyError::Unverified);
        }
        // The flag never changes in the life of a passkey.
        if has(BACKUP_ELIGIBLE) == self.synced { Ok(()) } else { Err(PasskeyError::OtherSync) }
    }
}

/// Returns the challenge with which a device signs a text of this use.
#[must_use]
pub fn challenge_of(domain: &[u8], text: &str) -> String {
    let digest = Sha256::new().chain_update(domain).chain_update(text.as_bytes()).finalize();
    BASE64URL_NOPAD.encode(&digest)
}

/// Returns true if a device's data says that the passkey may be copied; nothing if it is too short.
#[must_use]
pub fn is_synced(authenticator_data: &[u8]) -> Option<bool> {
    authenticator_data.get(32).map(|flags| flags & BACKUP_ELIGIBLE != 0)
}

fn check_client_data(
    client_data: &[u8],
    page: &PasskeyPage,
    domain: &[u8],
    text: &str,
) -> Result<(), PasskeyError> {
    let said: ClientData =
        serde_json::from_slice(client_data).map_err(|_| PasskeyError::Malformed)?;
    if said.r#type != "webauthn.get" {
        return Err(PasskeyError::OtherUse);
    }
    // A page of somebody else that frames this one could have been touched instead.
    if said.origin != page.origin || said.is_cross_origin || said.top_origin.is_some() {
        return Err(PasskeyError::OtherPage);
    }
    if said.challenge == challenge_of(domain, text) { Ok(()) } else { Err(PasskeyError::OtherText) }
}

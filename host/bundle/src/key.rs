//! Keys: who signs, and whose signature it is.
//!
//! A secret key is a PKCS#8 file encrypted with a passphrase (scrypt, AES-256), a public one an SPKI file: the forms that
//! openssl and Sigstore's tools read. Ed25519 is the usual kind; ECDSA on P-256 is for organisations whose tools know
//! nothing else.

use crate::digest::Digest;
use ed25519_dalek::pkcs8::{DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{Signer, Verifier};
use pkcs8::pkcs5::pbes2;
use pkcs8::{EncryptedPrivateKeyInfoRef, LineEnding, SecretDocument};
use std::fmt;

/// The label of an encrypted key's file.
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
/// Bytes of a key's file.
const MOST_BYTES: usize = 16 << 10;

/// A key that signs. Its bytes are wiped when it goes, and no `Debug` shows them.
pub struct SecretKey(Secret);

enum Secret {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
}

/// A key that signatures are checked with.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(Public);

#[derive(Clone, PartialEq, Eq)]
enum Public {
    Ed25519(ed25519_dalek::VerifyingKey),
    P256(p256::ecdsa::VerifyingKey),
}

/// Which key: SHA-256 of its public form in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct KeyId(Digest);

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key, or none of these kinds.
    #[error("it is no {0}: Ed25519 and ECDSA on P-256 are read, in PEM")]
    Malformed(&'static str),
    /// A secret key that anybody can use who reads the file.
    #[error("it is a secret key without a passphrase; give it one: `openssl pkcs8 -topk8 -v2 aes-256-cbc -in KEY -out NEW`")]
    Unprotected,
    /// Another passphrase, or a damaged file.
    #[error("the passphrase is not this key's")]
    Passphrase,
    /// Keys of few letters are found by trying.
    #[error("a passphrase has at least {LEAST} characters")]
    Short,
}

/// Characters of a passphrase.
const LEAST: usize = 12;

impl SecretKey {
    /// An Ed25519 key of these random bytes.
    #[must_use]
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        Self(Secret::Ed25519(ed25519_dalek::SigningKey::from_bytes(seed)))
    }

    /// An ECDSA key on P-256 of these random bytes; none for the few that stand for no key: take others.
    #[must_use]
    pub fn p256_of_seed(seed: &[u8; 32]) -> Option<Self> {
        p256::ecdsa::SigningKey::from_slice(seed).ok().map(|key| Self(Secret::P256(key)))
    }

    /// Reads the file of an encrypted key.
    ///
    /// # Errors
    /// It is none, is not encrypted, or has another passphrase.
    pub fn from_pem(pem: &str, passphrase: &str) -> Result<Self, KeyError> {
        let malformed = KeyError::Malformed("encrypted secret key");
        let document = sealed(pem)?;
        let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|_| malformed.clone())?;
        let plain = info.decrypt(passphrase).map_err(|_| KeyError::Passphrase)?;
        use pkcs8::DecodePrivateKey;
        if let Ok(key) = ed25519_dalek::SigningKey::from_pkcs8_der(plain.as_bytes()) {
            return Ok(Self(Secret::Ed25519(key)));
        }
        p256::ecdsa::SigningKey::from_pkcs8_der(plain.as_bytes()).map(|key| Self(Secret::P256(key))).map_err(|_| malformed)
    }

    /// Whether it can be the file of an encrypted key, as far as that shows without its passphrase.
    ///
    /// # Errors
    /// It is none, or is not encrypted.
    pub fn check_pem(pem: &str) -> Result<(), KeyError> {
        sealed(pem).map(drop)
    }

    /// The file of the key, encrypted; `salt` and `iv` are random.
    ///
    /// # Errors
    /// The passphrase is short.
    pub fn to_pem(&self, passphrase: &str, salt: &[u8; 16], iv: [u8; 16]) -> Result<String, KeyError> {
        if passphrase.chars().count() < LEAST {
            return Err(KeyError::Short);
        }
        let malformed = |_| KeyError::Malformed("secret key");
        let plain = match &self.0 {
            // Without the public key beside it, which makes a form that openssl 3.0 does not read.
            Secret::Ed25519(key) => KeypairBytes { secret_key: key.to_bytes(), public_key: None }.to_pkcs8_der().map_err(malformed)?,
            Secret::P256(key) => key.to_pkcs8_der().map_err(malformed)?,
        };
        let hard = || KeyError::Malformed("secret key");
        // As openssl has it: with more memory it does not read the file.
        let cost = pkcs8::pkcs5::scrypt::Params::new(14, 8, 1).map_err(|_| hard())?;
        let parameters = pbes2::Parameters::generate_scrypt_aes256cbc(cost, salt, iv).map_err(|_| hard())?;
        let info = pkcs8::PrivateKeyInfoRef::try_from(plain.as_bytes()).map_err(|_| hard())?;
        let sealed = info.encrypt_with_params(parameters, passphrase).map_err(|_| hard())?;
        sealed.to_pem(ENCRYPTED, LineEnding::LF).map(|pem| pem.to_string()).map_err(|_| hard())
    }

    /// The key that checks what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(match &self.0 {
            Secret::Ed25519(key) => Public::Ed25519(key.verifying_key()),
            Secret::P256(key) => Public::P256(*key.verifying_key()),
        })
    }

    /// Signs these bytes: 64 bytes for Ed25519, DER for ECDSA over SHA-256.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Secret::Ed25519(key) => key.sign(bytes).to_bytes().to_vec(),
            Secret::P256(key) => {
                let signature: p256::ecdsa::DerSignature = key.sign(bytes);
                signature.as_bytes().to_vec()
            }
        }
    }
}

/// What stands in the file of an encrypted key.
fn sealed(pem: &str) -> Result<SecretDocument, KeyError> {
    let malformed = || KeyError::Malformed("encrypted secret key");
    if pem.len() > MOST_BYTES {
        return Err(malformed());
    }
    if pem.contains("PRIVATE KEY-----") && !pem.contains(ENCRYPTED) {
        return Err(KeyError::Unprotected);
    }
    let (label, document) = SecretDocument::from_pem(pem).map_err(|_| malformed())?;
    let known = label == ENCRYPTED && EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).is_ok();
    if known { Ok(document) } else { Err(malformed()) }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({:?})", self.public())
    }
}

impl PublicKey {
    /// Reads the file of a public key.
    ///
    /// # Errors
    /// It is none of a kind that is read, or a weak one.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let malformed = KeyError::Malformed("public key");
        if pem.len() > MOST_BYTES {
            return Err(malformed);
        }
        match ed25519_dalek::VerifyingKey::from_public_key_pem(pem) {
            Ok(key) if key.is_weak() => return Err(malformed),
            Ok(key) => return Ok(Self(Public::Ed25519(key))),
            Err(_) => {}
        }
        p256::ecdsa::VerifyingKey::from_public_key_pem(pem).map(|key| Self(Public::P256(key))).map_err(|_| malformed)
    }

    /// What it signs with, for people.
    #[must_use]
    pub const fn algorithm(&self) -> &'static str {
        match &self.0 {
            Public::Ed25519(_) => "Ed25519",
            Public::P256(_) => "ECDSA on P-256",
        }
    }

    /// The key as a file.
    ///
    /// # Errors
    /// Never in practice: encoding into memory failed.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let malformed = |_| KeyError::Malformed("public key");
        match &self.0 {
            Public::Ed25519(key) => key.to_public_key_pem(LineEnding::LF).map_err(malformed),
            Public::P256(key) => key.to_public_key_pem(LineEnding::LF).map_err(malformed),
        }
    }

    /// Which key it is.
    ///
    /// # Errors
    /// Never in practice: encoding into memory failed.
    pub fn id(&self) -> Result<KeyId, KeyError> {
        let malformed = |_| KeyError::Malformed("public key");
        let der = match &self.0 {
            Public::Ed25519(key) => key.to_public_key_der().map_err(malformed)?,
            Public::P256(key) => key.to_public_key_der().map_err(malformed)?,
        };
        Ok(KeyId(Digest::of(der.as_bytes())))
    }

    /// Whether this key signed these bytes.
    #[must_use]
    pub fn signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            // Strictly: a signature that another key of the same point would pass is none.
            Public::Ed25519(key) => {
                ed25519_dalek::Signature::from_slice(signature).is_ok_and(|signature| key.verify_strict(bytes, &signature).is_ok())
            }
            Public::P256(key) => {
                p256::ecdsa::DerSignature::from_bytes(signature).is_ok_and(|signature| key.verify(bytes, &signature).is_ok())
            }
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id() {
            Ok(id) => write!(f, "PublicKey({id})"),
            Err(_) => f.write_str("PublicKey"),
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

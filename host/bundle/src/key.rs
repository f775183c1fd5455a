//! Keys for signing and for verifying signatures.
//!
//! A secret key is a PKCS#8 file encrypted with a passphrase (scrypt, AES-256), a public one an
//! SPKI file: the formats that openssl and Sigstore's tools read. Ed25519 is the usual algorithm;
//! ECDSA on P-256 is for organisations whose tools support nothing else.

use crate::digest::{Digest, DigestError};
use ed25519_dalek::pkcs8::{DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{Signer, Verifier};
use pkcs8::pkcs5::pbes2;
use pkcs8::{EncryptedPrivateKeyInfoRef, LineEnding, SecretDocument};
use std::fmt;
use std::str::FromStr;

/// The label of an encrypted key's file.
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";
/// The most bytes of a key file.
const MOST_BYTES: usize = 16 << 10;

/// A key that signs. Its bytes are wiped when it is dropped, and no `Debug` shows them.
pub struct SecretKey(Secret);

enum Secret {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
}

/// A key that verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(Public);

#[derive(Clone, PartialEq, Eq)]
enum Public {
    Ed25519(ed25519_dalek::VerifyingKey),
    P256(p256::ecdsa::VerifyingKey),
}

/// The id of a key: SHA-256 of its public form in DER.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct KeyId(Digest);

/// The reasons why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is not a key, or not of a supported kind.
    #[error("it is not a {0}: Ed25519 and ECDSA on P-256 are read, in PEM")]
    Malformed(&'static str),
    /// It is an unencrypted secret key, usable by anybody who reads the file.
    #[error(
        "it is a secret key without a passphrase; give it one: `openssl pkcs8 -topk8 -v2 aes-256-cbc -in KEY -out NEW`"
    )]
    Unprotected,
    /// The passphrase is wrong, or the file is damaged.
    #[error("wrong passphrase for this key")]
    Passphrase,
    /// The passphrase is short enough to be found by brute force.
    #[error("a passphrase has at least {LEAST} characters")]
    Short,
}

/// The least number of characters in a passphrase.
const LEAST: usize = 12;

impl SecretKey {
    /// Creates an Ed25519 key from random bytes.
    #[must_use]
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        Self(Secret::Ed25519(ed25519_dalek::SigningKey::from_bytes(seed)))
    }

    /// Creates an ECDSA key on P-256 from random bytes; `None` for the few values that are not
    /// valid keys, in which case the caller tries others.
    #[must_use]
    pub fn p256_of_seed(seed: &[u8; 32]) -> Option<Self> {
        p256::ecdsa::SigningKey::from_slice(seed).ok().map(|key| Self(Secret::P256(key)))
    }

    /// Reads an encrypted key file.
    ///
    /// # Errors
    /// Fails if it is not a key, is not encrypted, or has another passphrase.
    pub fn from_pem(pem: &str, passphrase: &str) -> Result<Self, KeyError> {
        let malformed = KeyError::Malformed("encrypted secret key");
        let document = sealed(pem)?;
        let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
            .map_err(|_| malformed.clone())?;
        let plain = info.decrypt(passphrase).map_err(|_| KeyError::Passphrase)?;
        use pkcs8::DecodePrivateKey;
        if let Ok(key) = ed25519_dalek::SigningKey::from_pkcs8_der(plain.as_bytes()) {
            return Ok(Self(Secret::Ed25519(key)));
        }
        p256::ecdsa::SigningKey::from_pkcs8_der(plain.as_bytes())
            .map(|key| Self(Secret::P256(key)))
            .map_err(|_| malformed)
    }

    /// Checks, as far as possible without the passphrase, that this is an encrypted key file.
    ///
    /// # Errors
    /// Fails if it is not a key, or is not encrypted.
    pub fn check_pem(pem: &str) -> Result<(), KeyError> {
        sealed(pem).map(drop)
    }

    /// Returns the encrypted key file; `salt` and `iv` are random.
    ///
    /// # Errors
    /// Fails if the passphrase is too short.
    pub fn to_pem(
        &self,
        passphrase: &str,
        salt: &[u8; 16],
        iv: [u8; 16],
    ) -> Result<String, KeyError> {
        if passphrase.chars().count() < LEAST {
            return Err(KeyError::Short);
        }
        let malformed = |_| KeyError::Malformed("secret key");
        let plain = match &self.0 {
            // The public key is left out, since openssl 3.0 does not read the format that includes
            // it.
            Secret::Ed25519(key) => KeypairBytes { secret_key: key.to_bytes(), public_key: None }
                .to_pkcs8_der()
                .map_err(malformed)?,
            Secret::P256(key) => key.to_pkcs8_der().map_err(malformed)?,
        };
        let hard = || KeyError::Malformed("secret key");
        // These are openssl's parameters: it does not read files that need more memory.
        let cost = pkcs8::pkcs5::scrypt::Params::new(14, 8, 1).map_err(|_| hard())?;
        let parameters =
            pbes2::Parameters::generate_scrypt_aes256cbc(cost, salt, iv).map_err(|_| hard())?;
        let info = pkcs8::PrivateKeyInfoRef::try_from(plain.as_bytes()).map_err(|_| hard())?;
        let sealed = info.encrypt_with_params(parameters, passphrase).map_err(|_| hard())?;
        sealed.to_pem(ENCRYPTED, LineEnding::LF).map(|pem| pem.to_string()).map_err(|_| hard())
    }

    /// Returns the key that verifies this one's signatures.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(match &self.0 {
            Secret::Ed25519(key) => Public::Ed25519(key.verifying_key()),
            Secret::P256(key) => Public::P256(*key.verifying_key()),
        })
    }

    /// Signs these bytes: 64 bytes for Ed25519, DER for ECDSA over SHA-256.
    #[must_use]
    pub fn sign_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Secret::Ed25519(key) => key.sign(bytes).to_bytes().to_vec(),
            Secret::P256(key) => {
                let signature: p256::ecdsa::DerSignature = key.sign(bytes);
                signature.as_bytes().to_vec()
            }
        }
    }
}

/// Parses the contents of an encrypted key file.
fn sealed(pem: &str) -> Result<SecretDocument, KeyError> {
    let malformed = || KeyError::Malformed("encrypted secret key");
    if pem.len() > MOST_BYTES {
        return Err(malformed());
    }
    if pem.contains("PRIVATE KEY-----") && !pem.contains(ENCRYPTED) {
        return Err(KeyError::Unprotected);
    }
    let (label, document) = SecretDocument::from_pem(pem).map_err(|_| malformed())?;
    let known =
        label == ENCRYPTED && EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).is_ok();
    if known { Ok(document) } else { Err(malformed()) }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({:?})", self.public())
    }
}

impl PublicKey {
    /// Reads a public key file.
    ///
    /// # Errors
    /// Fails if it is not a key of a supported kind, or a weak one.
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
        p256::ecdsa::VerifyingKey::from_public_key_pem(pem)
            .map(|key| Self(Public::P256(key)))
            .map_err(|_| malformed)
    }

    /// Returns the name of the algorithm, for people.
    #[must_use]
    pub const fn algorithm(&self) -> &'static str {
        match &self.0 {
            Public::Ed25519(_) => "Ed25519",
            Public::P256(_) => "ECDSA on P-256",
        }
    }

    /// Returns the key as a file.
    ///
    /// # Errors
    /// Fails only if it cannot be encoded in memory, which does not happen in practice.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let malformed = |_| KeyError::Malformed("public key");
        match &self.0 {
            Public::Ed25519(key) => key.to_public_key_pem(LineEnding::LF).map_err(malformed),
            Public::P256(key) => key.to_public_key_pem(LineEnding::LF).map_err(malformed),
        }
    }

    /// Returns the key's id.
    ///
    /// # Errors
    /// Fails only if it cannot be encoded in memory, which does not happen in practice.
    pub fn id(&self) -> Result<KeyId, KeyError> {
        let malformed = |_| KeyError::Malformed("public key");
        let der = match &self.0 {
            Public::Ed25519(key) => key.to_public_key_der().map_err(malformed)?,
            Public::P256(key) => key.to_public_key_der().map_err(malformed)?,
        };
        Ok(KeyId(Digest::of_bytes(der.as_bytes())))
    }

    /// Returns true if this key signed these bytes.
    #[must_use]
    pub fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            // Verification is strict: it rejects signatures that would also verify for an
            // equivalent encoding of the key.
            Public::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(bytes, &signature).is_ok()),
            Public::P256(key) => p256::ecdsa::DerSignature::from_bytes(signature)
                .is_ok_and(|signature| key.verify(bytes, &signature).is_ok()),
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

impl FromStr for KeyId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

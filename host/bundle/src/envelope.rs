//! A signature as a file: a DSSE envelope in a Sigstore bundle, and that bundle as an artifact that
//! refers to the signed one: a bundle's own index, or the artifact of an index of bundles.

use crate::artifact::described;
use crate::bundle::{BundleError, fetched};
use crate::display::display_line;
use crate::document::parse_document;
use crate::index::{MANIFEST, OciDescriptor};
use crate::indexes::{IndexStatement, IndexStatementError};
use crate::key::{PublicKey, SecretKey};
use crate::release::{Release, ReleaseError};
use crate::statement::{Statement, StatementError};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The media type of a Sigstore bundle.
pub const SIGSTORE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The media type of in-toto statements.
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// The media type of an empty config, and its bytes.
pub(crate) const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");
/// The most bytes of a file.
const MOST_BYTES: usize = 2 << 20;

/// A signed statement. Only [`Signature::verify_statement`] decides who signed it and whether the
/// signature is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    file: Vec<u8>,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// The reasons why bytes are not a valid signature.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// It is not a Sigstore bundle with one envelope, or a document around it is invalid.
    #[error("it is not a signature: {}", display_line(.0))]
    Malformed(String),
    /// The signature is of other bytes, or by another key.
    #[error("it is not this key's signature of these bytes")]
    Wrong,
    /// The signed content is not a statement about a bundle.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The signed content is not a statement about a release.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The signed content is not a statement about an index of bundles.
    #[error(transparent)]
    IndexStatement(#[from] IndexStatementError),
    /// Its bytes are not the ones that were named.
    #[error(transparent)]
    Bytes(#[from] Box<BundleError>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sigstore {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Envelope,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Material {
    public_key: Hint,
    /// Entries of a transparency log, which signatures with a key do not have here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tlog_entries: Vec<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hint {
    hint: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<SignedPayload>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedPayload {
    sig: String,
    #[serde(default)]
    keyid: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Referrer {
    schema_version: u8,
    media_type: String,
    artifact_type: String,
    config: OciDescriptor,
    layers: Vec<OciDescriptor>,
    subject: OciDescriptor,
}

impl Signature {
    /// Signs a statement.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn sign_statement(statement: &Statement, key: &SecretKey) -> Result<Self, SignatureError> {
        Self::sign_payload(statement.to_bytes()?, key)
    }

    /// Signs a statement about an index of bundles.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn sign_index(statement: &IndexStatement, key: &SecretKey) -> Result<Self, SignatureError> {
        Self::sign_payload(statement.to_bytes()?, key)
    }

    /// Signs a statement about a release, byte for byte.
    ///
    /// # Errors
    /// Fails if it is none.
    pub fn sign_release(statement: &[u8], key: &SecretKey) -> Result<Self, SignatureError> {
        Release::parse_statement(statement)?;
        Self::sign_payload(statement.to_vec(), key)
    }

    fn sign_payload(payload: Vec<u8>, key: &SecretKey) -> Result<Self, SignatureError> {
        let signature = key.sign_bytes(&authenticated(&payload));
        let id = key
            .public()
            .id()
            .map_err(|error| SignatureError::Malformed(error.to_string()))?
            .to_string();
        let sigstore = Sigstore {
            media_type: SIGSTORE.to_owned(),
            verification_material: Material {
                public_key: Hint { hint: id.clone() },
                tlog_entries: Vec::new(),
            },
            dsse_envelope: Envelope {
                payload: BASE64.encode(&payload),
                payload_type: IN_TOTO.to_owned(),
                signatures: vec![SignedPayload { sig: BASE64.encode(&signature), keyid: id }],
            },
        };
        let file = serde_json::to_vec(&sigstore)
            .map_err(|error| SignatureError::Malformed(error.to_string()))?;
        Ok(Self { file, payload, signature })
    }

    /// Reads a file, without trusting anything in it yet.
    ///
    /// # Errors
    /// Fails if it is not a signature, or if it has more than one.
    pub fn parse_envelope(file: &[u8]) -> Result<Self, SignatureError> {
        let wrong = |what: String| SignatureError::Malformed(what);
        let read: Sigstore = parse_document(file, MOST_BYTES).map_err(wrong)?;
        if read.media_type != SIGSTORE {
            return Err(wrong(format!(
                "its media type is `{}`, not `{SIGSTORE}`",
                read.media_type.escape_debug()
            )));
        }
        let Envelope { payload, payload_type, signatures } = read.dsse_envelope;
        if payload_type != IN_TOTO {
            return Err(wrong(format!(
                "it signs `{}`, not `{IN_TOTO}`",
                payload_type.escape_debug()
            )));
        }
        let [signed] = <[SignedPayload; 1]>::try_from(signatures)
            .map_err(|all| wrong(format!("it has {} signatures, not one", all.len())))?;
        let decoded = |text: &str| {
            BASE64.decode(text.as_bytes()).map_err(|error| wrong(format!("its base64: {error}")))
        };
        Ok(Self {
            file: file.to_vec(),
            payload: decoded(&payload)?,
            signature: decoded(&signed.sig)?,
        })
    }

    /// Returns the statement, if this key signed it.
    ///
    /// # Errors
    /// Fails if this key did not sign it, or if it is not a statement about a bundle.
    pub fn verify_statement(&self, key: &PublicKey) -> Result<Statement, SignatureError> {
        Ok(Statement::parse_statement(self.verify_payload(key)?)?)
    }

    /// Returns the statement about a release, if this key signed it.
    ///
    /// # Errors
    /// Fails if this key did not sign it, or if it is not a statement about a release.
    pub fn verify_release(&self, key: &PublicKey) -> Result<Release, SignatureError> {
        Ok(Release::parse_statement(self.verify_payload(key)?)?)
    }

    /// Returns the statement about an index of bundles, if this key signed it.
    ///
    /// # Errors
    /// Fails if this key did not sign it, or if it is not a statement about an index of bundles.
    pub fn verify_index(&self, key: &PublicKey) -> Result<IndexStatement, SignatureError> {
        Ok(IndexStatement::parse_statement(self.verify_payload(key)?)?)
    }

    fn verify_payload(&self, key: &PublicKey) -> Result<&[u8], SignatureError> {
        if !key.has_signed(&authenticated(&self.payload), &self.signature) {
            return Err(SignatureError::Wrong);
        }
        Ok(&self.payload)
    }

    /// Returns the statement without verifying the signature, so anybody may have written it. It
    /// may be shown to people, but nothing may be derived from it.
    ///
    /// # Errors
    /// Fails if it is not a statement about a bundle.
    pub fn unverified_statement(&self) -> Result<Statement, StatementError> {
        Statement::parse_statement(&self.payload)
    }

    /// Returns the key's name for itself, which is just as unverified.
    #[must_use]
    pub fn hint(&self) -> String {
        let read = serde_json::from_slice::<Sigstore>(&self.file);
        read.map(|read| read.verification_material.public_key.hint).unwrap_or_default()
    }

    /// Returns the file's bytes.
    #[must_use]
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Returns the signature as an artifact that refers to the index: its manifest, and the blobs
    /// that this names.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn to_artifact(
        &self,
        index: &OciDescriptor,
    ) -> Result<(Vec<u8>, Vec<Vec<u8>>), SignatureError> {
        let manifest = Referrer {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: SIGSTORE.to_owned(),
            config: described(EMPTY.0, EMPTY.1, BTreeMap::new()),
            layers: vec![described(SIGSTORE, &self.file, BTreeMap::new())],
            subject: index.clone(),
        };
        let manifest = serde_json::to_vec(&manifest)
            .map_err(|error| SignatureError::Malformed(error.to_string()))?;
        Ok((manifest, vec![EMPTY.1.to_vec(), self.file.clone()]))
    }

    /// Reads such an artifact; `have` returns the bytes of a descriptor.
    ///
    /// # Errors
    /// Fails if it is not a signature, refers to another index, or names other bytes.
    pub fn of_artifact(
        manifest: &[u8],
        index: &OciDescriptor,
        mut have: impl FnMut(&OciDescriptor) -> Result<Vec<u8>, String>,
    ) -> Result<Self, SignatureError> {
        let wrong = |what: String| SignatureError::Malformed(what);
        let read: Referrer = parse_document(manifest, MOST_BYTES).map_err(wrong)?;
        if read.artifact_type != SIGSTORE || read.schema_version != 2 || read.media_type != MANIFEST
        {
            return Err(wrong(format!(
                "its artifact type is `{}`",
                read.artifact_type.escape_debug()
            )));
        }
        if read.subject.digest != index.digest {
            return Err(wrong(format!(
                "it refers to {}, not to this artifact",
                read.subject.digest
            )));
        }
        let [layer] = <[OciDescriptor; 1]>::try_from(read.layers)
            .map_err(|all| wrong(format!("it has {} files, not one", all.len())))?;
        if usize::try_from(layer.size).map_or(true, |size| size > MOST_BYTES) {
            return Err(wrong(format!(
                "its file has {} bytes, at most {MOST_BYTES} are read",
                layer.size
            )));
        }
        for part in [&read.config, &layer] {
            let bytes = fetched(part, &mut have).map_err(Box::new)?;
            if part.digest == layer.digest {
                return Self::parse_envelope(&bytes);
            }
        }
        Err(wrong("it has no file".to_owned()))
    }
}

/// Returns the bytes that are actually signed: DSSE's pre-authentication encoding of type and
/// payload.
fn authenticated(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {IN_TOTO} {} ", IN_TOTO.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

//! A signature as a file: a DSSE envelope in a Sigstore bundle, and that bundle as an artifact beside the index.

use crate::artifact::described;
use crate::bundle::{BundleError, fetched};
use crate::index::{Descriptor, MANIFEST};
use crate::key::{PublicKey, SecretKey};
use crate::shown::shown;
use crate::statement::{Statement, StatementError};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What Sigstore calls the file.
pub const SIGSTORE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// What in-toto calls its statements.
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// What OCI calls a config that says nothing, and its bytes.
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");
/// Bytes of a file.
const MOST_BYTES: usize = 2 << 20;

/// A signed statement. Whose signature it is, and whether it is right, says [`Signature::statement`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    file: Vec<u8>,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// Why some bytes are no signature.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// No Sigstore bundle with one envelope, or a document around it that is none.
    #[error("it is no signature of a bundle: {}", shown(.0))]
    Malformed(String),
    /// Of other bytes, or by another key.
    #[error("it is not this key's signature of these bytes")]
    Wrong,
    /// What is signed says nothing about a bundle.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// Its bytes are others than were named.
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
    /// Entries of a transparency log: what is signed with a key has none here.
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
    signatures: Vec<Signed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
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
    config: Descriptor,
    layers: Vec<Descriptor>,
    subject: Descriptor,
}

impl Signature {
    /// Signs a statement.
    ///
    /// # Errors
    /// Never in practice: writing JSON into memory failed.
    pub fn of(statement: &Statement, key: &SecretKey) -> Result<Self, SignatureError> {
        let payload = statement.to_bytes()?;
        let signature = key.sign(&authenticated(&payload));
        let id = key.public().id().map_err(|error| SignatureError::Malformed(error.to_string()))?.to_string();
        let sigstore = Sigstore {
            media_type: SIGSTORE.to_owned(),
            verification_material: Material { public_key: Hint { hint: id.clone() }, tlog_entries: Vec::new() },
            dsse_envelope: Envelope {
                payload: BASE64.encode(&payload),
                payload_type: IN_TOTO.to_owned(),
                signatures: vec![Signed { sig: BASE64.encode(&signature), keyid: id }],
            },
        };
        let file = serde_json::to_vec(&sigstore).map_err(|error| SignatureError::Malformed(error.to_string()))?;
        Ok(Self { file, payload, signature })
    }

    /// Reads a file; nothing in it is believed yet.
    ///
    /// # Errors
    /// It is none, or has more than one signature.
    pub fn read(file: &[u8]) -> Result<Self, SignatureError> {
        let wrong = |what: String| SignatureError::Malformed(what);
        if file.len() > MOST_BYTES {
            return Err(wrong(format!("it has {} bytes, at most {MOST_BYTES} are read", file.len())));
        }
        let read: Sigstore = serde_json::from_slice(file).map_err(|error| wrong(error.to_string()))?;
        if read.media_type != SIGSTORE {
            return Err(wrong(format!("its media type is `{}`, not `{SIGSTORE}`", read.media_type.escape_debug())));
        }
        let Envelope { payload, payload_type, signatures } = read.dsse_envelope;
        if payload_type != IN_TOTO {
            return Err(wrong(format!("it signs `{}`, not `{IN_TOTO}`", payload_type.escape_debug())));
        }
        let [signed] = <[Signed; 1]>::try_from(signatures).map_err(|all| wrong(format!("it has {} signatures, not one", all.len())))?;
        let decoded = |text: &str| BASE64.decode(text.as_bytes()).map_err(|error| wrong(format!("its base64: {error}")));
        Ok(Self { file: file.to_vec(), payload: decoded(&payload)?, signature: decoded(&signed.sig)? })
    }

    /// What it says, if this key signed it.
    ///
    /// # Errors
    /// It did not, or it says nothing about a bundle.
    pub fn statement(&self, key: &PublicKey) -> Result<Statement, SignatureError> {
        if !key.signed(&authenticated(&self.payload), &self.signature) {
            return Err(SignatureError::Wrong);
        }
        Ok(Statement::read(&self.payload)?)
    }

    /// What it says, whoever signed it: anybody can write that. To tell people what they hold; nothing may follow from it.
    ///
    /// # Errors
    /// It says nothing about a bundle.
    pub fn unproven(&self) -> Result<Statement, StatementError> {
        Statement::read(&self.payload)
    }

    /// What the key calls itself, which is as unproven.
    #[must_use]
    pub fn hint(&self) -> String {
        let read = serde_json::from_slice::<Sigstore>(&self.file);
        read.map(|read| read.verification_material.public_key.hint).unwrap_or_default()
    }

    /// The file's bytes.
    #[must_use]
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// The signature as an artifact that refers to the index: its manifest, and the bytes that this names.
    ///
    /// # Errors
    /// Never in practice: writing JSON into memory failed.
    pub fn artifact(&self, index: &Descriptor) -> Result<(Vec<u8>, Vec<Vec<u8>>), SignatureError> {
        let manifest = Referrer {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: SIGSTORE.to_owned(),
            config: described(EMPTY.0, EMPTY.1, BTreeMap::new()),
            layers: vec![described(SIGSTORE, &self.file, BTreeMap::new())],
            subject: index.clone(),
        };
        let manifest = serde_json::to_vec(&manifest).map_err(|error| SignatureError::Malformed(error.to_string()))?;
        Ok((manifest, vec![EMPTY.1.to_vec(), self.file.clone()]))
    }

    /// Reads such an artifact; `have` gives the bytes of a descriptor.
    ///
    /// # Errors
    /// It is none, refers to another index, or its bytes are others than it names.
    pub fn of_artifact(
        manifest: &[u8],
        index: &Descriptor,
        mut have: impl FnMut(&Descriptor) -> Result<Vec<u8>, String>,
    ) -> Result<Self, SignatureError> {
        let wrong = |what: String| SignatureError::Malformed(what);
        if manifest.len() > MOST_BYTES {
            return Err(wrong(format!("it has {} bytes, at most {MOST_BYTES} are read", manifest.len())));
        }
        let read: Referrer = serde_json::from_slice(manifest).map_err(|error| wrong(error.to_string()))?;
        if read.artifact_type != SIGSTORE || read.schema_version != 2 || read.media_type != MANIFEST {
            return Err(wrong(format!("its artifact type is `{}`", read.artifact_type.escape_debug())));
        }
        if read.subject.digest != index.digest {
            return Err(wrong(format!("it refers to {}, not to this bundle", read.subject.digest)));
        }
        let [layer] = <[Descriptor; 1]>::try_from(read.layers).map_err(|all| wrong(format!("it has {} files, not one", all.len())))?;
        if usize::try_from(layer.size).map_or(true, |size| size > MOST_BYTES) {
            return Err(wrong(format!("its file has {} bytes, at most {MOST_BYTES} are read", layer.size)));
        }
        for part in [&read.config, &layer] {
            let bytes = fetched(part, &mut have).map_err(Box::new)?;
            if part.digest == layer.digest {
                return Self::read(&bytes);
            }
        }
        Err(wrong("it has no file".to_owned()))
    }
}

/// What is really signed: DSSE's encoding of type and payload before one another.
fn authenticated(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {IN_TOTO} {} ", IN_TOTO.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

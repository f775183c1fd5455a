//! The index: the one document that a bundle's digest is the digest of.

use crate::about::About;
use crate::digest::Digest;
use crate::shown::shown;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What OCI calls an index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// What OCI calls an image's manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Tells a bundle from other indexes.
pub(crate) const BUNDLE: &str = "application/vnd.portcullis.bundle.v1+json";
/// The annotation that holds [`About`].
const ABOUT: &str = "dev.portcullis.bundle";
/// Bytes of an index; registries take 4 MiB.
pub(crate) const MOST_BYTES: usize = 1 << 20;
/// Components of a bundle: more than anybody vets at once.
pub(crate) const MOST_COMPONENTS: usize = 64;

/// Another document or file: what it is, and which bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What its bytes are.
    pub media_type: String,
    /// Which bytes.
    pub digest: Digest,
    /// How many.
    pub size: u64,
    /// What tools show of it; nothing here counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An index as it was read or made, with the bytes that its digest is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    bytes: Vec<u8>,
    about: About,
    manifests: Vec<Descriptor>,
}

/// Why some bytes are no bundle's index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Too long to be one.
    #[error("it has {0} bytes; the index of a bundle has at most {MOST_BYTES}")]
    TooLong(usize),
    /// No JSON, or no index.
    #[error("it is no index of OCI: {}", shown(.0))]
    Malformed(String),
    /// An index of something else.
    #[error("it is an index, but of no bundle: {}", shown(.0))]
    NoBundle(String),
    /// What it says of itself does not fit what it lists.
    #[error("{}", shown(.0))]
    Inconsistent(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    schema_version: u8,
    media_type: String,
    artifact_type: String,
    manifests: Vec<Descriptor>,
    annotations: BTreeMap<String, String>,
}

impl Index {
    /// The index of what `about` tells of; `manifests` are its components' artifacts, in its order.
    ///
    /// # Errors
    /// They do not fit each other, or are too many.
    pub fn new(about: About, manifests: Vec<Descriptor>) -> Result<Self, IndexError> {
        let malformed = |error: serde_json::Error| IndexError::Malformed(error.to_string());
        let shown = [
            ("org.opencontainers.image.title", about.name.to_string()),
            ("org.opencontainers.image.version", about.version.to_string()),
            ("org.opencontainers.image.licenses", about.licence.clone()),
            ("org.opencontainers.image.source", about.source.clone()),
            (ABOUT, serde_json::to_string(&about).map_err(malformed)?),
        ];
        let document = Document {
            schema_version: 2,
            media_type: INDEX.to_owned(),
            artifact_type: BUNDLE.to_owned(),
            manifests,
            annotations: shown.into_iter().map(|(name, value)| (name.to_owned(), value)).filter(|(_, value)| !value.is_empty()).collect(),
        };
        Self::read(&serde_json::to_vec(&document).map_err(malformed)?)
    }

    /// Reads an index; `bytes` are all of it.
    ///
    /// # Errors
    /// It is no bundle's, or contradicts itself.
    pub fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() > MOST_BYTES {
            return Err(IndexError::TooLong(bytes.len()));
        }
        let document: Document = serde_json::from_slice(bytes).map_err(|error| IndexError::Malformed(error.to_string()))?;
        if document.schema_version != 2 || document.media_type != INDEX {
            return Err(IndexError::Malformed(format!("its media type is `{}`", document.media_type.escape_debug())));
        }
        if document.artifact_type != BUNDLE {
            return Err(IndexError::NoBundle(format!(
                "its artifact type is `{}`, a bundle's is `{BUNDLE}`",
                document.artifact_type.escape_debug()
            )));
        }
        let about = document.annotations.get(ABOUT).ok_or_else(|| IndexError::NoBundle(format!("it has no annotation `{ABOUT}`")))?;
        let about: About =
            serde_json::from_str(about).map_err(|error| IndexError::NoBundle(format!("its annotation `{ABOUT}`: {error}")))?;
        about.check().map_err(IndexError::Inconsistent)?;
        let index = Self { bytes: bytes.to_vec(), about, manifests: document.manifests };
        index.check()?;
        Ok(index)
    }

    fn check(&self) -> Result<(), IndexError> {
        let (listed, told) = (self.manifests.len(), self.about.components.len());
        if listed != told {
            return Err(IndexError::Inconsistent(format!("it lists {listed} artifacts and tells of {told} components")));
        }
        if let Some(other) = self.manifests.iter().find(|manifest| manifest.media_type != MANIFEST) {
            return Err(IndexError::Inconsistent(format!(
                "it lists `{}`, which is no artifact's manifest",
                other.media_type.escape_debug()
            )));
        }
        let digests: BTreeSet<Digest> = self.manifests.iter().map(|manifest| manifest.digest).collect();
        if digests.len() < listed {
            return Err(IndexError::Inconsistent("it lists an artifact twice".to_owned()));
        }
        Ok(())
    }

    /// What a signature is about, and what a lock holds.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the bundle says of itself.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Its components' manifests, in the order of [`About::components`].
    #[must_use]
    pub fn manifests(&self) -> &[Descriptor] {
        &self.manifests
    }
}

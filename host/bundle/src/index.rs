//! The index: the document whose digest is the bundle's digest.

use crate::about::About;
use crate::digest::Digest;
use crate::display::display_line;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The media type of an OCI index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of an OCI image manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The artifact type that distinguishes a bundle from other indexes.
pub(crate) const BUNDLE: &str = "application/vnd.portcullis.bundle.v1+json";
/// The annotation that holds [`About`].
const ABOUT: &str = "dev.portcullis.bundle";
/// The most bytes of an index; registries accept 4 MiB.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// A reference to another document or file by media type, digest and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OciDescriptor {
    /// The media type.
    pub media_type: String,
    /// The digest of the bytes.
    pub digest: Digest,
    /// The size, in bytes.
    pub size: u64,
    /// Information for display in tools; nothing here is relied upon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// An index as it was read or created, with the bytes that its digest covers.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleIndex {
    bytes: Vec<u8>,
    about: About,
    manifests: Vec<OciDescriptor>,
}

/// The reasons why bytes are not a bundle's index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is too long.
    #[error("it has {0} bytes; the index of a bundle has at most {MOST_BYTES}")]
    TooLong(usize),
    /// It is not JSON, or not an index.
    #[error("it is not an OCI index: {}", display_line(.0))]
    Malformed(String),
    /// It is an index of something else.
    #[error("it is an index, but not of a bundle: {}", display_line(.0))]
    NoBundle(String),
    /// Its description does not match the manifests it lists.
    #[error("{}", display_line(.0))]
    Inconsistent(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    schema_version: u8,
    media_type: String,
    artifact_type: String,
    manifests: Vec<OciDescriptor>,
    annotations: BTreeMap<String, String>,
}

impl BundleIndex {
    /// Creates the index for the bundle that `about` describes; `manifests` are its components'
    /// artifacts, in its order.
    ///
    /// # Errors
    /// Fails if they do not match each other, or are too many.
    pub fn new(about: About, manifests: Vec<OciDescriptor>) -> Result<Self, IndexError> {
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
            annotations: shown
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        };
        Self::parse_index(&serde_json::to_vec(&document).map_err(malformed)?)
    }

    /// Reads an index; `bytes` are all of it.
    ///
    /// # Errors
    /// Fails if it is not a bundle's index, or contradicts itself.
    pub fn parse_index(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() > MOST_BYTES {
            return Err(IndexError::TooLong(bytes.len()));
        }
        let document: Document = serde_json::from_slice(bytes)
            .map_err(|error| IndexError::Malformed(error.to_string()))?;
        if document.schema_version != 2 || document.media_type != INDEX {
            return Err(IndexError::Malformed(format!(
                "its media type is `{}`",
                document.media_type.escape_debug()
            )));
        }
        if document.artifact_type != BUNDLE {
            return Err(IndexError::NoBundle(format!(
                "its artifact type is `{}`, a bundle's is `{BUNDLE}`",
                document.artifact_type.escape_debug()
            )));
        }
        let about = document
            .annotations
            .get(ABOUT)
            .ok_or_else(|| IndexError::NoBundle(format!("it has no annotation `{ABOUT}`")))?;
        let about: About = serde_json::from_str(about)
            .map_err(|error| IndexError::NoBundle(format!("its annotation `{ABOUT}`: {error}")))?;
        about.check().map_err(IndexError::Inconsistent)?;
        let index = Self { bytes: bytes.to_vec(), about, manifests: document.manifests };
        index.check()?;
        Ok(index)
    }

    fn check(&self) -> Result<(), IndexError> {
        let (listed, declared) = (self.manifests.len(), self.about.components.len());
        if listed != declared {
            return Err(IndexError::Inconsistent(format!(
                "it lists {listed} artifacts but declares {declared} components"
            )));
        }
        if let Some(other) = self.manifests.iter().find(|manifest| manifest.media_type != MANIFEST)
        {
            return Err(IndexError::Inconsistent(format!(
                "it lists `{}`, which is not an artifact's manifest",
                other.media_type.escape_debug()
            )));
        }
        let digests: BTreeSet<Digest> =
            self.manifests.iter().map(|manifest| manifest.digest).collect();
        if digests.len() < listed {
            return Err(IndexError::Inconsistent("it lists an artifact twice".to_owned()));
        }
        Ok(())
    }

    /// Returns the digest that signatures cover and locks contain.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(&self.bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bundle's own description.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// Returns its components' manifests, in the order of [`About::components`].
    #[must_use]
    pub fn manifests(&self) -> &[OciDescriptor] {
        &self.manifests
    }
}

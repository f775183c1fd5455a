//! A bundle with all of its bytes: assembled, or read and verified against its index.

use crate::about::{About, Component};
use crate::artifact::{Artifact, ArtifactError};
use crate::digest::Digest;
use crate::index::{BundleIndex, IndexError, MANIFEST, OciDescriptor};
use std::collections::BTreeMap;

/// The most bytes of one component that the host reads (host/engine's limit).
const MOST_COMPONENT: u64 = 64 << 20;
/// The most bytes of all components together.
const MOST_BYTES: u64 = 256 << 20;

/// A bundle in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    index: BundleIndex,
    /// Manifests, configs and components.
    blobs: BTreeMap<Digest, Vec<u8>>,
}

/// The reasons why something is not a complete bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Its index is invalid.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// One of its artifacts is invalid.
    #[error("the artifact {digest}: {error}")]
    Artifact {
        /// The digest of the artifact.
        digest: Digest,
        /// The error in the artifact.
        error: ArtifactError,
    },
    /// The fetched bytes do not have the requested digest.
    #[error("expected {wanted}, got {found}: the bytes were changed or swapped")]
    Swapped {
        /// The digest that a document names.
        wanted: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// The number of bytes differs from what a document says.
    #[error("{digest} has {found} bytes, but {declared} were declared")]
    Size {
        /// The digest of the bytes.
        digest: Digest,
        /// The size that a document says.
        declared: u64,
        /// The actual size.
        found: u64,
    },
    /// It is larger than what is loaded.
    #[error("{0}")]
    TooLarge(String),
    /// The index describes another component than an artifact contains.
    #[error("the artifact {artifact} holds {holds}, but the bundle declares {tells}")]
    Other {
        /// The artifact.
        artifact: Digest,
        /// The layer that it names.
        holds: Digest,
        /// The component that the index describes instead.
        tells: Digest,
    },
    /// Some bytes could not be fetched.
    #[error("{digest} cannot be obtained: {why}")]
    Missing {
        /// The digest of the bytes.
        digest: Digest,
        /// The reason, as text.
        why: String,
    },
}

/// A component that goes into a bundle.
#[derive(Clone, Copy, Debug)]
pub struct NewComponent<'a> {
    /// Its bytes; their digest and size are those in [`About`].
    pub bytes: &'a [u8],
    /// The interfaces that it exports.
    pub exports: &'a [String],
}

impl Bundle {
    /// Assembles a bundle: `parts` are the components of `about`, in its order.
    ///
    /// # Errors
    /// Fails if the parts do not match `about`, or are too large.
    pub fn from_components(about: About, parts: &[NewComponent<'_>]) -> Result<Self, BundleError> {
        let (mut blobs, mut manifests) = (BTreeMap::new(), Vec::new());
        for (component, part) in about.components.iter().zip(parts) {
            let title = component.plugins.first().map_or("plugin", |plugin| &plugin.name);
            let artifact = Artifact::new(
                part.bytes,
                &format!("{title}.wasm"),
                part.exports,
                &component.wants.imports,
            )
            .map_err(|error| BundleError::Artifact { digest: component.digest, error })?;
            manifests.push(crate::artifact::described(
                MANIFEST,
                &artifact.manifest,
                artifact.layer.annotations.clone(),
            ));
            for bytes in [artifact.manifest.as_slice(), &artifact.config, part.bytes] {
                blobs.insert(Digest::of_bytes(bytes), bytes.to_vec());
            }
        }
        let index = BundleIndex::new(about, manifests)?;
        Self::from_blobs(index.bytes(), |wanted| {
            blobs.get(&wanted.digest).cloned().ok_or_else(|| "it was not added".to_owned())
        })
    }

    /// Reads a bundle whose index has these bytes. `fetch` returns the bytes of a descriptor, at
    /// most as many as it says; they are hashed and measured here before anything in them is
    /// trusted.
    ///
    /// # Errors
    /// Fails if a part is missing, changed, swapped, superfluous or too large.
    pub fn from_blobs(
        index: &[u8],
        mut fetch: impl FnMut(&OciDescriptor) -> Result<Vec<u8>, String>,
    ) -> Result<Self, BundleError> {
        let index = BundleIndex::parse_index(index)?;
        bounded(&index.about().components)?;
        let mut blobs = BTreeMap::new();
        for (manifest, component) in index.manifests().iter().zip(&index.about().components) {
            if manifest.size > 1 << 20 {
                return Err(BundleError::TooLarge(format!(
                    "the artifact {} has a manifest of {} bytes",
                    manifest.digest, manifest.size
                )));
            }
            let wrong = |error| BundleError::Artifact { digest: manifest.digest, error };
            let document = fetched(manifest, &mut fetch)?;
            let (config, layer) = Artifact::read_manifest(&document).map_err(wrong)?;
            if layer.digest != component.digest {
                return Err(BundleError::Other {
                    artifact: manifest.digest,
                    holds: layer.digest,
                    tells: component.digest,
                });
            }
            if layer.size != component.size {
                return Err(BundleError::Size {
                    digest: layer.digest,
                    declared: component.size,
                    found: layer.size,
                });
            }
            blobs.insert(manifest.digest, document);
            for part in [config, layer] {
                blobs.insert(part.digest, fetched(&part, &mut fetch)?);
            }
        }
        Ok(Self { index, blobs })
    }

    /// Returns its index.
    #[must_use]
    pub const fn index(&self) -> &BundleIndex {
        &self.index
    }

    /// Returns its own description.
    #[must_use]
    pub const fn about(&self) -> &About {
        self.index.about()
    }

    /// Returns the bytes of a component.
    #[must_use]
    pub fn component_bytes(&self, component: &Component) -> Option<&[u8]> {
        self.blobs.get(&component.digest).map(Vec::as_slice)
    }

    /// Returns all blobs that its index refers to, by digest.
    pub fn blobs(&self) -> impl Iterator<Item = (Digest, &[u8])> {
        self.blobs.iter().map(|(digest, bytes)| (*digest, bytes.as_slice()))
    }
}

fn bounded(components: &[Component]) -> Result<(), BundleError> {
    if let Some(large) = components.iter().find(|component| component.size > MOST_COMPONENT) {
        return Err(BundleError::TooLarge(format!(
            "the component {} has {} bytes, at most {MOST_COMPONENT} are read",
            large.digest, large.size
        )));
    }
    let sum = components.iter().fold(0_u64, |sum, component| sum.saturating_add(component.size));
    if sum > MOST_BYTES {
        return Err(BundleError::TooLarge(format!(
            "its components have {sum} bytes together, at most {MOST_BYTES} are read"
        )));
    }
    Ok(())
}

/// Fetches the bytes of a descriptor, and verifies their size and digest.
pub(crate) fn fetched(
    wanted: &OciDescriptor,
    mut fetch: impl FnMut(&OciDescriptor) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, BundleError> {
    let bytes = fetch(wanted).map_err(|why| BundleError::Missing { digest: wanted.digest, why })?;
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found != wanted.size {
        return Err(BundleError::Size { digest: wanted.digest, declared: wanted.size, found });
    }
    match Digest::of_bytes(&bytes) {
        digest if digest == wanted.digest => Ok(bytes),
        found => Err(BundleError::Swapped { wanted: wanted.digest, found }),
    }
}

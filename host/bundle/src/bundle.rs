//! A bundle with all of its bytes: put together, or read and held against its index.

use crate::about::{About, Component};
use crate::artifact::{Artifact, ArtifactError};
use crate::digest::Digest;
use crate::index::{Descriptor, Index, IndexError, MANIFEST};
use std::collections::BTreeMap;

/// Bytes of one component, as the host reads it (host/engine's limit).
const MOST_COMPONENT: u64 = 64 << 20;
/// Bytes of all components together.
const MOST_BYTES: u64 = 256 << 20;

/// A bundle in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    index: Index,
    /// Manifests, configs and components.
    blobs: BTreeMap<Digest, Vec<u8>>,
}

/// Why something is no whole bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Its index is none.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An artifact of it is none.
    #[error("the artifact {digest}: {error}")]
    Artifact {
        /// Which one.
        digest: Digest,
        /// What is wrong with it.
        error: ArtifactError,
    },
    /// Other bytes came than were asked for.
    #[error("{wanted} was asked for, and {found} came: the bytes were changed or swapped")]
    Swapped {
        /// What a document names.
        wanted: Digest,
        /// What the bytes are.
        found: Digest,
    },
    /// More or fewer bytes than a document says.
    #[error("{digest} has {found} bytes, where {told} were told")]
    Size {
        /// Which bytes.
        digest: Digest,
        /// What a document says.
        told: u64,
        /// How many there are.
        found: u64,
    },
    /// More than anybody loads.
    #[error("{0}")]
    TooLarge(String),
    /// The index tells of another component than an artifact holds.
    #[error("the artifact {artifact} holds {holds}, the bundle tells of {tells} there")]
    Other {
        /// The artifact.
        artifact: Digest,
        /// The layer that it names.
        holds: Digest,
        /// The component that the index tells of in its place.
        tells: Digest,
    },
    /// Some bytes could not be had.
    #[error("{digest} cannot be had: {why}")]
    Missing {
        /// Which bytes.
        digest: Digest,
        /// Why, in words.
        why: String,
    },
}

/// A component that goes into a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its bytes; their digest and size are what [`About`] tells.
    pub bytes: &'a [u8],
    /// The interfaces that it exports.
    pub exports: &'a [String],
}

impl Bundle {
    /// Puts a bundle together: `parts` are the components of `about`, in its order.
    ///
    /// # Errors
    /// The parts are not what `about` tells, or are too large.
    pub fn assemble(about: About, parts: &[Part<'_>]) -> Result<Self, BundleError> {
        let (mut blobs, mut manifests) = (BTreeMap::new(), Vec::new());
        for (component, part) in about.components.iter().zip(parts) {
            let title = component.plugins.first().map_or("plugin", |plugin| &plugin.name);
            let artifact = Artifact::new(part.bytes, &format!("{title}.wasm"), part.exports, &component.wants.imports)
                .map_err(|error| BundleError::Artifact { digest: component.digest, error })?;
            manifests.push(crate::artifact::described(MANIFEST, &artifact.manifest, artifact.layer.annotations.clone()));
            for bytes in [artifact.manifest.as_slice(), &artifact.config, part.bytes] {
                blobs.insert(Digest::of(bytes), bytes.to_vec());
            }
        }
        let index = Index::new(about, manifests)?;
        Self::open(index.bytes(), |wanted| blobs.get(&wanted.digest).cloned().ok_or_else(|| "nobody put it in".to_owned()))
    }

    /// Reads a bundle whose index has these bytes. `fetch` gives the bytes of a descriptor, at most as many as it says;
    /// what it gives is hashed and measured here before anything in it is believed.
    ///
    /// # Errors
    /// Something of it is missing, changed, swapped, superfluous or too large.
    pub fn open(index: &[u8], mut fetch: impl FnMut(&Descriptor) -> Result<Vec<u8>, String>) -> Result<Self, BundleError> {
        let index = Index::read(index)?;
        bounded(&index.about().components)?;
        let mut blobs = BTreeMap::new();
        for (manifest, component) in index.manifests().iter().zip(&index.about().components) {
            if manifest.size > 1 << 20 {
                return Err(BundleError::TooLarge(format!("the artifact {} has a manifest of {} bytes", manifest.digest, manifest.size)));
            }
            let wrong = |error| BundleError::Artifact { digest: manifest.digest, error };
            let document = fetched(manifest, &mut fetch)?;
            let (config, layer) = Artifact::read(&document).map_err(wrong)?;
            if layer.digest != component.digest {
                return Err(BundleError::Other { artifact: manifest.digest, holds: layer.digest, tells: component.digest });
            }
            if layer.size != component.size {
                return Err(BundleError::Size { digest: layer.digest, told: component.size, found: layer.size });
            }
            blobs.insert(manifest.digest, document);
            for part in [config, layer] {
                blobs.insert(part.digest, fetched(&part, &mut fetch)?);
            }
        }
        Ok(Self { index, blobs })
    }

    /// Its index.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// What it says of itself.
    #[must_use]
    pub const fn about(&self) -> &About {
        self.index.about()
    }

    /// A component's bytes.
    #[must_use]
    pub fn component(&self, component: &Component) -> Option<&[u8]> {
        self.blobs.get(&component.digest).map(Vec::as_slice)
    }

    /// All that its index leads to, by digest.
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
        return Err(BundleError::TooLarge(format!("its components have {sum} bytes together, at most {MOST_BYTES} are read")));
    }
    Ok(())
}

/// The bytes of a descriptor, held against what it says of them.
pub(crate) fn fetched(wanted: &Descriptor, mut fetch: impl FnMut(&Descriptor) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, BundleError> {
    let bytes = fetch(wanted).map_err(|why| BundleError::Missing { digest: wanted.digest, why })?;
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found != wanted.size {
        return Err(BundleError::Size { digest: wanted.digest, told: wanted.size, found });
    }
    match Digest::of(&bytes) {
        digest if digest == wanted.digest => Ok(bytes),
        found => Err(BundleError::Swapped { wanted: wanted.digest, found }),
    }
}

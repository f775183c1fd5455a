//! An index as an OCI artifact: a manifest, whose digest signatures cover, and one layer, the
//! document.

use super::document::{IndexDocument, IndexDocumentError, MOST_BYTES};
use super::statement::IndexStatement;
use crate::artifact::described;
use crate::bundle::{BundleError, fetched};
use crate::digest::Digest;
use crate::display::display_line;
use crate::document::parse_document;
use crate::envelope::EMPTY;
use crate::index::{MANIFEST, OciDescriptor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The artifact type that distinguishes an index of bundles.
const INDEX_ARTIFACT: &str = "application/vnd.portcullis.index.v1+json";
/// The media type of the layer.
const DOCUMENT: &str = "application/vnd.portcullis.index.document.v1+json";
/// The file name of the layer, for tools that save it.
const TITLE: (&str, &str) = ("org.opencontainers.image.title", "index.json");
/// The most bytes of a manifest.
const MOST_MANIFEST: usize = 64 << 10;

/// An index in memory, with the bytes that its digest covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexArtifact {
    manifest: Vec<u8>,
    layer: Vec<u8>,
    document: IndexDocument,
}

/// The reasons why something is not the artifact of an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexArtifactError {
    /// Its manifest is not one, or that of something else.
    #[error("it is not an index of bundles: {}", display_line(.0))]
    Malformed(String),
    /// Its bytes are not those that a document names.
    #[error(transparent)]
    Bytes(#[from] BundleError),
    /// Its document is invalid.
    #[error(transparent)]
    Document(#[from] IndexDocumentError),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    schema_version: u8,
    media_type: String,
    artifact_type: String,
    config: OciDescriptor,
    layers: Vec<OciDescriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl IndexArtifact {
    /// The most bytes of a document that names an index's parts.
    pub const MOST_MANIFEST: usize = MOST_MANIFEST;

    /// Creates the artifact of a document; the same document gives the same bytes.
    ///
    /// # Errors
    /// Fails if the document is longer than what is read.
    pub fn new(document: IndexDocument) -> Result<Self, IndexArtifactError> {
        let layer = document.to_bytes()?;
        let title = BTreeMap::from([(TITLE.0.to_owned(), TITLE.1.to_owned())]);
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: INDEX_ARTIFACT.to_owned(),
            config: described(EMPTY.0, EMPTY.1, BTreeMap::new()),
            layers: vec![described(DOCUMENT, &layer, title)],
            annotations: BTreeMap::new(),
        };
        let manifest = serde_json::to_vec(&manifest)
            .map_err(|error| IndexArtifactError::Malformed(error.to_string()))?;
        Ok(Self { manifest, layer, document })
    }

    /// Reads the artifact with that manifest. `fetch` returns the bytes of a descriptor, at most as
    /// many as it says; they are hashed and measured here before anything in them is trusted.
    ///
    /// # Errors
    /// Fails if it is the artifact of something else, or if a part is missing, changed, swapped,
    /// superfluous or too large.
    pub fn from_manifest(
        manifest: &[u8],
        mut fetch: impl FnMut(&OciDescriptor) -> Result<Vec<u8>, String>,
    ) -> Result<Self, IndexArtifactError> {
        let wrong = |what: String| IndexArtifactError::Malformed(what);
        let read: Manifest = parse_document(manifest, MOST_MANIFEST).map_err(wrong)?;
        if read.schema_version != 2 || read.media_type != MANIFEST {
            return Err(wrong(format!("its media type is `{}`", read.media_type.escape_debug())));
        }
        if read.artifact_type != INDEX_ARTIFACT {
            return Err(wrong(format!(
                "its artifact type is `{}`, an index's is `{INDEX_ARTIFACT}`",
                read.artifact_type.escape_debug()
            )));
        }
        let empty = Digest::of_bytes(EMPTY.1);
        if read.config.media_type != EMPTY.0 || read.config.digest != empty {
            return Err(wrong("its config is not the empty one".to_owned()));
        }
        let [layer] = <[OciDescriptor; 1]>::try_from(read.layers)
            .map_err(|all| wrong(format!("it has {} layers, an index has one", all.len())))?;
        if layer.media_type != DOCUMENT {
            return Err(wrong(format!(
                "its layer is `{}`, an index's is `{DOCUMENT}`",
                layer.media_type.escape_debug()
            )));
        }
        if usize::try_from(layer.size).map_or(true, |size| size > MOST_BYTES) {
            return Err(wrong(format!(
                "its document has {} bytes, at most {MOST_BYTES} are read",
                layer.size
            )));
        }
        let layer = fetched(&layer, &mut fetch)?;
        let document = IndexDocument::parse_document(&layer)?;
        Ok(Self { manifest: manifest.to_vec(), layer, document })
    }

    /// Returns the digest that signatures cover.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_bytes(&self.manifest)
    }

    /// Returns the statement that a publisher signs.
    #[must_use]
    pub fn statement(&self) -> IndexStatement {
        IndexStatement { name: self.document.name.to_string(), digest: self.digest() }
    }

    /// Returns the descriptor of the manifest, to which signatures refer.
    #[must_use]
    pub fn descriptor(&self) -> OciDescriptor {
        described(MANIFEST, &self.manifest, BTreeMap::new())
    }

    /// Returns the bytes of the manifest.
    #[must_use]
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// Returns the blobs that the manifest names: the empty config, and the document.
    #[must_use]
    pub fn blobs(&self) -> [(Digest, &[u8]); 2] {
        [EMPTY.1, self.layer.as_slice()].map(|bytes| (Digest::of_bytes(bytes), bytes))
    }

    /// Returns the document.
    #[must_use]
    pub const fn document(&self) -> &IndexDocument {
        &self.document
    }
}

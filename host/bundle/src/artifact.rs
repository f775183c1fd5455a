//! A component as an OCI artifact of its own, in the CNCF's layout for wasm: a config and one
//! layer.

use crate::digest::Digest;
use crate::display::display_line;
use crate::index::{MANIFEST, OciDescriptor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The config's media type.
pub(crate) const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The layer's media type.
pub(crate) const LAYER: &str = "application/wasm";
/// The most bytes of a manifest or a config.
const MOST_BYTES: usize = 1 << 20;
/// The required creation time; it is always the same, so that the same inputs give the same digest.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The documents that make a component an artifact.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifact {
    /// The manifest's bytes.
    pub manifest: Vec<u8>,
    /// The config's bytes.
    pub config: Vec<u8>,
    /// The layer, which identifies the component's bytes.
    pub layer: OciDescriptor,
}

/// The reasons why documents are not an artifact of one component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    /// The document is too long.
    #[error("it has {0} bytes, at most {MOST_BYTES} are read")]
    TooLong(usize),
    /// It is not JSON, or not a manifest.
    #[error("it is not an OCI manifest: {}", display_line(.0))]
    Malformed(String),
    /// It does not describe exactly one component.
    #[error("{}", display_line(.0))]
    NotOneComponent(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    schema_version: u8,
    media_type: String,
    config: OciDescriptor,
    layers: Vec<OciDescriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    created: &'a str,
    architecture: &'a str,
    os: &'a str,
    layer_digests: [Digest; 1],
    component: Interfaces<'a>,
}

#[derive(Serialize)]
struct Interfaces<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

impl Artifact {
    /// Creates the artifact of a component with these exports and imports; `title` is the file name
    /// for tools that save it.
    ///
    /// # Errors
    /// Fails only if JSON cannot be written to memory, which does not happen in practice.
    pub fn new(
        component: &[u8],
        title: &str,
        exports: &[String],
        imports: &[String],
    ) -> Result<Self, ArtifactError> {
        let malformed = |error: serde_json::Error| ArtifactError::Malformed(error.to_string());
        let named = |title: &str| {
            BTreeMap::from([("org.opencontainers.image.title".to_owned(), title.to_owned())])
        };
        let layer = described(LAYER, component, named(title));
        let config = Config {
            created: CREATED,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [layer.digest],
            component: Interfaces { exports, imports },
        };
        let config = serde_json::to_vec(&config).map_err(malformed)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            config: described(CONFIG, &config, BTreeMap::new()),
            layers: vec![layer.clone()],
            annotations: BTreeMap::new(),
        };
        Ok(Self { manifest: serde_json::to_vec(&manifest).map_err(malformed)?, config, layer })
    }

    /// Reads a manifest and returns the descriptors of its config and its one layer.
    ///
    /// # Errors
    /// Fails if it is not a manifest, or does not describe exactly one component.
    pub fn read_manifest(manifest: &[u8]) -> Result<(OciDescriptor, OciDescriptor), ArtifactError> {
        if manifest.len() > MOST_BYTES {
            return Err(ArtifactError::TooLong(manifest.len()));
        }
        let read: Manifest = serde_json::from_slice(manifest)
            .map_err(|error| ArtifactError::Malformed(error.to_string()))?;
        if read.schema_version != 2 || read.media_type != MANIFEST {
            return Err(ArtifactError::Malformed(format!(
                "its media type is `{}`",
                read.media_type.escape_debug()
            )));
        }
        let unfit = |what: String| Err(ArtifactError::NotOneComponent(what));
        if read.config.media_type != CONFIG {
            return unfit(format!(
                "its config is `{}`, a component's is `{CONFIG}`",
                read.config.media_type.escape_debug()
            ));
        }
        if usize::try_from(read.config.size).is_ok_and(|size| size > MOST_BYTES) {
            return unfit(format!("its config has {} bytes", read.config.size));
        }
        match <[OciDescriptor; 1]>::try_from(read.layers) {
            Ok([layer]) if layer.media_type == LAYER => Ok((read.config, layer)),
            Ok([layer]) => unfit(format!(
                "its layer is `{}`, a component's is `{LAYER}`",
                layer.media_type.escape_debug()
            )),
            Err(layers) => unfit(format!("it has {} layers, a component has one", layers.len())),
        }
    }
}

/// Returns the descriptor of these bytes.
pub(crate) fn described(
    media_type: &str,
    bytes: &[u8],
    annotations: BTreeMap<String, String>,
) -> OciDescriptor {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    OciDescriptor {
        media_type: media_type.to_owned(),
        digest: Digest::of_bytes(bytes),
        size,
        annotations,
    }
}

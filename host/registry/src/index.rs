//! Pushes and pulls indexes of bundles: one document with its signatures, under a tag that moves
//! with each new index.

use crate::client::Client;
use crate::download::fetch;
use crate::error::RegistryError;
use crate::pull::{named, named_document};
use crate::push::check_target;
use crate::reference::Reference;
use crate::referrers;
use crate::session::{RegistrySession, TokenAction};
use crate::upload::{blob, manifest};
use portcullis_bundle::media_type::MANIFEST;
use portcullis_bundle::{Digest, IndexArtifact, Signature};

/// An index of bundles as it was received. Its signatures are not verified here.
#[derive(Clone, Debug)]
pub struct PulledIndex {
    /// The index, verified against the digest of its manifest.
    pub artifact: IndexArtifact,
    /// The artifacts that refer to it in the format of its signatures.
    pub signatures: Vec<Signature>,
}

impl Client {
    /// Pulls an index of bundles: the one that its tag currently names, or the one with the digest
    /// in the reference.
    ///
    /// # Errors
    /// Fails if it does not exist, is not accessible, cannot be obtained in time, or if its bytes
    /// do not match its digests.
    pub fn pull_index(&self, reference: &Reference) -> Result<PulledIndex, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Pull)?;
        let most = u64::try_from(IndexArtifact::MOST_MANIFEST).unwrap_or(u64::MAX);
        let bytes = named_document(&session, MANIFEST, most)?;
        let mut kept = None;
        let read = IndexArtifact::from_manifest(&bytes, |wanted| {
            fetch(&session, wanted, |_| {}).map_err(|error| {
                let words = error.why.to_string();
                kept = Some(error);
                words
            })
        });
        let artifact = read.map_err(|error| {
            kept.take().unwrap_or_else(|| session.error(&named(&session), Box::new(error)))
        })?;
        let beside = referrers::pull(&session, &artifact.descriptor())?;
        Ok(PulledIndex { artifact, signatures: beside.signatures })
    }

    /// Pushes an index of bundles with its signatures, and gives it the reference's tag last, so
    /// that nobody sees it without them. Returns the digest of its manifest.
    ///
    /// # Errors
    /// Fails if the registry does not accept it or cannot be reached, or if the reference names
    /// neither a tag nor this index's digest.
    pub fn push_index(
        &self,
        artifact: &IndexArtifact,
        signatures: &[Signature],
        reference: &Reference,
    ) -> Result<Digest, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Push)?;
        let digest = artifact.digest();
        check_target(&session, digest)?;
        for (digest, bytes) in artifact.blobs() {
            blob(&session, digest, bytes)?;
        }
        manifest(&session, &digest.to_string(), MANIFEST, artifact.manifest())?;
        referrers::push(&session, &artifact.descriptor(), signatures)?;
        if let Some(tag) = reference.tag() {
            manifest(&session, tag.as_str(), MANIFEST, artifact.manifest())?;
        }
        Ok(digest)
    }
}

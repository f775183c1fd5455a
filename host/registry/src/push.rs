//! Pushes a bundle: first the blobs, then the documents that name them, and the tag last, so that
//! nobody sees a part of it.

use crate::client::Client;
use crate::error::{ErrorReason, RegistryError};
use crate::reference::Reference;
use crate::session::{RegistrySession, TokenAction};
use crate::upload::{blob, manifest};
use crate::{TransferProgress, pull, referrers};
use portcullis_bundle::media_type::{INDEX, MANIFEST};
use portcullis_bundle::{Bundle, BundleError, Digest, Signature};
use std::collections::{BTreeMap, BTreeSet};

impl Client {
    /// Pushes a bundle with its signatures, and gives it the reference's tag. Blobs that the
    /// registry already has are not sent again. Returns the digest of the index.
    ///
    /// # Errors
    /// Fails if the registry does not accept it or cannot be reached, or if the reference names
    /// neither a tag nor this bundle's digest.
    pub fn push_bundle(
        &self,
        bundle: &Bundle,
        signatures: &[Signature],
        reference: &Reference,
        progress: &mut dyn FnMut(TransferProgress<'_>),
    ) -> Result<Digest, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Push)?;
        let index = bundle.index();
        check_target(&session, index.digest())?;
        let manifests: BTreeSet<Digest> =
            index.manifests().iter().map(|manifest| manifest.digest).collect();
        let components = &bundle.about().components;
        let total = components.iter().map(|component| component.size).sum();
        let names: BTreeMap<Digest, &str> = components
            .iter()
            .filter_map(|one| Some((one.digest, one.plugins.first()?.name.as_str())))
            .collect();
        let mut done = 0;
        for (digest, bytes) in bundle.blobs().filter(|(digest, _)| !manifests.contains(digest)) {
            let name = names.get(&digest).copied();
            progress(TransferProgress { what: name.unwrap_or("descriptions"), done, total });
            blob(&session, digest, bytes)?;
            done += if name.is_some() { u64::try_from(bytes.len()).unwrap_or(u64::MAX) } else { 0 };
        }
        progress(TransferProgress { what: "manifests", done, total });
        for (digest, bytes) in bundle.blobs().filter(|(digest, _)| manifests.contains(digest)) {
            manifest(&session, &digest.to_string(), MANIFEST, bytes)?;
        }
        manifest(&session, &index.digest().to_string(), INDEX, index.bytes())?;
        progress(TransferProgress { what: "signatures", done, total });
        referrers::push(&session, &pull::described(index), signatures)?;
        if let Some(tag) = reference.tag() {
            progress(TransferProgress { what: tag.as_str(), done, total });
            manifest(&session, tag.as_str(), INDEX, index.bytes())?;
        }
        Ok(index.digest())
    }

    /// Adds signatures to a bundle that is already in the registry, such as a vetting after
    /// publication. Returns the digest of the index that the reference named.
    ///
    /// # Errors
    /// Fails if the bundle does not exist, or if the registry does not accept them.
    pub fn attach_signatures(
        &self,
        signatures: &[Signature],
        reference: &Reference,
    ) -> Result<Digest, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Push)?;
        let index = pull::index(&session)?;
        referrers::push(&session, &pull::described(&index), signatures)?;
        Ok(index.digest())
    }
}

/// Checks that the session's reference names this digest, or a tag to give it.
pub(crate) fn check_target(
    session: &RegistrySession<'_>,
    found: Digest,
) -> Result<(), RegistryError> {
    let (reference, asked) = (session.reference(), pull::named(session));
    match (reference.digest(), reference.tag()) {
        (Some(wanted), _) if wanted != found => {
            Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found })))
        }
        (None, None) => {
            let what = format!("it names no tag to give it; write `{reference}:TAG`");
            Err(session.error(&asked, ErrorReason::Malformed(what)))
        }
        _ => Ok(()),
    }
}

//! Pulls a bundle with its signatures.

use crate::TransferProgress;
use crate::client::Client;
use crate::download::{document, fetch, held};
use crate::error::{ErrorReason, RegistryError};
use crate::reference::Reference;
use crate::referrers::{self, UnsupportedSignature};
use crate::session::{MOST_DOCUMENT, RegistrySession, TokenAction};
use portcullis_bundle::media_type::INDEX;
use portcullis_bundle::{Bundle, BundleError, BundleIndex, Digest, OciDescriptor, Signature};
use std::collections::BTreeMap;

/// A bundle as it was received. Its signatures are not verified here.
#[derive(Clone, Debug)]
pub struct PulledBundle {
    /// The bundle, verified against its digest.
    pub bundle: Bundle,
    /// The artifacts that refer to it in the format of its signatures.
    pub signatures: Vec<Signature>,
    /// The artifacts that refer to it in another format of signatures, for example made without a
    /// key.
    pub unread: Vec<UnsupportedSignature>,
    /// The digest that the reference resolved to.
    pub digest: Digest,
}

impl Client {
    /// Pulls a bundle: the one that its tag currently names, or the one with the digest in the
    /// reference.
    ///
    /// # Errors
    /// Fails if it does not exist, is not accessible, cannot be obtained in time, or if its bytes
    /// do not match its digests.
    pub fn pull_bundle(
        &self,
        reference: &Reference,
        progress: &mut dyn FnMut(TransferProgress<'_>),
    ) -> Result<PulledBundle, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Pull)?;
        let index = index(&session)?;
        let about = index.about();
        let total = about.components.iter().map(|component| component.size).sum();
        let names: BTreeMap<Digest, &str> = about
            .components
            .iter()
            .filter_map(|one| Some((one.digest, one.plugins.first()?.name.as_str())))
            .collect();
        let mut before = 0;
        let mut kept = None;
        let opened = Bundle::from_blobs(index.bytes(), |wanted| {
            let name = names.get(&wanted.digest).copied();
            let seen = |seen| {
                if let Some(what) = name {
                    progress(TransferProgress { what, done: before + seen, total });
                }
            };
            let bytes = fetch(&session, wanted, seen).map_err(|error| {
                let words = error.why.to_string();
                kept = Some(error);
                words
            })?;
            before += if name.is_some() { wanted.size } else { 0 };
            Ok(bytes)
        });
        let bundle = opened.map_err(|error| {
            kept.take().unwrap_or_else(|| session.error(&named(&session), Box::new(error)))
        })?;
        progress(TransferProgress { what: "signatures", done: total, total });
        let beside = referrers::pull(&session, &described(&index))?;
        Ok(PulledBundle {
            bundle,
            signatures: beside.signatures,
            unread: beside.unread,
            digest: index.digest(),
        })
    }

    /// Fetches the index of a bundle that its tag currently names, without its components.
    ///
    /// # Errors
    /// Fails as [`Client::pull_bundle`] does.
    pub fn read_index(&self, reference: &Reference) -> Result<BundleIndex, RegistryError> {
        index(&RegistrySession::new(self, reference, TokenAction::Pull)?)
    }
}

/// Fetches the bundle's own index that the session's reference names.
pub(crate) fn index(session: &RegistrySession<'_>) -> Result<BundleIndex, RegistryError> {
    let bytes = named_document(session, INDEX, MOST_DOCUMENT)?;
    BundleIndex::parse_index(&bytes)
        .map_err(|error| session.error(&named(session), Box::new(BundleError::from(error))))
}

/// Fetches the document of that media type that the session's reference names, at most `most`
/// bytes.
pub(crate) fn named_document(
    session: &RegistrySession<'_>,
    media_type: &str,
    most: u64,
) -> Result<Vec<u8>, RegistryError> {
    let (reference, asked) = (session.reference(), named(session));
    let fetch = |under: &str| {
        document(session, session.url(&format!("manifests/{under}")), media_type, &asked, most)
    };
    match (reference.digest(), reference.tag()) {
        (Some(digest), _) => held(session, &asked, digest, fetch(&digest.to_string())?),
        (None, Some(tag)) => fetch(tag.as_str()),
        (None, None) => {
            let what = format!("it names neither a tag nor a digest; write `{reference}:TAG`");
            Err(session.error(&asked, ErrorReason::Malformed(what)))
        }
    }
}

/// Returns the descriptor of an index.
pub(crate) fn described(index: &BundleIndex) -> OciDescriptor {
    let size = u64::try_from(index.bytes().len()).unwrap_or(u64::MAX);
    OciDescriptor {
        media_type: INDEX.to_owned(),
        digest: index.digest(),
        size,
        annotations: BTreeMap::new(),
    }
}

/// Describes the session's reference.
pub(crate) fn named(session: &RegistrySession<'_>) -> String {
    let reference = session.reference();
    match (reference.digest(), reference.tag()) {
        (Some(digest), _) => format!("{digest} of `{}`", reference.path()),
        (None, Some(tag)) => format!("the tag `{tag}` of `{}`", reference.path()),
        (None, None) => format!("`{}`", reference.path()),
    }
}

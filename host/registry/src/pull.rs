//! Pulls a bundle with its signatures.

use crate::client::Client;
use crate::error::{ErrorReason, RegistryError};
use crate::reference::Reference;
use crate::session::{MOST_DOCUMENT, RegistryRequest, RegistrySession, TokenAction};
use crate::{TransferProgress, referrers};
use portcullis_bundle::media_type::{INDEX, MANIFEST};
use portcullis_bundle::{Bundle, BundleError, Descriptor, Digest, Index, Signature};
use std::collections::BTreeMap;
use ureq::http::Method;
use ureq::http::header::CONTENT_TYPE;
use url::Url;

/// The most bytes of anything that a document names; components are the largest.
const MOST_BLOB: u64 = 64 << 20;
/// The empty config that every signature has, which is therefore never fetched.
const EMPTY: &[u8] = b"{}";

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

/// A signature in an unsupported format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedSignature {
    /// The digest of its manifest.
    pub digest: Digest,
    /// The reason, in words.
    pub why: String,
}

impl Client {
    /// Pulls a bundle: the one that its tag currently names, or the one with the digest in the
    /// reference.
    ///
    /// # Errors
    /// Fails if it does not exist, is not accessible, cannot be obtained in time, or if its bytes
    /// do not match its digests.
    pub fn pull(
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
        let opened = Bundle::open(index.bytes(), |wanted| {
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
    /// Fails as [`Client::pull`] does.
    pub fn index(&self, reference: &Reference) -> Result<Index, RegistryError> {
        index(&RegistrySession::new(self, reference, TokenAction::Pull)?)
    }
}

/// Fetches the index that the session's reference names.
pub(crate) fn index(session: &RegistrySession<'_>) -> Result<Index, RegistryError> {
    let (reference, asked) = (session.reference(), named(session));
    let bytes = match (reference.digest(), reference.tag()) {
        (Some(digest), _) => {
            let bytes = document(
                session,
                session.url(&format!("manifests/{digest}")),
                INDEX,
                &asked,
                MOST_DOCUMENT,
            )?;
            held(session, &asked, digest, bytes)?
        }
        (None, Some(tag)) => document(
            session,
            session.url(&format!("manifests/{tag}")),
            INDEX,
            &asked,
            MOST_DOCUMENT,
        )?,
        (None, None) => {
            let what = format!("it names neither a tag nor a digest; write `{reference}:TAG`");
            return Err(session.error(&asked, ErrorReason::Malformed(what)));
        }
    };
    Index::read(&bytes).map_err(|error| session.error(&asked, Box::new(BundleError::from(error))))
}

/// Returns the descriptor of an index.
pub(crate) fn described(index: &Index) -> Descriptor {
    let size = u64::try_from(index.bytes().len()).unwrap_or(u64::MAX);
    Descriptor {
        media_type: INDEX.to_owned(),
        digest: index.digest(),
        size,
        annotations: BTreeMap::new(),
    }
}

/// Describes the session's reference, in words.
pub(crate) fn named(session: &RegistrySession<'_>) -> String {
    let reference = session.reference();
    match (reference.digest(), reference.tag()) {
        (Some(digest), _) => format!("{digest} of `{}`", reference.path()),
        (None, Some(tag)) => format!("the tag `{tag}` of `{}`", reference.path()),
        (None, None) => format!("`{}`", reference.path()),
    }
}

/// Fetches the bytes of a descriptor and verifies their size and digest.
pub(crate) fn fetch(
    session: &RegistrySession<'_>,
    wanted: &Descriptor,
    seen: impl FnMut(u64),
) -> Result<Vec<u8>, RegistryError> {
    let digest = wanted.digest;
    if digest == Digest::of(EMPTY) {
        return Ok(EMPTY.to_vec());
    }
    let asked = format!("{digest} of `{}`", session.reference().path());
    if wanted.size > MOST_BLOB {
        return Err(session.error(&asked, ErrorReason::TooLong(MOST_BLOB)));
    }
    let bytes = if wanted.media_type == MANIFEST {
        document(
            session,
            session.url(&format!("manifests/{digest}")),
            MANIFEST,
            &asked,
            wanted.size,
        )?
    } else {
        let request = RegistryRequest {
            method: Method::GET,
            url: session.url(&format!("blobs/{digest}")),
            accept: "",
            body: None,
            asked: &asked,
        };
        session.read(session.expect(&request, &[200])?, &asked, wanted.size, seen)?
    };
    held(session, &asked, digest, bytes)
}

/// Returns the bytes if they have that digest.
fn held(
    session: &RegistrySession<'_>,
    asked: &str,
    wanted: Digest,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, RegistryError> {
    match Digest::of(&bytes) {
        digest if digest == wanted => Ok(bytes),
        found => Err(session.error(asked, Box::new(BundleError::Swapped { wanted, found }))),
    }
}

/// Fetches a document of at most `most` bytes, and rejects HTML pages.
pub(crate) fn document(
    session: &RegistrySession<'_>,
    url: Url,
    accept: &str,
    asked: &str,
    most: u64,
) -> Result<Vec<u8>, RegistryError> {
    let answer = session
        .expect(&RegistryRequest { method: Method::GET, url, accept, body: None, asked }, &[200])?;
    let kind =
        answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.trim_start().to_ascii_lowercase().starts_with("text/html") {
        let what = "it answered with a page for a browser: it is not a registry, or something before it wants to be asked first";
        return Err(session.error(asked, ErrorReason::Malformed(what.to_owned())));
    }
    session.read(answer, asked, most, |_| {})
}

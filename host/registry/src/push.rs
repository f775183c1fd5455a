//! Pushes a bundle: first the blobs, then the documents that name them, and the tag last, so that
//! nobody sees a part of it.

use crate::client::Client;
use crate::error::{ErrorReason, RegistryError};
use crate::reference::Reference;
use crate::session::{RegistryRequest, RegistrySession, TokenAction};
use crate::{TransferProgress, pull, referrers};
use portcullis_bundle::media_type::{INDEX, MANIFEST};
use portcullis_bundle::{Bundle, BundleError, Digest, Signature};
use std::collections::{BTreeMap, BTreeSet};
use ureq::http::header::{HeaderMap, LOCATION};
use ureq::http::{HeaderValue, Method};

/// The media type of an upload.
const BYTES: &str = "application/octet-stream";
/// The number of attempts for an upload with temporary failures.
const ATTEMPTS: u32 = 3;

impl Client {
    /// Pushes a bundle with its signatures, and gives it the reference's tag. Blobs that the
    /// registry already has are not sent again. Returns the digest of the index.
    ///
    /// # Errors
    /// Fails if the registry does not accept it or cannot be reached, or if the reference names
    /// neither a tag nor this bundle's digest.
    pub fn push(
        &self,
        bundle: &Bundle,
        signatures: &[Signature],
        reference: &Reference,
        progress: &mut dyn FnMut(TransferProgress<'_>),
    ) -> Result<Digest, RegistryError> {
        let session = RegistrySession::new(self, reference, TokenAction::Push)?;
        let (index, asked) = (bundle.index(), pull::named(&session));
        match (reference.digest(), reference.tag()) {
            (Some(wanted), _) if wanted != index.digest() => {
                let found = index.digest();
                return Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found })));
            }
            (None, None) => {
                let what = format!("it names no tag to give the bundle; write `{reference}:TAG`");
                return Err(session.error(&asked, ErrorReason::Malformed(what)));
            }
            _ => {}
        }
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
    pub fn attach(
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

/// Sends bytes that a manifest names, unless they are already there.
pub(crate) fn blob(
    session: &RegistrySession<'_>,
    digest: Digest,
    bytes: &[u8],
) -> Result<(), RegistryError> {
    let asked = format!("to take {digest} in `{}`", session.reference().path());
    let there = RegistryRequest {
        method: Method::HEAD,
        url: session.url(&format!("blobs/{digest}")),
        accept: "",
        body: None,
        asked: &asked,
    };
    if session.send(&there)?.status() == 200 {
        return Ok(());
    }
    let mut attempt = 0;
    loop {
        attempt += 1;
        match upload(session, digest, bytes, &asked) {
            // The upload location may be gone after the first attempt.
            Err(error) if attempt < ATTEMPTS && may_pass(&error.why) => {}
            outcome => return outcome,
        }
    }
}

fn may_pass(why: &ErrorReason) -> bool {
    why.is_passing()
        || matches!(why, ErrorReason::NotFound | ErrorReason::Answer { status: 500..=599, .. })
}

fn upload(
    session: &RegistrySession<'_>,
    digest: Digest,
    bytes: &[u8],
    asked: &str,
) -> Result<(), RegistryError> {
    let begin = RegistryRequest {
        method: Method::POST,
        url: session.url("blobs/uploads/"),
        accept: "",
        body: None,
        asked,
    };
    let place = begin.url.clone();
    let answer = session.expect(&begin, &[202])?;
    let to = text(answer.headers(), LOCATION.as_str());
    let to = to.ok_or_else(|| {
        session.error(asked, ErrorReason::Malformed("it does not say where to upload".to_owned()))
    })?;
    let mut url = session.led(&place, to).map_err(|why| session.error(asked, why))?;
    let query = url
        .query()
        .map_or_else(|| format!("digest={digest}"), |own| format!("{own}&digest={digest}"));
    url.set_query(Some(&query));
    session
        .expect(
            &RegistryRequest {
                method: Method::PUT,
                url,
                accept: "",
                body: Some((BYTES, bytes)),
                asked,
            },
            &[201],
        )
        .map(drop)
}

/// Puts a manifest or an index under a digest or a tag; returns the response's headers.
pub(crate) fn manifest(
    session: &RegistrySession<'_>,
    under: &str,
    kind: &str,
    bytes: &[u8],
) -> Result<HeaderMap, RegistryError> {
    let asked = format!("to take `{under}` in `{}`", session.reference().path());
    let url = session.url(&format!("manifests/{under}"));
    let answer = session.expect(
        &RegistryRequest {
            method: Method::PUT,
            url,
            accept: "",
            body: Some((kind, bytes)),
            asked: &asked,
        },
        &[201],
    )?;
    let (found, wanted) = (text(answer.headers(), "docker-content-digest"), Digest::of(bytes));
    match found.and_then(|found| found.parse::<Digest>().ok()) {
        Some(found) if found != wanted => {
            Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found })))
        }
        _ => Ok(answer.into_parts().0.headers),
    }
}

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(HeaderValue::to_str)?.ok()
}

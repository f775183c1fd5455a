//! Documents and blobs of a repository, fetched with their sizes and digests verified.

use crate::error::{ErrorReason, RegistryError};
use crate::session::{RegistryRequest, RegistrySession};
use portcullis_bundle::media_type::MANIFEST;
use portcullis_bundle::{BundleError, Digest, OciDescriptor};
use ureq::http::Method;
use ureq::http::header::CONTENT_TYPE;
use url::Url;

/// The most bytes of anything that a document names; components are the largest.
const MOST_BLOB: u64 = 64 << 20;
/// The empty config that every signature has, which is therefore never fetched.
const EMPTY: &[u8] = b"{}";

/// Fetches the bytes of a descriptor and verifies their size and digest.
pub(crate) fn fetch(
    session: &RegistrySession<'_>,
    wanted: &OciDescriptor,
    seen: impl FnMut(u64),
) -> Result<Vec<u8>, RegistryError> {
    let digest = wanted.digest;
    if digest == Digest::of_bytes(EMPTY) {
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
pub(crate) fn held(
    session: &RegistrySession<'_>,
    asked: &str,
    wanted: Digest,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, RegistryError> {
    match Digest::of_bytes(&bytes) {
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
        let what = "it answered with a page for a browser: it is not a registry, or a proxy or \
             login page answers in its place";
        return Err(session.error(asked, ErrorReason::Malformed(what.to_owned())));
    }
    session.read(answer, asked, most, |_| {})
}

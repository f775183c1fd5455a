//! Blobs and manifests, sent to a repository.

use crate::error::{ErrorReason, RegistryError};
use crate::session::{RegistryRequest, RegistrySession};
use portcullis_bundle::{BundleError, Digest};
use ureq::http::header::{HeaderMap, LOCATION};
use ureq::http::{HeaderValue, Method};

/// The media type of an upload.
const BYTES: &str = "application/octet-stream";
/// The number of attempts for an upload with temporary failures.
const ATTEMPTS: u32 = 3;

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
    let mut url = session.exchange().led(&place, to).map_err(|why| session.error(asked, why))?;
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
    let (found, wanted) =
        (text(answer.headers(), "docker-content-digest"), Digest::of_bytes(bytes));
    match found.and_then(|found| found.parse::<Digest>().ok()) {
        Some(found) if found != wanted => {
            Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found })))
        }
        _ => Ok(answer.into_parts().0.headers),
    }
}

/// Returns a header that is text.
pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(HeaderValue::to_str)?.ok()
}

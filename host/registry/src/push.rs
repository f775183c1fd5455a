//! Pushes a bundle: what is named before what names it, and the tag last, so that no one sees half of it.

use crate::client::Client;
use crate::error::{Error, Why};
use crate::reference::Reference;
use crate::session::{Action, Request, Session};
use crate::{Progress, pull, referrers};
use portcullis_bundle::media_type::{INDEX, MANIFEST};
use portcullis_bundle::{Bundle, BundleError, Digest, Signature};
use std::collections::{BTreeMap, BTreeSet};
use ureq::http::header::{HeaderMap, LOCATION};
use ureq::http::{HeaderValue, Method};

/// What an upload's bytes are called.
const BYTES: &str = "application/octet-stream";
/// How often an upload is begun whose failure may pass.
const ATTEMPTS: u32 = 3;

impl Client {
    /// Pushes a bundle with what was signed of it, and gives it the reference's tag. What the registry has already is not
    /// sent again. Returns the digest of the index.
    ///
    /// # Errors
    /// The registry does not take it or cannot be reached, or the reference names neither a tag nor this bundle's digest.
    pub fn push(
        &self,
        bundle: &Bundle,
        signatures: &[Signature],
        reference: &Reference,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Digest, Error> {
        let session = Session::new(self, reference, Action::Push)?;
        let (index, asked) = (bundle.index(), pull::named(&session));
        match (reference.digest(), reference.tag()) {
            (Some(wanted), _) if wanted != index.digest() => {
                let found = index.digest();
                return Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found })));
            }
            (None, None) => {
                let what = format!("it names no tag to give the bundle; write `{reference}:TAG`");
                return Err(session.error(&asked, Why::Malformed(what)));
            }
            _ => {}
        }
        let manifests: BTreeSet<Digest> = index.manifests().iter().map(|manifest| manifest.digest).collect();
        let components = &bundle.about().components;
        let total = components.iter().map(|component| component.size).sum();
        let names: BTreeMap<Digest, &str> =
            components.iter().filter_map(|one| Some((one.digest, one.plugins.first()?.name.as_str()))).collect();
        let mut done = 0;
        for (digest, bytes) in bundle.blobs().filter(|(digest, _)| !manifests.contains(digest)) {
            let name = names.get(&digest).copied();
            progress(Progress { what: name.unwrap_or("descriptions"), done, total });
            blob(&session, digest, bytes)?;
            done += if name.is_some() { u64::try_from(bytes.len()).unwrap_or(u64::MAX) } else { 0 };
        }
        progress(Progress { what: "manifests", done, total });
        for (digest, bytes) in bundle.blobs().filter(|(digest, _)| manifests.contains(digest)) {
            manifest(&session, &digest.to_string(), MANIFEST, bytes)?;
        }
        manifest(&session, &index.digest().to_string(), INDEX, index.bytes())?;
        progress(Progress { what: "signatures", done, total });
        referrers::push(&session, &pull::described(index), signatures)?;
        if let Some(tag) = reference.tag() {
            progress(Progress { what: tag.as_str(), done, total });
            manifest(&session, tag.as_str(), INDEX, index.bytes())?;
        }
        Ok(index.digest())
    }

    /// Adds signatures to a bundle that is there, as a vetting that comes after publishing does. Returns the digest of the
    /// index that the reference stood for.
    ///
    /// # Errors
    /// It is not there, or the registry does not take them.
    pub fn attach(&self, signatures: &[Signature], reference: &Reference) -> Result<Digest, Error> {
        let session = Session::new(self, reference, Action::Push)?;
        let index = pull::index(&session)?;
        referrers::push(&session, &pull::described(&index), signatures)?;
        Ok(index.digest())
    }
}

/// Sends bytes that a manifest names, unless they are there.
pub(crate) fn blob(session: &Session<'_>, digest: Digest, bytes: &[u8]) -> Result<(), Error> {
    let asked = format!("to take {digest} in `{}`", session.reference().path());
    let there = Request { method: Method::HEAD, url: session.url(&format!("blobs/{digest}")), accept: "", body: None, asked: &asked };
    if session.send(&there)?.status() == 200 {
        return Ok(());
    }
    let mut attempt = 0;
    loop {
        attempt += 1;
        match upload(session, digest, bytes, &asked) {
            // Where it was to go may be gone with the first attempt.
            Err(error) if attempt < ATTEMPTS && may_pass(&error.why) => {}
            outcome => return outcome,
        }
    }
}

fn may_pass(why: &Why) -> bool {
    why.is_passing() || matches!(why, Why::NotFound | Why::Answer { status: 500..=599, .. })
}

fn upload(session: &Session<'_>, digest: Digest, bytes: &[u8], asked: &str) -> Result<(), Error> {
    let begin = Request { method: Method::POST, url: session.url("blobs/uploads/"), accept: "", body: None, asked };
    let place = begin.url.clone();
    let answer = session.expect(&begin, &[202])?;
    let to = text(answer.headers(), LOCATION.as_str());
    let to = to.ok_or_else(|| session.error(asked, Why::Malformed("it does not say where the bytes go".to_owned())))?;
    let mut url = session.led(&place, to).map_err(|why| session.error(asked, why))?;
    let query = url.query().map_or_else(|| format!("digest={digest}"), |own| format!("{own}&digest={digest}"));
    url.set_query(Some(&query));
    session.expect(&Request { method: Method::PUT, url, accept: "", body: Some((BYTES, bytes)), asked }, &[201]).map(drop)
}

/// Puts a manifest or an index under a digest or a tag; the answer's head says what the registry makes of it.
pub(crate) fn manifest(session: &Session<'_>, under: &str, kind: &str, bytes: &[u8]) -> Result<HeaderMap, Error> {
    let asked = format!("to take `{under}` in `{}`", session.reference().path());
    let url = session.url(&format!("manifests/{under}"));
    let answer = session.expect(&Request { method: Method::PUT, url, accept: "", body: Some((kind, bytes)), asked: &asked }, &[201])?;
    let (found, wanted) = (text(answer.headers(), "docker-content-digest"), Digest::of(bytes));
    match found.and_then(|found| found.parse::<Digest>().ok()) {
        Some(found) if found != wanted => Err(session.error(&asked, Box::new(BundleError::Swapped { wanted, found }))),
        _ => Ok(answer.into_parts().0.headers),
    }
}

pub(crate) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(HeaderValue::to_str)?.ok()
}

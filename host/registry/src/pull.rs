//! Pulls a bundle with its signatures.

use crate::client::Client;
use crate::error::{Error, Why};
use crate::reference::Reference;
use crate::session::{Action, MOST_DOCUMENT, Request, Session};
use crate::{Progress, referrers};
use portcullis_bundle::media_type::{INDEX, MANIFEST};
use portcullis_bundle::{Bundle, BundleError, Descriptor, Digest, Index, Signature};
use std::collections::BTreeMap;
use ureq::http::Method;
use ureq::http::header::CONTENT_TYPE;
use url::Url;

/// Bytes of anything that a document names: of one component, the largest of it all.
const MOST_BLOB: u64 = 64 << 20;
/// The config of what needs none, which every signature has: nobody has to be asked for it.
const EMPTY: &[u8] = b"{}";

/// A bundle as it came. Who signed it, and whether that counts, is not looked at here.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// The bundle, held against its digest.
    pub bundle: Bundle,
    /// What lies beside it in the form of its signatures.
    pub signatures: Vec<Signature>,
    /// What lies beside it in another form of signatures, for example made without a key.
    pub unread: Vec<Unread>,
    /// What the reference stood for when it was asked for.
    pub digest: Digest,
}

/// A signature that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Of its manifest.
    pub digest: Digest,
    /// Why, in words.
    pub why: String,
}

impl Client {
    /// Pulls a bundle: what its tag stands for now, or the digest that the reference names.
    ///
    /// # Errors
    /// It is not there or not for us, cannot be had in time, or its bytes are others than its digests say.
    pub fn pull(&self, reference: &Reference, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Pulled, Error> {
        let session = Session::new(self, reference, Action::Pull)?;
        let index = index(&session)?;
        let about = index.about();
        let total = about.components.iter().map(|component| component.size).sum();
        let names: BTreeMap<Digest, &str> =
            about.components.iter().filter_map(|one| Some((one.digest, one.plugins.first()?.name.as_str()))).collect();
        let mut before = 0;
        let mut kept = None;
        let opened = Bundle::open(index.bytes(), |wanted| {
            let name = names.get(&wanted.digest).copied();
            let seen = |seen| {
                if let Some(what) = name {
                    progress(Progress { what, done: before + seen, total });
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
        let bundle = opened.map_err(|error| kept.take().unwrap_or_else(|| session.error(&named(&session), Box::new(error))))?;
        progress(Progress { what: "signatures", done: total, total });
        let beside = referrers::pull(&session, &described(&index))?;
        Ok(Pulled { bundle, signatures: beside.signatures, unread: beside.unread, digest: index.digest() })
    }

    /// The index of a bundle: what its tag stands for now, without its components.
    ///
    /// # Errors
    /// As [`Client::pull`].
    pub fn index(&self, reference: &Reference) -> Result<Index, Error> {
        index(&Session::new(self, reference, Action::Pull)?)
    }
}

/// The index that the session's reference leads to.
pub(crate) fn index(session: &Session<'_>) -> Result<Index, Error> {
    let (reference, asked) = (session.reference(), named(session));
    let bytes = match (reference.digest(), reference.tag()) {
        (Some(digest), _) => {
            let bytes = document(session, session.url(&format!("manifests/{digest}")), INDEX, &asked, MOST_DOCUMENT)?;
            held(session, &asked, digest, bytes)?
        }
        (None, Some(tag)) => document(session, session.url(&format!("manifests/{tag}")), INDEX, &asked, MOST_DOCUMENT)?,
        (None, None) => {
            let what = format!("it names neither a tag nor a digest; write `{reference}:TAG`");
            return Err(session.error(&asked, Why::Malformed(what)));
        }
    };
    Index::read(&bytes).map_err(|error| session.error(&asked, Box::new(BundleError::from(error))))
}

/// An index as documents name it.
pub(crate) fn described(index: &Index) -> Descriptor {
    let size = u64::try_from(index.bytes().len()).unwrap_or(u64::MAX);
    Descriptor { media_type: INDEX.to_owned(), digest: index.digest(), size, annotations: BTreeMap::new() }
}

/// What the session's reference names, in words.
pub(crate) fn named(session: &Session<'_>) -> String {
    let reference = session.reference();
    match (reference.digest(), reference.tag()) {
        (Some(digest), _) => format!("{digest} of `{}`", reference.path()),
        (None, Some(tag)) => format!("the tag `{tag}` of `{}`", reference.path()),
        (None, None) => format!("`{}`", reference.path()),
    }
}

/// The bytes of a descriptor: as many as it says, and those that it names.
pub(crate) fn fetch(session: &Session<'_>, wanted: &Descriptor, seen: impl FnMut(u64)) -> Result<Vec<u8>, Error> {
    let digest = wanted.digest;
    if digest == Digest::of(EMPTY) {
        return Ok(EMPTY.to_vec());
    }
    let asked = format!("{digest} of `{}`", session.reference().path());
    if wanted.size > MOST_BLOB {
        return Err(session.error(&asked, Why::TooLong(MOST_BLOB)));
    }
    let bytes = if wanted.media_type == MANIFEST {
        document(session, session.url(&format!("manifests/{digest}")), MANIFEST, &asked, wanted.size)?
    } else {
        let request = Request { method: Method::GET, url: session.url(&format!("blobs/{digest}")), accept: "", body: None, asked: &asked };
        session.read(session.expect(&request, &[200])?, &asked, wanted.size, seen)?
    };
    held(session, &asked, digest, bytes)
}

/// The bytes, if they are those of that digest.
fn held(session: &Session<'_>, asked: &str, wanted: Digest, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    match Digest::of(&bytes) {
        digest if digest == wanted => Ok(bytes),
        found => Err(session.error(asked, Box::new(BundleError::Swapped { wanted, found }))),
    }
}

/// A document of at most so many bytes, which is no page for a browser.
pub(crate) fn document(session: &Session<'_>, url: Url, accept: &str, asked: &str, most: u64) -> Result<Vec<u8>, Error> {
    let answer = session.expect(&Request { method: Method::GET, url, accept, body: None, asked }, &[200])?;
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.trim_start().to_ascii_lowercase().starts_with("text/html") {
        let what = "it answered with a page for a browser: it is no registry, or something before it wants to be asked first";
        return Err(session.error(asked, Why::Malformed(what.to_owned())));
    }
    session.read(answer, asked, most, |_| {})
}

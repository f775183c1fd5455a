//! Signatures of a bundle in a registry: artifacts that refer to its index.
//!
//! Registries with the referrers API list them; for others, a tag made from the index's digest
//! names a list that every writer has to update. Two concurrent writers can lose an entry, so the
//! list is read back after it was written.

use crate::download::{document, fetch};
use crate::error::{ErrorReason, RegistryError};
use crate::session::{MOST_DOCUMENT, RegistryRequest, RegistrySession};
use crate::upload::{blob, manifest, text};
use crate::versions;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use portcullis_bundle::media_type::{INDEX, MANIFEST, SIGNATURE};
use portcullis_bundle::{BundleError, Digest, OciDescriptor, Signature, SignatureError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use ureq::http::Method;

/// The most signatures of a bundle, the same as in an archive.
const MOST_SIGNATURES: usize = 64;
/// The most bytes of a signature's manifest and of its file.
const MOST_BYTES: u64 = 2 << 20;
/// The most pages of a list.
const MOST_PAGES: usize = 16;
/// The number of attempts to write a list that another writer overwrote.
const ATTEMPTS: usize = 5;
/// The header with which a registry confirms that it lists the pushed artifact.
const LISTS: &str = "oci-subject";

/// The artifacts that refer to a bundle.
#[derive(Default)]
pub(crate) struct Referrers {
    pub(crate) signatures: Vec<Signature>,
    pub(crate) unread: Vec<UnsupportedSignature>,
}

/// A signature in an unsupported format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedSignature {
    /// The digest of its manifest.
    pub digest: Digest,
    /// The reason, as text.
    pub why: String,
}

/// Fetches the signatures of an index.
pub(crate) fn pull(
    session: &RegistrySession<'_>,
    index: &OciDescriptor,
) -> Result<Referrers, RegistryError> {
    let mut beside = Referrers::default();
    for listed in signatures(session, index.digest)? {
        let asked = format!("the signature {} of `{}`", listed.digest, session.reference().path());
        let mut kept = None;
        let mut have = |wanted: &OciDescriptor| {
            let bounded = if wanted.size > MOST_BYTES {
                Err(session.error(&asked, ErrorReason::TooLong(MOST_BYTES)))
            } else {
                Ok(())
            };
            bounded.and_then(|()| fetch(session, wanted, |_| {})).map_err(|error| {
                let words = error.why.to_string();
                kept = Some(error);
                words
            })
        };
        let read = match have(&listed) {
            Ok(manifest) => Signature::of_artifact(&manifest, index, &mut have),
            Err(why) => Err(SignatureError::from(Box::new(BundleError::Missing {
                digest: listed.digest,
                why,
            }))),
        };
        match (read, kept) {
            (Ok(signature), _) => beside.signatures.push(signature),
            (Err(_), Some(error)) => return Err(error),
            (Err(SignatureError::Bytes(error)), None) => return Err(session.error(&asked, error)),
            (Err(error), None) => beside
                .unread
                .push(UnsupportedSignature { digest: listed.digest, why: error.to_string() }),
        }
    }
    Ok(beside)
}

/// Pushes signatures of an index that already exists.
pub(crate) fn push(
    session: &RegistrySession<'_>,
    index: &OciDescriptor,
    signatures: &[Signature],
) -> Result<(), RegistryError> {
    let asked =
        format!("to take signatures of {} in `{}`", index.digest, session.reference().path());
    let mut unlisted = Vec::new();
    for signature in signatures {
        let (document, parts) =
            signature.to_artifact(index).map_err(|error| session.error(&asked, Box::new(error)))?;
        for part in &parts {
            blob(session, Digest::of_bytes(part), part)?;
        }
        let digest = Digest::of_bytes(&document);
        let head = manifest(session, &digest.to_string(), MANIFEST, &document)?;
        if text(&head, LISTS).is_none_or(|subject| subject != index.digest.to_string()) {
            unlisted.push(json!({
                "mediaType": MANIFEST,
                "digest": digest,
                "size": document.len(),
                "artifactType": SIGNATURE,
            }));
        }
    }
    if unlisted.is_empty() { Ok(()) } else { list(session, index.digest, &unlisted, &asked) }
}

/// Adds to the list under the tag made from the digest.
fn list(
    session: &RegistrySession<'_>,
    of: Digest,
    added: &[Value],
    asked: &str,
) -> Result<(), RegistryError> {
    let names = |entries: &[Value], one: &Value| {
        entries.iter().any(|entry| entry.get("digest") == one.get("digest"))
    };
    for attempt in 0..=ATTEMPTS {
        let mut document = fallback(session, of)?.unwrap_or_else(empty);
        let entries =
            document.get("manifests").and_then(Value::as_array).cloned().unwrap_or_default();
        let missing: Vec<_> = added.iter().filter(|one| !names(&entries, one)).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        // The last round only reads what the one before it wrote.
        if attempt < ATTEMPTS {
            document.insert("manifests".to_owned(), Value::Array([entries, missing].concat()));
            let bytes = serde_json::to_vec(&document)
                .map_err(|error| session.error(asked, ErrorReason::Malformed(error.to_string())))?;
            manifest(session, &tag(of), INDEX, &bytes)?;
        }
    }
    let what = "others write the list of its signatures at the same time, again and again; try again later";
    Err(session.error(asked, ErrorReason::TooMany(what.to_owned())))
}

fn empty() -> Map<String, Value> {
    let document =
        [("schemaVersion", json!(2)), ("mediaType", json!(INDEX)), ("manifests", json!([]))];
    document.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn tag(of: Digest) -> String {
    format!("sha256-{}", of.hex())
}

/// Returns the artifacts that refer to an index and have the type of a signature, each once.
fn signatures(
    session: &RegistrySession<'_>,
    of: Digest,
) -> Result<Vec<OciDescriptor>, RegistryError> {
    let asked = format!("the signatures of `{}`", session.reference().path());
    let mut found = BTreeMap::new();
    for entry in referring(session, of, &asked)? {
        if entry.get("artifactType").and_then(Value::as_str) != Some(SIGNATURE) {
            continue;
        }
        let one: OciDescriptor = serde_json::from_value(entry).map_err(|error| {
            session.error(&asked, ErrorReason::Malformed(format!("their list: {error}")))
        })?;
        if one.media_type == MANIFEST {
            found.insert(one.digest, one);
        }
        if found.len() > MOST_SIGNATURES {
            let what =
                format!("there are more than {MOST_SIGNATURES}; have the unneeded ones deleted");
            return Err(session.error(&asked, ErrorReason::TooMany(what)));
        }
    }
    Ok(found.into_values().collect())
}

/// Returns all entries of the registry's own list, or of the one under the tag.
fn referring(
    session: &RegistrySession<'_>,
    of: Digest,
    asked: &str,
) -> Result<Vec<Value>, RegistryError> {
    let mut entries = Vec::new();
    let mut next = Some(session.url(&format!(
        "referrers/{of}?artifactType={}",
        utf8_percent_encode(SIGNATURE, NON_ALPHANUMERIC)
    )));
    for page in 0..MOST_PAGES {
        let Some(url) = next else { return Ok(entries) };
        let request = RegistryRequest {
            method: Method::GET,
            url: url.clone(),
            accept: INDEX,
            body: None,
            asked,
        };
        let answer = session.expect(&request, &[200, 404])?;
        if answer.status() == 404 && page == 0 {
            let mut list = fallback(session, of)?.unwrap_or_default();
            return Ok(list
                .remove("manifests")
                .and_then(|entries| entries.as_array().cloned())
                .unwrap_or_default());
        }
        next = versions::next(session, &url, answer.headers())
            .map_err(|why| session.error(asked, why))?;
        let mut list = read(session, asked, &session.read(answer, asked, MOST_DOCUMENT, |_| {})?)?;
        entries.extend(
            list.remove("manifests")
                .and_then(|entries| entries.as_array().cloned())
                .unwrap_or_default(),
        );
    }
    Err(session
        .error(asked, ErrorReason::TooMany(format!("their list has more than {MOST_PAGES} pages"))))
}

/// Returns the list under the tag, if there is one.
fn fallback(
    session: &RegistrySession<'_>,
    of: Digest,
) -> Result<Option<Map<String, Value>>, RegistryError> {
    let asked = format!("the tag `{}` of `{}`", tag(of), session.reference().path());
    match document(
        session,
        session.url(&format!("manifests/{}", tag(of))),
        INDEX,
        &asked,
        MOST_DOCUMENT,
    ) {
        Ok(bytes) => read(session, &asked, &bytes).map(Some),
        Err(error) if matches!(error.why, ErrorReason::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(
    session: &RegistrySession<'_>,
    asked: &str,
    bytes: &[u8],
) -> Result<Map<String, Value>, RegistryError> {
    let wrong = |what: String| {
        session
            .error(asked, ErrorReason::Malformed(format!("it is not a list of signatures: {what}")))
    };
    let list: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    match list.get("manifests") {
        Some(Value::Array(_)) => Ok(list),
        _ => Err(wrong("it has no `manifests`".to_owned())),
    }
}

//! The indexes of bundles that this machine keeps, and the bundle that a name leads to.
//!
//! ```text
//! bundles/indexes/NAME.json     sealed: the highest serial that was accepted, and its digest
//! bundles/indexes/DIGEST.tar    the index with its signatures
//! ```
//!
//! The sealed file is what makes an older index refused, also after its archive is gone. A kept
//! index is judged again each time it is used: its time may be over, its key revoked, or its names
//! narrowed.

use super::policies::{NamedIndex, Policies};
use anyhow::{Context, Result, anyhow, bail};
use portcullis_bundle::{
    BundleName, CandidateIndex, IndexArtifact, IndexDocument, ListedBundle, SeenIndex, Signature,
    read_index_archive, write_index_archive,
};
use portcullis_core::known_failure::KnownFailure;
use portcullis_fs::{Links, SealError, SealedDocument, create_private_folder, open_file};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};

const FOLDER: &str = "bundles/indexes";
const PURPOSE: &str = "portcullis 2026 indexes of bundles";
/// The most bytes of the sealed file.
const MOST_BYTES: u64 = 16 << 10;

/// The newest index of its name that this machine has accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedIndex {
    name: BundleName,
    index: SeenIndex,
    /// The time of the last fetch, in milliseconds since 1970.
    fetched: u64,
}

/// An index that is kept here and that the policies accept.
#[derive(Clone, Debug)]
pub struct KeptIndex {
    /// The index.
    pub artifact: IndexArtifact,
    /// Its signatures.
    pub signatures: Vec<Signature>,
    /// The time of the last fetch, in milliseconds since 1970.
    pub fetched: u64,
}

/// A bundle that was found by its name.
#[derive(Clone, Debug)]
pub struct FoundBundle {
    /// The index that lists it.
    pub index: NamedIndex,
    /// The time of that index's last fetch, in milliseconds since 1970.
    pub fetched: u64,
    /// The bundle.
    pub bundle: ListedBundle,
}

impl KeptIndex {
    /// Returns its document.
    #[must_use]
    pub const fn document(&self) -> &IndexDocument {
        self.artifact.document()
    }
}

/// Accepts an index that was fetched: judges it, and keeps it as the newest. Returns true if it is
/// another one than before.
///
/// # Errors
/// Fails if the policies refuse it, if what was seen before cannot be read, or if it cannot be
/// kept.
pub fn accept_index(
    home: &Home,
    policies: &Policies,
    name: &BundleName,
    artifact: &IndexArtifact,
    signatures: &[Signature],
    now: u64,
) -> Result<bool> {
    let before = read_sealed(home, name)?.map(|sealed| sealed.index);
    let candidate = CandidateIndex { artifact, signatures, seen: before, now };
    policies.require_index(name, &candidate)?;
    let index = SeenIndex { serial: artifact.document().serial, digest: artifact.digest() };
    let folder = home.path().join(FOLDER);
    create_private_folder(&folder)
        .with_context(|| format!("cannot make `{}`", folder.display()))?;
    // The archive has its own name, so that the sealed file never names one that is not there.
    let path = archive_path(home, &index);
    portcullis_fs::replace_file(&path, 0o600, |file| -> Result<()> {
        Ok(write_index_archive(artifact, signatures, file)?)
    })
    .with_context(|| format!("cannot write `{}`", path.display()))?;
    let sealed = SealedIndex { name: name.clone(), index, fetched: now };
    let document = sealed_document(home, name);
    document
        .write_content(&sealed)
        .with_context(|| format!("cannot write `{}`", document.path().display()))?;
    let older = before.filter(|older| older.digest != index.digest);
    if let Some(older) = older {
        // A leftover archive costs only disk space.
        let _gone = fs::remove_file(archive_path(home, &older));
    }
    Ok(before != Some(index))
}

/// Returns the kept index of that name, if there is one and the policies still accept it.
///
/// # Errors
/// Fails if it was changed, or if the policies refuse it now, for example since it has expired.
pub fn read_index(
    home: &Home,
    policies: &Policies,
    name: &BundleName,
    now: u64,
) -> Result<Option<KeptIndex>> {
    let Some(SealedIndex { index, fetched, .. }) = read_sealed(home, name)? else {
        return Ok(None);
    };
    let path = archive_path(home, &index);
    let open = open_file(&path, Links::Refuse)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let Some(open) = open else { return Ok(None) };
    let (artifact, signatures) = read_index_archive(BufReader::new(open.file))
        .with_context(|| format!("`{}` is not the index `{name}`", path.display()))?;
    if artifact.digest() != index.digest {
        bail!(KnownFailure::Forged(format!(
            "`{}` is not the index `{name}` that was accepted: run `portcullis bundle index update`",
            path.display()
        )));
    }
    let seen = Some(index);
    policies.require_index(
        name,
        &CandidateIndex { artifact: &artifact, signatures: &signatures, seen, now },
    )?;
    Ok(Some(KeptIndex { artifact, signatures, fetched }))
}

/// Forgets the index of that name, and which serial was seen. Returns true if something was kept.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn forget_index(home: &Home, name: &BundleName) -> Result<bool> {
    let document = sealed_document(home, name);
    document.remove().with_context(|| format!("cannot remove `{}`", document.path().display()))
}

/// Returns the serial of the newest index of that name that this machine has accepted.
///
/// # Errors
/// Fails if the file was not written by this home.
pub fn find_seen(home: &Home, name: &BundleName) -> Result<Option<SeenIndex>> {
    Ok(read_sealed(home, name)?.map(|sealed| sealed.index))
}

/// Finds a bundle by its name in the kept indexes. The first index in the order of the policies that
/// lists it decides, whatever the later ones list. An index that may list the name but cannot be
/// used is an error: another one must not take its place.
///
/// # Errors
/// Fails if no index lists the name, or if one that may list it cannot be used.
pub fn find_bundle(
    home: &Home,
    policies: &Policies,
    name: &BundleName,
    now: u64,
) -> Result<FoundBundle> {
    let all = policies.list_indexes();
    if all.is_empty() {
        bail!(KnownFailure::NotFound(format!(
            "`{name}` cannot be found by its name, since no trust policy names an index: add an \
             `[[index]]` to `trust.toml`, or name an archive or a registry's reference"
        )));
    }
    let covering: Vec<NamedIndex> = all
        .into_iter()
        .filter(|index| index.scopes.iter().any(|scope| scope.holds_for(name)))
        .collect();
    if covering.is_empty() {
        bail!(KnownFailure::NotFound(format!(
            "no index may list `{name}`: `portcullis bundle index list` shows which names each may"
        )));
    }
    for index in covering {
        let kept = read_index(home, policies, &index.name, now)
            .with_context(|| format!("`{name}` is not looked for in any other index"))?;
        let Some(kept) = kept else {
            bail!(KnownFailure::NotFound(format!(
                "the index `{}`, which may list `{name}`, is not here yet: run `portcullis bundle \
                 index update`",
                index.name
            )));
        };
        if let Some(bundle) = kept.document().find_bundle(name) {
            return Ok(FoundBundle { index, fetched: kept.fetched, bundle: bundle.clone() });
        }
    }
    bail!(KnownFailure::NotFound(format!(
        "no index lists `{name}`: `portcullis bundle search` lists what there is"
    )))
}

fn read_sealed(home: &Home, name: &BundleName) -> Result<Option<SealedIndex>> {
    let document = sealed_document(home, name);
    let path = document.path().display();
    match document.read_content::<SealedIndex>() {
        Ok(Some(sealed)) if sealed.name != *name => Err(forged(document.path(), name)),
        Ok(found) => Ok(found),
        Err(SealError::Io(error)) => Err(error).with_context(|| format!("cannot read `{path}`")),
        Err(_) => Err(forged(document.path(), name)),
    }
}

fn forged(path: &Path, name: &BundleName) -> anyhow::Error {
    anyhow!(KnownFailure::Forged(format!(
        "`{}` was not written by this home, so it is unknown which index `{name}` was seen last: \
         have a person run `portcullis bundle index update {name} --reset` at a terminal",
        path.display()
    )))
}

fn sealed_document(home: &Home, name: &BundleName) -> SealedDocument {
    let hash = blake3::hash(name.as_str().as_bytes()).to_hex();
    let file = format!("{}.json", hash.get(..32).unwrap_or_default());
    SealedDocument::new(home.path().join(FOLDER).join(file), home.derive_key(PURPOSE), MOST_BYTES)
}

fn archive_path(home: &Home, index: &SeenIndex) -> PathBuf {
    home.path().join(FOLDER).join(format!("{}.tar", index.digest.hex()))
}

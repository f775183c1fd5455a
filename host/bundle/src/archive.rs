//! A bundle, or an index of bundles, in one file: an OCI image layout as a tar, for machines that
//! reach no registry.
//!
//! Reading unpacks nothing: entries are read in order into memory, within bounds, and no name in
//! the archive is ever used as a path. The same layout as a folder, as other tools write it, is
//! read alike. The output is the same for the same content: entries are sorted, and have no time,
//! owner or permissions of their own.

use crate::artifact::described;
use crate::bundle::{Bundle, BundleError, fetched};
use crate::digest::Digest;
use crate::display::display_line;
use crate::envelope::{EMPTY, Signature, SignatureError};
use crate::index::{INDEX, MANIFEST, OciDescriptor};
use crate::indexes::{IndexArtifact, IndexArtifactError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

/// The most bytes that are read of an archive.
const MOST_BYTES: u64 = 288 << 20;
/// The most entries in an archive.
const MOST_ENTRIES: usize = 1024;
/// The most signatures and vettings of a bundle.
const MOST_SIGNATURES: usize = 64;
/// The file that identifies the layout, and its text.
const LAYOUT: (&str, &[u8]) = ("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#);
/// The file that lists the contents.
const CONTENTS: &str = "index.json";
/// The folder of all blobs, named by digest.
const BLOBS: &str = "blobs/sha256/";

/// The reasons why an archive cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It cannot be read or written.
    #[error("{}", display_line(.0))]
    Io(std::io::Error),
    /// It is something else, contains more than one bundle, or is malicious.
    #[error("{}", display_line(.0))]
    Malformed(String),
    /// The bundle in it is invalid.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The index of bundles in it is invalid.
    #[error(transparent)]
    Index(#[from] IndexArtifactError),
    /// A signature in it is invalid.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// The error is not kept as the cause, whose text would be shown unescaped.
impl From<std::io::Error> for ArchiveError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    schema_version: u8,
    media_type: String,
    manifests: Vec<OciDescriptor>,
}

/// Blobs by digest.
type Blobs<'a> = BTreeMap<Digest, Cow<'a, [u8]>>;

/// Writes a bundle with its signatures.
///
/// # Errors
/// Fails if the writer fails, or if there are more signatures than can be read back.
pub fn write_archive(
    bundle: &Bundle,
    signatures: &[Signature],
    to: impl Write,
) -> Result<(), ArchiveError> {
    let index = described(INDEX, bundle.index().bytes(), BTreeMap::new());
    let mut blobs: Blobs<'_> =
        bundle.blobs().map(|(digest, bytes)| (digest, bytes.into())).collect();
    blobs.insert(index.digest, bundle.index().bytes().into());
    write_layout(index, blobs, signatures, to)
}

/// Writes an index of bundles with its signatures.
///
/// # Errors
/// Fails as [`write_archive`] does.
pub fn write_index_archive(
    artifact: &IndexArtifact,
    signatures: &[Signature],
    to: impl Write,
) -> Result<(), ArchiveError> {
    let mut blobs: Blobs<'_> =
        artifact.blobs().into_iter().map(|(digest, bytes)| (digest, bytes.into())).collect();
    blobs.insert(artifact.digest(), artifact.manifest().into());
    write_layout(artifact.descriptor(), blobs, signatures, to)
}

/// Writes what `subject` describes, with these blobs, and the signatures that refer to it.
fn write_layout(
    subject: OciDescriptor,
    mut blobs: Blobs<'_>,
    signatures: &[Signature],
    to: impl Write,
) -> Result<(), ArchiveError> {
    if signatures.len() > MOST_SIGNATURES {
        return Err(too_many(signatures.len()));
    }
    let mut manifests = vec![subject.clone()];
    for signature in signatures {
        let (manifest, parts) = signature.to_artifact(&subject)?;
        manifests.push(described(MANIFEST, &manifest, BTreeMap::new()));
        blobs.extend(
            parts
                .into_iter()
                .chain([manifest])
                .map(|bytes| (Digest::of_bytes(&bytes), bytes.into())),
        );
    }
    if let Some(newest) = manifests.get_mut(1..) {
        newest.sort_by_key(|manifest| manifest.digest);
    }
    let contents = Contents { schema_version: 2, media_type: INDEX.to_owned(), manifests };
    let contents = serde_json::to_vec(&contents).map_err(std::io::Error::from)?;
    let mut archive = Builder::new(to);
    put(&mut archive, LAYOUT.0, LAYOUT.1)?;
    put(&mut archive, CONTENTS, &contents)?;
    for (digest, bytes) in &blobs {
        put(&mut archive, &format!("{BLOBS}{}", digest.hex()), bytes)?;
    }
    archive.into_inner()?.flush()?;
    Ok(())
}

fn put(archive: &mut Builder<impl Write>, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    header.set_mtime(0);
    archive.append_data(&mut header, name, bytes)
}

/// Reads the bundle of an archive, with its signatures. The signatures are not verified here.
///
/// # Errors
/// Fails if it is not an archive of exactly one complete bundle, or if it contains anything else.
pub fn read_archive(from: impl Read) -> Result<(Bundle, Vec<Signature>), ArchiveError> {
    let (contents, blobs) = entries(from)?;
    whole(&contents, blobs)
}

/// Reads the index of bundles of an archive, with its signatures. The signatures are not verified
/// here.
///
/// # Errors
/// Fails if it is not an archive of exactly one index of bundles, or if it contains anything else.
pub fn read_index_archive(
    from: impl Read,
) -> Result<(IndexArtifact, Vec<Signature>), ArchiveError> {
    let (contents, blobs) = entries(from)?;
    let manifests = parse_contents(&contents)?;
    let (index, others) = match manifests.split_first() {
        Some((index, others)) if index.media_type == MANIFEST => (index, others),
        _ => return Err(malformed("it holds no index of bundles".to_owned())),
    };
    let mut blobs = BlobSet::new(blobs);
    let manifest = blobs.fetch(index)?;
    let artifact = IndexArtifact::from_manifest(&manifest, |wanted| blobs.have(wanted))?;
    // The empty config is not read: its digest says all.
    blobs.used.push(Digest::of_bytes(EMPTY.1));
    let signatures = blobs.read_signatures(index, others)?;
    blobs.check_used()?;
    Ok((artifact, signatures))
}

/// Reads the bundle of an unpacked archive: the folder of an OCI image layout.
///
/// # Errors
/// Fails as [`read_archive`] does; symbolic links are not followed.
pub fn read_layout(folder: &Path) -> Result<(Bundle, Vec<Signature>), ArchiveError> {
    let mut left = MOST_BYTES;
    let mut have = |path: PathBuf| -> Result<Vec<u8>, ArchiveError> {
        let shown = path
            .strip_prefix(folder)
            .unwrap_or(&path)
            .display()
            .to_string()
            .escape_debug()
            .to_string();
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(malformed(format!("its `{shown}` is not a file")));
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(left.saturating_add(1)).read_to_end(&mut bytes)?;
        left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| malformed(format!("it has more than {MOST_BYTES} bytes")))?;
        Ok(bytes)
    };
    if !folder.join(LAYOUT.0).is_file() || !folder.join(CONTENTS).is_file() {
        return Err(not_whole());
    }
    have(folder.join(LAYOUT.0))?;
    let contents = have(folder.join(CONTENTS))?;
    let mut blobs = BTreeMap::new();
    for (count, entry) in fs::read_dir(folder.join(BLOBS))?.enumerate() {
        let entry = entry?;
        if count == MOST_ENTRIES {
            return Err(malformed(format!("it has more than {MOST_ENTRIES} files")));
        }
        let name = entry.file_name().to_string_lossy().chars().take(120).collect::<String>();
        let digest: Digest = format!("sha256:{name}").parse().map_err(|_| {
            malformed(format!(
                "its `{BLOBS}{}` does not belong in an archive of a bundle",
                name.escape_debug()
            ))
        })?;
        let bytes = have(entry.path())?;
        let found = Digest::of_bytes(&bytes);
        if found != digest {
            return Err(BundleError::Swapped { wanted: digest, found }.into());
        }
        blobs.insert(digest, bytes);
    }
    whole(&contents, blobs)
}

/// Assembles the one bundle of these blobs, with nothing left over.
fn whole(
    contents: &[u8],
    blobs: BTreeMap<Digest, Vec<u8>>,
) -> Result<(Bundle, Vec<Signature>), ArchiveError> {
    let (indexes, others): (Vec<_>, Vec<_>) =
        parse_contents(contents)?.into_iter().partition(|manifest| manifest.media_type == INDEX);
    let [index] = indexes.as_slice() else {
        return Err(malformed(format!("it holds {} bundles, not one", indexes.len())));
    };
    let mut blobs = BlobSet::new(blobs);
    let document = blobs.fetch(index)?;
    let bundle = Bundle::from_blobs(&document, |wanted| blobs.have(wanted))?;
    let signatures = blobs.read_signatures(index, &others)?;
    blobs.check_used()?;
    Ok((bundle, signatures))
}

fn parse_contents(contents: &[u8]) -> Result<Vec<OciDescriptor>, ArchiveError> {
    let contents: Contents = serde_json::from_slice(contents)
        .map_err(|error| malformed(format!("its `{CONTENTS}`: {error}")))?;
    Ok(contents.manifests)
}

/// The blobs of an archive, and which of them belong to something.
struct BlobSet {
    blobs: BTreeMap<Digest, Vec<u8>>,
    used: Vec<Digest>,
}

impl BlobSet {
    const fn new(blobs: BTreeMap<Digest, Vec<u8>>) -> Self {
        Self { blobs, used: Vec::new() }
    }

    fn have(&mut self, wanted: &OciDescriptor) -> Result<Vec<u8>, String> {
        self.used.push(wanted.digest);
        self.blobs.get(&wanted.digest).cloned().ok_or_else(|| "the archive lacks it".to_owned())
    }

    fn fetch(&mut self, wanted: &OciDescriptor) -> Result<Vec<u8>, BundleError> {
        fetched(wanted, |wanted| self.have(wanted))
    }

    fn read_signatures(
        &mut self,
        subject: &OciDescriptor,
        manifests: &[OciDescriptor],
    ) -> Result<Vec<Signature>, ArchiveError> {
        if manifests.len() > MOST_SIGNATURES {
            return Err(too_many(manifests.len()));
        }
        let mut signatures = Vec::new();
        for manifest in manifests {
            let document = self.fetch(manifest)?;
            signatures
                .push(Signature::of_artifact(&document, subject, |wanted| self.have(wanted))?);
        }
        Ok(signatures)
    }

    /// Checks that each blob belongs to something.
    fn check_used(mut self) -> Result<(), ArchiveError> {
        self.used.iter().for_each(|digest| drop(self.blobs.remove(digest)));
        match self.blobs.first_key_value() {
            Some((digest, _)) => {
                Err(malformed(format!("it holds {digest}, which belongs to nothing in it")))
            }
            None => Ok(()),
        }
    }
}

type Entries = (Vec<u8>, BTreeMap<Digest, Vec<u8>>);

/// Returns the contents file, and all blobs, each under the digest of its bytes.
fn entries(from: impl Read) -> Result<Entries, ArchiveError> {
    let mut archive = Archive::new(from.take(MOST_BYTES));
    let (mut layout, mut contents, mut blobs) = (false, None, BTreeMap::new());
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        if count == MOST_ENTRIES {
            return Err(malformed(format!("it has more than {MOST_ENTRIES} entries")));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let shown = name.chars().take(120).collect::<String>().escape_debug().to_string();
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory
                if matches!(name.trim_end_matches('/'), "blobs" | "blobs/sha256") =>
            {
                continue;
            }
            other => {
                return Err(malformed(format!(
                    "its entry `{shown}` is a {other:?}; only files are read"
                )));
            }
        }
        let mut bytes = Vec::new();
        let declared = entry.size();
        entry.read_to_end(&mut bytes)?;
        // The limit above ends an archive that is too long without an error.
        if u64::try_from(bytes.len()).ok() != Some(declared) {
            return Err(malformed(format!("it ends within `{shown}`")));
        }
        if name == LAYOUT.0 && !layout {
            layout = true;
        } else if name == CONTENTS && contents.is_none() {
            contents = Some(bytes);
        } else if let Some(digest) =
            name.strip_prefix(BLOBS).and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok())
        {
            let found = Digest::of_bytes(&bytes);
            if found != digest {
                return Err(BundleError::Swapped { wanted: digest, found }.into());
            }
            if blobs.insert(digest, bytes).is_some() {
                return Err(malformed(format!("it has `{shown}` twice")));
            }
        } else {
            return Err(malformed(format!(
                "its entry `{shown}` does not belong in an archive of a bundle, or is there twice"
            )));
        }
    }
    match contents {
        Some(contents) if layout => Ok((contents, blobs)),
        _ => Err(not_whole()),
    }
}

fn too_many(signatures: usize) -> ArchiveError {
    malformed(format!("it holds {signatures} signatures, at most {MOST_SIGNATURES} are read"))
}

fn not_whole() -> ArchiveError {
    malformed(format!(
        "it has no `{}` and `{CONTENTS}`: it is not an OCI image layout, or was cut off",
        LAYOUT.0
    ))
}

const fn malformed(what: String) -> ArchiveError {
    ArchiveError::Malformed(what)
}

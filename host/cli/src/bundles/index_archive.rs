//! Reads archives of indexes from files of this machine, and writes them atomically.

use crate::error::{Context, Error, Result};
use crate::given_file::display_path;
use portcullis_bundle::{IndexArtifact, Signature, read_index_archive, write_index_archive};
use portcullis_fs::{Links, open_file};
use std::io::BufReader;
use std::path::Path;

/// The permissions of a new archive: it contains no secrets.
const RIGHTS: u32 = 0o644;

/// Reads an index and its signatures from an archive. All bytes are verified against its digest.
///
/// # Errors
/// Fails if it does not contain one index of bundles.
pub fn read_index_file(path: &Path) -> Result<(IndexArtifact, Vec<Signature>)> {
    let shown = display_path(path);
    let opened =
        open_file(path, Links::Follow).with_context(|| format!("cannot read `{shown}`"))?;
    let open = opened.ok_or_else(|| {
        Error::not_found(format!("there is no `{shown}`"))
            .with_hint("name the archive of an index, as `portcullis bundle index build` writes it")
    })?;
    read_index_archive(BufReader::new(open.file))
        .with_context(|| format!("`{shown}` is not an archive of an index"))
}

/// Writes an archive atomically, in place of another one of an index.
///
/// # Errors
/// Fails if the name is taken by something else, or if the archive cannot be written.
pub fn put_index(path: &Path, artifact: &IndexArtifact, signatures: &[Signature]) -> Result<()> {
    let shown = display_path(path);
    if path.symlink_metadata().is_ok() && read_index_file(path).is_err() {
        return Err(Error::invalid(format!("`{shown}` is there already, and is not overwritten"))
            .with_hint("name another file with `--output`"));
    }
    portcullis_fs::replace_file(path, RIGHTS, |file| -> Result<()> {
        Ok(write_index_archive(artifact, signatures, file)?)
    })
    .with_context(|| format!("cannot write `{shown}`"))
}

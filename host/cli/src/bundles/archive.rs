//! Reads archives of bundles from files of this machine, and writes them atomically.

use crate::error::{Context, Error, Result};
use crate::given_file::display_path;
use portcullis_bundle::{Bundle, Signature, read_archive, read_layout, write_archive};
use portcullis_fs::{Links, ReadError, open_file};
use std::fs;
use std::io::{BufReader, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The permissions of a new archive: it contains no secrets.
const RIGHTS: u32 = 0o644;

/// Reads the bundle and its signatures from an archive or from the folder of an OCI image layout.
/// All bytes are verified against the bundle's digest.
///
/// # Errors
/// Fails if it does not contain a complete bundle.
pub fn read_archive_file(path: &Path) -> Result<(Bundle, Vec<Signature>)> {
    let context = || format!("`{}` is not an archive of a bundle", display_path(path));
    if path.is_dir() {
        return read_layout(path).with_context(context);
    }
    let opened = open_file(path, Links::Follow).map_err(|error| match error {
        ReadError::NotAFile => Error::invalid(format!("`{}` is not a file", display_path(path))),
        error => Error::from(error).with_context(format!("cannot read `{}`", display_path(path))),
    })?;
    let open = opened.ok_or_else(|| {
        Error::not_found(format!("there is no `{}`", display_path(path)))
            .with_hint("name the archive of a bundle, as `portcullis bundle build` writes it")
    })?;
    read_archive(BufReader::new(open.file)).with_context(context)
}

/// Writes a new archive and returns true if it had to be written. An archive that already holds
/// this very bundle is left unchanged, with its signatures.
///
/// # Errors
/// Fails if the name is taken by something else, or if the archive cannot be written.
pub fn put_new(path: &Path, bundle: &Bundle) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return put(path, bundle, &[], RIGHTS).map(|()| true);
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write `{}`", display_path(path)));
        }
    }
    match read_archive_file(path) {
        Ok((there, _)) if there.index().digest() == bundle.index().digest() => Ok(false),
        Ok((there, _)) => {
            let about = there.about();
            Err(Error::invalid(format!(
                "`{}` holds another bundle, `{} {}` ({}), and is not overwritten",
                display_path(path),
                about.name,
                about.version,
                there.index().digest()
            ))
            .with_hint("raise the version, or name another file with `--output`"))
        }
        Err(_) => Err(Error::invalid(format!(
            "`{}` is there already, and is not overwritten",
            display_path(path)
        ))
        .with_hint("name another file with `--output`")),
    }
}

/// Replaces an archive atomically by one with these signatures. A concurrent reader, or one after a
/// crash, finds either the old archive or the new one.
///
/// # Errors
/// Fails if the archive cannot be written.
pub fn replace_archive(path: &Path, bundle: &Bundle, signatures: &[Signature]) -> Result<()> {
    // A symbolic link is followed, not replaced.
    let path =
        path.canonicalize().with_context(|| format!("cannot write `{}`", display_path(path)))?;
    let rights =
        fs::metadata(&path).map(|found| found.permissions().mode() & 0o777).unwrap_or(RIGHTS);
    put(&path, bundle, signatures, rights)
}

/// Writes an archive atomically, in place of whatever has its name.
///
/// # Errors
/// Fails if the archive cannot be written.
pub fn write_archive_file(path: &Path, bundle: &Bundle, signatures: &[Signature]) -> Result<()> {
    put(path, bundle, signatures, RIGHTS)
}

/// Adds a signature to an archive that already holds these; returns false if it was already there.
///
/// # Errors
/// Fails if the archive cannot be written.
pub fn add_signature(
    path: &Path,
    bundle: &Bundle,
    mut signatures: Vec<Signature>,
    new: Signature,
) -> Result<bool> {
    if signatures.contains(&new) {
        return Ok(false);
    }
    signatures.push(new);
    replace_archive(path, bundle, &signatures).map(|()| true)
}

fn put(path: &Path, bundle: &Bundle, signatures: &[Signature], rights: u32) -> Result<()> {
    let context = || format!("cannot write `{}`", display_path(path));
    portcullis_fs::replace_file(path, rights, |file| -> Result<()> {
        Ok(write_archive(bundle, signatures, file)?)
    })
    .with_context(context)
}

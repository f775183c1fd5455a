//! Archives of bundles as files of this machine: read, and written as a whole or not at all.

use anyhow::{Context, Result, bail};
use portcullis_bundle::{Bundle, Signature, read_archive, read_layout, write_archive};
use portcullis_core::text::one_line;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The rights of a new archive: nothing in it is secret.
const RIGHTS: u32 = 0o644;

/// The bundle in an archive, or in the folder of an OCI image layout, with what was signed of it; all bytes are held
/// against the bundle's digest.
///
/// # Errors
/// It holds no whole bundle.
pub fn read(path: &Path) -> Result<(Bundle, Vec<Signature>)> {
    let told = || format!("`{}` is no archive of a bundle", shown(path));
    if path.is_dir() {
        return read_layout(path).with_context(told);
    }
    // Without waiting for the other side of a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(std::io::Error::from);
    if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        bail!("there is no `{}`; name the archive of a bundle, as `portcullis bundle build` writes it", shown(path));
    }
    let file = opened.with_context(|| format!("cannot read `{}`", shown(path)))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        bail!("`{}` is not a file", shown(path));
    }
    read_archive(BufReader::new(file)).with_context(told)
}

/// Writes a new archive; whether it had to be written. One that holds this very bundle stays as it is, with what was
/// signed of it.
///
/// # Errors
/// Something else has the name, or it cannot be written.
pub fn put_new(path: &Path, bundle: &Bundle) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return put(path, bundle, &[], RIGHTS).map(|()| true),
        Err(error) => return Err(error).with_context(|| format!("cannot write `{}`", shown(path))),
    }
    match read(path) {
        Ok((there, _)) if there.index().digest() == bundle.index().digest() => Ok(false),
        Ok((there, _)) => {
            let about = there.about();
            bail!(
                "`{}` holds another bundle, `{} {}` ({}), and is not overwritten: raise the version, or name another file with `--out`",
                shown(path),
                about.name,
                about.version,
                there.index().digest()
            )
        }
        Err(_) => bail!("`{}` is there already, and is not overwritten: name another file with `--out`", shown(path)),
    }
}

/// Replaces an archive by one with these signatures. Whoever reads it meanwhile, or after a crash, has the old one or the
/// new one.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, bundle: &Bundle, signatures: &[Signature]) -> Result<()> {
    // A link stays one.
    let path = path.canonicalize().with_context(|| format!("cannot write `{}`", shown(path)))?;
    let rights = fs::metadata(&path).map(|found| found.permissions().mode() & 0o777).unwrap_or(RIGHTS);
    put(&path, bundle, signatures, rights)
}

/// Puts a signature into an archive that holds these already; whether it was new, or there as it is.
///
/// # Errors
/// It cannot be written.
pub fn add(path: &Path, bundle: &Bundle, mut signatures: Vec<Signature>, new: Signature) -> Result<bool> {
    if signatures.contains(&new) {
        return Ok(false);
    }
    signatures.push(new);
    replace(path, bundle, &signatures).map(|()| true)
}

fn put(path: &Path, bundle: &Bundle, signatures: &[Signature], rights: u32) -> Result<()> {
    let told = || format!("cannot write `{}`", shown(path));
    durable(path, rights, |file| Ok(write_archive(bundle, signatures, file)?)).with_context(told)
}

/// Writes a file that is there whole or not at all.
///
/// # Errors
/// It cannot be written.
pub fn durable(path: &Path, rights: u32, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let draft = path.with_added_extension(format!("{}.draft", std::process::id()));
    // Of a process of that number that was ended at work.
    let _left_over = fs::remove_file(&draft);
    let put = || {
        let file = OpenOptions::new().create_new(true).write(true).mode(rights).open(&draft)?;
        let mut buffered = BufWriter::new(file);
        write(&mut buffered)?;
        let file = buffered.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(File::open(folder)?.sync_all()?)
    };
    put().inspect_err(|_: &anyhow::Error| drop(fs::remove_file(&draft)))
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string(), 400)
}

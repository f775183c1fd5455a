//! A settings file on disk: read within bounds, replaced in one step, owner and mode kept.

use anyhow::{Context, Result, bail};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// A settings file as it was found.
#[derive(Debug)]
pub struct Found {
    /// Where it is named.
    pub path: PathBuf,
    /// Where it lies: the end of the links that lead there.
    pub real: PathBuf,
    /// What it holds; none when there is no file.
    pub bytes: Option<Vec<u8>>,
    metadata: Option<Metadata>,
}

/// Looks at `path` and reads at most `most` bytes.
///
/// # Errors
/// It is no file, its link leads nowhere, it is larger, or it cannot be read.
pub fn look(path: &Path, most: u64) -> Result<Found> {
    let missing = || Found { path: path.to_owned(), real: path.to_owned(), bytes: None, metadata: None };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(missing()),
        Err(error) => return Err(error).with_context(|| format!("cannot look at `{}`", path.display())),
        Ok(_) => {}
    }
    let real = fs::canonicalize(path).with_context(|| format!("`{}` is a link that leads nowhere: mend or remove it", path.display()))?;
    let metadata = fs::metadata(&real).with_context(|| format!("cannot look at `{}`", real.display()))?;
    if !metadata.is_file() {
        bail!("`{}` is no file: move it away", path.display());
    }
    let mut bytes = Vec::new();
    let file = File::open(&real).with_context(|| format!("cannot read `{}`", path.display()))?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read `{}`", path.display()))?;
    if bytes.len() as u64 > most {
        bail!("`{}` is larger than {most} bytes, so the client does not read it: make it smaller", path.display());
    }
    Ok(Found { path: path.to_owned(), real, bytes: Some(bytes), metadata: Some(metadata) })
}

impl Found {
    /// It is named by a link.
    #[must_use]
    pub fn linked(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| found.is_symlink())
    }

    /// Other names lead to the same file, and will keep what it holds now.
    #[must_use]
    pub fn other_names(&self) -> u64 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.nlink().saturating_sub(1))
    }

    /// Why it cannot be replaced, as far as that can be told without trying.
    ///
    /// # Errors
    /// It is read-only: whoever made it so generates it, or wants it left alone.
    pub fn check_writable(&self) -> Result<()> {
        match &self.metadata {
            Some(metadata) if metadata.mode() & 0o222 == 0 => {
                bail!("`{}` is read-only: make it writable, or add the hooks where it is generated (see --dry-run)", self.path.display())
            }
            _ => Ok(()),
        }
    }

    /// Puts `bytes` in its place in one step: whoever reads it sees the old or the new. Mode and owner
    /// stay; a file made anew gets `mode`. Gives the folders that had to be made, the outermost first.
    ///
    /// # Errors
    /// It changed since it was read, or the system refuses; then it is as before.
    pub fn replace(&self, bytes: &[u8], mode: u32) -> Result<Vec<PathBuf>> {
        self.unchanged()?;
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        let made = make_folders(folder, mode)?;
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let draft = folder.join(format!(".{name}.portcullis-{}", std::process::id()));
        let written = self.write(&draft, bytes, mode).and_then(|()| fs::rename(&draft, &self.real));
        if written.is_err() {
            // What could not be made need not be removed.
            let _ = fs::remove_file(&draft);
        }
        written.with_context(|| format!("cannot write `{}`", self.real.display()))?;
        sync(folder);
        Ok(made)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// It changed since it was read, or the system refuses.
    pub fn remove(&self) -> Result<()> {
        self.unchanged()?;
        fs::remove_file(&self.real).with_context(|| format!("cannot remove `{}`", self.real.display()))?;
        sync(self.real.parent().unwrap_or(Path::new("/")));
        Ok(())
    }

    fn unchanged(&self) -> Result<()> {
        let now = look(&self.path, self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            .ok()
            .filter(|now| now.bytes == self.bytes && now.real == self.real);
        if now.is_none() {
            bail!("`{}` changed in the meantime: nothing was written, run this again", self.path.display());
        }
        Ok(())
    }

    fn write(&self, draft: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
        file.write_all(bytes)?;
        if let Some(before) = &self.metadata {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                chown(draft, Some(before.uid()), Some(before.gid()))?;
            }
        }
        let mode = self.metadata.as_ref().map_or(mode, |before| before.mode() & 0o7777);
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()
    }
}

/// Makes what is missing of a folder, and tells what.
fn make_folders(folder: &Path, file_mode: u32) -> Result<Vec<PathBuf>> {
    let mut made: Vec<PathBuf> = folder.ancestors().take_while(|above| above.symlink_metadata().is_err()).map(Path::to_owned).collect();
    made.reverse();
    // Who may read the file may enter its folder.
    let mode = if file_mode & 0o044 == 0 { 0o700 } else { 0o755 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    Ok(made)
}

/// Where a folder cannot be synced the rename is as durable as the system makes it.
fn sync(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

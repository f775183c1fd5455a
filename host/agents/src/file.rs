//! A settings file on disk: bounded reading, and atomic replacement that keeps owner and mode.

use anyhow::{Context, Result, anyhow, bail};
use portcullis_fs::{Flush, Links, ReadError, Replacement, open_file, sync_folder};
use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A settings file with its content.
#[derive(Debug)]
pub struct SettingsFile {
    /// The path that was given.
    pub path: PathBuf,
    /// The real path, with all links followed.
    pub real: PathBuf,
    /// The content; `None` if there is no file.
    pub bytes: Option<Vec<u8>>,
    metadata: Option<Metadata>,
}

/// Resolves `path` and reads at most `most` bytes.
///
/// # Errors
/// Fails if it is not a file, is a broken link, is larger, or cannot be read.
pub fn read_settings(path: &Path, most: u64) -> Result<SettingsFile> {
    let missing = || SettingsFile {
        path: path.to_owned(),
        real: path.to_owned(),
        bytes: None,
        metadata: None,
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(missing()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot look at `{}`", path.display()));
        }
        Ok(_) => {}
    }
    let real = fs::canonicalize(path).with_context(|| {
        format!("`{}` is a link that leads nowhere: fix or remove it", path.display())
    })?;
    let failed = |error| match error {
        ReadError::NotAFile | ReadError::Link => {
            anyhow!("`{}` is not a file: move it away", path.display())
        }
        ReadError::TooLarge(_) => anyhow!(
            "`{}` is larger than {most} bytes, so the client does not read it: make it smaller",
            path.display()
        ),
        ReadError::Io(error) => anyhow!(error).context(format!("cannot read `{}`", path.display())),
    };
    let Some(open) = open_file(&real, Links::Refuse).map_err(failed)? else {
        return Ok(missing());
    };
    let bytes = open.read_rest(most).map_err(failed)?;
    Ok(SettingsFile {
        path: path.to_owned(),
        real,
        bytes: Some(bytes),
        metadata: Some(open.metadata),
    })
}

impl SettingsFile {
    /// Returns true if the path is a link.
    #[must_use]
    pub fn linked(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|found| found.is_symlink())
    }

    /// Returns the number of other hard links to the file, which keep the old content.
    #[must_use]
    pub fn other_names(&self) -> u64 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.nlink().saturating_sub(1))
    }

    /// Checks that it can be replaced, as far as possible without trying.
    ///
    /// # Errors
    /// Fails if it is read-only: it is probably generated, or meant to stay unchanged.
    pub fn check_writable(&self) -> Result<()> {
        match &self.metadata {
            Some(metadata) if metadata.mode() & 0o222 == 0 => {
                bail!(
                    "`{}` is read-only: make it writable, or add the hooks where it is generated (see --dry-run)",
                    self.path.display()
                )
            }
            _ => Ok(()),
        }
    }

    /// Replaces the content atomically: a reader sees the old or the new bytes. Mode and owner are
    /// kept; a new file gets `mode`. Returns the created folders, the outermost first.
    ///
    /// # Errors
    /// Fails if it changed since it was read, or on a system error; then it is unchanged.
    pub fn replace_content(&self, bytes: &[u8], mode: u32) -> Result<Vec<PathBuf>> {
        self.unchanged()?;
        let folder = self.real.parent().unwrap_or(Path::new("/"));
        let made = make_folders(folder, mode)?;
        Replacement::new(&self.real, mode)
            .like_original(self.metadata.as_ref())
            .with_flush(Flush::File)
            .write_with(|file| file.write_all(bytes))
            .with_context(|| format!("cannot write `{}`", self.real.display()))?;
        flush_if_possible(folder);
        Ok(made)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Fails if it changed since it was read, or on a system error.
    pub fn remove(&self) -> Result<()> {
        self.unchanged()?;
        fs::remove_file(&self.real)
            .with_context(|| format!("cannot remove `{}`", self.real.display()))?;
        flush_if_possible(self.real.parent().unwrap_or(Path::new("/")));
        Ok(())
    }

    fn unchanged(&self) -> Result<()> {
        let now =
            // A longer file has changed too, so no more than before is read.
            read_settings(&self.path, self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
                .ok()
                .filter(|now| now.bytes == self.bytes && now.real == self.real);
        if now.is_none() {
            bail!(
                "`{}` changed in the meantime: nothing was written, run this again",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// Creates the missing folders of a path, and returns them.
fn make_folders(folder: &Path, file_mode: u32) -> Result<Vec<PathBuf>> {
    let mut made: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|above| above.symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect();
    made.reverse();
    // Users who may read the file may enter its folder.
    let mode = if file_mode & 0o044 == 0 { 0o700 } else { 0o755 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    Ok(made)
}

/// Syncs the folder of somebody's settings, which may be on a file system that cannot: then the new
/// name is only as durable as the system makes it.
fn flush_if_possible(folder: &Path) {
    let _ = sync_folder(folder);
}

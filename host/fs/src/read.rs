//! Reading files that anybody may have put there: pipes that wait for a writer, devices that never
//! end, links to elsewhere.

use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The treatment of a path whose last part is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// The file that it leads to is opened.
    Follow,
    /// The link is not followed, and nothing is read.
    Refuse,
}

/// The reasons why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a folder, a pipe, a device or a socket.
    #[error("it is not a file")]
    NotAFile,
    /// It is a symbolic link, and [`Links::Refuse`] was asked for.
    #[error("it is a symbolic link")]
    Link,
    /// It has more bytes than the limit.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            error => Self::other(error),
        }
    }
}

/// A regular file that is open for reading, with the metadata that it had when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    /// The file itself, at its beginning.
    pub file: File,
    /// Its size, owner, mode and times.
    pub metadata: Metadata,
}

impl OpenFile {
    /// Reads the rest of the file, at most `most` bytes.
    ///
    /// # Errors
    /// The file has more bytes, or the system refuses.
    pub fn read_rest(&self, most: u64) -> Result<Vec<u8>, ReadError> {
        let size = self.metadata.len().min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
        (&self.file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(ReadError::TooLarge(most)) } else { Ok(bytes) }
    }
}

/// Opens a regular file and never waits for the other side of a pipe. Returns `None` if nothing has
/// that name, or if a followed link leads nowhere.
///
/// # Errors
/// It is not a file, or the system refuses.
pub fn open_file(path: &Path, links: Links) -> Result<Option<OpenFile>, ReadError> {
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) if links == Links::Refuse => return Err(ReadError::Link),
        // A socket, or a device without a driver.
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV) => {
            return Err(ReadError::NotAFile);
        }
        Err(error) => {
            let error = io::Error::from(error);
            return if error.kind() == ErrorKind::NotFound { Ok(None) } else { Err(error.into()) };
        }
    };
    let metadata = file.metadata()?;
    if metadata.is_file() {
        Ok(Some(OpenFile { file, metadata }))
    } else {
        Err(ReadError::NotAFile)
    }
}

/// Reads a file of at most `most` bytes; returns `None` if nothing has that name.
///
/// # Errors
/// As for [`open_file`], or the file has more bytes.
pub fn read_file(path: &Path, most: u64, links: Links) -> Result<Option<Vec<u8>>, ReadError> {
    open_file(path, links)?.map(|open| open.read_rest(most)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// The bytes, or the beginning of the error.
    fn read(path: &Path, most: u64, links: Links) -> String {
        match read_file(path, most, links) {
            Ok(Some(bytes)) => String::from_utf8(bytes).unwrap(),
            Ok(None) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn only_small_files_are_read_and_nothing_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "bytes").unwrap();
        fs::create_dir(path("folder")).unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink(path("absent"), path("dangling")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());
        for (name, most, follow, refuse) in [
            ("file", 5, "bytes", "bytes"),
            ("file", 4, "it has more than 4 bytes", "it has more than 4 bytes"),
            ("folder", 5, "it is not a file", "it is not a file"),
            ("pipe", 5, "it is not a file", "it is not a file"),
            ("socket", 5, "it is not a file", "it is not a file"),
            ("link", 5, "bytes", "it is a symbolic link"),
            ("dangling", 5, "nothing", "it is a symbolic link"),
            ("absent", 5, "nothing", "nothing"),
        ] {
            assert_eq!(read(&path(name), most, Links::Follow), follow, "{name}");
            assert_eq!(read(&path(name), most, Links::Refuse), refuse, "{name}");
        }
        let zero = Path::new("/dev/zero");
        assert_eq!(read(zero, 5, Links::Follow), "it is not a file");
    }
}

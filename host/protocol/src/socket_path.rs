//! Sockets with paths of any length. The system takes at most 107 bytes of a path; a longer one is reached
//! through its open folder.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Connects to the socket at a path.
///
/// # Errors
/// Fails if nobody listens there, or the system refuses.
pub fn connect_socket(path: &Path) -> io::Result<UnixStream> {
    with_address(path, |path| UnixStream::connect(path))
}

/// Listens at a path, where nothing may be yet.
///
/// # Errors
/// Fails if something is there, or the system refuses.
pub fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    with_address(path, |path| UnixListener::bind(path))
}

fn with_address<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    if SocketAddr::from_pathname(path).is_ok() {
        return act(path);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let folder = File::open(folder)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};

    #[test]
    fn a_path_of_any_length_is_served_and_reached() {
        let folder = tempfile::tempdir().unwrap();
        for length in [1, 40, 107, 108, 200, 250] {
            let folder = folder.path().join("f".repeat(length));
            fs::create_dir(&folder).unwrap();
            let path = folder.join("service.sock");
            assert!(connect_socket(&path).is_err(), "{length}: nobody listens");
            let listener = bind_socket(&path).unwrap();
            assert!(bind_socket(&path).is_err(), "{length}: it is taken");
            let mut near = connect_socket(&path).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            near.write_all(b"hello").unwrap();
            drop(near);
            let mut said = String::new();
            far.read_to_string(&mut said).unwrap();
            assert_eq!(said, "hello", "{length}");
        }
    }
}

//! Sockets with paths of any length. The system takes at most 107 bytes of a path (macOS 103); a longer one is
//! reached through its open folder, and where no path leads to that, through a link in a private folder.

use std::io;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

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
    through_folder(folder, |short| act(&short.join(name)))
}

/// Passes a short path of a folder.
#[cfg(target_os = "linux")]
fn through_folder<T>(folder: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    use std::os::fd::AsRawFd;
    let folder = std::fs::File::open(folder)?;
    act(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())))
}

/// Passes a short path of a folder: a link in a new folder that only this user can enter. It is of
/// no use to anybody once the socket is bound or connected.
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "its test calls it"))]
fn through_link<T>(folder: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    use std::hash::{BuildHasher, RandomState};
    use std::os::unix::fs::DirBuilderExt;
    // Not the folder that the environment names: its path can be too long itself.
    let number = RandomState::new().hash_one(std::process::id());
    let private = std::path::PathBuf::from(format!("/tmp/portcullis-{number:016x}"));
    // This fails if somebody has put anything there.
    std::fs::DirBuilder::new().mode(0o700).create(&private)?;
    let link = private.join("f");
    let done = std::path::absolute(folder)
        .and_then(|folder| std::os::unix::fs::symlink(folder, &link))
        .and_then(|()| act(&link));
    let _left = std::fs::remove_file(&link);
    let _left = std::fs::remove_dir(&private);
    done
}

#[cfg(not(target_os = "linux"))]
use through_link as through_folder;

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

    #[test]
    fn a_link_leads_to_a_folder_and_is_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("f".repeat(200));
        fs::create_dir(&folder).unwrap();
        let mut used = None;
        let listener = through_link(&folder, |short| {
            assert!(short.as_os_str().len() < 90, "{}", short.display());
            let private = fs::metadata(short.parent().unwrap())?;
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&private.permissions()) & 0o077, 0);
            used = short.parent().map(Path::to_owned);
            UnixListener::bind(short.join("service.sock"))
        });
        drop(listener.unwrap());
        assert!(folder.join("service.sock").exists());
        assert!(!used.unwrap().exists());
        assert!(through_link(&folder, |_| Err::<(), _>(io::ErrorKind::Other.into())).is_err());
    }
}

//! Reads the text of a file that an action runs.

use super::entry;
use portcullis_core::observe::Observed;
use portcullis_core::run_files::{FileContents, MOST_FILE_TEXT};
use portcullis_fs::{Links, ReadError, open_file};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The part of a longer text that is read at its end, in bytes.
const TAIL: usize = 16 * 1024;

/// Reads a regular file, also through a link; waits for nothing.
pub(super) fn read_script(path: &Path) -> Observed {
    let contents = match open_file(path, Links::Follow) {
        Ok(None) => FileContents::Missing,
        Ok(Some(open)) => match contents(&open.file, open.metadata.len()) {
            Ok(contents) => contents,
            Err(_) => FileContents::Unreadable("cannot be read".to_owned()),
        },
        Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotADirectory => {
            FileContents::Missing
        }
        Err(ReadError::NotAFile) => FileContents::Unreadable("is not a file".to_owned()),
        Err(_) => FileContents::Unreadable("cannot be read".to_owned()),
    };
    Observed { entry: entry(path), contents: Some(contents), ..Observed::UNKNOWN }
}

fn contents(file: &File, length: u64) -> std::io::Result<FileContents> {
    let whole = length <= MOST_FILE_TEXT as u64;
    let mut bytes = read_at(file, 0, if whole { MOST_FILE_TEXT } else { MOST_FILE_TEXT - TAIL })?;
    if bytes.contains(&0) {
        return Ok(FileContents::Binary);
    }
    if !whole {
        // The beginning and the end must not join into one line.
        bytes.push(b'\n');
        bytes.extend(read_at(file, length - TAIL as u64, TAIL)?);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(if whole { FileContents::Text(text) } else { FileContents::Part(text) })
}

/// Reads at most `most` bytes from a place in a file.
fn read_at(file: &File, from: u64, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, from + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn found(path: &Path) -> FileContents {
        read_script(path).contents.unwrap()
    }

    #[test]
    fn only_the_text_of_a_file_is_read_and_only_so_much_of_it() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("a"), "echo hello\n").unwrap();
        assert_eq!(found(&at("a")), FileContents::Text("echo hello\n".into()));
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        assert_eq!(found(&at("link")), found(&at("a")), "a link to a file is that file");
        std::os::unix::fs::symlink("nothing", at("dangling")).unwrap();
        for name in ["none", "dangling", "a/b"] {
            assert_eq!(found(&at(name)), FileContents::Missing, "{name}");
        }
        fs::write(at("program"), b"\x7fELF\0\0").unwrap();
        assert_eq!(found(&at("program")), FileContents::Binary);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        for name in ["pipe", "."] {
            assert!(matches!(found(&at(name)), FileContents::Unreadable(_)), "{name}");
        }
        let most = "x".repeat(MOST_FILE_TEXT);
        fs::write(at("full"), &most).unwrap();
        assert_eq!(found(&at("full")), FileContents::Text(most.clone()));
        fs::write(at("long"), format!("first\n{most}{most}\nlast")).unwrap();
        let FileContents::Part(part) = found(&at("long")) else { panic!("it is longer") };
        assert!(part.starts_with("first\n") && part.ends_with("\nlast"));
        assert_eq!(part.len(), MOST_FILE_TEXT + 1);
        fs::write(at("odd"), b"echo \xff").unwrap();
        assert_eq!(found(&at("odd")), FileContents::Text("echo \u{fffd}".into()));
    }
}

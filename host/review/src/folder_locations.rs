//! Where paths lead, with each folder looked at once.
//!
//! A hook locates about a hundred paths, and most of them share their folders: a path costs one look
//! at its last part. Paths are cut as bytes: `Path` cuts at three times the cost of everything else
//! here, and the few folders are compared one by one.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most parts of a path that are followed.
pub(crate) const MOST_PARTS: usize = 64;

/// The location of a path on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Location {
    /// The real path, if it differs: a part of the path is a link. A path that does not exist yet
    /// counts by its nearest existing folder.
    pub(crate) elsewhere: Option<PathBuf>,
    /// True if something exists there.
    pub(crate) exists: bool,
}

impl Location {
    /// The location of a path that is taken as it is.
    pub(crate) const HERE: Self = Self { elsewhere: None, exists: true };
}

/// The locations of the folders that were looked at.
#[derive(Default)]
pub(crate) struct FolderLocations(Vec<(OsString, Location)>);

impl FolderLocations {
    /// Locates an absolute path; `left` more parts are followed. A path that ends with `.`, `..` or
    /// a slash is taken as it is.
    pub(crate) fn locate(&mut self, path: &OsStr, left: usize) -> Location {
        let mut parts = path.as_bytes().rsplitn(2, |byte| *byte == b'/');
        let (Some(name), Some(folder)) = (parts.next(), parts.next()) else {
            return Location::HERE;
        };
        if left == 0 || matches!(name, b"" | b"." | b"..") {
            return Location::HERE;
        }
        let folder = self.locate_folder(OsStr::from_bytes(folder), left - 1);
        let here = folder.elsewhere.map(|folder| folder.join(OsStr::from_bytes(name)));
        if !folder.exists {
            return Location { elsewhere: here, exists: false };
        }
        let path = here.as_deref().unwrap_or(Path::new(path));
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                let real = fs::canonicalize(path).ok();
                Location { elsewhere: real.or(here), exists: true }
            }
            found => Location { exists: found.is_ok(), elsewhere: here },
        }
    }

    /// Returns the path with all links followed; for a path that does not exist yet, those of its
    /// nearest existing folder. `None` if it cannot be known.
    pub(crate) fn resolve(&mut self, path: &Path) -> Option<PathBuf> {
        let mut parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        let is_absolute = parts.next() == Some(b"");
        let is_plain = parts.clone().all(|part| !matches!(part, b"" | b"." | b".."));
        if !is_absolute || !is_plain || parts.count() > MOST_PARTS {
            return resolve_alone(path);
        }
        let location = self.locate(path.as_os_str(), MOST_PARTS);
        Some(location.elsewhere.unwrap_or_else(|| path.to_owned()))
    }

    fn locate_folder(&mut self, folder: &OsStr, left: usize) -> Location {
        if folder.is_empty() {
            return Location::HERE;
        }
        if let Some((_, known)) = self.0.iter().rev().find(|(known, _)| known == folder) {
            return known.clone();
        }
        let found = self.locate(folder, left);
        self.0.push((folder.to_owned(), found.clone()));
        found
    }
}

/// Resolves a path of any form, part by part from its end.
fn resolve_alone(path: &Path) -> Option<PathBuf> {
    let mut rest = PathBuf::new();
    for ancestor in path.ancestors().take(MOST_PARTS) {
        if let Ok(real) = fs::canonicalize(ancestor) {
            return Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
        let name = ancestor.file_name()?;
        rest = if rest.as_os_str().is_empty() {
            PathBuf::from(name)
        } else {
            Path::new(name).join(rest)
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Both ways say the same of each path: with folders that are known already, and without.
    #[test]
    fn known_folders_change_no_answer() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/file"), "").unwrap();
        symlink("real", root.join("linked")).unwrap();
        symlink("linked/deep", root.join("twice")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let mut folders = FolderLocations::default();
        let names = [
            "real/file",
            "real/none",
            "real/none/below",
            "real/file/below",
            "linked",
            "linked/file",
            "linked/deep/new",
            "twice",
            "twice/new/more",
            "dangling",
            "dangling/below",
            "loop",
            "loop/below",
            "linked/../real",
            "./linked",
            "linked/",
            "linked//deep",
            "",
        ];
        for name in names {
            let path = root.join(name);
            let known = folders.resolve(&path);
            assert_eq!(known, resolve_alone(&path), "{name}");
            assert_eq!(folders.resolve(&path), known, "{name}, asked again");
        }
        let long = root.join("linked").join("a/".repeat(70));
        assert_eq!(folders.resolve(&long), resolve_alone(&long), "a long path");
        let found = folders.resolve(&root.join("linked/deep/new"));
        assert_eq!(found, Some(root.join("real/deep/new")));
    }
}

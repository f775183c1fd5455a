//! Other names of guarded files that are not links: hard links, and spellings that a
//! case-insensitive file system treats as the same.

use portcullis_core::policy::GuardedPath;
use std::cell::OnceCell;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most files of guarded folders that are examined.
const MOST_FILES: usize = 512;
const MOST_DEPTH: usize = 3;

/// Device and inode number: the identity of a file, independent of its name.
type Identity = (u64, u64);

/// The guarded files with several names, looked up on first use.
pub(super) struct Aliases<'g> {
    guarded: &'g [GuardedPath],
    known: OnceCell<Vec<(Identity, PathBuf)>>,
}

impl<'g> Aliases<'g> {
    /// Creates the lookup for this list, without reading anything.
    pub(super) const fn new(guarded: &'g [GuardedPath]) -> Self {
        Self { guarded, known: OnceCell::new() }
    }

    /// Returns the guarded name of the file at `path`, if it has one that `path` does not show.
    pub(super) fn of(&self, path: &Path) -> Option<PathBuf> {
        self.hard_link(path).or_else(|| self.other_case(path))
    }

    /// Returns true if a path is a guarded one, or inside one.
    pub(super) fn guards(&self, path: &Path) -> bool {
        self.paths().any(|guarded| path.starts_with(guarded))
    }

    fn hard_link(&self, path: &Path) -> Option<PathBuf> {
        let found = fs::metadata(path).ok().filter(several)?;
        let known = self.known.get_or_init(|| self.with_several_names());
        known
            .iter()
            .find(|(identity, name)| *identity == self::identity(&found) && name != path)
            .map(|(_, name)| name.clone())
    }

    fn with_several_names(&self) -> Vec<(Identity, PathBuf)> {
        let mut files = Vec::new();
        let mut seen = 0;
        for guarded in self.paths() {
            collect(guarded, MOST_DEPTH, &mut seen, &mut files);
        }
        files
    }

    fn paths(&self) -> impl Iterator<Item = &'g Path> {
        self.guarded
            .iter()
            .map(|guarded| Path::new(guarded.path.as_str()))
            .filter(|path| path.is_absolute())
    }

    /// Returns the guarded spelling of a path that differs from a guarded one, or from a folder
    /// above it, only in case, if the file system treats both as the same.
    fn other_case(&self, path: &Path) -> Option<PathBuf> {
        let text = path.to_str()?;
        self.paths().filter_map(Path::to_str).find_map(|guarded| {
            let length = text.len().min(guarded.len());
            let (own, other) = (text.get(..length)?, guarded.get(..length)?);
            let (rest, above) = (text.get(length..)?, guarded.get(length..)?);
            let whole = [rest, above].iter().all(|more| more.is_empty() || more.starts_with('/'));
            let differs = own != other && own.eq_ignore_ascii_case(other);
            (whole && differs && same(Path::new(own), Path::new(other)))
                .then(|| PathBuf::from(format!("{other}{rest}")))
        })
    }
}

fn several(found: &Metadata) -> bool {
    found.is_file() && found.nlink() > 1
}

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Returns true if the nearest existing part of both is the same file.
fn same(one: &Path, other: &Path) -> bool {
    one.ancestors().zip(other.ancestors()).find_map(|(one, other)| {
        match (fs::metadata(one), fs::metadata(other)) {
            (Ok(one), Ok(other)) => Some(identity(&one) == identity(&other)),
            (Err(_), Err(_)) => None,
            _ => Some(false),
        }
    }) == Some(true)
}

fn collect(path: &Path, depth: usize, seen: &mut usize, files: &mut Vec<(Identity, PathBuf)>) {
    *seen += 1;
    let Ok(found) = fs::symlink_metadata(path) else { return };
    if several(&found) {
        files.push((identity(&found), path.to_owned()));
    } else if found.is_dir() && depth > 0 {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if *seen >= MOST_FILES {
                return;
            }
            collect(&entry.path(), depth - 1, seen, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hard_link_is_the_file_that_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join("state/sub")).unwrap();
        for file in ["settings.json", "state/journal.db", "state/sub/x", "own"] {
            fs::write(root.join(file), file).unwrap();
        }
        for (file, link) in
            [("settings.json", "a"), ("state/journal.db", "b"), ("state/sub/x", "c"), ("own", "d")]
        {
            fs::hard_link(root.join(file), root.join(link)).unwrap();
        }
        let guarded = ["settings.json", "state"]
            .map(|path| GuardedPath::new(root.join(path).display().to_string(), ""))
            .into_iter()
            .collect::<Vec<_>>();
        let aliases = Aliases::new(&guarded);
        for (path, expected) in [
            ("a", Some("settings.json")),
            ("b", Some("state/journal.db")),
            ("c", Some("state/sub/x")),
            ("d", None),
            ("settings.json", None),
            ("absent", None),
            ("state", None),
        ] {
            assert_eq!(
                aliases.of(&root.join(path)),
                expected.map(|name| root.join(name)),
                "{path}"
            );
        }
    }

    #[test]
    fn other_capitals_count_only_where_the_file_system_says_so() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join(".claude")).unwrap();
        let guarded =
            [GuardedPath::new(root.join(".claude/settings.json").display().to_string(), "")];
        let aliases = Aliases::new(&guarded);
        let spelled = root.join(".CLAUDE/settings.json");
        // A link simulates the behaviour of a case-insensitive file system.
        let folds = fs::metadata(root.join(".CLAUDE")).is_ok();
        assert_eq!(aliases.of(&spelled).is_some(), folds);
        if !folds {
            std::os::unix::fs::symlink(root.join(".claude"), root.join(".CLAUDE")).unwrap();
        }
        assert_eq!(
            aliases.of(&spelled),
            Some(root.join(".claude/settings.json")),
            "not there yet, in a folder that is the same"
        );
        assert_eq!(
            aliases.of(&root.join(".CLAUDE")),
            Some(root.join(".claude")),
            "the folder above it"
        );
        fs::write(root.join(".claude/settings.json"), "{}").unwrap();
        assert_eq!(
            aliases.of(&root.join(".claude/SETTINGS.json")).is_some(),
            folds,
            "another file"
        );
    }
}

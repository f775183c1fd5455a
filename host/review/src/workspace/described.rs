//! A workspace that somebody described, in place of the disk: the files of a labelled action.
//!
//! A path that is not described is unknown, not absent. Two things are assumed: a package in a
//! folder that nobody described has the manifest that the project has, and a manifest that git
//! holds has its lock file in git too.

use super::regenerated::{is_ignored_for_good_among, is_recreated_among};
use glob::{MatchOptions, Pattern};
use portcullis_core::action::{Entry, GitState};
use portcullis_core::facts::collapse_path;
use portcullis_core::observe::{Observations, Observed, Query};
use portcullis_core::run_files::{FileContents, MOST_FILE_TEXT};
use std::collections::BTreeMap;
use std::path::Path;

/// Lock files, and the manifests that they belong to.
const LOCKS: &[(&str, &str)] = &[
    ("Cargo.lock", "Cargo.toml"),
    ("Gemfile.lock", "Gemfile"),
    ("bun.lock", "package.json"),
    ("bun.lockb", "package.json"),
    ("composer.lock", "composer.json"),
    ("go.sum", "go.mod"),
    ("mix.lock", "mix.exs"),
    ("package-lock.json", "package.json"),
    ("pdm.lock", "pyproject.toml"),
    ("pnpm-lock.yaml", "package.json"),
    ("poetry.lock", "pyproject.toml"),
    ("uv.lock", "pyproject.toml"),
    ("yarn.lock", "package.json"),
];

/// The files of a described workspace by absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedDisk {
    files: BTreeMap<String, DescribedFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DescribedFile {
    text: Option<String>,
    git: Option<GitState>,
    folder: bool,
}

impl DescribedDisk {
    /// Adds a file's text. `path` is absolute.
    pub fn set_text(&mut self, path: &str, text: &str) {
        self.files.entry(collapse_path(path)).or_default().text = Some(text.to_owned());
    }

    /// Adds a path's state in git: a file's, or that of everything in a folder, which ends with a
    /// slash. `path` is absolute.
    pub fn set_git(&mut self, path: &str, state: GitState) {
        let file = self.files.entry(collapse_path(path)).or_default();
        (file.git, file.folder) = (Some(state), path.ends_with('/'));
    }

    /// Returns true if nothing is described.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Answers queries as the disk would.
    pub(crate) fn observe(&self, queries: &[Query]) -> Observations {
        let answer = |query: &Query| Some((query.key(), self.look(query)?));
        queries.iter().filter_map(answer).collect()
    }

    fn look(&self, query: &Query) -> Option<Observed> {
        let path = collapse_path(&query.path);
        if query.text {
            let text = self.files.get(&path)?.text.as_ref()?;
            return Some(Observed {
                entry: Entry::File,
                contents: Some(contents_of(text)),
                ..Observed::UNKNOWN
            });
        }
        if query.glob {
            let glob = Pattern::new(&path).ok()?;
            let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
            let found: Vec<&String> =
                self.files.keys().filter(|path| glob.matches_with(path, options)).collect();
            // A path that is not named is in a named folder.
            let restorable = match found.is_empty() {
                true => self.state(&path).1,
                // More may match than is described.
                false => !self.is_whole(&path) && found.iter().all(|path| self.state(path).1),
            };
            return Some(Observed { restorable, ..Observed::UNKNOWN });
        }
        let below = format!("{path}/");
        let is_folder = self.files.get(&path).is_some_and(|file| file.folder)
            || self.files.keys().any(|known| known.starts_with(&below));
        let (git, restorable) = self.state(&path);
        let is_named = is_folder || self.files.contains_key(&path);
        if !is_named && self.folder_of(&path).is_none() && !restorable {
            return None;
        }
        let entry = match is_folder {
            true => Entry::Folder,
            false if self.files.contains_key(&path) => Entry::File,
            false => Entry::Unknown,
        };
        let removes = query.removes && (!is_folder || query.recursive) || query.leaves.is_some();
        let text = self.files.get(&path).and_then(|file| file.text.as_ref());
        let size = text.filter(|_| query.leaves.is_some());
        let size = size.and_then(|text| u64::try_from(text.len()).ok());
        Some(Observed { entry, git, restorable: restorable && removes, size, ..Observed::UNKNOWN })
    }

    /// Returns the state of a path, which is that of its worst file, and true if all of it could be
    /// restored.
    fn state(&self, path: &str) -> (GitState, bool) {
        let below = format!("{path}/");
        let exists = |path: &Path| self.has(path) || self.is_assumed(path);
        let root = self.root();
        let of = |path: &str| {
            let known = self.files.get(path).and_then(|file| file.git);
            let state = known
                .or_else(|| self.folder_of(path))
                .or_else(|| self.state_of_lock(path))
                .or_else(|| self.ignored_by_name(path))
                .unwrap_or(GitState::Unknown);
            let restorable = match state {
                GitState::Clean => true,
                GitState::Ignored => is_ignored_for_good_among(Path::new(path), root, &exists),
                GitState::Unknown => is_recreated_among(Path::new(path), &exists),
                _ => false,
            };
            (state, restorable)
        };
        let all: Vec<_> = self
            .files
            .keys()
            .filter(|known| known.starts_with(&below))
            .map(|known| of(known))
            .collect();
        if all.is_empty() || self.files.contains_key(path) {
            return of(path);
        }
        let worst = all.iter().map(|(state, _)| *state).max().unwrap_or(GitState::Unknown);
        (worst, !self.is_whole(path) && all.iter().all(|(_, restorable)| *restorable))
    }

    /// Returns the folder of the project: that of the topmost file.
    fn root(&self) -> &Path {
        let topmost = self.files.keys().map(Path::new).min_by_key(|path| path.components().count());
        topmost.and_then(Path::parent).unwrap_or(Path::new("/"))
    }

    /// Returns true for the project, a folder above it, and a pattern that takes in all of one of
    /// these: no description names every file there.
    fn is_whole(&self, path: &str) -> bool {
        let any = |part: &&str| !part.is_empty() && part.chars().all(|c| "*?.{},".contains(c));
        let parts: Vec<&str> = path.split('/').collect();
        let fixed = parts.iter().take_while(|part| !any(part)).count();
        parts.iter().skip(fixed).all(any)
            && self.root().starts_with(format!("/{}", parts.get(..fixed).unwrap_or(&[]).join("/")))
    }

    /// Returns the state of a folder that git ignores by its name, and so at any depth: `obj/`.
    fn ignored_by_name(&self, path: &str) -> Option<GitState> {
        let root = self.root();
        Path::new(path).strip_prefix(root).ok()?.components().find_map(|part| {
            let file = self.files.get(root.join(part).to_str()?)?;
            file.git.filter(|state| file.folder && *state == GitState::Ignored)
        })
    }

    fn has(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.files.contains_key(path))
    }

    /// Returns true for a manifest in a folder of which nothing is described, if the project has
    /// such a manifest.
    fn is_assumed(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let described = self.files.keys().any(|known| Path::new(known).starts_with(folder));
        !described && folder.ancestors().skip(1).any(|above| self.has(&above.join(name)))
    }

    /// Returns the state of the manifest beside a lock file.
    fn state_of_lock(&self, path: &str) -> Option<GitState> {
        let path = Path::new(path);
        let lock = path.file_name()?.to_str()?;
        let (_, manifest) = LOCKS.iter().find(|(known, _)| *known == lock)?;
        let manifest = path.with_file_name(manifest);
        self.files.get(manifest.to_str()?)?.git.filter(|state| *state == GitState::Clean)
    }

    /// Returns the state that the nearest described folder above a path gives it.
    fn folder_of(&self, path: &str) -> Option<GitState> {
        Path::new(path)
            .ancestors()
            .skip(1)
            .find_map(|folder| self.files.get(folder.to_str()?).filter(|file| file.folder)?.git)
    }
}

/// Returns a text as the host would read it from a disk.
fn contents_of(text: &str) -> FileContents {
    if text.contains('\0') {
        return FileContents::Binary;
    }
    let mut end = text.len().min(MOST_FILE_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.get(..end) {
        Some(part) if end < text.len() => FileContents::Part(part.to_owned()),
        _ => FileContents::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> DescribedDisk {
        let mut disk = DescribedDisk::default();
        disk.set_text("/p/package.json", "{}");
        disk.set_text("/p/run.sh", "echo hello\n");
        for (path, state) in [
            ("/p/src/", GitState::Clean),
            ("/p/src/new.rs", GitState::Untracked),
            ("/p/lib/", GitState::Clean),
            ("/p/dist/", GitState::Ignored),
            ("/p/data/", GitState::Ignored),
            ("/p/a.log", GitState::Ignored),
        ] {
            disk.set_git(path, state);
        }
        disk
    }

    fn deletion_of(path: &str, glob: bool) -> Query {
        Query {
            path: path.to_owned(),
            glob,
            removes: true,
            recursive: true,
            changes: false,
            text: false,
            committed: false,
            leaves: None,
        }
    }

    fn seen(path: &str, glob: bool) -> Option<(Entry, GitState, bool)> {
        let found = disk().observe(&[deletion_of(path, glob)]).into_values().next()?;
        Some((found.entry, found.git, found.restorable))
    }

    #[test]
    fn answers_for_what_is_described() {
        for (path, glob, wanted) in [
            ("/p/src/old.rs", false, Some((Entry::Unknown, GitState::Clean, true))),
            ("/p/src/new.rs", false, Some((Entry::File, GitState::Untracked, false))),
            ("/p/lib", false, Some((Entry::Folder, GitState::Clean, true))),
            ("/p/dist", false, Some((Entry::Folder, GitState::Ignored, true))),
            ("/p/dist/x/y.js", false, Some((Entry::Unknown, GitState::Ignored, true))),
            ("/p/data", false, Some((Entry::Folder, GitState::Ignored, false))),
            ("/p/a.log", false, Some((Entry::File, GitState::Ignored, true))),
            ("/p/*.log", true, Some((Entry::Unknown, GitState::Unknown, true))),
            ("/p/*", true, Some((Entry::Unknown, GitState::Unknown, false))),
            ("/p/dist/**/*.js", true, Some((Entry::Unknown, GitState::Unknown, true))),
            ("/p/data/*.js", true, Some((Entry::Unknown, GitState::Unknown, false))),
            ("/p/packages/a/dist", false, Some((Entry::Unknown, GitState::Ignored, true))),
            ("/p/packages/*/dist", true, Some((Entry::Unknown, GitState::Unknown, true))),
            ("/p/packages/a/data", false, None),
            ("/p/**/*.pyc", true, Some((Entry::Unknown, GitState::Unknown, true))),
            ("/p/package-lock.json", false, None),
            ("/p/sub/dist/x", false, Some((Entry::Unknown, GitState::Ignored, true))),
            ("/p/sub/data", false, None),
            ("/p/*.none", true, Some((Entry::Unknown, GitState::Unknown, false))),
            ("/elsewhere", false, None),
        ] {
            assert_eq!(seen(path, glob), wanted, "{path}");
        }
    }

    #[test]
    fn a_folder_is_as_bad_as_its_worst_file() {
        let (_, git, restorable) = seen("/p", false).unwrap();
        assert_eq!((git, restorable), (GitState::Unknown, false));
    }

    #[test]
    fn a_project_is_never_described_in_full() {
        let mut disk = DescribedDisk::default();
        disk.set_git("/p/Cargo.toml", GitState::Clean);
        disk.set_git("/p/target/", GitState::Ignored);
        for (path, glob, wanted) in [
            ("/p", false, false),
            ("/", false, false),
            ("/p/*", true, false),
            ("/p/**", true, false),
            ("/p/{*,.*}", true, false),
            ("/*", true, false),
            ("/p/**/*.pyc", true, true),
            ("/p/target/*", true, true),
            ("/p/target", false, true),
            ("/p/sub/target", false, true),
        ] {
            let found = disk.observe(&[deletion_of(path, glob)]).into_values().next();
            assert_eq!(found.is_some_and(|found| found.restorable), wanted, "{path}");
        }
    }

    #[test]
    fn gives_texts() {
        let query = Query {
            path: "/p/x/../run.sh".to_owned(),
            glob: false,
            removes: false,
            recursive: false,
            changes: false,
            text: true,
            committed: false,
            leaves: None,
        };
        let found = disk().observe(std::slice::from_ref(&query));
        let contents = found.into_values().next().unwrap().contents;
        assert_eq!(contents, Some(FileContents::Text("echo hello\n".into())));
        let none = Query { path: "/p/none.sh".into(), ..query };
        assert!(disk().observe(&[none]).is_empty());
    }
}

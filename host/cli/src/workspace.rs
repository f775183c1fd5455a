//! The one look at the workspace: what stands at a path, where links lead, whether git or a rebuild
//! could give it back.
//!
//! Looks only; opens no file but git's index and ignore files, and runs nothing, since a repository's
//! configuration can name programs. Bounded: what it could not tell within its bounds is `unknown`, and
//! unknown is never taken for restorable.

mod git;
mod globs;
mod twins;

use git::Repository;
use portcullis_core::action::{Entry, GitState};
use portcullis_core::observe::{Observations, Observed, Query};
use portcullis_core::policy::Guarded;
use std::fs;
use std::path::{Path, PathBuf};
use twins::Twins;

/// The most entries of a folder that is to be removed that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// The most matches of a glob that are looked at.
const MOST_MATCHES: usize = 200;

/// Looks at every path that is asked for. What is a guarded file under another name is said to be that.
pub fn observe(queries: &[Query], guarded: &[Guarded]) -> Observations {
    let mut around = Around { repositories: Vec::new(), twins: Twins::new(guarded) };
    queries.iter().map(|query| (query.path.clone(), look(query, &mut around))).collect()
}

/// What is found out once for all paths.
struct Around<'g> {
    repositories: Vec<Option<Repository>>,
    twins: Twins<'g>,
}

fn look(query: &Query, around: &mut Around<'_>) -> Observed {
    if query.path.contains(['*', '?', '[']) {
        return look_at_matches(query, around);
    }
    let path = Path::new(&query.path);
    let real = real_path(path);
    let real = real.as_deref().and_then(|real| around.twins.of(real)).or_else(|| around.twins.of(path)).or(real);
    let entry = entry(path);
    let mut observed = Observed { entry, real: None, git: GitState::Unknown, restorable: false };
    let there = matches!(entry, Entry::File | Entry::Folder);
    if query.removes && there {
        let target = real.as_deref().unwrap_or(path);
        let (git, restorable) = restorable(target, entry, query.recursive, &mut around.repositories);
        observed.git = git;
        observed.restorable = restorable;
    }
    observed.real = real.filter(|real| real != path).map(|real| real.display().to_string());
    observed
}

/// A plain file of at most that many bytes: no pipe, which would wait for a writer, and no device, which
/// might never end.
fn is_plain(path: &Path, most: u64) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= most)
}

/// A glob is restorable when everything that it names is. What it changes is looked at too: one of the
/// names may lead to a guarded file.
fn look_at_matches(query: &Query, around: &mut Around<'_>) -> Observed {
    let unknown = Observed { entry: Entry::Unknown, real: None, git: GitState::Unknown, restorable: false };
    if !query.removes && !query.changes {
        return unknown;
    }
    let Some(found) = globs::matches(&query.path) else { return unknown };
    if found.is_empty() {
        return Observed { entry: Entry::Absent, ..unknown };
    }
    if found.len() > MOST_MATCHES {
        return unknown;
    }
    if !query.removes {
        let led = found
            .iter()
            .find_map(|path| around.twins.of(path).or_else(|| real_path(path).filter(|real| real != path && around.twins.guards(real))));
        return Observed { real: led.map(|real| real.display().to_string()), ..unknown };
    }
    let mut one = |path: &PathBuf| {
        let query = Query { path: path.display().to_string(), ..query.clone() };
        let observed = look(&query, around);
        observed.restorable && observed.real.is_none()
    };
    let all: Vec<bool> = found.iter().map(&mut one).collect();
    Observed { restorable: all.iter().all(|restorable| *restorable), ..unknown }
}

fn entry(path: &Path) -> Entry {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_symlink() => Entry::Link,
        Ok(found) if found.is_dir() => Entry::Folder,
        Ok(found) if found.is_file() => Entry::File,
        Ok(_) => Entry::Special,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Entry::Absent,
        Err(_) => Entry::Unknown,
    }
}

/// The path with all links followed; for what does not exist yet, its nearest existing folder's.
fn real_path(path: &Path) -> Option<PathBuf> {
    let mut rest = PathBuf::new();
    for ancestor in path.ancestors().take(64) {
        if let Ok(real) = fs::canonicalize(ancestor) {
            return Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
        let name = ancestor.file_name()?;
        rest = if rest.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(name).join(rest) };
    }
    None
}

/// Whether what is at a path could be had back: tracked and unchanged, or built from what is.
fn restorable(path: &Path, entry: Entry, recursive: bool, repositories: &mut Vec<Option<Repository>>) -> (GitState, bool) {
    let Some(root) = git::root_of(path) else { return (GitState::Unknown, built(path)) };
    if path == root || path.starts_with(root.join(".git")) {
        return (GitState::Unknown, false);
    }
    let Some(repository) = open(root, repositories) else { return (GitState::Unknown, false) };
    match entry {
        Entry::File => {
            let state = repository.state(path, false);
            (state, state == GitState::Clean || (state == GitState::Ignored && built(path)))
        }
        Entry::Folder if recursive => folder(path, repository),
        _ => (GitState::Unknown, false),
    }
}

fn open(root: PathBuf, repositories: &mut Vec<Option<Repository>>) -> Option<&Repository> {
    let known = repositories.iter().position(|known| known.as_ref().is_some_and(|known| known.root() == root));
    let index = known.unwrap_or_else(|| {
        repositories.push(Repository::open(root));
        repositories.len() - 1
    });
    repositories.get(index)?.as_ref()
}

/// A folder is as good as its worst file.
fn folder(path: &Path, repository: &Repository) -> (GitState, bool) {
    if repository.state(path, true) == GitState::Ignored {
        return (GitState::Ignored, built(path));
    }
    let mut open = vec![path.to_owned()];
    let (mut worst, mut all, mut seen) = (GitState::Clean, true, 0_usize);
    while let Some(folder) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { return (GitState::Unknown, false) };
        for found in entries {
            seen += 1;
            let Ok(found) = found else { return (GitState::Unknown, false) };
            if seen > MOST_ENTRIES {
                return (GitState::Unknown, false);
            }
            let path = found.path();
            let is_folder = found.file_type().is_ok_and(|kind| kind.is_dir());
            if found.file_name() == ".git" {
                return (GitState::Untracked, false);
            }
            match repository.state(&path, is_folder) {
                GitState::Ignored => all &= built(&path),
                _ if is_folder => open.push(path),
                state => {
                    worst = worst.max(state);
                    all &= state == GitState::Clean;
                }
            }
        }
    }
    (worst, all && seen > 0)
}

/// What a build or an install makes again, by its name and by what stands beside or in it.
fn built(path: &Path) -> bool {
    path.ancestors().take(12).any(|part| {
        let name = part.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let beside = |names: &[&str]| part.parent().is_some_and(|folder| names.iter().any(|name| folder.join(name).exists()));
        match name {
            "node_modules" => beside(&["package.json"]),
            "__pycache__" | ".pytest_cache" | ".mypy_cache" | ".ruff_cache" | ".tox" | ".next" | ".nuxt" | ".turbo" | ".parcel-cache"
            | ".gradle" => true,
            "target" => beside(&["Cargo.toml", "pom.xml", "build.sbt"]),
            "dist" | "build" | "out" | "coverage" | "htmlcov" => beside(&[
                "package.json",
                "pyproject.toml",
                "setup.py",
                "CMakeLists.txt",
                "build.gradle",
                "build.gradle.kts",
                "Makefile",
                "meson.build",
            ]),
            "_build" | "deps" => beside(&["mix.exs"]),
            ".venv" | "venv" => part.join("pyvenv.cfg").exists(),
            "vendor" => beside(&["composer.json", "Gemfile"]),
            _ => [".pyc", ".o", ".class"].iter().any(|end| name.ends_with(end)),
        }
    })
}

//! Observes the workspace once: what exists at a path, where links lead, and if git or a rebuild
//! could restore it.
//!
//! This only reads, opens no file except git's index and ignore files and the scripts that an
//! action runs, and runs nothing, since a repository's configuration can name programs. The work is
//! bounded: anything undecided within the bounds is `unknown`, and unknown is never treated as
//! restorable.

mod aliases;
mod climb;
pub mod described;
mod git;
mod globs;
mod regenerated;
pub mod reported;
mod scripts;
mod settled;

use crate::folder_locations::FolderLocations;
use aliases::Aliases;
use git::Repository;
use portcullis_core::action::{Entry, GitState};
use portcullis_core::facts;
use portcullis_core::observe::{ClimbTarget, Observations, Observed, Query, loses_most};
use portcullis_core::policy::GuardedPath;
use portcullis_core::run_files::FileContents;
use regenerated::{is_ignored_for_good, is_recreated};
use std::fs;
use std::path::{Path, PathBuf};

/// The most entries that are examined of a folder that is to be removed.
const MOST_ENTRIES: usize = 20_000;
/// The longest text of a file that is read without asking git about it, in bytes: it takes more to
/// exceed a limit of the reader.
const SHORT_TEXT: usize = 2 * 1024;
/// The most matches of a glob that are examined.
const MOST_MATCHES: usize = 200;

/// Observes every requested path. A guarded file under another name is reported as guarded.
pub(crate) fn observe(queries: &[Query], guarded: &[GuardedPath]) -> Observations {
    let mut around = WorkspaceContext {
        repositories: Vec::new(),
        aliases: Aliases::new(guarded),
        folders: FolderLocations::default(),
    };
    queries
        .iter()
        .map(|query| {
            let seen = if query.text {
                Some(look_at_text(query, &mut around))
            } else {
                settled::inspect_path(query)
            };
            (query.key(), seen.unwrap_or_else(|| look(query, &mut around)))
        })
        .collect()
}

/// Reads the text of a file; of a longer one it also matters if git holds it as it is.
fn look_at_text(query: &Query, around: &mut WorkspaceContext<'_>) -> Observed {
    let path = Path::new(&query.path);
    let real = around.folders.resolve(path);
    // What earlier steps put into a file is known by its own name.
    let other = real.as_deref().filter(|real| *real != path);
    let seen = Observed {
        real: other.map(|real| real.display().to_string()),
        ..scripts::read_script(path)
    };
    let asks_git = match &seen.contents {
        Some(FileContents::Text(text)) => query.committed || text.len() > SHORT_TEXT,
        Some(FileContents::Part(_)) => true,
        _ => false,
    };
    if !asks_git {
        return seen;
    }
    let target = real.as_deref().unwrap_or(path);
    let (git, _) = is_restorable(target, Entry::File, false, &mut around.repositories);
    Observed { git, ..seen }
}

/// The data that is shared between all paths.
struct WorkspaceContext<'g> {
    repositories: Vec<Option<Repository>>,
    aliases: Aliases<'g>,
    folders: FolderLocations,
}

fn look(query: &Query, around: &mut WorkspaceContext<'_>) -> Observed {
    let leads = climb::resolve_climb(&query.path);
    let path = match &leads {
        None => query.path.as_str(),
        Some(ClimbTarget::To(path)) => path,
        Some(ClimbTarget::Missing(_)) => &facts::collapse_path(&query.path),
        Some(ClimbTarget::Unknown) => return Observed { leads, ..Observed::UNKNOWN },
    };
    let found = if query.glob {
        look_at_matches(path, query, around)
    } else {
        look_at(Path::new(path), query, around)
    };
    // A path with `..` has another name in any case, and the caller needs to know that name.
    let other = leads.is_some() && !query.glob;
    let real = found.real.or_else(|| {
        let real = other.then(|| around.folders.resolve(Path::new(path))).flatten();
        real.map(|real| real.display().to_string())
    });
    Observed { real, leads, ..found }
}

/// Observes the file of exactly this name, even if it contains glob characters.
fn look_at(path: &Path, query: &Query, around: &mut WorkspaceContext<'_>) -> Observed {
    let real = around.folders.resolve(path);
    let real = real
        .as_deref()
        .and_then(|real| around.aliases.of(real))
        .or_else(|| around.aliases.of(path))
        .or(real);
    let entry = entry(path);
    let mut observed = Observed { entry, ..Observed::UNKNOWN };
    let there = matches!(entry, Entry::File | Entry::Folder);
    if query.leaves.is_some() && matches!(entry, Entry::File | Entry::Link) {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        observed.size = found.map(|found| found.len());
    }
    let emptied = observed.size.zip(query.leaves);
    if emptied.is_some_and(|(before, left)| loses_most(before, left.of_text(before))) {
        let target = real.as_deref().unwrap_or(path);
        (observed.git, observed.restorable) =
            is_restorable(target, Entry::File, false, &mut around.repositories);
    }
    if query.removes && there {
        let target = real.as_deref().unwrap_or(path);
        let (git, restorable) =
            is_restorable(target, entry, query.recursive, &mut around.repositories);
        observed.git = git;
        observed.restorable = restorable;
        // Nobody asks who made a folder that git can restore.
        if entry == Entry::Folder && query.recursive && !restorable && real.is_none() {
            observed.holds = list_below(path);
        }
    }
    observed.real = real.filter(|real| real != path).map(|real| real.display().to_string());
    observed
}

/// The most entries of a folder that are listed, at most this deep.
const MOST_LISTED: usize = 64;
const DEEPEST: usize = 16;

/// Lists everything below a folder; none if there is too much, or if it cannot be read.
fn list_below(path: &Path) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).ok()? {
            let entry = entry.ok()?;
            let is_folder = entry.file_type().ok()?.is_dir();
            if found.len() >= MOST_LISTED || depth >= DEEPEST {
                return None;
            }
            let path = entry.path();
            let name = path.to_str()?;
            found.push(if is_folder { format!("{name}/") } else { name.to_owned() });
            if is_folder {
                open.push((path, depth + 1));
            }
        }
    }
    found.sort();
    Some(found)
}

/// Returns true for a regular file of at most `most` bytes: not a pipe, which would wait for a
/// writer, and not a device, which might never end.
fn is_plain(path: &Path, most: u64) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= most)
}

/// Observes the matches of a glob. It is restorable if every match is. Changed matches are examined
/// too, since one of the names may lead to a guarded file. The names are used literally: one can
/// itself contain glob characters.
fn look_at_matches(pattern: &str, query: &Query, around: &mut WorkspaceContext<'_>) -> Observed {
    if !query.removes && !query.changes {
        return Observed::UNKNOWN;
    }
    let Some(found) = globs::matches(pattern) else { return Observed::UNKNOWN };
    if found.is_empty() {
        return Observed { entry: Entry::Absent, ..Observed::UNKNOWN };
    }
    if found.len() > MOST_MATCHES {
        return Observed::UNKNOWN;
    }
    if !query.removes {
        let led = found.iter().find_map(|path| {
            around.aliases.of(path).or_else(|| {
                let real = around.folders.resolve(path);
                real.filter(|real| real != path && around.aliases.guards(real))
            })
        });
        return Observed { real: led.map(|real| real.display().to_string()), ..Observed::UNKNOWN };
    }
    let restorable = found.iter().all(|path| {
        let observed = look_at(path, query, around);
        observed.restorable && observed.real.is_none()
    });
    Observed { restorable, ..Observed::UNKNOWN }
}

fn entry(path: &Path) -> Entry {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_symlink() => Entry::Link,
        Ok(found) if found.is_dir() => Entry::Folder,
        Ok(found) if found.is_file() => Entry::File,
        Ok(_) => Entry::Special,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            Entry::Absent
        }
        Err(_) => Entry::Unknown,
    }
}

/// Returns the git state of a path, and true if it could be restored: tracked and unchanged, or
/// built from tracked files.
fn is_restorable(
    path: &Path,
    entry: Entry,
    recursive: bool,
    repositories: &mut Vec<Option<Repository>>,
) -> (GitState, bool) {
    let Some(root) = git::root_of(path) else { return (GitState::Unknown, is_recreated(path)) };
    // With these goes what git would restore from.
    if path == root || path.starts_with(root.join(".git")) {
        return (GitState::Unknown, false);
    }
    let Some(repository) = open(root, repositories) else { return (GitState::Unknown, false) };
    match entry {
        Entry::File => {
            let state = repository.state(path, false);
            (
                state,
                state == GitState::Clean
                    || (state == GitState::Ignored && is_ignored_for_good(path, repository.root())),
            )
        }
        Entry::Folder if recursive => folder(path, repository),
        _ => (GitState::Unknown, false),
    }
}

fn open(root: PathBuf, repositories: &mut Vec<Option<Repository>>) -> Option<&Repository> {
    let known = repositories
        .iter()
        .position(|known| known.as_ref().is_some_and(|known| known.root() == root));
    let index = known.unwrap_or_else(|| {
        repositories.push(Repository::open(root));
        repositories.len() - 1
    });
    repositories.get(index)?.as_ref()
}

/// Returns the state of a folder, which is that of its worst file.
fn folder(path: &Path, repository: &Repository) -> (GitState, bool) {
    if repository.state(path, true) == GitState::Ignored {
        return (GitState::Ignored, is_ignored_for_good(path, repository.root()));
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
            // The index knows nothing of the files of a repository inside this one.
            if found.file_name() == ".git" {
                return (GitState::Untracked, false);
            }
            match repository.state(&path, is_folder) {
                GitState::Ignored => all &= is_ignored_for_good(&path, repository.root()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn deletion(path: &str, glob: bool) -> Query {
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

    /// Each of these file names is itself a glob pattern, which may match the name.
    #[test]
    fn a_name_of_glob_characters_is_looked_at_once() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let names = [
            "*x",
            "[a]",
            "?",
            "**",
            "[",
            "a*b",
            "{a,b}",
            "new\nline",
            "-rf",
            "!(a)",
            "[!b]*",
            "\\*",
        ];
        for name in names {
            fs::write(root.join(name), "").unwrap();
        }
        use std::os::unix::ffi::OsStrExt;
        let odd = std::ffi::OsStr::from_bytes(b"odd\xff*");
        // Not every file system accepts such a name.
        let _ = fs::write(root.join(odd), "");
        let full = |name: &str| format!("{}/{name}", root.display());
        let patterns = [
            "*", "?", "[*]x", "*x", "[a]", "**", "[", "a*", "*/", "[!b]*", "{a,*}", "!(a)", "-*",
            "new?line", "\\*",
        ];
        let mut queries: Vec<Query> =
            names.iter().chain(&patterns).map(|name| deletion(&full(name), true)).collect();
        queries.extend(names.iter().map(|name| deletion(&full(name), false)));
        let seen = observe(&queries, &[]);
        for query in &queries {
            let found = seen.get(&query.key()).unwrap();
            assert!(!found.restorable, "{query:?}");
            assert!(query.glob || found.entry == Entry::File, "{query:?}: {found:?}");
        }
        for pattern in ["[*]x", "[a]", "["] {
            assert_ne!(
                seen.get(&full(pattern)).map(|found| found.entry),
                Some(Entry::Absent),
                "{pattern}: it is there by its letters"
            );
        }
    }

    #[test]
    fn a_glob_that_fits_nothing_is_absent() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::write(root.join("other"), "").unwrap();
        let pattern = format!("{}/none[a]", root.display());
        assert_eq!(
            observe(&[deletion(&pattern, true)], &[]).values().next().map(|found| found.entry),
            Some(Entry::Absent)
        );
    }

    #[test]
    fn paths_through_links_are_observed_at_their_target() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join("deep/sub")).unwrap();
        fs::create_dir_all(root.join("deep/work")).unwrap();
        std::os::unix::fs::symlink("deep/sub", root.join("link")).unwrap();
        let path = root.join("link/../work").display().to_string();
        let seen = observe(&[deletion(&path, false)], &[]);
        let found = seen.get(&path).unwrap();
        let there = root.join("deep/work").display().to_string();
        assert_eq!(
            (found.entry, found.leads.clone()),
            (Entry::Folder, Some(ClimbTarget::To(there.clone())))
        );
        assert_eq!(found.real, Some(there), "whoever asked for it gets its real name");
    }
}

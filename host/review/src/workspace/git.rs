//! The state of a path in git, from its index and ignore files alone. Runs no git.

use super::is_plain;
use gix_index::entry::Stat;
use gix_index::entry::stat::Options;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use portcullis_core::action::GitState;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A work tree.
pub(super) struct Repository {
    root: PathBuf,
    index: gix_index::File,
    /// The ignore rules of each folder, including its parents'.
    rules: RefCell<BTreeMap<PathBuf, Option<Gitignore>>>,
}

/// Returns the work tree that contains a path.
pub(super) fn root_of(path: &Path) -> Option<PathBuf> {
    path.ancestors().take(64).find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

impl Repository {
    /// Reads the index; returns `None` if there is no readable one.
    pub(super) fn open(root: PathBuf) -> Option<Self> {
        let git = git_folder(&root)?;
        let options = gix_index::decode::Options { thread_limit: Some(1), ..Default::default() };
        let index = git.join("index");
        if !is_plain(&index, MOST_INDEX) {
            return None;
        }
        let index = gix_index::File::at(index, gix_index::hash::Kind::Sha1, true, options).ok()?;
        Some(Self { root, index, rules: RefCell::new(BTreeMap::new()) })
    }

    /// Returns the work tree's folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if there is no conflict, and every entry of the index has its content.
    pub(super) fn is_plain(&self) -> bool {
        let plain = |entry: &gix_index::Entry| {
            entry.stage_raw() == 0 && !entry.flags.contains(gix_index::entry::Flags::INTENT_TO_ADD)
        };
        self.index.entries().iter().all(plain)
    }

    /// Returns a file's state, or `Ignored` for an ignored folder; other folders are `unknown`.
    pub(super) fn state(&self, path: &Path, is_folder: bool) -> GitState {
        let Ok(relative) = path.strip_prefix(&self.root) else { return GitState::Unknown };
        if !is_folder
            && let Some(entry) = self.index.entry_by_path(relative.as_os_str().as_bytes().into())
        {
            return if self.unchanged(path, entry) { GitState::Clean } else { GitState::Changed };
        }
        if self.ignored(path, is_folder) {
            return GitState::Ignored;
        }
        if is_folder { GitState::Unknown } else { GitState::Untracked }
    }

    /// Compares like git: same size and times; if the index is as recent as the file, so that a
    /// change could be missed, the content decides.
    fn unchanged(&self, path: &Path, entry: &gix_index::Entry) -> bool {
        let Ok(found) = gix_index::fs::Metadata::from_path_no_follow(path) else { return false };
        let Ok(stat) = Stat::from_fs(&found) else { return false };
        let options =
            Options { trust_ctime: false, check_stat: false, use_nsec: true, use_stdev: false };
        let racy = entry.stat.is_racy(self.index.timestamp(), options);
        // Git writes a size of 0 for files whose state it could not determine either.
        let unsure = racy || entry.stat.size == 0;
        if unsure { same_content(path, entry) } else { entry.stat.matches(&stat, options) }
    }

    /// Returns true if git would ignore it, by the rules of its folder and all folders above, up to
    /// the root.
    fn ignored(&self, path: &Path, is_folder: bool) -> bool {
        let mut at = path;
        let mut is_folder = is_folder;
        while at != self.root {
            let Some(folder) = at.parent() else { return false };
            if self.matches(folder, at, is_folder) {
                return true;
            }
            at = folder;
            is_folder = true;
        }
        false
    }

    /// Returns true if the rules from `folder` up to the root ignore `path`; the nearest matching
    /// rule decides.
    fn matches(&self, folder: &Path, path: &Path, is_folder: bool) -> bool {
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(&self.root)) {
            let mut rules = self.rules.borrow_mut();
            let known = rules.entry(folder.to_owned()).or_insert_with(|| self.rules_of(folder));
            match known.as_ref().map(|rules| rules.matched(path, is_folder)) {
                Some(ignore::Match::Ignore(_)) => return true,
                Some(ignore::Match::Whitelist(_)) => return false,
                Some(ignore::Match::None) | None => {}
            }
        }
        false
    }

    fn rules_of(&self, folder: &Path) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(folder);
        let mut found = false;
        if folder == self.root {
            let exclude = git_folder(&self.root)?.join("info/exclude");
            found |= is_plain(&exclude, MOST_RULES) && builder.add(exclude).is_none();
        }
        let own = folder.join(".gitignore");
        // This comes after `info/exclude`, because the last rule that matches decides, as in git.
        found |= is_plain(&own, MOST_RULES) && builder.add(own).is_none();
        if found { builder.build().ok() } else { None }
    }
}

/// Returns true if the file's bytes are those in git. Files over 4 MiB, and those that git filters
/// on checkin, count as changed.
fn same_content(path: &Path, entry: &gix_index::Entry) -> bool {
    if !is_plain(path, MOST_CONTENT) {
        return false;
    }
    let Ok(bytes) = fs::read(path) else { return false };
    let mut hasher = gix_index::hash::hasher(gix_index::hash::Kind::Sha1);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(&bytes);
    hasher.try_finalize().is_ok_and(|id| id == entry.id)
}

const MOST_CONTENT: u64 = 4 << 20;
/// The largest index that is read, in bytes. A million tracked files take about 100 MB.
const MOST_INDEX: u64 = 256 << 20;
const MOST_RULES: u64 = 1 << 20;
const MOST_LINK: u64 = 64 << 10;

/// Returns `.git`, or the target of the file `.git` in a linked work tree.
pub(super) fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if fs::symlink_metadata(&git).ok()?.is_dir() {
        return Some(git);
    }
    if !is_plain(&git, MOST_LINK) {
        return None;
    }
    let text = fs::read_to_string(&git).ok()?;
    let target = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(if target.is_absolute() { target.to_owned() } else { root.join(target) })
}

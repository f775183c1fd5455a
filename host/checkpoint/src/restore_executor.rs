//! Executes a restore. Every file is written to a folder in its root first; then each is renamed
//! into place. The process may end after any step, and all steps are idempotent.

use crate::content_writer::ContentWriter;
use crate::current::{self, CurrentState};
use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::folder::OpenFolder;
use crate::intent::{Intent, Loosened};
use crate::node::Node;
use crate::packs::Packs;
use crate::path::Rel;
use crate::plan::Item;
use crate::tree::{PathAccess, Root};
use crate::vault::{Vault, staging_name};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, CheckpointError>;

pub(crate) struct RestoreExecutor<'a> {
    pub(crate) vault: &'a Vault,
    pub(crate) intent: &'a Intent,
}

/// The deviations from the plan.
#[derive(Debug, Default)]
pub(crate) struct Deviations {
    pub(crate) stays: Vec<PathBuf>,
    pub(crate) left_alone: Vec<PathBuf>,
}

impl RestoreExecutor<'_> {
    /// Returns the folders above the items that their owner may not write to or enter.
    pub(crate) fn loosened(files: &FileAccess, items: &[Item]) -> Result<Vec<Loosened>> {
        let holders: BTreeSet<(&Path, Rel)> = items
            .iter()
            .flat_map(|item| item.path.ancestors().map(|above| (item.root.as_path(), above)))
            .collect();
        let mut loosened = Vec::new();
        // Modes do not stop root.
        if !files.modes_count() {
            return Ok(loosened);
        }
        for (path, above) in holders {
            let failed = |error| CheckpointError::io("look at", path.join(above.as_path()))(error);
            if let PathAccess::Open(folder, name) =
                Root::new(files, path).way(&above).map_err(failed)?
            {
                let found = folder.find(&name).map_err(failed)?.filter(|found| {
                    found.kind == FileType::Directory && found.mode & 0o300 != 0o300
                });
                loosened.extend(found.map(|found| Loosened {
                    root: path.to_owned(),
                    path: above.clone(),
                    mode: found.mode,
                }));
            }
        }
        Ok(loosened)
    }

    /// Writes every file that is to be put back into a folder of its root. No content of the tree
    /// changes.
    pub(crate) fn stage(&self) -> Result<()> {
        self.set_modes(|loosened| loosened.mode | 0o700)?;
        let packs = Packs::load(&self.vault.dir)?;
        for path in self.roots() {
            self.make_root(path)?;
            let (holder, name) = self.holder(path)?;
            let root = holder.enter(&name).map_err(CheckpointError::io("open", path))?;
            let place = staging_name(&self.intent.undo);
            // An earlier run may have left files that are only partly written.
            self.clear(&root, path)?;
            let missing = self
                .staged(path)
                .map(|(name, item)| Ok((name, item, self.is_back(item)?)))
                .collect::<Result<Vec<_>>>()?;
            if missing.iter().all(|(_, _, is_back)| *is_back) {
                continue;
            }
            self.step("make", &path.join(&place))?;
            root.make_folder(&place).map_err(CheckpointError::io("make", path.join(&place)))?;
            let staging =
                root.enter(&place).map_err(CheckpointError::io("open", path.join(&place)))?;
            for (name, item, _) in missing.iter().filter(|(_, _, is_back)| !is_back) {
                self.write(&packs, &staging, name, item)?;
            }
            self.step("flush", path)?;
            // All files are written before the first is flushed: the system then flushes most of
            // them with it.
            let mut files = missing
                .iter()
                .filter(|(_, item, is_back)| !is_back && item.wanted.node.digest().is_some());
            let flushed = files
                .try_for_each(|(name, ..)| flush(&staging, name))
                .and_then(|()| staging.flush());
            flushed.and_then(|()| root.flush()).map_err(CheckpointError::io("flush", path))?;
        }
        Ok(())
    }

    /// Returns the tree to its state before [`RestoreExecutor::stage`].
    pub(crate) fn abandon(&self) -> Result<()> {
        for path in self.roots() {
            let (holder, name) = match self.holder(path) {
                Ok(found) => found,
                Err(_) => continue,
            };
            if let Ok(root) = holder.enter(&name) {
                self.clear(&root, path)?;
            }
            if self.intent.items.iter().any(|item| {
                item.root == *path && item.path.is_root() && item.expected.node == Node::Missing
            }) {
                // Created by the stage, and empty; a folder that is not empty stays.
                let _ = holder.remove_folder(&name);
            }
        }
        self.set_modes(|loosened| loosened.mode)
    }

    /// Moves everything into place.
    pub(crate) fn put_back(&self) -> Result<Deviations> {
        let mut outcome = Deviations::default();
        let mut left_alone = BTreeSet::new();
        for (at, item) in self.intent.items.iter().enumerate() {
            if !self.may_go(item, &left_alone)? {
                left_alone.insert(at);
                outcome.left_alone.push(item.full());
            }
        }
        let going = || {
            self.intent
                .items
                .iter()
                .enumerate()
                .filter(|(at, _)| !left_alone.contains(at))
                .map(|(_, item)| item)
        };
        // Deepest first, so that a folder is empty when its turn comes.
        for item in self
            .intent
            .items
            .iter()
            .enumerate()
            .rev()
            .filter(|(at, _)| !left_alone.contains(at))
            .map(|(_, item)| item)
        {
            if !self.remove(item)? {
                outcome.stays.push(item.full());
            }
        }
        going()
            .filter(|item| item.wanted.node.is_folder())
            .try_for_each(|item| self.make_folder(&item.root, &item.path))?;
        for path in self.roots() {
            let (holder, name) = self.holder(path)?;
            let root = holder.enter(&name).map_err(CheckpointError::io("open", path))?;
            let Ok(staging) = root.enter(&staging_name(&self.intent.undo)) else { continue };
            for (name, item) in self
                .staged(path)
                .filter(|(at, _)| !left_alone.iter().any(|alone| at == &*alone.to_string()))
            {
                self.place(&staging, &name, item)?;
            }
            // This comes before its folder may become one that cannot be written to.
            self.clear(&root, path)?;
        }
        // Deepest first, because a folder may become one that cannot be entered.
        for item in self
            .intent
            .items
            .iter()
            .enumerate()
            .rev()
            .filter(|(at, _)| !left_alone.contains(at))
            .map(|(_, item)| item)
        {
            if let Node::Folder { mode, .. } = item.wanted.node {
                self.set_mode(&item.root, &item.path, mode)?;
            }
        }
        self.flush()?;
        self.set_modes(|loosened| loosened.mode)?;
        Ok(outcome)
    }

    /// Flushes every folder that was changed.
    fn flush(&self) -> Result<()> {
        for path in self.roots() {
            self.step("flush", path)?;
            let failed = |error| CheckpointError::io("flush", path)(error);
            let (holder, _) = self.holder(path)?;
            holder.flush().map_err(failed)?;
            let items = self.intent.items.iter().filter(|item| item.root == *path);
            let folders: BTreeSet<Rel> = items
                .flat_map(|item| {
                    item.path
                        .split()
                        .map(|(above, _)| above)
                        .into_iter()
                        .chain(item.wanted.node.is_folder().then(|| item.path.clone()))
                })
                .collect();
            for below in folders {
                if let PathAccess::Open(folder, name) =
                    Root::new(&self.vault.files, path).way(&below).map_err(failed)?
                {
                    // A folder that was removed needs no flush.
                    folder.enter(&name).map_or(Ok(()), |folder| folder.flush()).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if the current content may be overwritten: it is as planned, or as wanted, or
    /// an intermediate state of an earlier run of this restore.
    fn may_go(&self, item: &Item, left_alone: &BTreeSet<usize>) -> Result<bool> {
        let CurrentState::Is(now) = self.now(item)? else {
            // Below something that is not a folder: the path is missing, and an item to be created
            // needs a folder first.
            return Ok(item.wanted.node == Node::Missing || self.gets_a_folder(item, left_alone));
        };
        let ours = || match (&now.node, &item.expected.node, &item.wanted.node) {
            (Node::Missing, ..) => true,
            (Node::Folder { .. }, Node::Folder { .. }, _) => self.is_loosened(item),
            (Node::Folder { .. }, _, Node::Folder { .. }) => true,
            _ => false,
        };
        Ok(now.same(&item.wanted) || now.same(&item.expected) || ours())
    }

    /// Returns true if a path above an item becomes a folder again.
    fn gets_a_folder(&self, item: &Item, left_alone: &BTreeSet<usize>) -> bool {
        let full = item.full();
        let makes = |other: &Item| {
            other.wanted.node.is_folder()
                && !other.expected.node.is_folder()
                && full.starts_with(other.full())
        };
        self.intent
            .items
            .iter()
            .enumerate()
            .any(|(at, other)| !left_alone.contains(&at) && makes(other))
    }

    /// Returns true if an earlier run has restored it.
    fn is_back(&self, item: &Item) -> Result<bool> {
        Ok(matches!(self.now(item)?, CurrentState::Is(now) if now.same(&item.wanted)))
    }

    fn now(&self, item: &Item) -> Result<CurrentState> {
        let mut keeper = ContentWriter::looking(&self.vault.dir, self.intent.policy.max_file);
        let like = [&item.expected, &item.wanted];
        let mut root = Root::new(&self.vault.files, &item.root);
        current::look(&mut root, &item.path, &item.full(), &like, &mut keeper)
    }

    fn is_loosened(&self, item: &Item) -> bool {
        self.intent
            .loosened
            .iter()
            .any(|loosened| loosened.root == item.root && loosened.path == item.path)
    }

    fn set_modes(&self, mode: impl Fn(&Loosened) -> u32) -> Result<()> {
        let is_wanted = |one: &Loosened| {
            self.intent.items.iter().any(|item| item.root == one.root && item.path == one.path)
        };
        // Outermost first: the paths below can be reached only then.
        for one in &self.intent.loosened {
            if mode(one) != one.mode || !is_wanted(one) {
                self.set_mode(&one.root, &one.path, mode(one))?;
            }
        }
        Ok(())
    }

    /// Returns the folder that holds a root, and the root's name in it.
    fn holder(&self, path: &Path) -> Result<(OpenFolder, OsString)> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotADirectory => CheckpointError::NotAFolder { path: path.to_owned() },
            _ => CheckpointError::io("open", path)(error),
        };
        let holder = self.vault.files.open(path.parent().unwrap_or(path)).map_err(failed)?;
        Ok((holder, path.file_name().unwrap_or(OsStr::new(".")).to_owned()))
    }

    /// Removes the folder for staged files.
    fn clear(&self, root: &OpenFolder, path: &Path) -> Result<()> {
        let place = staging_name(&self.intent.undo);
        let full = path.join(&place);
        let failed = |error| CheckpointError::io("remove", &full)(error);
        let Ok(staging) = root.enter_to_list(&place) else { return Ok(()) };
        self.step("remove", &full)?;
        for name in staging.names().map_err(failed)? {
            staging.remove_file(&name).map_err(failed)?;
        }
        root.remove_folder(&place).map_err(failed)
    }

    fn roots(&self) -> BTreeSet<&PathBuf> {
        self.intent.items.iter().map(|item| &item.root).collect()
    }

    /// Returns the items of a root that are written, with their names in the staging folder.
    fn staged<'b>(&'b self, root: &'b Path) -> impl Iterator<Item = (OsString, &'b Item)> {
        let items = self.intent.items.iter().enumerate().filter(move |(_, item)| item.root == root);
        items
            .filter(|(_, item)| matches!(item.wanted.node, Node::File { .. } | Node::Link { .. }))
            .map(|(at, item)| (at.to_string().into(), item))
    }

    pub(crate) fn step(&self, act: &'static str, path: &Path) -> Result<()> {
        self.vault.dir.step(act, path)
    }
}

/// Flushes a file that was written. A file without read permission was flushed when it was written.
fn flush(staging: &OpenFolder, name: &OsStr) -> io::Result<()> {
    match staging.flush_file(name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        flushed => flushed,
    }
}

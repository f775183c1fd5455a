//! Looks at a tree: first what stands where, then the bytes of what is new.

use crate::error::CheckpointError;
use crate::ignored::{Rules, Turn, is_tagged};
use crate::keep::Keeper;
use crate::manifest::Scope;
use crate::node::{Content, Node, Time, Why};
use crate::path::Rel;
use crate::report::LeftOuts;
use crate::request::Policy;
use crate::snapshot::{Known, Snapshot};
use crate::tree::{Folder, Found, Root, Way};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, CheckpointError>;

const DEEPEST: usize = 256;

/// What to look at and how.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) root: &'a Path,
    pub(crate) scopes: &'a [Scope],
    pub(crate) policy: Policy,
    /// Whether the policy's choices count; they do not for targets.
    pub(crate) choosy: bool,
    /// What was known. Stamps of it spare reading.
    pub(crate) base: &'a Snapshot,
    /// Whether what the base looked into must be looked into again, whatever the tree's rules say by now: they
    /// are the action's to change.
    pub(crate) faithful: bool,
    /// Names of folders of unfinished restores.
    pub(crate) passed_over: &'a BTreeSet<OsString>,
    /// Device and inode of the vault, which is no content of a tree either.
    pub(crate) vault: (u64, u64),
    /// When looking has to end, and when reading has to.
    pub(crate) deadlines: (Option<Instant>, Option<Instant>),
    /// The file system's clock at the start: files changed shortly before it are read again next time.
    pub(crate) now: Time,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) snapshot: Snapshot,
    entries: Vec<(Rel, Known)>,
    /// Whether it differs from the base.
    pub(crate) news: bool,
    pub(crate) files: u64,
    pub(crate) hard_links: u64,
    pending: Vec<(Rel, Found)>,
    /// Folders that are looked at after everything else, with their device and depth.
    last: Vec<(Rel, Found, (u64, usize))>,
    rules: Rules,
}

impl Scan<'_> {
    pub(crate) fn run(&self, keeper: &mut Keeper<'_>, left_out: &mut LeftOuts) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut root = Root::new(self.root);
        for scope in self.scopes {
            match root.way(&scope.path).map_err(CheckpointError::io("look at", self.full(&scope.path)))? {
                Way::Missing => seen.put(scope.path.clone(), Known::MISSING),
                Way::Barred if scope.path.is_root() => return Err(CheckpointError::NotAFolder { path: self.root.to_owned() }),
                Way::Barred => seen.put(scope.path.clone(), Known::MISSING),
                Way::Open(folder, name) => match folder.find(&name).map_err(CheckpointError::io("look at", self.full(&scope.path)))? {
                    None => seen.put(scope.path.clone(), Known::MISSING),
                    Some(found) => {
                        let device = found.stamp.device;
                        self.visit(&mut seen, left_out, folder, &name, (scope.path.clone(), found), (device, 0, scope.deep));
                    }
                },
            }
        }
        self.look_at_the_last(&mut seen, &mut root, left_out);
        self.read(&mut seen, keeper, &mut root, left_out)?;
        seen.snapshot = Snapshot::of(std::mem::take(&mut seen.entries));
        seen.news = seen.news || seen.snapshot.len() != self.base.len();
        Ok(seen)
    }

    /// Each of them may hold more of its kind.
    fn look_at_the_last(&self, seen: &mut Seen, root: &mut Root<'_>, left_out: &mut LeftOuts) {
        while !seen.last.is_empty() {
            for (path, found, (device, depth)) in std::mem::take(&mut seen.last) {
                match root.way(&path) {
                    Ok(Way::Open(folder, name)) => self.visit(seen, left_out, folder, &name, (path, found), (device, depth, true)),
                    Ok(Way::Missing | Way::Barred) | Err(_) => self.pass(seen, left_out, path, &found, Why::Changing),
                }
            }
        }
    }

    fn full(&self, path: &Rel) -> std::path::PathBuf {
        self.root.join(path.as_path())
    }

    fn visit(
        &self,
        seen: &mut Seen,
        left_out: &mut LeftOuts,
        holder: &Folder,
        name: &OsStr,
        (path, found): (Rel, Found),
        (device, depth, deep): (u64, usize, bool),
    ) {
        let stamp = Some(found.stamp);
        match found.kind {
            FileType::RegularFile => {
                seen.files += 1;
                seen.hard_links += u64::from(found.links > 1);
                seen.pending.push((path, found));
            }
            FileType::Symlink => {
                // One that is gone by now is as if it had gone before.
                if let Ok(text) = holder.link_text(name) {
                    self.put(seen, path, Known { node: Node::Link { text }, stamp, sure: true });
                }
            }
            FileType::Directory => {
                let closed = if deep { self.descend(seen, left_out, holder, name, (&path, &found), (device, depth)) } else { None };
                if let Some(why) = closed {
                    left_out.add(|| self.full(&path), why);
                }
                self.put(seen, path, Known { node: Node::Folder { mode: found.mode, closed }, stamp: None, sure: true });
            }
            _ => {
                left_out.add(|| self.full(&path), Why::Special);
                self.put(seen, path, Known { node: Node::Special, stamp: None, sure: true });
            }
        }
    }

    /// Looks into a folder, or says why it does not.
    fn descend(
        &self,
        seen: &mut Seen,
        left_out: &mut LeftOuts,
        holder: &Folder,
        name: &OsStr,
        (path, found): (&Rel, &Found),
        (device, depth): (u64, usize),
    ) -> Option<Why> {
        if found.stamp.device != device {
            return Some(Why::OtherFileSystem);
        }
        if depth >= DEEPEST {
            return Some(Why::TooDeep);
        }
        if self.deadlines.0.is_some_and(|end| Instant::now() >= end) {
            return Some(Why::Budget);
        }
        let Ok((folder, names)) = holder.enter_to_list(name).and_then(|folder| folder.names().map(|names| (folder, names))) else {
            return Some(Why::Unreadable);
        };
        let full = self.full(path);
        let choosy = self.choosy && !path.is_root();
        if choosy && !self.is_known_open(path) && is_tagged(&self.policy, &folder, &names) {
            return Some(Why::BuildOutput);
        }
        let rules = if self.choosy { seen.rules.enter(&folder, &full, &names) } else { 0 };
        for name in names.iter().filter(|name| !self.passed_over.contains(*name)) {
            match folder.find(name) {
                Ok(Some(found)) if (found.stamp.device, found.stamp.inode) == self.vault => {}
                Ok(Some(found)) => {
                    let path = path.join(name);
                    match self.turn(seen, &path, name, &found) {
                        Turn::Now => self.visit(seen, left_out, &folder, name, (path, found), (device, depth + 1, true)),
                        Turn::Last => seen.last.push((path, found, (device, depth + 1))),
                        Turn::Never(why) => self.pass(seen, left_out, path, &found, why),
                    }
                }
                Ok(None) => {}
                Err(_) => {
                    seen.rules.leave(rules);
                    return Some(Why::Unreadable);
                }
            }
        }
        seen.rules.leave(rules);
        None
    }

    /// When something is looked at: by its name, by the rules, and by what was known.
    fn turn(&self, seen: &Seen, path: &Rel, name: &OsStr, found: &Found) -> Turn {
        let is_folder = found.kind == FileType::Directory;
        if !self.choosy || !(is_folder || found.kind == FileType::RegularFile) {
            return Turn::Now;
        }
        match seen.rules.turn(&self.policy, || self.full(path), name, is_folder) {
            Turn::Last | Turn::Never(_) if self.is_known_open(path) => Turn::Now,
            turn => turn,
        }
    }

    /// Leaves something out, and puts down that it is there.
    fn pass(&self, seen: &mut Seen, left_out: &mut LeftOuts, path: Rel, found: &Found, why: Why) {
        let is_folder = found.kind == FileType::Directory;
        left_out.add(|| self.full(&path), why);
        let node =
            if is_folder { Node::Folder { mode: found.mode, closed: Some(why) } } else { file(found, Content::LeftOut(why, found.stamp)) };
        self.put(seen, path, Known { node, stamp: (!is_folder).then_some(found.stamp), sure: true });
    }

    fn is_known_open(&self, path: &Rel) -> bool {
        self.faithful && self.base.get(path).is_some_and(|known| known.node.left_out().is_none() && known.node != Node::Missing)
    }

    /// Reads what is new.
    fn read(&self, seen: &mut Seen, keeper: &mut Keeper<'_>, root: &mut Root<'_>, left_out: &mut LeftOuts) -> Result<()> {
        let mut next = 0;
        for (path, found) in std::mem::take(&mut seen.pending) {
            let known = self.base.get_from(&path, &mut next).filter(|known| known.sure && known.stamp == Some(found.stamp));
            if let Some((known, digest)) = known.and_then(|known| Some((known, known.node.digest()?)))
                && keeper.has(&digest)?
            {
                // The bits are part of what a stamp stands for.
                seen.put(path, known.clone());
                continue;
            }
            let (found, content) = match self.content(keeper, root, &path)? {
                Ok((digest, found)) => (found, Content::Kept(digest)),
                Err(why) => {
                    left_out.add(|| self.full(&path), why);
                    (found, Content::LeftOut(why, found.stamp))
                }
            };
            let sure = matches!(content, Content::Kept(_)) && is_before(found.stamp.changed, self.now);
            self.put(seen, path, Known { node: file(&found, content), stamp: Some(found.stamp), sure });
        }
        Ok(())
    }

    fn content(
        &self,
        keeper: &mut Keeper<'_>,
        root: &mut Root<'_>,
        path: &Rel,
    ) -> Result<std::result::Result<(crate::node::Digest, Found), Why>> {
        if self.deadlines.1.is_some_and(|end| Instant::now() >= end) {
            return Ok(Err(Why::Budget));
        }
        match root.way(path) {
            Ok(Way::Open(folder, name)) => keeper.keep(folder, &name, &self.full(path)),
            Ok(Way::Missing | Way::Barred) => Ok(Err(Why::Changing)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Err(Why::Unreadable)),
            Err(error) => Err(CheckpointError::io("read", self.full(path))(error)),
        }
    }

    fn put(&self, seen: &mut Seen, path: Rel, known: Known) {
        seen.news = seen.news || self.base.get(&path) != Some(&known);
        seen.put(path, known);
    }
}

impl Seen {
    fn put(&mut self, path: Rel, known: Known) {
        self.entries.push((path, known));
    }
}

pub(crate) fn file(found: &Found, content: Content) -> Node {
    Node::File { content, size: found.stamp.size, mode: found.mode, modified: found.stamp.modified, sparse: found.sparse }
}

/// Whether a change lies so far back that the same tick of any file system's clock cannot hold a later one.
fn is_before(changed: Time, now: Time) -> bool {
    changed.seconds.saturating_add(2) < now.seconds
}

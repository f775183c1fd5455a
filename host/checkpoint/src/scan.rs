//! Scans a tree: first the object at each path, then the bytes of new files.

use crate::content_writer::ContentWriter;
use crate::entry::EntryInfo;
use crate::error::CheckpointError;
use crate::files::FileAccess;
use crate::folder::OpenFolder;
use crate::ignored::{IgnoreRules, ScanOrder, is_tagged};
use crate::manifest::ScannedPath;
use crate::node::{Content, Node, Time, Why};
use crate::path::Rel;
use crate::report::LeftOuts;
use crate::request::ExclusionPolicy;
use crate::snapshot::{KnownNode, TreeSnapshot};
use crate::tree::{PathAccess, Root};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, CheckpointError>;

const MAX_DEPTH: usize = 256;

/// The scope and the options of a scan.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    pub(crate) files: &'a FileAccess,
    pub(crate) root: &'a Path,
    pub(crate) scopes: &'a [ScannedPath],
    pub(crate) policy: ExclusionPolicy,
    /// True if the policy's choices apply; they do not for targets.
    pub(crate) applies_policy: bool,
    /// The previous snapshot. Its stamps save reading.
    pub(crate) base: &'a TreeSnapshot,
    /// True if folders that the base contains must be scanned again, regardless of the tree's
    /// current rules: the action can change those.
    pub(crate) rescans_base: bool,
    /// Names of folders of unfinished restores.
    pub(crate) restore_folders: &'a BTreeSet<OsString>,
    /// Device and inode of the vault's folder and of that of its keys, which are not part of a tree's
    /// content either: a copy of a key would undo that it is destroyed.
    pub(crate) own_folders: Vec<(u64, u64)>,
    /// The deadline of the scan, and that of reading.
    pub(crate) deadlines: (Option<Instant>, Option<Instant>),
    /// The file system's clock at the start: files changed shortly before it are read again next
    /// time.
    pub(crate) now: Time,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    pub(crate) snapshot: TreeSnapshot,
    entries: Vec<(Rel, KnownNode)>,
    /// True if it differs from the base.
    pub(crate) news: bool,
    pub(crate) files: u64,
    pub(crate) hard_links: u64,
    pending: Vec<(Rel, EntryInfo)>,
    /// Folders that are scanned after everything else, with their device and depth.
    last: Vec<(Rel, EntryInfo, (u64, usize))>,
    rules: IgnoreRules,
}

impl Scan<'_> {
    pub(crate) fn run(
        &self,
        keeper: &mut ContentWriter<'_>,
        left_out: &mut LeftOuts,
    ) -> Result<ScanResult> {
        let mut seen = ScanResult::default();
        let mut root = Root::new(self.files, self.root);
        for scope in self.scopes {
            match root
                .way(&scope.path)
                .map_err(CheckpointError::io("look at", self.full(&scope.path)))?
            {
                PathAccess::Missing => seen.put(scope.path.clone(), KnownNode::MISSING),
                PathAccess::Barred if scope.path.is_root() => {
                    return Err(CheckpointError::NotAFolder { path: self.root.to_owned() });
                }
                PathAccess::Barred => seen.put(scope.path.clone(), KnownNode::MISSING),
                PathAccess::Open(folder, name) => {
                    match folder
                        .find(&name)
                        .map_err(CheckpointError::io("look at", self.full(&scope.path)))?
                    {
                        None => seen.put(scope.path.clone(), KnownNode::MISSING),
                        Some(found) => {
                            let device = found.stamp.device;
                            self.visit(
                                &mut seen,
                                left_out,
                                folder,
                                &name,
                                (scope.path.clone(), found),
                                (device, 0, scope.deep),
                            );
                        }
                    }
                }
            }
        }
        self.scan_postponed(&mut seen, &mut root, left_out);
        self.read(&mut seen, keeper, &mut root, left_out)?;
        seen.snapshot = TreeSnapshot::of(std::mem::take(&mut seen.entries));
        // Paths of the base that are gone now have no entry that could differ.
        seen.news = seen.news || seen.snapshot.len() != self.base.len();
        Ok(seen)
    }

    /// Scans the postponed folders; each of them may contain more such folders.
    fn scan_postponed(&self, seen: &mut ScanResult, root: &mut Root<'_>, left_out: &mut LeftOuts) {
        while !seen.last.is_empty() {
            for (path, found, (device, depth)) in std::mem::take(&mut seen.last) {
                match root.way(&path) {
                    Ok(PathAccess::Open(folder, name)) => self.visit(
                        seen,
                        left_out,
                        folder,
                        &name,
                        (path, found),
                        (device, depth, true),
                    ),
                    Ok(PathAccess::Missing | PathAccess::Barred) | Err(_) => {
                        self.pass(seen, left_out, path, &found, Why::Changing)
                    }
                }
            }
        }
    }

    fn full(&self, path: &Rel) -> std::path::PathBuf {
        self.root.join(path.as_path())
    }

    fn visit(
        &self,
        seen: &mut ScanResult,
        left_out: &mut LeftOuts,
        holder: &OpenFolder,
        name: &OsStr,
        (path, found): (Rel, EntryInfo),
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
                // A link that no longer exists is treated as if it had been removed before.
                if let Ok(text) = holder.link_text(name) {
                    self.put(
                        seen,
                        path,
                        KnownNode { node: Node::Link { text }, stamp, sure: true },
                    );
                }
            }
            FileType::Directory => {
                let closed = if deep {
                    self.descend(seen, left_out, holder, name, (&path, &found), (device, depth))
                } else {
                    None
                };
                if let Some(why) = closed {
                    left_out.add(|| self.full(&path), why);
                }
                self.put(
                    seen,
                    path,
                    KnownNode {
                        node: Node::Folder { mode: found.mode, closed },
                        stamp: None,
                        sure: true,
                    },
                );
            }
            _ => {
                left_out.add(|| self.full(&path), Why::Special);
                self.put(seen, path, KnownNode { node: Node::Special, stamp: None, sure: true });
            }
        }
    }

    /// Scans a folder, or records why it does not.
    fn descend(
        &self,
        seen: &mut ScanResult,
        left_out: &mut LeftOuts,
        holder: &OpenFolder,
        name: &OsStr,
        (path, found): (&Rel, &EntryInfo),
        (device, depth): (u64, usize),
    ) -> Option<Why> {
        if found.stamp.device != device {
            return Some(Why::OtherFileSystem);
        }
        if depth >= MAX_DEPTH {
            return Some(Why::TooDeep);
        }
        if self.deadlines.0.is_some_and(|end| Instant::now() >= end) {
            return Some(Why::Budget);
        }
        let Ok((folder, names)) = holder
            .enter_to_list(name)
            .and_then(|folder| folder.names().map(|names| (folder, names)))
        else {
            return Some(Why::Unreadable);
        };
        let full = self.full(path);
        let applies_policy = self.applies_policy && !path.is_root();
        if applies_policy && !self.is_known_open(path) && is_tagged(&self.policy, &folder, &names) {
            return Some(Why::BuildOutput);
        }
        let rules = if self.applies_policy { seen.rules.enter(&folder, &full, &names) } else { 0 };
        for name in names.iter().filter(|name| !self.restore_folders.contains(*name)) {
            match folder.find(name) {
                Ok(Some(found))
                    if self.own_folders.contains(&(found.stamp.device, found.stamp.inode)) => {}
                Ok(Some(found)) => {
                    let path = path.join(name);
                    match self.scan_order(seen, &path, name, &found) {
                        ScanOrder::CurrentState => self.visit(
                            seen,
                            left_out,
                            &folder,
                            name,
                            (path, found),
                            (device, depth + 1, true),
                        ),
                        ScanOrder::Last => seen.last.push((path, found, (device, depth + 1))),
                        ScanOrder::Never(why) => self.pass(seen, left_out, path, &found, why),
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

    /// Returns the time at which a path is scanned: by its name, by the rules, and by the base.
    fn scan_order(
        &self,
        seen: &ScanResult,
        path: &Rel,
        name: &OsStr,
        found: &EntryInfo,
    ) -> ScanOrder {
        let is_folder = found.kind == FileType::Directory;
        if !self.applies_policy || !(is_folder || found.kind == FileType::RegularFile) {
            return ScanOrder::CurrentState;
        }
        match seen.rules.scan_order(&self.policy, || self.full(path), name, is_folder) {
            ScanOrder::Last | ScanOrder::Never(_) if self.is_known_open(path) => {
                ScanOrder::CurrentState
            }
            left => left,
        }
    }

    /// Leaves something out, and records that it exists.
    fn pass(
        &self,
        seen: &mut ScanResult,
        left_out: &mut LeftOuts,
        path: Rel,
        found: &EntryInfo,
        why: Why,
    ) {
        let is_folder = found.kind == FileType::Directory;
        left_out.add(|| self.full(&path), why);
        let node = if is_folder {
            Node::Folder { mode: found.mode, closed: Some(why) }
        } else {
            file(found, Content::LeftOut(why, found.stamp))
        };
        self.put(
            seen,
            path,
            KnownNode { node, stamp: (!is_folder).then_some(found.stamp), sure: true },
        );
    }

    fn is_known_open(&self, path: &Rel) -> bool {
        self.rescans_base
            && self
                .base
                .get(path)
                .is_some_and(|known| known.node.left_out().is_none() && known.node != Node::Missing)
    }

    /// Reads new files.
    fn read(
        &self,
        seen: &mut ScanResult,
        keeper: &mut ContentWriter<'_>,
        root: &mut Root<'_>,
        left_out: &mut LeftOuts,
    ) -> Result<()> {
        let mut next = 0;
        for (path, found) in std::mem::take(&mut seen.pending) {
            let known = self
                .base
                .get_from(&path, &mut next)
                .filter(|known| known.sure && known.stamp == Some(found.stamp));
            if let Some((known, digest)) =
                known.and_then(|known| Some((known, known.node.digest()?)))
                && keeper.has(&digest)?
            {
                // The permission bits are part of what a stamp represents.
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
            let sure =
                matches!(content, Content::Kept(_)) && is_before(found.stamp.changed, self.now);
            self.put(
                seen,
                path,
                KnownNode { node: file(&found, content), stamp: Some(found.stamp), sure },
            );
        }
        Ok(())
    }

    fn content(
        &self,
        keeper: &mut ContentWriter<'_>,
        root: &mut Root<'_>,
        path: &Rel,
    ) -> Result<std::result::Result<(crate::node::ContentDigest, EntryInfo), Why>> {
        if self.deadlines.1.is_some_and(|end| Instant::now() >= end) {
            return Ok(Err(Why::Budget));
        }
        match root.way(path) {
            Ok(PathAccess::Open(folder, name)) => keeper.keep(folder, &name, &self.full(path)),
            Ok(PathAccess::Missing | PathAccess::Barred) => Ok(Err(Why::Changing)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Err(Why::Unreadable))
            }
            Err(error) => Err(CheckpointError::io("read", self.full(path))(error)),
        }
    }

    fn put(&self, seen: &mut ScanResult, path: Rel, known: KnownNode) {
        seen.news = seen.news || self.base.get(&path) != Some(&known);
        seen.put(path, known);
    }
}

impl ScanResult {
    fn put(&mut self, path: Rel, known: KnownNode) {
        self.entries.push((path, known));
    }
}

pub(crate) fn file(found: &EntryInfo, content: Content) -> Node {
    Node::File {
        content,
        size: found.stamp.size,
        mode: found.mode,
        modified: found.stamp.modified,
        sparse: found.sparse,
    }
}

/// Returns true if a change is so old that a later one cannot fall into the same tick of any file
/// system's clock.
fn is_before(changed: Time, now: Time) -> bool {
    changed.seconds.saturating_add(2) < now.seconds
}

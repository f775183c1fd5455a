//! The parts of a whole tree that are left out by choice: files that git ignores, git's own folder,
//! build output.

use crate::folder::OpenFolder;
use crate::node::Why;
use crate::request::{ExclusionPolicy, Ignored};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The size in bytes above which lists of patterns are not read.
const LARGEST: u64 = 1 << 20;
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
const BUILD_OUTPUT: [&str; 10] = [
    "node_modules",
    "__pycache__",
    ".venv",
    ".tox",
    ".nox",
    ".gradle",
    ".next",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];

/// The time at which a path is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanOrder {
    /// In the usual order.
    CurrentState,
    /// After everything else: it may be large, and must not take time from a person's files.
    Last,
    /// Not at all.
    Never(Why),
}

/// The rules of the folders on the current path, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules(Vec<Gitignore>);

impl IgnoreRules {
    /// Adds the rules of a folder; returns how many to [leave](Rules::leave) with it.
    pub(crate) fn enter(&mut self, folder: &OpenFolder, path: &Path, names: &[OsString]) -> usize {
        let has = |name: &str| names.iter().any(|known| known == name);
        let excluded =
            || folder.enter(OsStr::new(".git")).and_then(|git| git.enter(OsStr::new("info"))).ok();
        let lists = [
            has(".git").then(excluded).flatten().and_then(|info| text(&info, "exclude")),
            has(".gitignore").then(|| text(folder, ".gitignore")).flatten(),
        ];
        let before = self.0.len();
        for text in lists.into_iter().flatten() {
            let mut builder = GitignoreBuilder::new(path);
            for line in text.lines() {
                // A line that is not a valid pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
            self.0.extend(builder.build().ok());
        }
        self.0.len() - before
    }

    pub(crate) fn leave(&mut self, count: usize) {
        self.0.truncate(self.0.len().saturating_sub(count));
    }

    /// Returns the time at which a path is scanned, by its name and by these rules.
    pub(crate) fn scan_order(
        &self,
        policy: &ExclusionPolicy,
        path: impl FnOnce() -> PathBuf,
        name: &OsStr,
        is_folder: bool,
    ) -> ScanOrder {
        if name == ".git" && !policy.git {
            return ScanOrder::Never(Why::Git);
        }
        if is_folder && BUILD_OUTPUT.iter().any(|known| name == *known) {
            return if policy.build_output {
                ScanOrder::Last
            } else {
                ScanOrder::Never(Why::BuildOutput)
            };
        }
        let asks = !self.0.is_empty() && (is_folder || policy.ignored == Ignored::Leave);
        if !asks || !self.ignores(&path(), is_folder) {
            return ScanOrder::CurrentState;
        }
        if policy.ignored == Ignored::Keep {
            ScanOrder::Last
        } else {
            ScanOrder::Never(Why::Ignored)
        }
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let verdict = self
            .0
            .iter()
            .rev()
            .map(|rules| rules.matched(path, is_folder))
            .find(|verdict| !verdict.is_none());
        verdict.is_some_and(|verdict| verdict.is_ignore())
    }
}

/// Returns true if a folder is marked as reproducible.
pub(crate) fn is_tagged(policy: &ExclusionPolicy, folder: &OpenFolder, names: &[OsString]) -> bool {
    !policy.build_output
        && names.iter().any(|name| name == "CACHEDIR.TAG")
        && text(folder, "CACHEDIR.TAG").is_some_and(|text| text.as_bytes().starts_with(TAG))
}

fn text(folder: &OpenFolder, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = folder.read(OsStr::new(name)).ok()?;
    if file.info().ok()?.kind != FileType::RegularFile {
        return None;
    }
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

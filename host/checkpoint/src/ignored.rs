//! What a whole tree leaves out by choice: what git ignores, git's own folder, build output.

use crate::node::Why;
use crate::request::{Ignored, Policy};
use crate::tree::Folder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger lists of patterns are not read.
const LARGEST: u64 = 1 << 20;
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
const BUILD_OUTPUT: [&str; 10] =
    ["node_modules", "__pycache__", ".venv", ".tox", ".nox", ".gradle", ".next", ".mypy_cache", ".pytest_cache", ".ruff_cache"];

/// When something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// In its turn.
    Now,
    /// After everything else: it may be large, and takes no time from what a person wrote.
    Last,
    /// Not at all.
    Never(Why),
}

/// The rules of the folders on the way, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Gitignore>);

impl Rules {
    /// Adds the rules of a folder; the answer is how many to [leave](Rules::leave) with it.
    pub(crate) fn enter(&mut self, folder: &Folder, path: &Path, names: &[OsString]) -> usize {
        let has = |name: &str| names.iter().any(|known| known == name);
        let excluded = || folder.enter(OsStr::new(".git")).and_then(|git| git.enter(OsStr::new("info"))).ok();
        let lists = [
            has(".git").then(excluded).flatten().and_then(|info| text(&info, "exclude")),
            has(".gitignore").then(|| text(folder, ".gitignore")).flatten(),
        ];
        let before = self.0.len();
        for text in lists.into_iter().flatten() {
            let mut builder = GitignoreBuilder::new(path);
            for line in text.lines() {
                // A line that is no pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
            self.0.extend(builder.build().ok());
        }
        self.0.len() - before
    }

    pub(crate) fn leave(&mut self, count: usize) {
        self.0.truncate(self.0.len().saturating_sub(count));
    }

    /// When something is looked at, by its name and by these rules.
    pub(crate) fn turn(&self, policy: &Policy, path: impl FnOnce() -> PathBuf, name: &OsStr, is_folder: bool) -> Turn {
        if name == ".git" && !policy.git {
            return Turn::Never(Why::Git);
        }
        if is_folder && BUILD_OUTPUT.iter().any(|known| name == *known) {
            return if policy.build_output { Turn::Last } else { Turn::Never(Why::BuildOutput) };
        }
        let asks = !self.0.is_empty() && (is_folder || policy.ignored == Ignored::Leave);
        if !asks || !self.ignores(&path(), is_folder) {
            return Turn::Now;
        }
        if policy.ignored == Ignored::Keep { Turn::Last } else { Turn::Never(Why::Ignored) }
    }

    fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let verdict = self.0.iter().rev().map(|rules| rules.matched(path, is_folder)).find(|verdict| !verdict.is_none());
        verdict.is_some_and(|verdict| verdict.is_ignore())
    }
}

/// Whether a folder says that it can be made again.
pub(crate) fn is_tagged(policy: &Policy, folder: &Folder, names: &[OsString]) -> bool {
    !policy.build_output
        && names.iter().any(|name| name == "CACHEDIR.TAG")
        && text(folder, "CACHEDIR.TAG").is_some_and(|text| text.as_bytes().starts_with(TAG))
}

fn text(folder: &Folder, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = folder.read(OsStr::new(name)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

//! Checks that nothing is half done in a repository, as far as its files show: no unfinished merge
//! or rebase, no conflict, and at least one commit. Runs no git.

use super::git::{Repository, git_folder, root_of};
use super::{entry, is_plain};
use portcullis_core::action::GitState;
use portcullis_core::observe::{Observed, Query};
use portcullis_core::rewrite::HEAD;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in git's folder while an operation is unfinished, or while another git writes.
const UNFINISHED: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "index.lock",
];
/// The largest file of refs that is read, in bytes.
const MOST_REFS: u64 = 16 << 20;

/// Returns the observation of a repository, if the query asks for its state.
pub(super) fn inspect_path(query: &Query) -> Option<Observed> {
    let asked = !query.removes && !query.changes && Path::new(&query.path).ends_with(HEAD);
    let folder = asked.then(|| Path::new(&query.path).ancestors().nth(2)).flatten()?;
    let git = if is_settled(folder) { GitState::Clean } else { GitState::Unknown };
    Some(Observed {
        entry: entry(Path::new(&query.path)),
        real: None,
        git,
        restorable: false,
        leads: None,
        contents: None,
        holds: None,
        size: None,
    })
}

fn is_settled(folder: &Path) -> bool {
    let Some((root, git)) =
        root_of(folder).and_then(|root| Some((root.clone(), git_folder(&root)?)))
    else {
        return false;
    };
    let finished = !UNFINISHED.iter().any(|name| fs::symlink_metadata(git.join(name)).is_ok());
    finished
        && has_commit(&git)
        && Repository::open(root).is_some_and(|repository| repository.is_plain())
}

/// Returns true if `HEAD` leads to a commit.
fn has_commit(git: &Path) -> bool {
    let Some(head) = read(&git.join("HEAD")) else { return false };
    let Some(name) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return is_id(head.trim());
    };
    let common =
        read(&git.join("commondir")).map_or_else(|| git.to_owned(), |text| git.join(text.trim()));
    let packed = || {
        read(&common.join("packed-refs")).is_some_and(|text| {
            text.lines()
                .any(|line| line.split_once(' ').is_some_and(|(id, of)| of == name && is_id(id)))
        })
    };
    [git.to_owned(), common.clone()]
        .iter()
        .any(|folder: &PathBuf| read(&folder.join(name)).is_some_and(|id| is_id(id.trim())))
        || packed()
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read(path: &Path) -> Option<String> {
    if is_plain(path, MOST_REFS) { fs::read_to_string(path).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, line: &str) {
        let mut command = Command::new("sh");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "A")
                .env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        let set = command
            .args(["-c", line])
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        let ended = set.output().unwrap();
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    }

    /// Each line is run in a repository with two branches that change the same file.
    #[test]
    fn unfinished_merges_are_seen() {
        const BASE: &str = "git init -q -b main . && echo a > f && git add f && git commit -qm a && git checkout -qb side && echo b > f \
            && git commit -qam b && git checkout -q main && echo c > f && git commit -qam c && mkdir deep";
        for (line, below, settled) in [
            ("true", "", true),
            ("true", "deep/not/there", true),
            ("echo d > f && echo n > new", "", true),
            ("echo d > f && git add f && echo e > f && git rm -qf --cached f", "", true),
            ("git checkout -q --detach", "", true),
            ("git pack-refs --all", "", true),
            ("git worktree add -q tree side && echo x > tree/f", "tree", true),
            ("! git merge -q side", "", false),
            ("! git merge -q side 2>/dev/null && rm .git/MERGE_HEAD", "", false),
            ("! git rebase -q side 2>/dev/null", "", false),
            ("! git cherry-pick side 2>/dev/null", "", false),
            (
                "! git revert --no-edit HEAD~1 2>/dev/null || true; touch .git/REVERT_HEAD",
                "",
                false,
            ),
            (
                "echo d > f && git stash -q && echo e > f && git commit -qam e && ! git stash pop -q 2>/dev/null",
                "",
                false,
            ),
            ("echo n > new && git add -N new", "", false),
            ("git worktree add -q tree side && cd tree && ! git merge -q main", "tree", false),
            ("git worktree add -q tree side && cd tree && ! git merge -q main", "", true),
            ("touch .git/index.lock", "", false),
            ("git checkout -q --orphan empty", "", false),
            ("rm -r .git", "", false),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            git(scratch.path(), BASE);
            git(scratch.path(), line);
            assert_eq!(is_settled(&scratch.path().join(below)), settled, "{line} ({below})");
        }
    }
}

//! The preconditions of a rewrite: the paths that it moves must end up in folders of the project,
//! and a repository whose changes it stashes must have no unfinished operation.

use crate::action::{Action, Command, EffectKind, Entry, GitState, Operation};
use crate::observe::{Observations, Query};
use crate::quarantine;
use std::path::{Path, PathBuf};

/// The file of a repository that is queried if its state matters: `clean` means that no operation
/// is unfinished.
pub const HEAD: &str = ".git/HEAD";

/// The preconditions to check before a rewrite is accepted.
#[derive(Debug, Default)]
pub(crate) struct Preconditions {
    folders: Vec<String>,
    files: Vec<String>,
    heads: Vec<String>,
    /// True if it stashes changes of a repository that cannot be identified.
    lost: bool,
}

impl Preconditions {
    /// Returns those of a rewrite that turns `before` into `after`.
    pub(crate) fn of(before: &Action, after: &Action, roots: &[String]) -> Self {
        let mut ground = Self::default();
        for moved in quarantine::find_moves(&after.operation, &after.id) {
            ground.add_folders(&moved.to, &after.id, roots);
        }
        if let Operation::Shell(shell) = &after.operation {
            shell
                .commands
                .iter()
                .filter_map(keeps_changes)
                .for_each(|folder| ground.add_heads(before, &folder));
        }
        ground
    }

    /// Adds the folders between the project's and the moved path, and the file that hides them from
    /// git.
    fn add_folders(&mut self, to: &str, review: &str, roots: &[String]) {
        let root = roots
            .iter()
            .map(Path::new)
            .filter(|root| Path::new(to).starts_with(root))
            .max_by_key(|root| root.components().count());
        let below = |folder: &&Path| root.is_none_or(|root| *folder != root);
        for folder in Path::new(to).ancestors().skip(1).take_while(below) {
            push(&mut self.folders, folder);
            if folder.file_name().is_some_and(|name| name == review)
                && let Some(quarantine) = folder.parent()
            {
                push(&mut self.files, &quarantine.join(".gitignore"));
            }
        }
    }

    fn add_heads(&mut self, before: &Action, folder: &str) {
        let lost =
            before.facts.effects.iter().filter(|effect| {
                effect.kind == EffectKind::Discard && effect.target.starts_with('/')
            });
        let heads: Vec<PathBuf> =
            lost.map(|effect| Path::new(&effect.target).join(folder).join(HEAD)).collect();
        self.lost |= heads.is_empty();
        heads.iter().for_each(|head| push(&mut self.heads, head));
    }

    /// Returns the queries to make.
    pub(crate) fn queries(&self) -> Vec<Query> {
        let all = self.folders.iter().chain(&self.files).chain(&self.heads);
        all.map(|path| Query {
            path: path.clone(),
            glob: false,
            removes: false,
            recursive: false,
            changes: false,
            text: false,
            committed: false,
            leaves: None,
        })
        .collect()
    }

    /// Describes why the rewrite cannot be accepted, if it cannot. A path whose state could not be
    /// determined counts against it.
    pub(crate) fn problem(&self, seen: &Observations) -> Option<String> {
        if self.lost {
            return Some("it is unknown which repository's changes it keeps".to_owned());
        }
        // A look at the workspace answers every query. A path without an answer belongs to a
        // replay, whose recorded answers name the folders of another review.
        let is = |path: &String, entries: &[Entry]| {
            seen.get(&crate::observe::key(path, false))
                .is_none_or(|found| entries.contains(&found.entry))
        };
        if let Some(folder) =
            self.folders.iter().find(|folder| !is(folder, &[Entry::Folder, Entry::Absent]))
        {
            return Some(format!(
                "`{folder}`, where it puts things away, is a link or not a folder"
            ));
        }
        if let Some(file) = self.files.iter().find(|file| !is(file, &[Entry::File, Entry::Absent]))
        {
            return Some(format!(
                "`{file}`, which hides what it puts away from git, is a link or not a file"
            ));
        }
        let unsettled = |head: &&String| {
            seen.get(&crate::observe::key(head, false))
                .is_some_and(|found| found.git != GitState::Clean)
        };
        let head = self.heads.iter().find(unsettled)?;
        let folder = head.strip_suffix(HEAD).unwrap_or(head).trim_end_matches('/');
        Some(format!(
            "a merge, a rebase or the like is half done in the repository of `{folder}`, or it has \
             no commit that can be read"
        ))
    }
}

fn push(paths: &mut Vec<String>, path: &Path) {
    let path = path.display().to_string();
    if !paths.contains(&path) {
        paths.push(path);
    }
}

/// Returns the folder that a `git stash create` works in, as its words name it; empty for the one
/// that it runs in.
fn keeps_changes(command: &Command) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let folder = match words.as_slice() {
        ["stash", "create", ..] => "",
        ["-C", folder, "stash", "create", ..] => folder,
        _ => return None,
    };
    (command.program == "git").then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observed;

    fn seen(paths: &[(&str, Entry, GitState)]) -> Observations {
        let one = |(path, entry, git): &(&str, Entry, GitState)| {
            (
                (*path).to_owned(),
                Observed {
                    entry: *entry,
                    real: None,
                    git: *git,
                    restorable: false,
                    leads: None,
                    contents: None,
                    holds: None,
                    size: None,
                },
            )
        };
        paths.iter().map(one).collect()
    }

    #[test]
    fn moved_files_land_in_project_folders() {
        const FOLDERS: [&str; 3] =
            ["/p/.portcullis/quarantine/id", "/p/.portcullis/quarantine", "/p/.portcullis"];
        const FILE: &str = "/p/.portcullis/quarantine/.gitignore";
        let mut ground = Preconditions::default();
        ground.add_folders(
            "/p/.portcullis/quarantine/id/work",
            "id",
            &["/".to_owned(), "/p".to_owned()],
        );
        assert_eq!(
            (ground.folders.as_slice(), ground.files.as_slice()),
            (FOLDERS.map(str::to_owned).as_slice(), [FILE.to_owned()].as_slice())
        );
        let with = |path: &str, entry: Entry| {
            let all: Vec<_> = FOLDERS
                .into_iter()
                .chain([FILE])
                .filter(|known| *known != path)
                .map(|path| (path, Entry::Absent))
                .collect();
            let all: Vec<_> = all
                .into_iter()
                .chain([(path, entry)])
                .map(|(path, entry)| (path, entry, GitState::Unknown))
                .collect();
            ground.problem(&seen(&all)).is_none()
        };
        for folder in FOLDERS {
            assert!(with(folder, Entry::Folder) && with(folder, Entry::Absent), "{folder}");
            assert!(
                ![Entry::Link, Entry::File, Entry::Special, Entry::Unknown]
                    .into_iter()
                    .any(|entry| with(folder, entry)),
                "{folder}"
            );
        }
        assert!(
            with(FILE, Entry::File)
                && ![Entry::Link, Entry::Folder, Entry::Special, Entry::Unknown]
                    .into_iter()
                    .any(|entry| with(FILE, entry))
        );
        assert!(
            ground.problem(&seen(&[(FILE, Entry::Absent, GitState::Unknown)])).is_none(),
            "a replay answers what was recorded"
        );
    }

    #[test]
    fn nothing_may_be_half_done_where_changes_are_kept() {
        let ground =
            Preconditions { heads: vec!["/p/.git/HEAD".to_owned()], ..Preconditions::default() };
        for (state, taken) in [
            (GitState::Clean, true),
            (GitState::Changed, false),
            (GitState::Unknown, false),
            (GitState::Ignored, false),
            (GitState::Untracked, false),
        ] {
            assert_eq!(
                ground.problem(&seen(&[("/p/.git/HEAD", Entry::File, state)])).is_none(),
                taken,
                "{state:?}"
            );
        }
        assert!(
            ground.problem(&seen(&[("/p", Entry::Folder, GitState::Clean)])).is_none(),
            "a replay answers what was recorded"
        );
        assert!(
            Preconditions { lost: true, ..Preconditions::default() }
                .problem(&Observations::new())
                .is_some()
        );
    }
}

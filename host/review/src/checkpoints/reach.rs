//! Determines the files that an action may change, from the facts about it. This decides which
//! files are kept; it only looks at the disk to see which folders exist.

use portcullis_checkpoint::FileAccess;
use portcullis_core::action::{
    Coverage, Effect, EffectKind, Entry, Facts, GitState, Path as Named, Scope,
};
use portcullis_core::facts::is_within;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most separate targets; above this, the action counts as changing anything.
const MOST_TARGETS: usize = 1000;
/// Folders below which nothing is a file that can be restored.
const NO_FILES: &[&str] = &["/dev", "/proc", "/sys"];

/// The files that an action may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangeScope {
    /// No file.
    Nothing,
    /// These paths and everything below them.
    Targets(BTreeSet<PathBuf>),
    /// Unknown files.
    Anything {
        /// True if it deletes folders, including files that git ignores.
        ignored: bool,
    },
}

/// Returns the files that an action may change. `masked` are the placeholders in its facts: a path
/// with one is not a real path.
pub(super) fn change_scope(facts: &Facts, roots: &[PathBuf], masked: &[String]) -> ChangeScope {
    let mut targets = BTreeSet::new();
    let (mut anything, mut ignored) = (facts.coverage == Coverage::Partial, false);
    for effect in facts.effects.iter().filter(|effect| changes_something(&effect.kind)) {
        let path = effect.path.and_then(|index| facts.paths.get(index as usize));
        if path.is_some_and(is_no_file) {
            continue;
        }
        let one =
            path.filter(|path| is_one(effect, path, masked) && !is_whole(effect, path, roots));
        targets.extend(
            one.into_iter()
                .flat_map(|path| [Some(&path.text), path.link_target.as_ref()])
                .flatten()
                .map(PathBuf::from),
        );
        anything |= one.is_none();
        ignored |= deletes_ignored(effect, path, one.is_some());
    }
    match targets.len() {
        _ if anything => ChangeScope::Anything { ignored },
        0 => ChangeScope::Nothing,
        1..=MOST_TARGETS => ChangeScope::Targets(targets),
        _ => ChangeScope::Anything { ignored },
    }
}

/// Returns true if folders are deleted that git may ignore and nothing rebuilds: by `git clean
/// -fdx`, by `rm -rf *`, or by name together with other paths.
fn deletes_ignored(effect: &Effect, path: Option<&Named>, is_one: bool) -> bool {
    let folders = effect.recursive || path.is_some_and(|path| path.text.contains("**"));
    matches!(effect.kind, EffectKind::FileDelete | EffectKind::Discard)
        && folders
        && path.is_none_or(|path| {
            let unversioned = matches!(path.git, GitState::Ignored | GitState::Unknown);
            !path.restorable && path.entry != Entry::Absent && (!is_one || unversioned)
        })
}

/// Returns true if no file at that path can be restored.
pub(super) fn is_no_file(path: &Named) -> bool {
    NO_FILES.iter().any(|folder| is_within(&path.text, folder))
}

/// Returns true if an effect of that kind can change a file of this machine; an unknown kind can.
const fn changes_something(kind: &EffectKind) -> bool {
    !matches!(
        kind,
        EffectKind::FileRead
            | EffectKind::SecretRead
            | EffectKind::Network
            | EffectKind::Send
            | EffectKind::Publish
            | EffectKind::RemoteChange
            | EffectKind::RemoteDelete
            | EffectKind::ProcessStop
            | EffectKind::ResourceUse
    )
}

/// Returns true if it is certain which path is meant.
fn is_one(effect: &Effect, path: &Named, masked: &[String]) -> bool {
    effect.certain
        && !path.glob
        && path.scope != Scope::Unknown
        && !masked.iter().any(|placeholder| path.text.contains(placeholder))
}

/// Returns true if a whole project is meant, but not to be deleted: then build output and git's own
/// folder are not targets.
fn is_whole(effect: &Effect, path: &Named, roots: &[PathBuf]) -> bool {
    effect.kind != EffectKind::FileDelete && roots.iter().any(|root| root.starts_with(&path.text))
}

/// Returns the session's existing folders that are at most a project: not `/`, and not a home
/// folder.
pub(super) fn projects(files: &FileAccess, roots: &[String], person: &str) -> Vec<PathBuf> {
    let fits = |root: &PathBuf| {
        root.is_absolute()
            && root.parent().is_some()
            && root.as_path() != Path::new(person)
            && files.is_folder(root)
    };
    roots.iter().map(PathBuf::from).filter(fits).collect()
}

/// Returns the folders that contain the targets: the projects, and for targets elsewhere the
/// nearest parent folder.
pub(super) fn roots_of(
    files: &FileAccess,
    targets: &BTreeSet<PathBuf>,
    projects: &[PathBuf],
) -> Vec<PathBuf> {
    let inside =
        |target: &Path| projects.iter().any(|root| target.starts_with(root) && target != root);
    let elsewhere = targets.iter().filter(|target| !inside(target));
    let above = elsewhere.filter_map(|target| {
        target.ancestors().skip(1).find(|folder| files.is_folder(folder)).map(Path::to_path_buf)
    });
    let mut roots: BTreeSet<PathBuf> = above.collect();
    roots.extend(projects.iter().cloned());
    roots.into_iter().collect()
}

/// A path in the project that was not observed.
#[cfg(test)]
pub(super) fn named(text: &str) -> Named {
    Named {
        text: text.to_owned(),
        glob: text.contains('*'),
        scope: Scope::Inside,
        entry: Entry::Unknown,
        link_target: None,
        git: GitState::Unknown,
        restorable: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANYTHING: ChangeScope = ChangeScope::Anything { ignored: false };
    const MASKED: &str = "<secret:token:0011aabb>";

    fn facts(effects: &[(EffectKind, &str, bool)]) -> Facts {
        let named = |(_, text, _): &(EffectKind, &str, bool)| named(text);
        let effect = |(index, (kind, text, certain)): (usize, &(EffectKind, &str, bool))| Effect {
            kind: kind.clone(),
            target: (*text).to_owned(),
            path: text.starts_with('/').then(|| u32::try_from(index).unwrap()),
            command: None,
            recursive: false,
            certain: *certain,
        };
        Facts {
            effects: effects.iter().enumerate().map(effect).collect(),
            paths: effects.iter().map(named).collect(),
            ..Facts::nothing()
        }
    }

    #[test]
    fn saved_paths_follow_from_the_action() {
        use EffectKind::{
            FileCreate, FileDelete, FileModify, FileRead, Network, Other, Persistence,
            ProcessStart, UnseenCode,
        };
        let named =
            |paths: &[&str]| ChangeScope::Targets(paths.iter().map(PathBuf::from).collect());
        let placeholder = format!("/p/{MASKED}");
        for (effects, expected) in [
            (vec![], ChangeScope::Nothing),
            (vec![(FileRead, "/p/a", true)], ChangeScope::Nothing),
            (vec![(FileRead, "/p", false), (Network, "example.com", true)], ChangeScope::Nothing),
            (vec![(FileModify, "/dev/null", true)], ChangeScope::Nothing),
            (
                vec![(FileModify, "/p/a", true), (FileCreate, "/q/b", true)],
                named(&["/p/a", "/q/b"]),
            ),
            (
                vec![(FileModify, "/h/.bashrc", true), (Persistence, "/h/.bashrc", true)],
                named(&["/h/.bashrc"]),
            ),
            (vec![(FileDelete, "/p", true)], named(&["/p"])),
            (vec![(FileCreate, "/p", true)], ANYTHING),
            (vec![(FileCreate, "/", true)], ANYTHING),
            (vec![(FileModify, "/p/a", false)], ANYTHING),
            (vec![(FileDelete, "/p/*.o", true)], ANYTHING),
            (vec![(FileDelete, &placeholder, true)], ANYTHING),
            (vec![(ProcessStart, "make", true)], ANYTHING),
            (vec![(UnseenCode, "", true)], ANYTHING),
            (vec![(FileModify, "/p/a", true), (Other("new".into()), "", true)], ANYTHING),
        ] {
            let found = change_scope(&facts(&effects), &["/p".into()], &[MASKED.into()]);
            assert_eq!(found, expected, "{effects:?}");
        }
        let partial = Facts { coverage: Coverage::Partial, ..facts(&[(FileRead, "/p/a", true)]) };
        assert_eq!(change_scope(&partial, &[], &[]), ANYTHING);
        let many: Vec<String> = (0..=MOST_TARGETS).map(|number| format!("/p/{number}")).collect();
        let many: Vec<_> = many.iter().map(|path| (FileCreate, path.as_str(), true)).collect();
        assert_eq!(change_scope(&facts(&many), &[], &[]), ANYTHING);
    }

    #[test]
    fn ignored_paths_are_reached_by_folder_deletion() {
        use EffectKind::{Discard, FileDelete, ProcessStart};
        let plain = |kind, text, recursive, certain| {
            let mut facts = facts(&[(kind, text, certain), (ProcessStart, "make", true)]);
            facts.effects[0].recursive = recursive;
            facts
        };
        let with = |mut facts: Facts, git, restorable| {
            (facts.paths[0].git, facts.paths[0].restorable) = (git, restorable);
            facts
        };
        for (name, facts, expected) in [
            ("git clean", plain(Discard, "/p", true, false), true),
            ("git checkout .", plain(Discard, "/p", false, false), false),
            ("rm -rf *", plain(FileDelete, "/p/*", true, true), true),
            ("rm *.o", plain(FileDelete, "/p/*.o", false, true), false),
            ("find -delete", plain(FileDelete, "/p/**/x", false, true), true),
            ("rm -rf $unknown", plain(FileDelete, "", true, false), true),
            (
                "rm -rf src && make",
                with(plain(FileDelete, "/p/src", true, true), GitState::Untracked, false),
                false,
            ),
            (
                "rm -rf src && make, nobody knows git's word",
                plain(FileDelete, "/p/src", true, true),
                true,
            ),
            (
                "rm -rf data && make",
                with(plain(FileDelete, "/p/data", true, true), GitState::Ignored, false),
                true,
            ),
            (
                "rm -rf target && make",
                with(plain(FileDelete, "/p/target", true, true), GitState::Ignored, true),
                false,
            ),
            (
                "rm -rf target/* && make",
                with(plain(FileDelete, "/p/target/*", true, true), GitState::Unknown, true),
                false,
            ),
        ] {
            assert_eq!(
                change_scope(&facts, &["/p".into()], &[]),
                ChangeScope::Anything { ignored: expected },
                "{name}"
            );
        }
    }

    #[test]
    fn roots_hold_their_targets() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        std::fs::create_dir_all(at("project/src")).unwrap();
        std::fs::create_dir_all(at("home")).unwrap();
        let person = at("home").to_string_lossy().into_owned();
        let sessions =
            ["project", "home", "gone"].map(|name| at(name).to_string_lossy().into_owned());
        let files = FileAccess::default();
        let projects = projects(&files, &[&sessions[..], &["/".to_owned()]].concat(), &person);
        assert_eq!(projects, [at("project")]);
        for (target, expected) in [
            ("project/src/a", vec!["project"]),
            ("home/.bashrc", vec!["home", "project"]),
            ("home/new/deep/file", vec!["home", "project"]),
            ("project", vec!["", "project"]),
        ] {
            let roots = roots_of(&files, &BTreeSet::from([at(target)]), &projects);
            let below = |root: &PathBuf| {
                root.strip_prefix(scratch.path()).unwrap().to_string_lossy().into_owned()
            };
            assert_eq!(roots.iter().map(below).collect::<Vec<_>>(), expected, "{target}");
        }
    }
}

//! The guarded paths of the last event, for a process that lists them for each.
//!
//! Where the paths are is looked up for each event. The list is made again only if one of them is
//! elsewhere than at the last look, or if the list has another basis.

use super::{ListBasis, Locator, list_with};
use crate::folder_locations::{FolderLocations, Location, MOST_PARTS};
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::policy::GuardedPath;
use std::path::PathBuf;

/// The last list. It is lent to one review at a time.
#[derive(Default)]
pub(crate) struct KeptList {
    made_of: Option<(ListBasis, Vec<(PathBuf, Location)>)>,
    entries: Vec<GuardedPath>,
    is_lent: bool,
}

impl KeptList {
    /// Does the same as [`super::list_protected`].
    pub(crate) fn lend(&mut self, places: &Paths, config: &Config, cwd: &str) -> Vec<GuardedPath> {
        let basis = ListBasis::of(places, config, cwd);
        let is_same = !self.is_lent
            && self
                .made_of
                .as_ref()
                .is_some_and(|(known, located)| *known == basis && is_located(located));
        self.is_lent = true;
        if is_same {
            return std::mem::take(&mut self.entries);
        }
        let keeps = Locator::Keeps(FolderLocations::default(), Vec::new());
        let (entries, locator) = list_with(keeps, &basis);
        self.made_of = match locator {
            Locator::Keeps(_, located) => Some((basis, located)),
            _ => None,
        };
        entries
    }

    /// Takes the list of the last review back, if it came from here.
    pub(crate) fn take_back(&mut self, entries: Vec<GuardedPath>) {
        if std::mem::take(&mut self.is_lent) {
            self.entries = entries;
        }
    }
}

/// Returns true if all paths are where they were.
fn is_located(located: &[(PathBuf, Location)]) -> bool {
    let mut folders = FolderLocations::default();
    located.iter().all(|(path, known)| folders.locate(path.as_os_str(), MOST_PARTS) == *known)
}

#[cfg(test)]
mod tests {
    use super::super::list_protected;
    use super::super::tests::places;
    use super::*;
    use portcullis_agents::HookEnvironment;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    type Change = fn(&Path, &mut Paths, &mut Config, &mut String);

    const CHANGES: &[(&str, bool, Change)] = &[
        ("the first", false, |_, _, _, _| {}),
        ("the same", true, |_, _, _, _| {}),
        ("a folder that matters not", true, |root, _, _, _| {
            fs::create_dir(root.join("home/other")).unwrap();
        }),
        ("a settings file appears", false, |root, _, _, _| {
            fs::create_dir_all(root.join("home/shop/.claude")).unwrap();
            fs::write(root.join("home/shop/.claude/settings.json"), "{}").unwrap();
        }),
        ("it becomes a link", false, |root, _, _, _| {
            fs::rename(root.join("home/shop/.claude"), root.join("real")).unwrap();
            symlink(root.join("real"), root.join("home/shop/.claude")).unwrap();
        }),
        ("the link leads elsewhere", false, |root, _, _, _| {
            fs::rename(root.join("real"), root.join("home/other/real")).unwrap();
            fs::remove_file(root.join("home/shop/.claude")).unwrap();
            symlink(root.join("home/other/real"), root.join("home/shop/.claude")).unwrap();
        }),
        ("it disappears", false, |root, _, _, _| {
            fs::remove_file(root.join("home/shop/.claude")).unwrap();
        }),
        ("another folder", false, |root, _, _, cwd| {
            *cwd = root.join("home/shop/src").display().to_string();
        }),
        ("another project", false, |root, places, _, _| {
            places.project = Some(root.join("home/shop/src"));
        }),
        ("another folder of plugins", false, |root, _, config, _| {
            config.plugins_dir = root.join("wasm");
        }),
        ("a client's folder in the environment", false, |root, places, _, _| {
            let layouts = super::super::layouts();
            let name = layouts.filter_map(|layout| layout.person_variable).next().unwrap();
            let variables = [(name.into(), root.join("settings").into())].into();
            places.environment = HookEnvironment::of_hook(variables, 1, 1);
        }),
        ("another hook", true, |_, places, _, _| {
            let variables = places.environment.variables().into_iter().collect();
            places.environment = HookEnvironment::of_hook(variables, 2, 1);
        }),
    ];

    /// After each change the list is what a new process makes, and it is the kept one only if
    /// nothing changed that matters.
    #[test]
    fn a_kept_list_is_what_a_new_one_would_be() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        fs::create_dir_all(root.join("home/shop/src")).unwrap();
        let mut places = places(&root);
        let mut config = Config::builtin_only(&places);
        let mut cwd = root.join("home/shop").display().to_string();
        let mut kept = KeptList::default();
        for (name, is_kept, change) in CHANGES {
            change(&root, &mut places, &mut config, &mut cwd);
            let before = kept.entries.as_ptr();
            let list = kept.lend(&places, &config, &cwd);
            assert_eq!(list, list_protected(&places, &config, &cwd), "{name}");
            assert_eq!(list.as_ptr() == before, *is_kept, "{name}");
            kept.take_back(list);
        }
    }

    #[test]
    fn a_list_that_was_not_lent_is_not_taken() {
        let scratch = tempfile::tempdir().unwrap();
        let places = places(scratch.path());
        let config = Config::builtin_only(&places);
        let mut kept = KeptList::default();
        let list = kept.lend(&places, &config, "/");
        kept.take_back(list.clone());
        kept.take_back(Vec::new());
        assert_eq!(kept.lend(&places, &config, "/"), list);
        // A review that did not give it back lost it.
        assert_eq!(kept.lend(&places, &config, "/"), list);
    }
}

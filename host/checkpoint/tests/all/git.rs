//! Git's own folder.

use crate::support::{Place, TIME, assert_same, id, plainly, walk};
use portcullis_checkpoint::{ChangeKind, ExclusionPolicy, PathStatus, What, Why};

const REPOSITORY: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; git init -q . && git config user.email a@b && git config user.name a \
    && echo 1 > f && mkdir s && echo 2 > s/g && printf 'out/\\n*.log\\n' > .gitignore && git add -A && git commit -qm one && git branch other \
    && echo 3 > f && git stash -q && echo 4 > f && git add f && echo 5 > f && mkdir out && echo o > out/o && echo l > run.log && echo secret > .env && echo n > new";

fn repository() -> Place {
    let place = Place::new();
    place.sh(REPOSITORY);
    place
}

#[test]
fn index_branches_stash_and_objects_stay_as_they_are() {
    let place = repository();
    let git = walk(&place.root.join(".git"));
    let before = place.walk();
    let mut request = place.request("a", 10, What::Tree);
    request.policy = ExclusionPolicy::default();
    assert!(place.vault.take_checkpoint(&request).unwrap().complete);
    assert_same(&git, &walk(&place.root.join(".git")), "take");
    place.sh("rm -rf f s new .env run.log; echo x > made");
    place.settle("a", 11);
    assert_same(&git, &walk(&place.root.join(".git")), "settle");
    place.restore("a", &plainly("u", 20)).unwrap();
    assert_same(&git, &walk(&place.root.join(".git")), "restore");
    assert_same(&before, &place.walk(), "the tree");
}

#[test]
fn git_clean_comes_back_but_for_ignored_folders() {
    let place = repository();
    let before = place.walk();
    let mut request = place.request("a", 10, What::Tree);
    request.policy = ExclusionPolicy::default();
    place.vault.take_checkpoint(&request).unwrap();
    place.sh("git clean -fdxq");
    let changes = place.settle("a", 11).changes;
    let lost: Vec<_> = changes
        .iter()
        .filter(|change| change.before.left_out().is_some())
        .map(|change| change.kind())
        .collect();
    assert_eq!(lost, [ChangeKind::Deleted]);
    let restored = place.restore("a", &plainly("u", 20)).unwrap();
    assert_eq!((restored.not_kept.len(), restored.not_kept[0].why), (1, Why::Ignored));
    let wanted = before.into_iter().filter(|(path, _)| !path.starts_with(b"out")).collect();
    assert_same(&wanted, &place.walk(), "git clean");
}

#[test]
fn git_clean_comes_back_whole_where_ignored_folders_are_kept() {
    let place = repository();
    place.sh("mkdir -p out/node_modules/m; echo m > out/node_modules/m/m");
    let before = place.walk();
    let mut request = place.request("a", 10, What::Tree);
    request.policy = ExclusionPolicy { git: false, ..ExclusionPolicy::keep_all() };
    assert!(place.vault.take_checkpoint(&request).unwrap().complete);
    place.sh("git clean -fdxq");
    place.settle("a", 11);
    assert_eq!(place.restore("a", &plainly("u", 20)).unwrap().not_kept, []);
    assert_same(&before, &place.walk(), "git clean");
}

#[test]
fn a_target_that_is_gits_folder_is_kept_whole() {
    let place = repository();
    let before = place.walk();
    assert!(place.targets("a", 10, &[".git"]).complete);
    place.sh("rm -rf .git");
    place.settle("a", 11);
    place.restore("a", &plainly("u", 20)).unwrap();
    assert_same(&before, &place.walk(), "rm -rf .git");
}

#[test]
fn rules_that_the_action_changes_hide_nothing() {
    let place = repository();
    let mut request = place.request("a", 10, What::Tree);
    request.policy = ExclusionPolicy::default();
    place.vault.take_checkpoint(&request).unwrap();
    place.sh("echo s > .gitignore; echo changed > s/g");
    let changes = place.vault.settle_checkpoint(&id("a"), 11, TIME).unwrap().changes;
    assert!(changes.iter().any(|change| change.path.ends_with("s/g")), "{changes:?}");
    assert!(
        place
            .vault
            .diff_checkpoint(&id("a"))
            .unwrap()
            .iter()
            .all(|one| one.standing == PathStatus::AsLeft)
    );
}

#[test]
fn gits_folder_is_named_where_it_was_changed() {
    // A time after the repository was made, and one before.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let later = u64::try_from(now.as_millis()).unwrap() + 1_000_000;
    for (at, script, is_named) in [
        (later, "echo x > f", false),
        (1, "git branch more", true),
        (1, "echo x > .git/hooks/pre-commit", true),
        (1, "git commit -qam two", true),
    ] {
        let place = repository();
        let mut request = place.request("a", at, What::Tree);
        request.policy = ExclusionPolicy::default();
        place.vault.take_checkpoint(&request).unwrap();
        place.sh(script);
        place.sh("echo y > f");
        place.settle("a", at + 1);
        let restored = place.restore("a", &plainly("u", at + 2)).unwrap();
        let named = restored.not_covered.first.iter().any(|left| left.why == Why::Git);
        assert_eq!(named, is_named, "{script}: {:?}", restored.not_covered);
        let counted = restored.not_covered.counts.iter().any(|(why, _)| *why == Why::Git);
        assert_eq!(counted, is_named, "{script}");
    }
}

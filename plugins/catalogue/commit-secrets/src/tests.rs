//! Native tests of the whole plugin; `cases.toml` has those that need the host's shell reader.

use super::*;
use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::GitState;

fn rules(action: &Action) -> Vec<(String, Objection)> {
    let prepared = CommitSecrets::prepare(&[]).unwrap();
    let assessment = CommitSecrets::assess(&prepared, action, &testing::context()).unwrap();
    assessment.rulings.into_iter().map(|ruling| (ruling.rule, ruling.objection)).collect()
}

#[test]
fn settings_are_checked() {
    for (setting, message) in [
        (Setting::new("staging", "no"), "setting `staging`: should be off, warn, ask or block"),
        (Setting::new("harmles", ["a"]), "setting `harmles`: unknown; did you mean `harmless`?"),
        (
            Setting::new("harmless", ["**"]),
            "setting `harmless`: should name files, not all of them",
        ),
        (Setting::new("files", 3), "setting `files`: is an integer, should be a list of texts"),
    ] {
        assert_eq!(CommitSecrets::prepare(&[setting]).unwrap_err().message(), message);
    }
}

#[test]
fn what_git_knows_of_a_file_counts() {
    let write = |state| testing::file_write(".env", "A=<secret:token:0011aabb>").git(state);
    assert!(rules(&write(GitState::Ignored)).is_empty());
    assert!(rules(&write(GitState::Unknown)).is_empty());
    assert_eq!(
        rules(&write(GitState::Untracked)),
        [("secret_written".to_owned(), Objection::Warn)]
    );
    assert_eq!(rules(&write(GitState::Clean)), [("secret_written".to_owned(), Objection::Ask)]);
}

#[test]
fn an_ignored_file_is_not_among_everything() {
    let action = |state| testing::shell("git add .").creates(".env").git(state);
    assert!(rules(&action(GitState::Ignored)).is_empty());
    assert_eq!(
        rules(&action(GitState::Unknown)),
        [("commit_secret_file".to_owned(), Objection::Ask)]
    );
}

#[test]
fn a_long_text_is_read_in_time() {
    let text = "key = <secret:password:0011aabb> # pragma\n".repeat(1500);
    assert_eq!(rules(&testing::file_edit("a.py", &text, &text)), []);
}

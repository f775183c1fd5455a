//! Actions of a real shell, and their restores.

use crate::support::{Place, assert_same, forced, id, plainly};
use portcullis_checkpoint::{ChangeKind, CheckpointError, PathStatus};
use std::fs;

const TREE: &str = "mkdir -p src/deep empty && echo one > src/a && echo two > src/deep/b && printf 'x y' > 'name with space' \
    && ln -s src/a link && ln -s /nowhere/at/all dangling && chmod 640 src/a && chmod 700 src/deep && printf '#!/bin/sh\\n' > run && chmod 755 run";

/// An action, and a person's later change that is to be preserved.
const ACTIONS: &[(&str, &str)] = &[
    ("remove a tree", "rm -rf src"),
    ("remove everything", "rm -rf ./* "),
    ("edit in place", "sed -i s/one/1/ src/a"),
    ("append and truncate", "echo more >> src/a; : > src/deep/b"),
    ("move a folder", "mv src lib"),
    ("swap a folder for a file", "rm -r src && echo file > src"),
    ("swap a file for a folder", "rm src/a && mkdir -p src/a/new && echo n > src/a/new/n"),
    ("swap a link for a file", "rm link && echo file > link"),
    ("swap a folder for a link", "mv src other && ln -s other src"),
    ("permissions", "chmod 000 run src/a; chmod 755 src/deep; chmod 4755 run"),
    ("make deep folders", "mkdir -p p/q/r/s && echo t > p/q/r/s/t && mkdir p/empty"),
    ("links", "ln -sf /etc/passwd link; ln -s . self; rm dangling"),
    ("hard link", "ln src/a hard; echo changed > hard"),
    (
        "names",
        "printf x > \"$(printf 'new\\nline')\"; printf y > \"$(printf 'b\\377d')\"; mv 'name with space' ' '",
    ),
    ("many files", "for i in $(seq 300); do echo $i > f$i; done; mkdir d; mv f1* d"),
    ("the root's own permissions", "chmod 711 ."),
];

#[test]
fn an_action_is_put_back_and_that_is_put_back() {
    for (name, script) in ACTIONS {
        let place = Place::new();
        place.sh(TREE);
        let before = place.walk();
        let settled = place.act("a", 10, script);
        let after = place.walk();
        assert!(!settled.changes.is_empty(), "{name}");
        let restored = place.restore("a", &plainly("u", 20)).unwrap();
        assert_same(&before, &place.walk(), name);
        assert_eq!(restored.restored.len(), settled.changes.len(), "{name}");
        assert!(restored.undo.unwrap().1.complete, "{name}");
        place.restore("u", &plainly("v", 30)).unwrap();
        assert_same(&after, &place.walk(), &format!("{name}, undone"));
        place.restore("a", &plainly("w", 40)).unwrap();
        assert_same(&before, &place.walk(), &format!("{name}, again"));
        let left = fs::read_dir(&place.root)
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(".portcullis"));
        assert!(!left, "{name}: leaves nothing of its own");
    }
}

#[test]
fn the_root_itself_comes_back() {
    let place = Place::new();
    place.sh(TREE);
    let before = place.walk();
    place.act("a", 10, "rm -rf \"$PWD\"");
    assert!(!place.root.exists());
    place.restore("a", &plainly("u", 20)).unwrap();
    assert_same(&before, &place.walk(), "rm -rf of the root");
}

/// A person's change after the action; the path that a plain restore refuses, if any.
const PEOPLE: &[(&str, &str, &str, Option<&str>)] = &[
    ("edits what the agent edited", "echo 1 > src/a", "echo mine > src/a", Some("src/a")),
    ("edits what the agent did not touch", "echo 1 > src/a", "echo mine > src/deep/b", None),
    ("makes a file", "echo 1 > src/a", "echo mine > mine", None),
    ("makes a file where one was deleted", "rm src/a", "echo mine > src/a", Some("src/a")),
    ("puts it back by hand", "echo 1 > src/a", "echo one > src/a", None),
    ("deletes what the agent made", "echo 1 > new", "rm new", None),
    ("edits what the agent made", "echo 1 > new", "echo mine > new", Some("new")),
    (
        "puts a file into a folder that the agent made",
        "mkdir new; echo 1 > new/x",
        "echo mine > new/mine",
        None,
    ),
    (
        "puts a file into a folder where a file was",
        "rm src/a; mkdir src/a",
        "echo mine > src/a/mine",
        Some("src/a"),
    ),
    (
        "puts a folder in the place of a file that the agent made",
        "echo 1 > new",
        "rm new; mkdir new; echo mine > new/mine",
        Some("new"),
    ),
    ("changes permissions", "echo 1 > src/a", "chmod 600 src/a", Some("src/a")),
];

#[test]
fn changes_of_people_stay() {
    for (name, action, person, refused) in PEOPLE {
        let place = Place::new();
        place.sh(TREE);
        let before = place.walk();
        place.act("a", 10, action);
        place.sh(person);
        let changed = place.walk();
        match (place.restore("a", &plainly("u", 20)), refused) {
            (Ok(_), None) => {
                let (now, mine) =
                    (place.walk(), |path: &[u8]| before.get(path) != changed.get(path));
                for (path, what) in &now {
                    // Each path is as it was, or is the person's.
                    let kept = changed.get(path) == Some(what) && mine(path);
                    assert!(
                        before.get(path) == Some(what) || kept,
                        "{name}: {}",
                        String::from_utf8_lossy(path)
                    );
                }
                assert!(before.keys().all(|path| now.contains_key(path)), "{name}");
                if person.contains("mine") {
                    assert!(now.values().any(|(_, _, bytes)| bytes == b"mine\n"), "{name}: stays");
                }
            }
            (Err(CheckpointError::Refused { paths }), Some(refused)) => {
                assert_eq!(
                    paths.iter().map(|one| one.path.clone()).collect::<Vec<_>>(),
                    [place.root.join(refused)],
                    "{name}"
                );
                assert_same(&changed, &place.walk(), &format!("{name}: nothing is touched"));
                place.restore("a", &forced("f", 30)).unwrap();
                assert_same(&before, &place.walk(), &format!("{name}, forced"));
                place.restore("f", &plainly("g", 40)).unwrap();
                assert_same(&changed, &place.walk(), &format!("{name}, force undone"));
            }
            (other, _) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn an_edit_between_two_actions_is_refused() {
    let place = Place::new();
    place.sh("echo 0 > f");
    place.act("a", 10, "echo 1 > f");
    place.sh("echo mine > f");
    place.act("b", 20, "echo 2 >> f");
    assert!(matches!(place.restore("a", &plainly("u", 30)), Err(CheckpointError::Refused { .. })));
    place.restore("b", &plainly("u", 30)).unwrap();
    assert_eq!(fs::read(place.root.join("f")).unwrap(), b"mine\n");
}

#[test]
fn an_action_that_was_never_settled_is_refused_until_it_is() {
    let place = Place::new();
    place.sh("echo 0 > f");
    place.take("a", 10);
    place.sh("echo 1 > f; echo 1 > g");
    let found = place.vault.diff_checkpoint(&id("a")).unwrap();
    assert!(
        found.len() == 2 && found.iter().all(|one| one.standing == PathStatus::NeverSettled),
        "{found:?}"
    );
    assert!(matches!(place.restore("a", &plainly("u", 20)), Err(CheckpointError::Refused { .. })));
    place.settle("a", 30);
    place.restore("a", &plainly("u", 40)).unwrap();
    assert_eq!(
        (fs::read(place.root.join("f")).unwrap(), place.root.join("g").exists()),
        (b"0\n".to_vec(), false)
    );
}

#[test]
fn some_paths_can_be_restored_without_the_others() {
    let place = Place::new();
    place.sh(TREE);
    place.act("a", 10, "rm -r src; echo 1 > run");
    place.sh("echo mine > run");
    let mut how = plainly("u", 20);
    how.only = vec![place.root.join("src/deep")];
    how.dry = true;
    let would = place.restore("a", &how).unwrap();
    assert!(!place.root.join("src").exists());
    how.dry = false;
    assert_eq!(place.restore("a", &how).unwrap().restored, would.restored);
    assert_eq!(fs::read(place.root.join("src/deep/b")).unwrap(), b"two\n");
    assert!(!place.root.join("src/a").exists());
    assert_eq!(fs::read(place.root.join("run")).unwrap(), b"mine\n");
}

#[test]
fn changes_are_reported_by_kind() {
    let place = Place::new();
    place.sh(TREE);
    let changes = place
        .act(
            "a",
            10,
            "mv src/a moved; echo 1 > run; chmod 600 'name with space'; rm link; mkdir link",
        )
        .changes;
    let reported: Vec<_> = changes
        .iter()
        .map(|change| {
            (change.path.strip_prefix(&place.root).unwrap().to_str().unwrap(), change.kind())
        })
        .collect();
    let expected = [
        ("link", ChangeKind::Kind),
        ("moved", ChangeKind::Made),
        ("name with space", ChangeKind::Mode),
        ("run", ChangeKind::Changed),
        ("src/a", ChangeKind::Deleted),
    ];
    assert_eq!(reported, expected);
    assert_eq!(place.vault.show_checkpoint(&id("a")).unwrap().changes, changes);
    assert_eq!(
        place.vault.read_content(&changes[3].before.digest().unwrap()).unwrap(),
        b"#!/bin/sh\n"
    );
    assert_eq!(place.vault.read_content(&changes[3].after.digest().unwrap()).unwrap(), b"1\n");
}

#[test]
fn times_of_files_and_holes_come_back() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    place.sh("echo 0 > f; touch -d '2001-02-03 04:05:06.789' f; truncate -s 8M holes; printf end >> holes");
    let before = fs::metadata(place.root.join("f")).unwrap();
    let holes = fs::read(place.root.join("holes")).unwrap();
    place.act("a", 10, "rm f holes");
    place.restore("a", &plainly("u", 20)).unwrap();
    let after = fs::metadata(place.root.join("f")).unwrap();
    assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
    assert_eq!(fs::read(place.root.join("holes")).unwrap(), holes);
    assert!(fs::metadata(place.root.join("holes")).unwrap().blocks() * 512 < 1 << 20);
}

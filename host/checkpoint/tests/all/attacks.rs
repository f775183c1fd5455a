//! Maliciously prepared trees and vaults.

use crate::support::{Place, TIME, assert_same, forced, id, plainly, set_mode, sh, walk};
use portcullis_checkpoint::{Bounds, CheckpointError, Id, PathStatus, Vault, What, Why};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Changes to the folders above `d/e/f` after an action on it.
const SWAPS: &[(&str, &str)] = &[
    ("a folder for a link out", "mv d ../away && ln -s ../away d"),
    ("a folder for an absolute link out", "mv d ../away && ln -s \"$PWD/../away\" d"),
    ("a folder for a link inside", "mv d other && ln -s other d"),
    ("a deeper folder for a link out", "mv d/e ../away && ln -s ../../away d/e"),
    ("a folder for a file", "rm -r d && echo mine > d"),
    ("a folder for a pipe", "rm -r d && mkfifo d"),
];

#[test]
fn no_way_leads_outside() {
    for (name, script) in SWAPS {
        for action in ["echo 1 > d/e/f", "rm d/e/f", "rm -r d/e", "echo new > d/e/new"] {
            let place = Place::new();
            place.sh("mkdir -p d/e && echo 0 > d/e/f && echo 0 > d/e/g");
            place.act("a", 10, action);
            if action == "rm -r d/e" && script.contains("d/e") {
                continue;
            }
            place.sh(script);
            let (inside, outside) = (place.walk(), place.home.join("away"));
            let before = outside.exists().then(|| walk(&outside));
            for how in [plainly("u", 20), forced("u", 20)] {
                match place.restore("a", &how) {
                    Err(CheckpointError::Refused { paths }) => {
                        assert!(
                            paths.iter().all(|one| one.standing.is_refused()),
                            "{name}, {action}"
                        )
                    }
                    // The file that the agent created is gone, wherever it was: nothing to do.
                    Ok(restored) => assert!(
                        action.contains("new") && restored.restored.is_empty(),
                        "{name}, {action}: {restored:?}"
                    ),
                    other => panic!("{name}, {action}: {other:?}"),
                }
                assert_same(&inside, &place.walk(), name);
                assert_eq!(before, outside.exists().then(|| walk(&outside)), "{name}, {action}");
            }
        }
    }
}

#[test]
fn a_root_behind_a_link_is_the_one_it_led_to() {
    let place = Place::new();
    place.sh("echo 0 > f");
    symlink(&place.home, place.home.join("above")).unwrap();
    let mut request = place.request("a", 10, What::Tree);
    request.roots = vec![place.home.join("above/root")];
    place.vault.take_checkpoint(&request).unwrap();
    place.sh("echo 1 > f");
    place.settle("a", 11);
    // Then the link leads elsewhere, and the root is a link itself.
    sh(
        &place.home,
        "rm above; mkdir -p evil/root; ln -s evil above; echo 1 > evil/root/f; mv root away; ln -s evil/root root",
    );
    assert!(place.restore("a", &forced("u", 20)).is_err());
    assert_eq!(
        (
            fs::read(place.home.join("evil/root/f")).unwrap(),
            fs::read(place.home.join("away/f")).unwrap()
        ),
        (b"1\n".to_vec(), b"1\n".to_vec())
    );
    sh(&place.home, "rm root; mv away root");
    place.restore("a", &plainly("v", 30)).unwrap();
    assert_eq!(fs::read(place.root.join("f")).unwrap(), b"0\n");
}

#[test]
fn a_target_through_a_link_is_what_it_leads_to() {
    let place = Place::new();
    place.sh("mkdir d && echo 0 > d/f && ln -s d/f link && ln -s d dir && ln -s ../outside out && ln -s missing dangling");
    let taken = place.targets("a", 10, &["link", "dir/f", "out", "dangling", "dir/new"]);
    assert_eq!(taken.left_out.counts, [(Why::OutsideRoots, 1)]);
    assert!(!taken.complete);
    let before = place.walk();
    place.sh("echo 1 > link; echo 1 > dangling; echo 1 > dir/new; echo 1 > out");
    assert_eq!(place.settle("a", 11).changes.len(), 3);
    place.restore("a", &plainly("u", 20)).unwrap();
    assert_same(&before, &place.walk(), "through links");
    assert_eq!(fs::read(place.home.join("outside")).unwrap(), b"1\n");
}

#[test]
fn a_chain_of_links_is_followed_as_far_as_the_system_does() {
    let place = Place::new();
    place.sh(
        "echo 0 > 40 && for n in $(seq 39 -1 0); do ln -s $((n + 1)) $n; done && ln -s loop loop",
    );
    let taken = place.targets("a", 10, &["0", "loop"]);
    assert!(taken.complete, "{taken:?}");
    let before = place.walk();
    place.sh("echo 1 > 0");
    place.restore("a", &forced("u", 20)).unwrap();
    assert_same(&before, &place.walk(), "through forty links");
    assert_eq!(fs::read(place.root.join("40")).unwrap(), b"0\n");
}

#[test]
fn targets_and_roots_that_are_none() {
    let place = Place::new();
    place.sh("echo f > f");
    let take = |target: &str, root: &Path| {
        let mut request = place.request("a", 10, What::Targets(vec![PathBuf::from(target)]));
        request.roots = vec![root.to_owned()];
        place.vault.take_checkpoint(&request).err().map(|error| error.to_string())
    };
    for (target, root, error) in [
        ("relative", place.root.clone(), "cannot be a target"),
        ("/..", place.root.clone(), "cannot be a target"),
        ("/nowhere/../etc/passwd", place.root.clone(), "cannot be a target"),
        ("/etc/passwd", PathBuf::from("relative"), "cannot be a root"),
        ("/etc/passwd", place.root.join("f"), "cannot be a root"),
        ("/etc/passwd", place.root.join("missing"), "cannot look at"),
    ] {
        let said = take(target, &root).unwrap_or_default();
        assert!(said.contains(error), "{target}: {said}");
    }
    for name in ["", "a/b", "..", ".a", "a\0b", "é", &"x".repeat(129)] {
        assert!(Id::new(name).is_err(), "{name}");
    }
}

#[test]
fn things_that_are_no_files_are_left_out_and_left_alone() {
    let place = Place::new();
    place.sh("mkfifo pipe; truncate -s 1T sparse; echo f > f; ln -s /dev/zero zero; mkdir d; mkfifo d/pipe");
    let taken = place.take("a", 10);
    assert!(!taken.complete && taken.bytes_read < 100, "{taken:?}");
    let mut counts = taken.left_out.counts;
    counts.sort_unstable();
    assert_eq!(counts, [(Why::TooLarge, 1), (Why::Special, 2)]);
    place.sh("echo 1 > f; rm sparse");
    assert_eq!(place.settle("a", 11).changes.len(), 2);
    let restored = place.restore("a", &plainly("u", 20)).unwrap();
    assert_eq!((restored.restored.len(), restored.not_kept[0].why), (1, Why::TooLarge));
    assert!(place.root.join("pipe").exists() && !place.root.join("sparse").exists());
}

#[test]
fn a_file_that_grows_while_it_is_read_is_kept_whole_or_left_out() {
    let place = Place::new();
    let path = place.root.join("log");
    fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write;
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(b"more").unwrap();
            }
        });
        for round in 0..20 {
            let taken = place.take(&format!("a{round}"), round);
            assert!(taken.complete == (taken.files == 1), "{taken:?}");
            assert!(
                taken.left_out.counts.iter().all(|(why, _)| *why == Why::Changing),
                "{taken:?}"
            );
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A manipulation of a plain vault's files in one folder, and the resulting error.
type Damage = (&'static str, &'static str, fn(&Path), &'static str);

const DAMAGES: &[Damage] = &[
    ("a flipped byte in a pack", "packs", |path| flip(path, 10), "lost or damaged in the vault"),
    ("a pack that is cut off", "packs", cut, "lost or damaged in the vault"),
    ("no pack", "packs", |path| fs::remove_file(path).unwrap(), "lost or damaged in the vault"),
    (
        "a flipped byte in a checkpoint",
        "checkpoints",
        |path| flip(path, 60),
        "its checksum is wrong",
    ),
    ("a checkpoint that is cut off", "checkpoints", cut, "its checksum is wrong"),
    ("an empty checkpoint", "checkpoints", |path| fs::write(path, "").unwrap(), "it is too short"),
    ("a checkpoint of another version", "checkpoints", |path| flip(path, 7), "another version"),
    (
        "something else",
        "checkpoints",
        |path| fs::write(path, "something else").unwrap(),
        "its header is wrong",
    ),
    ("a path that leads out", "checkpoints", climb, "its content is wrong"),
];

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 9]).unwrap();
}

/// Writes a path that leads out of the root, with a valid checksum.
fn climb(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let mut body = bytes[40..].to_vec();
    let at = body.windows(3).position(|part| part == b"d/f").unwrap();
    body[at..at + 3].copy_from_slice(b"../");
    fs::write(path, [&bytes[..8], blake3::hash(&body).as_bytes(), &body].concat()).unwrap();
}

#[test]
fn damage_is_named_and_changes_nothing() {
    for (name, folder, damage, said) in DAMAGES {
        let place = Place::plain();
        place.sh("mkdir d; echo content of f > d/f; echo g > g");
        place.act("a", 10, "echo changed > d/f");
        let path = fs::read_dir(place.home.join("vault").join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .min_by_key(|path| {
                // The pack of the take, not that of the settling.
                std::cmp::Reverse(fs::metadata(path).unwrap().len())
            });
        damage(&path.unwrap());
        let before = place.walk();
        let error = place.restore("a", &plainly("u", 20)).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
        assert!(!error.contains('\n'), "{name}: one line");
        assert_same(&before, &place.walk(), name);
        let listed = *folder == "checkpoints" || name.contains("cut off");
        assert_eq!(place.vault.list().unwrap().damaged.len(), usize::from(listed), "{name}");
        // Everything else still works, and lost contents are stored again.
        place.act("b", 30, "rm -r d");
        place.restore("b", &plainly("v", 40)).unwrap();
        assert_same(&before, &place.walk(), name);
    }
}

#[test]
fn a_vault_is_its_users_alone() {
    let place = Place::new();
    place.sh("echo f > f");
    place.act("a", 10, "echo 1 > f");
    let mut open = vec![place.home.join("vault")];
    while let Some(path) = open.pop() {
        let found = fs::metadata(&path).unwrap();
        assert_eq!(
            found.permissions().mode() & 0o777,
            if found.is_dir() { 0o700 } else { 0o600 },
            "{}",
            path.display()
        );
        if found.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    set_mode(&place.home.join("vault"), 0o755);
    assert!(matches!(
        Vault::open_folder(
            place.home.join("vault"),
            &crate::support::keys(&place.home.join("vault")),
            Bounds::default()
        ),
        Err(CheckpointError::NotPrivate { .. })
    ));
}

#[test]
fn an_ordinary_user_meets_permissions() {
    if !rustix::process::geteuid().is_root() {
        return permissions(&Place::new());
    }
    // Run this test again as the user nobody, from a copy of the program that this user may
    // execute.
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o777);
    let program = folder.path().join("tests");
    // Not by this process: one that another test starts meanwhile would hold the copy open for
    // writing, and a file that is open for writing does not run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    set_mode(&program, 0o755);
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    let done = nobody
        .args(["--exact", "attacks::an_ordinary_user_meets_permissions"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let [said, failed] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(done.status.success(), "{said}{failed}");
}

fn permissions(place: &Place) {
    place.sh("mkdir -p d/e closed && echo 0 > d/e/f && echo 0 > d/g && echo 0 > secret && echo 0 > closed/x && chmod 0 secret closed && chmod 555 d/e d .");
    let taken = place.take("a", 10);
    let mut left_out: Vec<_> = taken
        .left_out
        .first
        .iter()
        .map(|one| (one.path.strip_prefix(&place.root).unwrap().to_str().unwrap(), one.why))
        .collect();
    left_out.sort_unstable();
    assert_eq!(left_out, [("closed", Why::Unreadable), ("secret", Why::Unreadable)]);
    assert!(!taken.complete);
    // Folders without write permission, before and after.
    place
        .sh("chmod 755 . d d/e; rm -r d/e; echo 1 > d/g; echo new > new; chmod 555 d; chmod 511 .");
    place.settle("a", 11);
    place.restore("a", &plainly("u", 20)).unwrap();
    let restored = [(".", 0o555), ("d", 0o555), ("d/e", 0o555), ("closed", 0), ("secret", 0)];
    for (path, mode) in restored {
        assert_eq!(
            fs::symlink_metadata(place.root.join(path)).unwrap().permissions().mode() & 0o777,
            mode,
            "{path}"
        );
    }
    assert_eq!(
        (fs::read(place.root.join("d/e/f")).unwrap(), fs::read(place.root.join("d/g")).unwrap()),
        (b"0\n".to_vec(), b"0\n".to_vec())
    );
    assert!(!place.root.join("new").exists());
    // A path that cannot be scanned is not treated as deleted.
    place.sh("chmod 755 closed");
    place.take("b", 30);
    place.sh("chmod 0 closed");
    let changes = place.vault.settle_checkpoint(&id("b"), 31, TIME).unwrap().changes;
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(
        place
            .vault
            .diff_checkpoint(&id("b"))
            .unwrap()
            .iter()
            .all(|one| one.standing == PathStatus::AsLeft)
    );
    place.restore("b", &plainly("v", 40)).unwrap();
    assert_eq!(fs::read(place.root.join("closed/x")).unwrap(), b"0\n");
}

//! The vault's files show nothing of what they hold, and only what was written is read back.

use crate::support::{Place, TIME, assert_same, digests, id, keys, open, plainly, sh, shown, walk};
use portcullis_checkpoint::{CheckpointError, Retention, What};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const KEEP: Retention = Retention { keep: Duration::from_secs(1000), max_bytes: 1 << 30 };
const PART: usize = 1 << 20;
/// The bytes of a pack before its first content: the mark and the encrypted key.
const HEADER: usize = 8 + 84;
/// The bytes of a content before its first part.
const ID: usize = 19;

/// The texts of a tree that its vault must not show.
fn hidden(place: &Place, contents: &[&str], names: &[&str]) -> Vec<Vec<u8>> {
    let root = place.root.as_os_str().as_encoded_bytes();
    let mut texts: Vec<_> =
        contents.iter().chain(names).map(|text| text.as_bytes().to_vec()).collect();
    texts.push(root.to_vec());
    texts.extend(contents.iter().flat_map(|text| digests(text.as_bytes())));
    texts.extend(digests(root));
    texts
}

#[test]
fn the_vault_shows_neither_contents_nor_names_nor_digests() {
    let place = Place::new();
    let (contents, names) = (
        ["first-content\n", "second-content\n", "third-content\n", "link-text"],
        ["folder-name", "file-name", "link-name"],
    );
    place.sh(
        "mkdir folder-name; echo first-content > folder-name/file-name; ln -s link-text link-name",
    );
    let texts = hidden(&place, &contents, &names);
    let look = |when: &str| {
        let shown = shown(&place.home.join("vault"), &texts);
        assert!(shown.is_empty(), "{when}: {shown:?}");
    };
    let before = place.walk();
    place.targets("named", 1, &["folder-name/file-name"]);
    look("a take of targets");
    place.act("tree", 10, "echo second-content > folder-name/file-name; rm link-name");
    look("a tree");
    place.sh("echo third-content > file-name");
    place.restore("named", &crate::support::forced("back", 20)).unwrap();
    assert_same(
        &before,
        &{
            place.sh("rm -f file-name");
            place.walk()
        },
        "put back",
    );
    look("a restore");
    place.vault.collect_garbage(&KEEP, 1000).unwrap();
    look("a collection");
    // The search finds what is there: a plain vault shows all of it.
    let plain = Place::plain();
    plain.sh("mkdir folder-name; echo first-content > folder-name/file-name");
    plain.act("tree", 10, "echo second-content > folder-name/file-name");
    for text in contents[..2].iter().chain(&names[..2]) {
        let shown = shown(&plain.home.join("vault"), &[text.as_bytes().to_vec()]);
        assert!(!shown.is_empty(), "{text}");
    }
}

#[test]
fn contents_of_every_size_come_back() {
    for is_plain in [false, true] {
        let place = Place::of(is_plain);
        let sizes = [0, 1, PART - 1, PART, PART + 1, 2 * PART, 3 * PART + 5];
        for (at, size) in sizes.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..size).map(|byte| (byte * 7 + byte / 251 + at) as u8).collect();
            fs::write(place.root.join(format!("f{at}")), bytes).unwrap();
        }
        let before = place.walk();
        place.act("a", 10, "rm *; echo other > f1");
        open(&place.home.join("vault")).restore_checkpoint(&id("a"), &plainly("u", 20)).unwrap();
        assert_same(&before, &place.walk(), "put back");
        // Packs that are joined hold the same.
        let other = Place::of(is_plain);
        other.sh("echo other > f");
        for round in 0..5 {
            place.act(&format!("more{round}"), 30 + round, &format!("echo {round} > more"));
        }
        place
            .vault
            .collect_garbage(&Retention { keep: Duration::from_millis(80), ..KEEP }, 100)
            .unwrap();
        place.restore("u", &plainly("v", 200)).unwrap();
        place.restore("v", &plainly("w", 300)).unwrap();
        place.sh("rm -f more");
        assert_same(&before, &place.walk(), "put back from joined packs");
    }
}

/// A vault with the checkpoints `a` and `b`, each with a pack of its own.
struct Damaged {
    place: Place,
    packs: [PathBuf; 2],
}

fn set_up() -> Damaged {
    let place = Place::new();
    let vault = place.home.join("vault");
    fs::write(place.root.join("f"), vec![b'f'; 3 * PART]).unwrap();
    fs::write(place.root.join("g"), vec![b'g'; 2 * PART + 9]).unwrap();
    place.targets("a", 10, &["f"]);
    let first = walk(&vault.join("packs"));
    place.targets("b", 11, &["g"]);
    let name = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let packs = walk(&vault.join("packs")).into_keys().filter(|name| !name.is_empty());
    let (a, b): (Vec<_>, Vec<_>) = packs.partition(|name| first.contains_key(name));
    let packs = [a, b].map(|names| vault.join("packs").join(name(&names[0])));
    place.sh("echo changed > f; echo changed > g");
    place.settle("a", 12);
    place.settle("b", 13);
    Damaged { place, packs }
}

impl Damaged {
    fn document(&self, folder: &str, name: &str) -> PathBuf {
        self.place.home.join("vault").join(folder).join(name)
    }
}

fn edit(path: &Path, how: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    how(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn exchange(one: &Path, other: &Path) {
    let (first, second) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    fs::write(one, second).unwrap();
    fs::write(other, first).unwrap();
}

const LOST: &str = "lost or damaged in the vault";
const MOVED: &str = "it is not what was encrypted for this place";

/// A manipulation of an encrypted vault, and the error of a restore.
type Row = (&'static str, fn(&Damaged), &'static str);

const ROWS: &[Row] = &[
    (
        "a flipped bit of a content",
        |it| edit(&it.packs[0], |pack| pack[HEADER + ID + 2 * PART] ^= 1),
        LOST,
    ),
    ("a flipped bit of a content's id", |it| edit(&it.packs[0], |pack| pack[HEADER] ^= 1), LOST),
    ("a flipped bit of a tag", |it| edit(&it.packs[0], |pack| pack[HEADER + ID + PART] ^= 1), LOST),
    (
        "a flipped bit of the index",
        |it| {
            edit(&it.packs[0], |pack| {
                let at = pack.len() - 30;
                pack[at] ^= 1
            })
        },
        LOST,
    ),
    (
        "a flipped bit of the foot",
        |it| {
            edit(&it.packs[0], |pack| {
                let at = pack.len() - 16;
                pack[at] ^= 1
            })
        },
        LOST,
    ),
    (
        "a flipped bit of the pack's key",
        |it| edit(&it.packs[0], |pack| pack[HEADER - 1] ^= 1),
        LOST,
    ),
    (
        "a pack that names another key",
        |it| edit(&it.packs[0], |pack| pack[8 + 4 + 7] ^= 1),
        "the key of",
    ),
    (
        "the key of another pack",
        |it| {
            let other = fs::read(&it.packs[1]).unwrap();
            edit(&it.packs[0], |pack| pack[..HEADER].copy_from_slice(&other[..HEADER]))
        },
        LOST,
    ),
    (
        "parts that are exchanged",
        |it| {
            edit(&it.packs[0], |pack| {
                let (one, two) = pack[HEADER + ID..].split_at_mut(PART + 16);
                one.swap_with_slice(&mut two[..PART + 16]);
            })
        },
        LOST,
    ),
    (
        "a part that is missing",
        |it| edit(&it.packs[0], |pack| drop(pack.drain(HEADER + ID..HEADER + ID + PART + 16))),
        LOST,
    ),
    ("a pack that is cut off", |it| edit(&it.packs[0], |pack| pack.truncate(pack.len() - 9)), LOST),
    ("an empty pack", |it| edit(&it.packs[0], Vec::clear), LOST),
    ("no pack", |it| fs::remove_file(&it.packs[0]).unwrap(), LOST),
    ("packs that are exchanged", |it| exchange(&it.packs[0], &it.packs[1]), LOST),
    (
        "checkpoints that are exchanged",
        |it| exchange(&it.document("checkpoints", "a"), &it.document("checkpoints", "b")),
        MOVED,
    ),
    (
        "a root in the place of a checkpoint",
        |it| {
            let key = fs::read(it.document("index", "key")).unwrap();
            fs::write(it.document("checkpoints", "a"), key).unwrap();
        },
        MOVED,
    ),
    (
        "a flipped bit of a checkpoint",
        |it| {
            edit(&it.document("checkpoints", "a"), |file| {
                let at = file.len() - 1;
                file[at] ^= 1
            })
        },
        MOVED,
    ),
    (
        "a checkpoint that is cut off",
        |it| edit(&it.document("checkpoints", "a"), |file| file.truncate(file.len() - 9)),
        MOVED,
    ),
    (
        "a plain text under the mark of an encrypted one",
        |it| {
            edit(&it.document("checkpoints", "a"), |file| {
                file.truncate(8);
                file.extend(b"plain");
            })
        },
        MOVED,
    ),
    (
        "an empty checkpoint",
        |it| edit(&it.document("checkpoints", "a"), Vec::clear),
        "it is too short",
    ),
    (
        "a checkpoint of another version",
        |it| edit(&it.document("checkpoints", "a"), |file| file[7] ^= 0x10),
        "another version",
    ),
];

#[test]
fn damage_is_named_and_changes_nothing() {
    for (name, damage, said) in ROWS {
        let damaged = set_up();
        let before = damaged.place.walk();
        damage(&damaged);
        let vault = open(&damaged.place.home.join("vault"));
        let error = vault.restore_checkpoint(&id("a"), &plainly("u", 20)).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
        assert!(!error.contains('\n'), "{name}: one line");
        assert_same(&before, &damaged.place.walk(), name);
        // Everything else still works.
        damaged.place.act("c", 30, "rm g");
        damaged.place.restore("c", &plainly("v", 40)).unwrap();
        assert_same(&before, &damaged.place.walk(), name);
    }
}

#[test]
fn a_plain_vault_is_read_and_extended_and_then_encrypted() {
    let place = Place::plain();
    let vault = place.home.join("vault");
    place.sh(
        "mkdir folder-name; echo first-content > folder-name/file-name; echo kept-content > kept",
    );
    let first = place.walk();
    place.act("a", 10, "echo second-content > folder-name/file-name");
    let second = place.walk();
    std::thread::sleep(Duration::from_millis(3500));
    place.take("settles-stamps", 15);
    keys(&vault).set_off(false).unwrap();
    let taken = place.take("b", 20);
    assert_eq!((taken.bytes_read, taken.bytes_stored), (0, 0), "the newest snapshot is known");
    place.sh("echo third-content > folder-name/file-name");
    place.settle("b", 21);
    place.restore("b", &plainly("u", 30)).unwrap();
    assert_same(&second, &place.walk(), "by the encrypted one");
    place.restore("a", &plainly("v", 40)).unwrap();
    assert_same(&first, &place.walk(), "by the plain one");
    let contents = ["first-content\n", "second-content\n", "third-content\n", "kept-content\n"];
    let texts = hidden(&place, &contents, &["folder-name"]);
    assert!(!shown(&vault, &texts).is_empty());
    place.vault.collect_garbage(&KEEP, 100).unwrap();
    let left = shown(&vault, &texts);
    assert!(left.is_empty(), "{left:?}");
    let listed = place.vault.list().unwrap();
    assert_eq!((listed.checkpoints.len(), listed.damaged.len()), (5, 0));
    // Plain again: what is encrypted stays readable.
    keys(&vault).set_off(true).unwrap();
    assert_eq!(place.targets("c", 50, &["kept"]).bytes_stored, 0);
    place.restore("v", &plainly("w", 60)).unwrap();
    assert_same(&second, &place.walk(), "by a plain process");
    place.vault.collect_garbage(&KEEP, 100).unwrap();
    place.restore("w", &plainly("x", 70)).unwrap();
    assert_same(&first, &place.walk(), "by a plain process, collected");
}

/// A key that is away for some time, by the shell command that takes it away, and the error.
const AWAY: &[(&str, &str, &str)] = &[
    ("the master key", "mv keys/master/values away", "is not available"),
    ("all master keys", "mv keys/master away", "which this home does not have"),
    ("the keys of the day", "mkdir away; mv keys/checkpoints-* away", "is not there"),
];

#[test]
fn without_its_keys_a_vault_loses_nothing() {
    for (name, away, said) in AWAY {
        let place = Place::new();
        let vault = place.home.join("vault");
        place.sh("echo 1 > f; echo 1 > g");
        let before = place.walk();
        place.act("a", 10, "echo 2 > f");
        place.act("b", 20, "echo 3 > f");
        let (after, saved) = (place.walk(), walk(&vault));
        sh(&place.home, away);
        let locked = open(&vault);
        let no_retention = Retention { keep: Duration::ZERO, max_bytes: 0 };
        let errors = [
            locked.restore_checkpoint(&id("a"), &plainly("u", 30)).map(drop),
            locked.collect_garbage(&no_retention, 40).map(drop),
            locked.show_checkpoint(&id("a")).map(drop),
            locked.settle_checkpoint(&id("a"), 30, TIME).map(drop),
        ];
        for error in errors {
            let Err(error @ CheckpointError::Encryption { .. }) = error else {
                panic!("{name}: {error:?}")
            };
            let text = error.to_string();
            assert!(
                text.contains(said) && text.contains("vault/") && !text.contains('\n'),
                "{name}: {text}"
            );
        }
        let listed = locked.list().unwrap();
        assert!(listed.checkpoints.is_empty() && listed.damaged.len() >= 2, "{name}: {listed:?}");
        let mut kept = walk(&vault);
        for walk in [&mut kept, &mut saved.clone()] {
            walk.retain(|path, _| !path.starts_with(b"lock") && !path.starts_with(b"restore.lock"));
        }
        for (path, bytes) in &saved {
            let is_lock = path.ends_with(b"lock") || path.ends_with(b"clock");
            assert!(
                is_lock || kept.get(path) == Some(bytes),
                "{name}: {}",
                String::from_utf8_lossy(path)
            );
        }
        assert_same(&after, &place.walk(), name);
        if name.contains("master") {
            let taken = locked.take_checkpoint(&place.request("c", 30, What::Tree));
            assert!(
                matches!(taken, Err(CheckpointError::Encryption { .. })) || name.contains("all"),
                "{name}: {taken:?}"
            );
        }
        sh(
            &place.home,
            match *name {
                "the master key" => "mv away keys/master/values",
                "all master keys" => "rm -rf keys/master; mv away keys/master",
                _ => "mv away/* keys",
            },
        );
        place.restore("a", &plainly("u", 50)).unwrap();
        assert_same(&before, &place.walk(), name);
        assert_eq!(open(&vault).collect_garbage(&KEEP, 60).unwrap().checkpoints, 0, "{name}");
    }
}

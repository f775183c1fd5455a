//! Random trees, random edits, and a person in between.

use crate::support::{Place, Walk, assert_same, forced, plainly, set_mode, sh};
use portcullis_checkpoint::{CheckpointError, Id};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAMES: [&[u8]; 9] = [
    b"a",
    b"b",
    b"with space",
    b"new\nline",
    "\u{e4}\u{1f980}".as_bytes(),
    b"\xff\xfe",
    b"-rf",
    b"$HOME",
    b"node_modules",
];

#[derive(Clone, Debug)]
enum Edit {
    Write(PathBuf, Vec<u8>),
    Append(PathBuf, Vec<u8>),
    Truncate(PathBuf),
    Delete(PathBuf),
    Move(PathBuf, PathBuf),
    Mode(PathBuf, u32),
    Link(PathBuf, PathBuf),
    HardLink(PathBuf, PathBuf),
    Folder(PathBuf),
    FileAndBack(PathBuf),
    Shell(PathBuf, PathBuf),
}

impl Edit {
    /// Applies an edit; edits that are impossible here are skipped.
    fn apply(&self, root: &Path) {
        let at = |path: &PathBuf| root.join(path);
        let remove =
            |path: &PathBuf| fs::remove_file(at(path)).or_else(|_| fs::remove_dir_all(at(path)));
        let _ = match self {
            Self::Write(path, bytes) => fs::write(at(path), bytes),
            Self::Append(path, bytes) => fs::OpenOptions::new()
                .append(true)
                .open(at(path))
                .and_then(|mut file| file.write_all(bytes)),
            Self::Truncate(path) => {
                fs::OpenOptions::new().write(true).open(at(path)).and_then(|file| file.set_len(3))
            }
            Self::Delete(path) => remove(path),
            Self::Move(from, to) => fs::rename(at(from), at(to)),
            Self::Mode(path, mode)
                if fs::symlink_metadata(at(path)).is_ok_and(|found| !found.is_symlink()) =>
            {
                set_mode(&at(path), *mode);
                Ok(())
            }
            Self::Mode(..) => Ok(()),
            Self::Link(path, text) => std::os::unix::fs::symlink(text, at(path)),
            Self::HardLink(from, to) => fs::hard_link(at(from), at(to)),
            Self::Folder(path) => fs::create_dir_all(at(path)),
            Self::FileAndBack(path) => remove(path)
                .and_then(|()| fs::create_dir(at(path)))
                .and_then(|()| fs::write(at(path).join("in"), "x")),
            Self::Shell(one, other) => {
                let quote = |path: &PathBuf| {
                    let mut quoted = b"'./".to_vec();
                    quoted.extend_from_slice(path.as_os_str().as_bytes());
                    quoted.push(b'\'');
                    OsStr::from_bytes(&quoted).to_owned()
                };
                let mut script = std::ffi::OsString::from("cp -a ");
                script.push(quote(one));
                script.push(" ");
                script.push(quote(other));
                script.push(" 2>/dev/null; true");
                std::process::Command::new("sh")
                    .arg("-c")
                    .arg(script)
                    .current_dir(root)
                    .status()
                    .map(|_| ())
            }
        };
    }
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(prop::sample::select(&NAMES[..]), 1..4)
        .prop_map(|names| PathBuf::from(OsStr::from_bytes(&names.join(&b'/'))))
}

fn text() -> impl Strategy<Value = PathBuf> {
    prop_oneof![
        path(),
        path().prop_map(|path| Path::new("/nowhere").join(path)),
        Just(PathBuf::from("..")),
        Just(PathBuf::from("/etc"))
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let bytes = || prop_oneof![prop::collection::vec(any::<u8>(), 0..40), Just(vec![0; 9000])];
    // Only the superuser can read files without any permission.
    let modes = if rustix::process::geteuid().is_root() { 0 } else { 0o700 };
    prop_oneof![
        4 => (path(), bytes()).prop_map(|(path, bytes)| Edit::Write(path, bytes)),
        3 => path().prop_map(Edit::Folder),
        1 => (path(), bytes()).prop_map(|(path, bytes)| Edit::Append(path, bytes)),
        1 => path().prop_map(Edit::Truncate),
        2 => path().prop_map(Edit::Delete),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => (path(), 0o000_u32..=0o7777).prop_map(move |(path, mode)| Edit::Mode(path, mode | modes)),
        1 => (path(), text()).prop_map(|(path, text)| Edit::Link(path, text)),
        1 => (path(), path()).prop_map(|(from, to)| Edit::HardLink(from, to)),
        1 => path().prop_map(Edit::FileAndBack),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Shell(from, to)),
    ]
}

fn edits(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), count)
}

fn act(place: &Place, name: &str, at: u64, edits: &[Edit]) -> Walk {
    let before = place.walk();
    assert!(place.take(name, at).complete);
    edits.iter().for_each(|edit| edit.apply(&place.root));
    assert!(place.settle(name, at + 1).complete);
    before
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn three_actions_are_put_back_to_each(tree in edits(0..25), actions in prop::collection::vec(edits(1..12), 3), to in 0_usize..3) {
        let place = Place::new();
        tree.iter().for_each(|edit| edit.apply(&place.root));
        let befores: Vec<Walk> = actions.iter().enumerate().map(|(at, edits)| act(&place, &format!("a{at}"), at as u64 * 10, edits)).collect();
        let end = place.walk();
        let restored = place.restore(&format!("a{to}"), &plainly("u", 100)).unwrap();
        assert_same(&befores[to], &place.walk(), "restored");
        if restored.undo.is_some() {
            place.restore("u", &plainly("v", 110)).unwrap();
            assert_same(&end, &place.walk(), "undone");
        }
        for (at, before) in befores.iter().enumerate().rev() {
            place.restore(&format!("a{at}"), &plainly(&format!("w{at}"), 130 - at as u64)).unwrap();
            assert_same(before, &place.walk(), "one by one");
        }
    }

    #[test]
    fn a_persons_changes_stay(tree in edits(0..25), action in edits(1..12), person in edits(1..5)) {
        let place = Place::new();
        tree.iter().for_each(|edit| edit.apply(&place.root));
        let before = act(&place, "a", 10, &action);
        let after = place.walk();
        person.iter().for_each(|edit| edit.apply(&place.root));
        let edited = place.walk();
        let theirs = |path: &Vec<u8>| after.get(path) != edited.get(path);
        let inside = |path: &Vec<u8>, top: &Vec<u8>| path.starts_with(&[top.as_slice(), b"/"].concat());
        let paths: std::collections::BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).chain(edited.keys()).collect();
        match place.restore("a", &plainly("u", 20)) {
            Ok(restored) => {
                let now = place.walk();
                for path in paths {
                    let stays = restored.stays.iter().any(|stays| stays.strip_prefix(&place.root).unwrap().as_os_str().as_bytes() == path.as_slice());
                    let right = if theirs(path) || stays { now.get(path) == edited.get(path) } else { now.get(path) == before.get(path) };
                    assert!(right, "{}", String::from_utf8_lossy(path));
                    assert!(!stays || now.keys().any(|other| inside(other, path) && theirs(other)), "{}", String::from_utf8_lossy(path));
                }
            }
            Err(CheckpointError::Refused { paths }) => {
                assert_same(&edited, &place.walk(), "nothing is touched");
                for one in paths {
                    let path = one.path.strip_prefix(&place.root).unwrap().as_os_str().as_bytes().to_vec();
                    let cause = edited.keys().chain(after.keys()).any(|other| theirs(other) && (*other == path || inside(other, &path) || inside(&path, other)));
                    assert!(cause, "{:?} was not changed by the person", one.path);
                }
                // With force it is restored, except for paths that a person's link or file blocks,
                // and that can be undone.
                if place.restore("a", &forced("f", 30)).is_ok() {
                    let now = place.walk();
                    for path in before.keys().filter(|path| before.get(*path) != after.get(*path)) {
                        assert_eq!(now.get(path), before.get(path), "{}", String::from_utf8_lossy(path));
                    }
                    place.restore("f", &plainly("g", 40)).unwrap();
                    assert_same(&edited, &place.walk(), "force undone");
                } else {
                    assert_same(&edited, &place.walk(), "nothing is touched");
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn ids_are_names(name in "\\PC{0,20}") {
        let good = !name.is_empty() && !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        assert_eq!(Id::new(name).is_ok(), good);
    }
}

#[test]
fn targets_alone_are_put_back() {
    let place = Place::new();
    place.sh("mkdir -p d/e && echo 1 > d/e/f && echo 2 > g && ln -s g link && echo 3 > other");
    let before = place.walk();
    let taken = place.targets("a", 10, &["d", "link", "new/deep/file", "gone"]);
    assert!(taken.complete && taken.files == 2, "{taken:?}");
    sh(
        &place.root,
        "rm -r d; mkdir -p d/z; echo 4 >> link; mkdir -p new/deep; echo 5 > new/deep/file; echo 6 > other",
    );
    assert_eq!(place.settle("a", 11).changes.len(), 7);
    place.restore("a", &plainly("u", 20)).unwrap();
    let mut wanted = before;
    wanted.get_mut(b"other".as_slice()).unwrap().2 = b"6\n".to_vec();
    assert_same(&wanted, &place.walk(), "targets");
}

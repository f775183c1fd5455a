//! Compiled code on disk: used if it is our own, compiled again if not, never trusted because it
//! exists.

use crate::guests::{action, context, file_entry, good, no_details, reader, set};
use portcullis_core::plugins::Plugins;
use portcullis_core::score::Score;
use portcullis_engine::{CodeCache, Engine, Kind};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const KEY: [u8; 32] = [7; 32];

/// A folder with a plugin and a cache.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(place.plugin(), good(420)).unwrap();
        place
    }

    fn plugin(&self) -> PathBuf {
        self.folder.path().join("plugin.wasm")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Asks one question with a new engine, as a new process would. Returns the score and the
    /// cache's complaints.
    fn ask(&self, key: [u8; 32]) -> (Option<Score>, Vec<String>) {
        let engine = Engine::new(Some(CodeCache::new(&self.cache(), key))).unwrap();
        let mut set = set(&engine, vec![file_entry("plugin", self.plugin())]);
        let answer = set.assess(&action(), &context(), &no_details).remove(0);
        let score = answer.result.unwrap().risk.map(|risk| risk.score);
        (score, set.take_cache_events().into_iter().map(|event| event.reason).collect())
    }

    /// Returns the detail of the plugin's fault if something happens between the inspection of its
    /// file and its call.
    fn fault(&self, happens: impl Fn(&Self)) -> String {
        let engine = Engine::new(Some(CodeCache::new(&self.cache(), KEY))).unwrap();
        let mut set = set(&engine, vec![file_entry("plugin", self.plugin())]);
        drop(set.describe_all());
        happens(self);
        set.assess(&action(), &context(), &no_details).remove(0).result.unwrap_err().detail
    }

    /// Waits long enough for receipts, several times, so that the second run writes one and the
    /// third uses it.
    fn settle(&self) {
        for _ in 0..3 {
            assert_eq!(self.ask(KEY), (Some(Score::new(420)), vec![]));
            sleep(Duration::from_millis(60));
        }
    }

    fn files(&self, suffix: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.cache()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.to_string_lossy().ends_with(suffix)).collect()
    }

    fn file(&self, suffix: &str) -> PathBuf {
        match self.files(suffix).as_slice() {
            [file] => file.clone(),
            files => panic!("one {suffix}, not {files:?}"),
        }
    }
}

fn flip(path: &Path, at: impl Fn(&[u8]) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = at(&bytes);
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Returns the offset of the machine code in the file: its ELF section `.text`.
fn in_text(bytes: &[u8]) -> usize {
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let (headers, size, count, names) =
        (number(40, 8), number(58, 2), number(60, 2), number(62, 2));
    let field = |section: usize, offset: usize, length: usize| {
        number(headers + section * size + offset, length)
    };
    let strings = field(names, 24, 8);
    let text = (0..count)
        .find(|section| bytes[strings + field(*section, 0, 4)..].starts_with(b".text\0"))
        .expect("a text section");
    field(text, 24, 8) + field(text, 32, 8) / 2
}

#[test]
fn files_are_ours_alone() {
    let place = Place::new();
    place.settle();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.cache()), 0o700);
    let files = place.files("");
    assert_eq!(files.len(), 3, "code, tag and card: {files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600));
}

/// Most hooks call none of the exporters and interventions that are installed, and each hook has to
/// know what they are.
#[test]
fn a_file_that_is_not_called_is_read_once() {
    const PADDING: usize = 1 << 20;
    let place = Place::new();
    let mut bytes = good(420);
    // A custom section: its kind, its length in LEB128, the length of its name, and its content.
    bytes.extend([0, 0x80, 0x80, 0x40, 0]);
    bytes.resize(bytes.len() + PADDING - 1, 0);
    fs::write(place.plugin(), bytes).unwrap();
    sleep(Duration::from_millis(60));
    let describe = || {
        let engine = Engine::new(Some(CodeCache::new(&place.cache(), KEY))).unwrap();
        let before = bytes_read();
        let mut set = set(&engine, vec![file_entry("plugin", place.plugin())]);
        let found = set.describe_all().remove(1).inspection.unwrap().digest;
        (found, bytes_read() - before > PADDING)
    };
    let (digest, first) = describe();
    assert!(first, "a new file is read");
    assert_eq!(describe(), (digest.clone(), false), "a known one is not");
    assert_eq!(place.files("").len(), 1, "nothing was compiled");
    place.settle();
    assert_eq!(describe(), (digest.clone(), false), "nor one that was called since");
    fs::write(place.plugin(), good(421)).unwrap();
    assert_ne!(describe().0, digest, "another file is another plugin");
}

/// Returns how many bytes this thread has read so far.
fn bytes_read() -> usize {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let read = counters.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    read.parse().unwrap()
}

#[test]
fn compiled_code_is_reused() {
    let place = Place::new();
    place.settle();
    let before = fs::metadata(place.file(".code")).unwrap().modified().unwrap();
    place.settle();
    assert_eq!(fs::metadata(place.file(".code")).unwrap().modified().unwrap(), before);
}

/// A receipt makes checking the code's signature unnecessary: without the signature's file, the
/// code is still used. A file that was written to since, even with the same bytes, needs its
/// signature again.
#[test]
fn a_receipt_holds_until_the_file_is_touched() {
    let place = Place::new();
    place.settle();
    fs::remove_file(place.file(".tag")).unwrap();
    assert_eq!(place.ask(KEY), (Some(Score::new(420)), vec![]));
    assert!(place.files(".tag").is_empty(), "it was not compiled again");
    let code = place.file(".code");
    fs::write(&code, fs::read(&code).unwrap()).unwrap();
    assert_eq!(place.ask(KEY), (Some(Score::new(420)), vec![]));
    assert!(!place.files(".tag").is_empty(), "it was compiled again");
}

type Harm = fn(&Place);
type Which = fn(&Place) -> PathBuf;

/// Manipulations of the cache, each with the complaint that it causes.
const HARMS: &[(&str, Harm, &str)] = &[
    (
        "a byte of machine code flipped",
        |place| flip(&place.file(".code"), in_text),
        "signature does not match",
    ),
    (
        "the first byte flipped",
        |place| flip(&place.file(".code"), |_| 0),
        "signature does not match",
    ),
    (
        "code cut short",
        |place| {
            fs::write(place.file(".code"), &fs::read(place.file(".code")).unwrap()[..1000]).unwrap()
        },
        "signature does not match",
    ),
    ("code empty", |place| fs::write(place.file(".code"), "").unwrap(), "signature does not match"),
    (
        "the tag flipped",
        |place| {
            flip(&place.file(".tag"), |_| 5);
            flip(&place.file(".card"), |_| 5)
        },
        "signature does not match",
    ),
    (
        "the tag cut short",
        |place| {
            fs::write(place.file(".tag"), "x").unwrap();
            flip(&place.file(".card"), |_| 40)
        },
        "signature does not match",
    ),
    (
        "the card flipped",
        |place| flip(&place.file(".card"), |bytes| bytes.len() - 1),
        "signature does not match",
    ),
    ("the card cut short", |place| fs::write(place.file(".card"), "x").unwrap(), "cut short"),
    (
        "code readable by others",
        |place| fs::set_permissions(place.file(".code"), Permissions::from_mode(0o644)).unwrap(),
        "mode is 644",
    ),
    (
        "card writable by others",
        |place| fs::set_permissions(place.file(".card"), Permissions::from_mode(0o620)).unwrap(),
        "mode is 620",
    ),
    (
        "code a link",
        |place| {
            let (code, away) = (place.file(".code"), place.folder.path().join("away"));
            fs::rename(&code, &away).unwrap();
            symlink(&away, &code).unwrap();
        },
        "symbolic link",
    ),
    (
        "code a folder",
        |place| {
            let code = place.file(".code");
            fs::remove_file(&code).unwrap();
            fs::create_dir(&code).unwrap()
        },
        "not a file",
    ),
    (
        "code written to through another name",
        |place| {
            let away = place.folder.path().join("away");
            fs::hard_link(place.file(".code"), &away).unwrap();
            flip(&away, in_text);
        },
        "signature does not match",
    ),
    (
        "folder open to others",
        |place| fs::set_permissions(place.cache(), Permissions::from_mode(0o755)).unwrap(),
        "mode is 755",
    ),
];

#[test]
fn harm_is_noticed_reported_and_fixed() {
    for (name, harm, says) in HARMS {
        let place = Place::new();
        place.settle();
        harm(&place);
        let (score, complaints) = place.ask(KEY);
        assert_eq!(score, Some(Score::new(420)), "{name}");
        assert!(
            complaints.iter().any(|complaint| complaint.contains(says)),
            "{name}: {complaints:?}"
        );
    }
}

/// Only the superuser can give files away: other users cannot test this.
#[test]
fn files_of_other_users_are_not_used() {
    const NOBODY: u32 = 65_534;
    let table: [(&str, Which); 4] = [
        ("code", |place| place.file(".code")),
        ("tag", |place| place.file(".tag")),
        ("card", |place| place.file(".card")),
        ("folder", Place::cache),
    ];
    for (name, of) in table {
        let place = Place::new();
        place.settle();
        // With a receipt, the tag is not read.
        if name == "tag" {
            fs::remove_file(place.file(".card")).unwrap();
        }
        if let Err(error) = chown(of(&place), Some(NOBODY), None) {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{name}");
            return;
        }
        let (score, complaints) = place.ask(KEY);
        assert_eq!(score, Some(Score::new(420)), "{name}");
        assert!(
            complaints.iter().any(|complaint| complaint.contains("it belongs to user 65534")),
            "{name}: {complaints:?}"
        );
    }
}

/// Machine code comes from the cache alone, whatever its name elsewhere.
#[test]
fn compiled_code_is_no_plugin() {
    let place = Place::new();
    place.settle();
    fs::copy(place.file(".code"), place.plugin()).unwrap();
    let detail = place.fault(|_| {});
    assert!(detail.contains("it is not WebAssembly"), "{detail}");
}

/// The inspected file is the one that is loaded: a file that replaces it in between is a fault, and
/// is neither compiled nor waited for.
#[test]
fn a_file_that_is_swapped_after_it_was_looked_at_is_not_loaded() {
    let table: [(Harm, &str); 4] = [
        (
            |place| fs::write(place.plugin(), good(900)).unwrap(),
            "it changed while it was being loaded",
        ),
        (
            |place| {
                let other = place.folder.path().join("other.wasm");
                fs::write(&other, good(900)).unwrap();
                fs::rename(other, place.plugin()).unwrap();
            },
            "it changed while it was being loaded",
        ),
        (
            |place| {
                fs::remove_file(place.plugin()).unwrap();
                assert!(Command::new("mkfifo").arg(place.plugin()).status().unwrap().success());
            },
            "it is not a file",
        ),
        (|place| fs::remove_file(place.plugin()).unwrap(), "No such file"),
    ];
    for (swap, says) in table {
        let place = Place::new();
        place.settle();
        fs::remove_file(place.file(".code")).unwrap();
        let detail = place.fault(swap);
        assert!(detail.contains(says), "{detail}");
    }
}

#[test]
fn another_key_finds_nothing_of_ours() {
    let place = Place::new();
    place.settle();
    let (score, complaints) = place.ask([8; 32]);
    assert_eq!(score, Some(Score::new(420)));
    assert!(!complaints.is_empty());
}

/// Valid files under another name are not valid.
#[test]
fn code_of_one_plugin_does_not_pass_for_another() {
    let (place, other) = (Place::new(), Place::new());
    place.settle();
    fs::write(other.plugin(), good(900)).unwrap();
    assert_eq!(other.ask(KEY).0, Some(Score::new(900)));
    for suffix in [".code", ".tag"] {
        fs::copy(other.file(suffix), place.file(suffix)).unwrap();
    }
    let (score, complaints) = place.ask(KEY);
    assert_eq!(score, Some(Score::new(420)));
    assert!(complaints.iter().any(|complaint| complaint.contains("signature")), "{complaints:?}");
}

#[test]
fn a_plugin_that_changes_is_read_again() {
    let place = Place::new();
    place.settle();
    fs::write(place.plugin(), good(900)).unwrap();
    assert_eq!(place.ask(KEY), (Some(Score::new(900)), vec![]));
    fs::remove_file(place.plugin()).unwrap();
    let engine = Engine::new(Some(CodeCache::new(&place.cache(), KEY))).unwrap();
    let mut set = set(&engine, vec![file_entry("plugin", place.plugin())]);
    assert!(set.assess(&action(), &context(), &no_details)[0].result.is_err());
}

/// A folder that cannot be written to costs time, nothing else.
#[test]
fn a_cache_that_cannot_be_made_is_done_without() {
    let place = Place::new();
    fs::write(place.cache(), "in the way").unwrap();
    let (score, complaints) = place.ask(KEY);
    assert_eq!(score, Some(Score::new(420)));
    assert!(!complaints.is_empty());
    assert!(matches!(
        reader().source,
        portcullis_engine::Source::Builtin { kind: Kind::ShellReader, .. }
    ));
}

/// A sweep removes files that are old and not needed, and a plugin whose code it removed still
/// works.
#[test]
fn a_sweep_takes_what_is_not_needed() {
    let place = Place::new();
    assert_eq!(place.ask(KEY).0, Some(Score::new(420)));
    fs::write(place.cache().join(".left-over.code.1.0"), "x").unwrap();
    let names = || -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(place.cache())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let before = names();
    let plugin = before
        .iter()
        .find(|name| name.ends_with(".code"))
        .unwrap()
        .split('-')
        .next()
        .unwrap()
        .to_owned();
    let cache = CodeCache::new(&place.cache(), KEY);
    let an_hour = Duration::from_secs(3600);
    assert_eq!(cache.sweep_unused(&[], an_hour).unwrap().files, 0, "nothing is old");
    let swept = cache.sweep_unused(std::slice::from_ref(&plugin), Duration::ZERO).unwrap();
    assert_eq!(swept.files as usize + names().len(), before.len());
    assert!(
        names().iter().all(|name| name.starts_with(&plugin)) && names().len() == 2,
        "{:?}",
        names()
    );
    assert_eq!(place.ask(KEY).0, Some(Score::new(420)));
    assert!(cache.sweep_unused(&[], Duration::ZERO).unwrap().files >= 2);
    assert_eq!(place.ask(KEY), (Some(Score::new(420)), Vec::new()));
}

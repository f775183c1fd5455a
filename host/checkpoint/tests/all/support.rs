//! A folder to act in, and a walk over it that shares no code with the crate.

use portcullis_checkpoint::{
    Allowed, Bounds, CheckpointDurability, CheckpointError, CheckpointRequest, ExclusionPolicy,
    FileAccess, FilePort, Id, RestoreOptions, Restored, SettledChanges, Taken, Vault, What,
    answer_request,
};
use portcullis_encryption::DataKeys;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Long enough for every test.
pub(crate) const TIME: Duration = Duration::from_secs(60);

/// A tree as a person sees it: path to kind, permission bits, and bytes or text.
pub(crate) type Walk = BTreeMap<Vec<u8>, (char, u32, Vec<u8>)>;

pub(crate) fn walk(root: &Path) -> Walk {
    let mut seen = Walk::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let mode = found.mode() & 0o7777;
        if found.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            seen.insert(name, ('d', mode, Vec::new()));
        } else if found.is_symlink() {
            seen.insert(
                name,
                ('l', 0, fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()),
            );
        } else if found.is_file() {
            seen.insert(name, ('f', mode, fs::read(&path).unwrap()));
        } else {
            seen.insert(name, ('s', mode, Vec::new()));
        }
    }
    seen
}

/// Returns the paths that differ, for a readable failure.
pub(crate) fn differing(one: &Walk, other: &Walk) -> Vec<String> {
    let paths: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let shown = |walk: &Walk, path: &Vec<u8>| match walk.get(path) {
        None => "nothing".to_owned(),
        Some((kind, mode, bytes)) => {
            format!("{kind} {mode:o} {}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]))
        }
    };
    let differs = paths.into_iter().filter(|path| one.get(*path) != other.get(*path));
    differs
        .map(|path| {
            format!(
                "{}: {} | {}",
                String::from_utf8_lossy(path),
                shown(one, path),
                shown(other, path)
            )
        })
        .collect()
}

#[track_caller]
pub(crate) fn assert_same(one: &Walk, other: &Walk, what: &str) {
    assert!(one == other, "{what}:\n{}", differing(one, other).join("\n"));
}

/// A vault and a root next to it.
pub(crate) struct Place {
    pub(crate) vault: Vault,
    pub(crate) root: PathBuf,
    pub(crate) home: PathBuf,
    _folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::of(false)
    }

    /// A place with a vault that is not encrypted.
    pub(crate) fn plain() -> Self {
        Self::of(true)
    }

    pub(crate) fn of(is_plain: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap();
        let root = home.join("root");
        fs::create_dir(&root).unwrap();
        keys(&home.join("vault")).set_off(is_plain).unwrap();
        let vault = open(&home.join("vault"));
        Self { vault, root, home, _folder: folder }
    }

    /// Runs a script in the root.
    pub(crate) fn sh(&self, script: &str) {
        sh(&self.root, script);
    }

    pub(crate) fn request(&self, name: &str, at: u64, what: What) -> CheckpointRequest {
        CheckpointRequest {
            id: id(name),
            at,
            roots: vec![self.root.clone()],
            what,
            policy: ExclusionPolicy::keep_all(),
            budget: TIME,
        }
    }

    pub(crate) fn take(&self, name: &str, at: u64) -> Taken {
        self.vault.take_checkpoint(&self.request(name, at, What::Tree)).unwrap()
    }

    pub(crate) fn targets(&self, name: &str, at: u64, paths: &[&str]) -> Taken {
        let paths = paths.iter().map(|path| self.root.join(path)).collect();
        self.vault.take_checkpoint(&self.request(name, at, What::Targets(paths))).unwrap()
    }

    pub(crate) fn settle(&self, name: &str, at: u64) -> SettledChanges {
        self.vault.settle_checkpoint(&id(name), at, TIME).unwrap()
    }

    /// Performs a whole action.
    pub(crate) fn act(&self, name: &str, at: u64, script: &str) -> SettledChanges {
        self.take(name, at);
        self.sh(script);
        self.settle(name, at + 1)
    }

    pub(crate) fn restore(
        &self,
        name: &str,
        how: &RestoreOptions,
    ) -> Result<Restored, CheckpointError> {
        self.vault.restore_checkpoint(&id(name), how)
    }

    pub(crate) fn walk(&self) -> Walk {
        walk(&self.root)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Folders without permission to enter could not be removed.
        let _ = Command::new("chmod")
            .args(["-R", "u+rwX"])
            .arg(&self.home)
            .stderr(std::process::Stdio::null())
            .status();
    }
}

pub(crate) fn open(folder: &Path) -> Vault {
    let bounds =
        Bounds { durability: CheckpointDurability::Process, patience: TIME, ..Bounds::default() };
    let vault = Vault::open_folder(folder, &keys(folder), bounds).unwrap();
    if crate::HANDED { vault.with_files(FileAccess::through(Handing)) } else { vault }
}

/// The keys of a vault, as another process sees them: nothing read yet.
pub(crate) fn keys(vault: &Path) -> DataKeys {
    DataKeys::new(vault.with_file_name("keys"), [7; 32])
}

/// Returns each file of a vault that shows one of the texts, in its name or its bytes.
pub(crate) fn shown(vault: &Path, texts: &[Vec<u8>]) -> Vec<String> {
    let shows = |bytes: &[u8]| {
        texts.iter().find(|text| bytes.windows(text.len()).any(|part| part == text.as_slice()))
    };
    let found = walk(vault).into_iter().filter_map(|(name, (_, _, bytes))| {
        let text = shows(&name).or_else(|| shows(&bytes))?;
        let [name, text] = [&name, text].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Some(format!("{name} shows {text:?}"))
    });
    found.collect()
}

/// Returns the digest of a text as bytes and as digits.
pub(crate) fn digests(text: &[u8]) -> [Vec<u8>; 2] {
    let digest = blake3::hash(text);
    [digest.as_bytes().to_vec(), digest.to_hex().as_bytes().to_vec()]
}

/// The files as another process hands them over.
struct Handing;

impl FilePort for Handing {
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        Ok(answer_request(request, Allowed::Change))
    }

    fn reject(&self, why: &str) {
        panic!("{why}");
    }
}

pub(crate) fn sh(folder: &Path, script: &str) {
    let done = Command::new("sh").arg("-c").arg(script).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "`{script}`: {}", String::from_utf8_lossy(&done.stderr));
}

pub(crate) fn id(name: &str) -> Id {
    Id::new(name).unwrap()
}

pub(crate) fn plainly(undo: &str, at: u64) -> RestoreOptions {
    RestoreOptions {
        undo: id(undo),
        at,
        force: false,
        only: Vec::new(),
        also: Vec::new(),
        dry: false,
    }
}

pub(crate) fn forced(undo: &str, at: u64) -> RestoreOptions {
    RestoreOptions { force: true, ..plainly(undo, at) }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

//! Compiled code and receipts on disk, stored under a key.
//!
//! Compiled code is machine code: anyone who can replace it with bytes of their own runs code in
//! the host, outside any sandbox. wasmtime detects a truncated file, but not a flipped byte. So
//! every file here carries a BLAKE3 MAC, keyed with the installation's key, over its content, its
//! purpose and its name. A file without a valid one is treated as absent, and the component is
//! compiled again.
//!
//! Checking the code of a whole artefact costs more than loading it. So the cached metadata (one
//! small file for each plugin and its settings) remembers which file was checked: device, inode,
//! size, time of change of content and of status. The kernel sets the last one at each write, and
//! no call sets it back. A file that changed less than `MIN_RECEIPT_AGE` ago gets no such receipt,
//! since a second write could carry the same time.
//!
//! The threat model:
//! - Another user can do nothing: the folder is 0700, the files 0600, and neither is used if its
//!   mode differs or it belongs to someone else.
//! - Someone who can write the files but lacks the key (a restored backup, a broken disk, a tool
//!   that was given the folder) gets no byte executed. Moving valid files around does not help
//!   either, since names and digests are part of what is signed. Deleting them costs time, nothing
//!   else.
//! - The same user, which an agent usually is, can read the key wherever the program can, can write
//!   to a mapped artefact between check and use, can set the clock, and can replace the program. A
//!   MAC does not stop that user. Only an installation that belongs to root does.

mod compile_lock;
mod failed;
mod files;
mod metadata;

pub(crate) use compile_lock::CompileLock;
pub(crate) use failed::{CompileFailure, FAILURE_TTL};
pub(crate) use files::Stamp;
pub(crate) use metadata::{CachedFacts, CachedMetadata};

pub use files::SweepStats;

use files::{PrivateFolder, Unusable};
use portcullis_fs::OpenFile;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wasmtime::component::Component;

/// The minimum age of a file's last change before it gets a receipt, so that its next change is
/// sure to have another time stamp: some ticks of the coarsest kernel clock.
pub(crate) const MIN_RECEIPT_AGE: Duration = Duration::from_millis(50);

/// The context of the names of metadata. Its number changes with the types of the metadata: what an
/// earlier build encoded must not be read as something else.
const CARD_NAMES: &str = "portcullis card name 3";

/// Compiled code and receipts in a folder, signed with a key.
pub struct CodeCache {
    path: PathBuf,
    key: [u8; 32],
    folder: OnceLock<Option<PrivateFolder>>,
    events: Mutex<Vec<CacheEvent>>,
}

/// A cache entry that could not be used. The plugin was compiled again; the caller records the
/// event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEvent {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason why it was not used.
    pub reason: String,
}

impl CodeCache {
    /// Returns a cache in `dir`, which is created at first use. `key` is the installation's secret:
    /// with another one, everything is compiled again.
    #[must_use]
    pub fn new(dir: &Path, key: [u8; 32]) -> Self {
        Self { path: dir.to_owned(), key, folder: OnceLock::new(), events: Mutex::new(Vec::new()) }
    }

    /// Returns the compiled form of the component with that digest, if a trustworthy one exists,
    /// and the stamp of its file if a receipt can be given for it.
    pub(crate) fn code(
        &self,
        engine: &wasmtime::Engine,
        digest: &str,
        receipt: Option<Stamp>,
    ) -> Option<(Component, Option<Stamp>)> {
        let name = code_name(digest);
        let (open, stamp) = self.open(&name)?;
        if receipt == Some(stamp)
            && let Some(component) = map(engine, &open.file)
        {
            return Some((component, Some(stamp)));
        }
        let bytes = self.noted(&name, files::read_all(&open))?;
        let tag = self.read(&format!("{name}.tag"))?;
        if !self.signed(&name, "code", &bytes, &tag) {
            self.note(&name, "its signature does not match");
            return None;
        }
        // SAFETY: the MAC over exactly these bytes, for this digest and this build of the program,
        // was made with our key, so our own compiler produced them.
        #[allow(
            unsafe_code,
            reason = "wasmtime cannot tell whose machine code it loads; the signature does"
        )]
        let component = unsafe { Component::deserialize(engine, &bytes) };
        match component {
            Ok(component) => Some((component, stamp.settled(MIN_RECEIPT_AGE).then_some(stamp))),
            Err(error) => {
                self.note(&name, &format!("wasmtime refuses it: {}", error.root_cause()));
                None
            }
        }
    }

    /// Stores the compiled form of a component.
    pub(crate) fn store_code(&self, digest: &str, code: &[u8]) {
        let name = code_name(digest);
        let tag = self.sign(&name, "code", code);
        // The code is written first: a tag without its code, or with older code, only causes
        // another compilation.
        if self.write(&name, &[code]) {
            self.write(&format!("{name}.tag"), &[tag.as_bytes()]);
        }
    }

    /// Takes the lock for compiling this component. Waits for a process that holds it, but no
    /// longer than `most`. None if no lock file can be made, which is not a reason not to compile.
    pub(crate) fn lock_compile(
        &self,
        digest: &str,
        most: Duration,
    ) -> Result<Option<CompileLock>, compile_lock::LockTimeout> {
        let name = format!("{digest}-{BUILD}.lock");
        let file = self.folder().and_then(|folder| self.noted(&name, folder.own(&name)));
        file.map(|file| CompileLock::take(file, self.path.join(&name), most)).transpose()
    }

    /// Returns the recorded compile failure of a component, if it is less than `believed` old.
    pub(crate) fn failed(&self, digest: &str, believed: Duration) -> Option<CompileFailure> {
        let name = failed_name(digest);
        let (open, stamp) = self.open(&name)?;
        if stamp.settled(believed) {
            return None;
        }
        let body =
            self.verified_body(&name, "failed", &self.noted(&name, files::read_all(&open))?)?;
        serde_json::from_slice(&body).ok()
    }

    /// Records that a component could not be compiled.
    pub(crate) fn store_failure(&self, digest: &str, failed: &CompileFailure) {
        self.store_signed(
            &failed_name(digest),
            "failed",
            &serde_json::to_vec(failed).unwrap_or_default(),
        );
    }

    /// Returns the metadata of that name.
    pub(crate) fn metadata(&self, name: &str) -> Option<CachedMetadata> {
        CachedMetadata::decode(&self.verified_body(name, "card", &self.read(name)?)?)
    }

    /// Stores metadata under a name.
    pub(crate) fn store_metadata(&self, name: &str, card: &CachedMetadata) {
        self.store_signed(name, "card", &card.encode());
    }

    /// Returns the metadata's name for a source and its settings under this build of the program.
    pub(crate) fn metadata_name(&self, source: &[&[u8]], settings: &blake3::Hash) -> String {
        let mut hasher = blake3::Hasher::new_derive_key(CARD_NAMES);
        hasher.update(BUILD.as_bytes()).update(settings.as_bytes());
        for part in source {
            hasher.update(part).update(b"\0");
        }
        format!("{}.card", short(&hasher.finalize()))
    }

    /// Removes files that were written at least `age` ago and are not compiled code of `in_use`
    /// (digests of plugins): code and metadata of plugins and builds that no longer exist, and
    /// drafts left by a killed process. If a removed plugin is needed again, it is compiled again.
    ///
    /// # Errors
    /// Fails if the folder cannot be read, or if other users can enter it.
    pub fn sweep_unused(&self, in_use: &[String], age: Duration) -> std::io::Result<SweepStats> {
        let Some(folder) = self.folder() else {
            return Err(std::io::Error::other(format!(
                "the cache `{}` cannot be used",
                self.path.display()
            )));
        };
        let needed = |name: &str| {
            in_use
                .iter()
                .any(|digest| name.starts_with(&code_name(digest)) || name == failed_name(digest))
        };
        folder.sweep(&needed, age)
    }

    /// Returns the entries that could not be used since the last call.
    pub(crate) fn take_events(&self) -> Vec<CacheEvent> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes a body, preceded by its signature.
    fn store_signed(&self, name: &str, purpose: &str, body: &[u8]) {
        let tag = self.sign(name, purpose, body);
        self.write(name, &[tag.as_bytes(), body]);
    }

    /// Returns the body that follows a valid signature.
    fn verified_body(&self, name: &str, purpose: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let Some((tag, body)) = bytes.split_at_checked(blake3::OUT_LEN) else {
            self.note(name, "it is cut short");
            return None;
        };
        if !self.signed(name, purpose, body, tag) {
            self.note(name, "its signature does not match");
            return None;
        }
        Some(body.to_vec())
    }

    fn sign(&self, name: &str, purpose: &str, bytes: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // The lengths keep a purpose and a name from being read as another pair.
        for part in ["portcullis cache 1", purpose, name] {
            hasher.update(&[u8::try_from(part.len()).unwrap_or(u8::MAX)]).update(part.as_bytes());
        }
        hasher.update(bytes).finalize()
    }

    /// Checks a tag in constant time.
    fn signed(&self, name: &str, purpose: &str, bytes: &[u8], tag: &[u8]) -> bool {
        blake3::Hash::from_slice(tag).is_ok_and(|tag| tag == self.sign(name, purpose, bytes))
    }

    fn folder(&self) -> Option<&PrivateFolder> {
        let open = || match PrivateFolder::open(&self.path) {
            Ok(folder) => Some(folder),
            Err(reason) => {
                self.note_path(self.path.clone(), &reason.to_string());
                None
            }
        };
        self.folder.get_or_init(open).as_ref()
    }

    fn open(&self, name: &str) -> Option<(OpenFile, Stamp)> {
        let opened = self.folder()?.file(name);
        self.noted(name, opened)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let (open, _) = self.open(name)?;
        self.noted(name, files::read_all(&open))
    }

    fn write(&self, name: &str, parts: &[&[u8]]) -> bool {
        let Some(folder) = self.folder() else { return false };
        self.noted(name, folder.replace(name, parts)).is_some()
    }

    fn noted<T>(&self, name: &str, result: Result<T, Unusable>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Unusable::Absent) => None,
            Err(reason) => {
                self.note(name, &reason.to_string());
                None
            }
        }
    }

    fn note(&self, name: &str, reason: &str) {
        self.note_path(self.path.join(name), reason);
    }

    fn note_path(&self, path: PathBuf, reason: &str) {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(CacheEvent { path, reason: reason.to_owned() });
    }
}

impl std::fmt::Debug for CodeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeCache").field("path", &self.path).finish_non_exhaustive()
    }
}

fn code_name(digest: &str) -> String {
    format!("{digest}-{BUILD}.code")
}

fn failed_name(digest: &str) -> String {
    format!("{digest}-{BUILD}.failed")
}

/// Distinguishes this program's compiled code from that of other builds. Within one version of the
/// program, wasmtime itself refuses code that another release or configuration of it compiled; then
/// the component is compiled again.
const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("PORTCULLIS_TARGET"));

/// Maps the very file that was opened and checked, not the one that its name leads to by now.
#[cfg(target_os = "linux")]
fn map(engine: &wasmtime::Engine, file: &File) -> Option<Component> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: a signed receipt says that this inode's content had a valid MAC of our key, and that
    // its time of status change, which the kernel sets at each write, has not changed since. The
    // file belongs to us, is 0600, and is in a 0700 folder. We only ever replace such files and
    // never write into them.
    #[allow(
        unsafe_code,
        reason = "wasmtime cannot tell whose machine code it loads; the receipt does"
    )]
    unsafe {
        Component::deserialize_file(engine, path).ok()
    }
}

#[cfg(not(target_os = "linux"))]
fn map(_: &wasmtime::Engine, _: &File) -> Option<Component> {
    None
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(32).collect()
}

#[cfg(test)]
mod tests;

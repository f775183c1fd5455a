//! Files whose text a command line runs: the shell reader's questions about them, the answers, and
//! the session's memory of them.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The most bytes of a file's text that are read.
pub const MOST_FILE_TEXT: usize = 64 * 1024;
/// The most files whose provenance a session remembers.
const LEDGER: usize = 128;
/// The most bytes of a path in the ledger.
const PATH: usize = 1024;
/// The most mounts that a session remembers.
const MOUNTS: usize = 16;

/// The contents of a file that is run, as far as they are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileContents {
    /// All of its text, masked.
    Text(String),
    /// The beginning and the end of a longer text, masked.
    Part(String),
    /// A compiled program, or anything else that is not text.
    Binary,
    /// There is no such file.
    Missing,
    /// It is not read, for this reason.
    Unreadable(String),
}

/// The data that earlier steps of a session put into a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u8; 3]", into = "[u8; 3]")]
pub struct Provenance {
    /// It comes from another machine.
    pub downloaded: bool,
    /// It was decoded, so that nobody could read it.
    pub decoded: bool,
    /// It contains data that was read from a credential.
    pub secret: bool,
    /// It contains a table or a dump of a database.
    pub dumped: bool,
    /// It is a remote of a repository, which leads to a machine that the project did not know.
    pub foreign: bool,
    /// The session wrote it. It says nothing about what the file holds.
    pub written: bool,
}

impl Provenance {
    /// Combines the data of two names of one file. Who wrote it is a matter of its name.
    #[must_use]
    pub fn with_data_of(self, other: Self) -> Self {
        Self {
            downloaded: self.downloaded || other.downloaded,
            decoded: self.decoded || other.decoded,
            secret: self.secret || other.secret,
            dumped: self.dumped || other.dumped,
            foreign: self.foreign || other.foreign,
            written: self.written,
        }
    }
}

/// The bits of the first byte; the others are of one bit, as in the layouts before them.
const DOWNLOADED: u8 = 1;
const DUMPED: u8 = 2;
const FOREIGN: u8 = 4;
const WRITTEN: u8 = 8;

impl From<[u8; 3]> for Provenance {
    fn from([first, decoded, secret]: [u8; 3]) -> Self {
        Self {
            downloaded: first & DOWNLOADED > 0,
            decoded: decoded > 0,
            secret: secret > 0,
            dumped: first & DUMPED > 0,
            foreign: first & FOREIGN > 0,
            written: first & WRITTEN > 0,
        }
    }
}

impl From<Provenance> for [u8; 3] {
    fn from(from: Provenance) -> Self {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let first = bit(from.downloaded, DOWNLOADED)
            | bit(from.dumped, DUMPED)
            | bit(from.foreign, FOREIGN)
            | bit(from.written, WRITTEN);
        [first, from.decoded.into(), from.secret.into()]
    }
}

/// A file, with what the host knows of it before a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Its absolute path; it ends with `/` for everything below a folder.
    pub path: String,
    /// Its contents; `None` if nobody looked.
    pub contents: Option<FileContents>,
    /// The data that earlier steps put into it.
    pub provenance: Provenance,
    /// True if git holds it as it is.
    pub committed: bool,
}

/// A folder of this machine that is seen at a second place too, since something mounted it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The second place, absolute: `//NAME` and the path inside for one in a container.
    pub at: String,
    /// The folder, absolute; empty once nothing is mounted there any more.
    pub to: String,
}

/// The surroundings in which a command line is read.
#[derive(Clone, Copy, Debug)]
pub struct ShellPlace<'a> {
    /// The folder it runs in, absolute.
    pub cwd: &'a str,
    /// The person's home folder; empty if not known.
    pub home: &'a str,
    /// The files that are known, each once.
    pub files: &'a [KnownFile],
    /// The mounts of earlier steps, each place once.
    pub mounts: &'a [Mount],
}

impl<'a> ShellPlace<'a> {
    /// Creates surroundings of which no file is known.
    #[must_use]
    pub const fn without_files(cwd: &'a str, home: &'a str) -> Self {
        Self { cwd, home, files: &[], mounts: &[] }
    }
}

/// The part of a reading that is about files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReading {
    /// The files that the reader would read if it had their text, absolute.
    pub wants: Vec<String>,
    /// Those of them whose absence would change the reading too.
    #[serde(default)]
    pub absences: Vec<String>,
    /// The commands that stand in files.
    pub lines: Vec<RunLine>,
    /// The files whose provenance the command line changes.
    pub leaves: Vec<LeftFile>,
    /// The mounts that the command line makes and removes.
    #[serde(default)]
    pub mounts: Vec<Mount>,
}

/// The place of a command in a file that the command line runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLine {
    /// Its position among the commands.
    pub command: u32,
    /// The file's absolute path.
    pub path: String,
    /// Its line, from 1; 0 if not known.
    pub line: u32,
}

/// A file, and its provenance after a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    /// Its absolute path; it ends with `/` for everything below a folder.
    pub path: String,
    /// Its provenance; all false if it is a file like any other again.
    pub provenance: Provenance,
}

/// The files of a session that hold other data than they seem to, and the modules that it wrote,
/// the newest last. Once there are too many, the oldest is forgotten, and modules first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLedger(VecDeque<LeftFile>);

impl FileLedger {
    /// Notes the provenance of files after a step.
    pub fn note_files(&mut self, files: &[LeftFile]) {
        for file in files {
            let written = file.provenance.written || self.provenance_of(&file.path).written;
            self.remember(&file.path, Provenance { written, ..file.provenance });
        }
    }

    /// Notes a module that the session wrote, so that what imports it is read with it.
    pub fn note_written(&mut self, path: &str) {
        let provenance = Provenance { written: true, ..self.provenance_of(path) };
        self.remember(path, provenance);
    }

    /// Forgets a file that was overwritten.
    pub fn forget_file(&mut self, path: &str) {
        self.0.retain(|known| known.path != path);
    }

    fn provenance_of(&self, path: &str) -> Provenance {
        let known = self.0.iter().find(|known| known.path == path);
        known.map(|known| known.provenance).unwrap_or_default()
    }

    fn remember(&mut self, path: &str, provenance: Provenance) {
        if path.len() > PATH {
            return;
        }
        self.forget_file(path);
        if provenance != Provenance::default() {
            self.0.push_back(LeftFile { path: path.to_owned(), provenance });
        }
        if self.0.len() > LEDGER {
            let module = Provenance { written: true, ..Provenance::default() };
            let oldest = self.0.iter().position(|known| known.provenance == module);
            self.0.remove(oldest.unwrap_or(0));
        }
    }

    /// Returns the files as a reader gets them, before anybody looks at them.
    #[must_use]
    pub fn known_files(&self) -> Vec<KnownFile> {
        self.0
            .iter()
            .map(|file| KnownFile {
                path: file.path.clone(),
                contents: None,
                provenance: file.provenance,
                committed: false,
            })
            .collect()
    }
}

/// The mounts of a session, the newest last. A mount does not show on the disk as a link does. Once
/// there are too many, the oldest is forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountLedger(VecDeque<Mount>);

impl MountLedger {
    /// Notes what a step mounts and unmounts.
    pub fn note_mounts(&mut self, mounts: &[Mount]) {
        for mount in mounts.iter().filter(|mount| mount.at.len() + mount.to.len() <= PATH) {
            self.0.retain(|known| known.at != mount.at);
            if !mount.to.is_empty() {
                self.0.push_back(mount.clone());
            }
            if self.0.len() > MOUNTS {
                self.0.pop_front();
            }
        }
    }

    /// Returns the mounts as a reader gets them.
    #[must_use]
    pub fn list_mounts(&self) -> Vec<Mount> {
        self.0.iter().cloned().collect()
    }

    /// Returns the place behind a path of this machine that goes through a mount.
    #[must_use]
    pub fn place_behind(&self, path: &str) -> Option<String> {
        let rest = |mount: &Mount| {
            let rest = path.strip_prefix(mount.at.as_str())?;
            let inside = rest.is_empty() || rest.starts_with('/');
            inside.then(|| format!("{}{rest}", mount.to.trim_end_matches('/')))
        };
        self.0.iter().rev().find_map(rest).filter(|behind| !behind.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_leads_on_until_it_is_gone() {
        let mount = |at: &str, to: &str| Mount { at: at.to_owned(), to: to.to_owned() };
        let mut ledger = MountLedger::default();
        ledger.note_mounts(&[mount("/p/data", "/home/dev/other"), mount("/p/all", "/")]);
        for (path, behind) in [
            ("/p/data/a", Some("/home/dev/other/a")),
            ("/p/data", Some("/home/dev/other")),
            ("/p/database", None),
            ("/p/all/etc/passwd", Some("/etc/passwd")),
            ("/p", None),
        ] {
            assert_eq!(ledger.place_behind(path).as_deref(), behind, "{path}");
        }
        ledger.note_mounts(&[mount("/p/data", "")]);
        assert_eq!(ledger.place_behind("/p/data/a"), None);
        for number in 0..2 * MOUNTS {
            ledger.note_mounts(&[mount(&format!("/m/{number}"), "/x")]);
        }
        assert_eq!(ledger.list_mounts().len(), MOUNTS);
    }

    fn left(path: &str, downloaded: bool) -> LeftFile {
        let provenance = Provenance { downloaded, ..Provenance::default() };
        LeftFile { path: path.to_owned(), provenance }
    }

    fn paths(ledger: &FileLedger) -> Vec<String> {
        ledger.known_files().into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn a_file_is_remembered_until_it_is_written_anew() {
        let mut ledger = FileLedger::default();
        ledger.note_files(&[left("/a", true), left("/b", true), left("/c", false)]);
        assert_eq!(paths(&ledger), ["/a", "/b"]);
        ledger.note_files(&[left("/a", false)]);
        ledger.forget_file("/c");
        assert_eq!(paths(&ledger), ["/b"]);
        ledger.forget_file("/b");
        assert_eq!(paths(&ledger), Vec::<String>::new());
    }

    #[test]
    fn provenances_survive_their_bytes() {
        for bits in 0..64_u8 {
            let is = |bit: u8| bits & bit > 0;
            let from = Provenance {
                downloaded: is(1),
                decoded: is(2),
                secret: is(4),
                dumped: is(8),
                foreign: is(16),
                written: is(32),
            };
            assert_eq!(Provenance::from(<[u8; 3]>::from(from)), from, "{bits}");
        }
    }

    #[test]
    fn the_oldest_files_are_forgotten() {
        let mut ledger = FileLedger::default();
        for number in 0..LEDGER + 3 {
            ledger.note_files(&[left(&format!("/{number}"), true)]);
        }
        ledger.note_files(&[left(&"/x".repeat(PATH), true)]);
        let known = paths(&ledger);
        assert_eq!((known.len(), known.first().map(String::as_str)), (LEDGER, Some("/3")));
    }

    #[test]
    fn modules_are_forgotten_before_downloads() {
        let mut ledger = FileLedger::default();
        ledger.note_files(&[left("/loot.py", true)]);
        for number in 0..2 * LEDGER {
            ledger.note_written(&format!("/{number}.py"));
        }
        ledger.note_written("/loot.py");
        let known = ledger.known_files();
        let loot = known.iter().find(|file| file.path == "/loot.py").map(|file| file.provenance);
        assert_eq!(known.len(), LEDGER);
        let written = Provenance { downloaded: true, written: true, ..Provenance::default() };
        assert_eq!(loot, Some(written));
        // A reading knows nothing of who wrote a file.
        ledger.note_files(&[left("/loot.py", false)]);
        assert_eq!(
            ledger.provenance_of("/loot.py"),
            Provenance { written: true, ..Provenance::default() }
        );
    }
}

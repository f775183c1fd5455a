//! Shared parts of the store's tests: homes, records, and the child side of tests that need
//! processes.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test support")]

use portcullis_store::{Commit, Durability, Home, NewRecord, NewWork, Store, StoredException};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) home: Home,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        Self { folder, home }
    }

    pub(crate) fn store(&self) -> Store {
        Store::open_database(&self.home, Durability::Process).unwrap()
    }

    /// Opens the database directly, without going through the store.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.home.journal()).unwrap()
    }
}

pub(crate) fn record(id: &str) -> NewRecord {
    NewRecord {
        id: id.into(),
        at: 1_700_000_000_000,
        kind: "review".into(),
        step: Some(1),
        call_id: Some(format!("toolu_{id}")),
        subject: "Bash".into(),
        verdict: Some("allow".into()),
        document: format!("{{\"id\":\"{id}\"}}"),
    }
}

pub(crate) fn commit(id: &str) -> Commit {
    Commit { records: vec![record(id)], ..Commit::default() }
}

/// Creates another home with the same key and journal.
pub(crate) fn copy_of(place: &Place) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("home");
    place.store().checkpoint_log().unwrap();
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::metadata(place.home.path()).unwrap().permissions())
        .unwrap();
    for name in ["key", "journal.mark", "journal.db", "journal.db-wal"] {
        std::fs::copy(place.home.path().join(name), root.join(name)).unwrap();
    }
    Place { home: Home::open_root(root).unwrap(), folder }
}

/// Returns an exception for all sessions and any number of uses.
pub(crate) fn grant(id: &str) -> StoredException {
    let (granted_at, expires_at) = (1_000, 1_000_000);
    StoredException {
        id: id.into(),
        session: None,
        once: false,
        granted_at,
        expires_at,
        document: format!("{{\"id\":\"{id}\"}}"),
    }
}

pub(crate) fn work(key: &str) -> NewWork {
    NewWork {
        kind: "notify".into(),
        key: key.into(),
        due_at: 100,
        document: format!("{{\"to\":\"{key}\"}}"),
    }
}

/// Prints an answer, with each line in one write, so that a killed process leaves only complete
/// lines.
pub(crate) fn answer(text: &str) {
    std::io::stdout().write_all(format!("answer {text}\n").as_bytes()).unwrap();
}

/// Runs a test of this binary in a separate process, which reads its orders from the environment.
pub(crate) fn spawn(test: &str, home: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("STORE_TEST_HOME", home)
        .env("STORE_TEST_NAME", name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Does the same as a user to whom permissions apply, in a folder in which that user may work. If
/// run as root, the test runs as an unprivileged user.
pub(crate) fn as_nobody(folder: &Path, test: &str, name: &str) -> Output {
    let program = folder.join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let place = folder.join("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    if chown(&place, Some(NOBODY), Some(NOBODY)).is_ok() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("STORE_TEST_HOME", place.join("home"));
    command.env("STORE_TEST_NAME", name).current_dir("/").stdin(Stdio::null()).output().unwrap()
}

const NOBODY: u32 = 65_534;

/// Returns the orders of a spawned test; none if somebody ran it by hand.
pub(crate) fn orders() -> Option<(String, String)> {
    Some((std::env::var("STORE_TEST_HOME").ok()?, std::env::var("STORE_TEST_NAME").ok()?))
}

/// Returns the answers in a spawned test's output: whole lines that begin with `answer `.
pub(crate) fn answers(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let whole = text.rfind('\n').map_or("", |end| text.split_at(end).0);
    whole
        .lines()
        .filter_map(|line| line.split_once("answer ").map(|(_, rest)| rest.to_owned()))
        .collect()
}

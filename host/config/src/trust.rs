//! The project files that a person trusted, each identified by its folder and the digest of its
//! bytes.
//!
//! The list is in the state folder and is authenticated with the home's key: changing it without
//! the key trusts nothing. A changed file is no longer trusted. This module does not ask the
//! person.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_fs::{SealedDocument, open_lock_file};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file's name in the state folder.
pub const FILE: &str = "trust";

const PURPOSE: &str = "portcullis 2026 trusted projects";
const MOST_BYTES: u64 = 4 << 20;

/// A trusted project file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// The project's real folder.
    pub folder: String,
    /// BLAKE3 of the file, 64 hex digits.
    pub digest: String,
    /// The time, in milliseconds since 1970.
    pub at: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustList {
    projects: Vec<Trusted>,
}

/// Returns true if a person trusted the file with that digest in that folder. If the list is
/// unusable, nothing is trusted: this makes fewer values count, not more.
pub fn is_trusted(home: &Home, folder: &Path, digest: &blake3::Hash) -> bool {
    let (folder, digest) = (name_of(folder), digest.to_hex());
    list_trusted(home).is_ok_and(|list| {
        list.iter().any(|trusted| trusted.folder == folder && trusted.digest == digest.as_str())
    })
}

/// Returns all trusted files.
///
/// # Errors
/// Fails if there is a list that this home did not write.
pub fn list_trusted(home: &Home) -> Result<Vec<Trusted>> {
    let document = document(home);
    match document.read_content::<TrustList>() {
        Ok(list) => Ok(list.unwrap_or_default().projects),
        Err(_) => bail!(KnownFailure::Forged(foreign(document.path()))),
    }
}

/// Trusts a file, replacing any other of that folder.
///
/// # Errors
/// Fails if the list was changed from outside, or cannot be written.
pub fn add_trusted(home: &Home, folder: &Path, digest: &blake3::Hash, now: u64) -> Result<()> {
    change(home, |list| {
        let folder = name_of(folder);
        list.retain(|trusted| trusted.folder != folder);
        list.push(Trusted { folder, digest: digest.to_hex().to_string(), at: now });
    })
}

/// Stops trusting the file of that folder; returns true if one was trusted.
///
/// # Errors
/// Fails like `add_trusted`.
pub fn remove_trusted(home: &Home, folder: &Path) -> Result<bool> {
    let folder = name_of(folder);
    let mut found = false;
    change(home, |list| {
        let before = list.len();
        list.retain(|trusted| trusted.folder != folder);
        found = list.len() < before;
    })?;
    Ok(found)
}

/// Returns a project's real folder: a link made by an agent must not transfer one project's trust
/// to another.
fn name_of(folder: &Path) -> String {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

fn change(home: &Home, edit: impl FnOnce(&mut Vec<Trusted>)) -> Result<()> {
    let document = document(home);
    let shown = document.path().display();
    // Two commands at once must not lose each other's entry.
    let lock = open_lock_file(&home.path().join("trust.lock"));
    let lock = lock.with_context(|| format!("cannot lock `{shown}`"))?;
    lock.lock().with_context(|| format!("cannot lock `{shown}`"))?;
    let mut projects = list_trusted(home)?;
    edit(&mut projects);
    document
        .write_content(&TrustList { projects })
        .with_context(|| format!("cannot write `{shown}`"))
}

fn document(home: &Home) -> SealedDocument {
    SealedDocument::new(home.path().join(FILE), home.derive_key(PURPOSE), MOST_BYTES)
}

fn foreign(path: &Path) -> String {
    format!(
        "`{}` was not written by `portcullis trust` of this home: nothing in it counts, remove it",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        (folder, home)
    }

    #[test]
    fn trust_is_in_one_file_of_one_folder() {
        let (scratch, home) = home();
        let folders = ["a", "b"].map(|name| scratch.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let [a, b] = &folders;
        std::os::unix::fs::symlink(a, scratch.path().join("link")).unwrap();
        let [one, two] = [b"one", b"two"].map(|bytes| blake3::hash(bytes));
        assert!(!is_trusted(&home, a, &one));
        add_trusted(&home, a, &one, 1).unwrap();
        for (folder, digest, expected) in [
            (a.clone(), &one, true),
            (a.clone(), &two, false),
            (b.clone(), &one, false),
            (scratch.path().join("link"), &one, true),
        ] {
            assert_eq!(is_trusted(&home, &folder, digest), expected, "{}", folder.display());
        }
        add_trusted(&home, a, &two, 2).unwrap();
        add_trusted(&home, b, &one, 3).unwrap();
        assert!(
            !is_trusted(&home, a, &one) && is_trusted(&home, a, &two) && is_trusted(&home, b, &one)
        );
        assert_eq!(list_trusted(&home).unwrap().len(), 2);
        assert!(remove_trusted(&home, a).unwrap());
        assert!(!remove_trusted(&home, a).unwrap());
        assert!(!is_trusted(&home, a, &two) && is_trusted(&home, b, &one));
    }

    #[test]
    fn nobody_trusts_without_the_key() {
        let (scratch, home) = home();
        let (_other_scratch, other) = self::home();
        let digest = blake3::hash(b"x");
        add_trusted(&other, scratch.path(), &digest, 1).unwrap();
        add_trusted(&home, scratch.path(), &digest, 1).unwrap();
        let (own, foreign) = (
            fs::read_to_string(document(&home).path()).unwrap(),
            fs::read_to_string(document(&other).path()).unwrap(),
        );
        let emptied = own.replace(&digest.to_hex().to_string(), &blake3::hash(b"y").to_hex());
        for text in [
            "".into(),
            "{}".into(),
            foreign,
            emptied,
            own.replace("\"at\":1", "\"at\":2"),
            "x".repeat(5 << 20),
        ] {
            fs::write(document(&home).path(), &text).unwrap();
            assert!(!is_trusted(&home, scratch.path(), &digest));
            let problem = list_trusted(&home).unwrap_err().to_string();
            assert!(problem.contains("nothing in it counts"), "{problem}");
            assert!(
                add_trusted(&home, scratch.path(), &digest, 1).is_err(),
                "what somebody else wrote is not sealed with our key"
            );
        }
    }
}

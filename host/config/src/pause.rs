//! Pauses: a person can have the guard observe instead of refuse for a limited time.
//!
//! The pause is a separate file in the state folder and not a record, so that it works even if the
//! journal or the configuration is broken. It is authenticated with the home's key: an agent
//! without the key cannot pause anything by writing such a file.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file's name in the state folder.
pub const FILE: &str = "pause";
/// The longest pause, in milliseconds: a day.
pub const LONGEST: u64 = 24 * 60 * 60 * 1000;

const PURPOSE: &str = "portcullis 2026 pause";
const MOST_BYTES: u64 = 4096;

/// A pause by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The time when it began, in milliseconds since 1970.
    pub since: u64,
    /// The time when it ends.
    pub until: u64,
    /// The reason, in the person's words.
    pub reason: String,
}

impl Pause {
    /// Returns the notice for the person while it is in force.
    #[must_use]
    pub fn notice(&self) -> String {
        let until = crate::clock::format_utc(self.until);
        format!(
            "Portcullis is paused until {until} UTC: it records what the agent does and refuses \
             nothing. `portcullis resume` ends it."
        )
    }
}

/// Returns the pause in force at `now`. A clock that was set back to before its beginning ends it
/// too.
///
/// # Errors
/// Fails if there is a file that this home did not write.
pub fn read_current(home: &Home, now: u64) -> Result<Option<Pause>> {
    Ok(read(home)?.filter(|pause| (pause.since..pause.until).contains(&now)))
}

fn read(home: &Home) -> Result<Option<Pause>> {
    let document = document(home);
    match document.read_content::<Pause>() {
        // `begin_pause` writes none that is as long.
        Ok(Some(pause)) if pause.until.saturating_sub(pause.since) > LONGEST => {
            bail!(KnownFailure::Forged(foreign(document.path())))
        }
        Err(SealError::Io(error)) => {
            Err(error).with_context(|| format!("cannot read `{}`", document.path().display()))
        }
        Err(_) => bail!(KnownFailure::Forged(foreign(document.path()))),
        Ok(pause) => Ok(pause),
    }
}

fn foreign(path: &Path) -> String {
    format!(
        "`{}` was not written by `portcullis pause` of this home: it pauses nothing, remove it",
        path.display()
    )
}

/// Begins a pause, replacing any other.
///
/// # Errors
/// Fails if it is longer than a day, or cannot be written.
pub fn begin_pause(home: &Home, pause: Pause) -> Result<()> {
    if pause.until.saturating_sub(pause.since) > LONGEST {
        bail!("a pause may last a day at most");
    }
    let document = document(home);
    document
        .write_content(&pause)
        .with_context(|| format!("cannot write `{}`", document.path().display()))
}

/// Ends the pause; returns true if there was one.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn end_pause(home: &Home) -> Result<bool> {
    let document = document(home);
    document.remove().with_context(|| format!("cannot remove `{}`", document.path().display()))
}

fn document(home: &Home) -> SealedDocument {
    SealedDocument::new(home.path().join(FILE), home.derive_key(PURPOSE), MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        (folder, home)
    }

    fn pause(since: u64, until: u64) -> Pause {
        Pause { since, until, reason: "the disk is full".into() }
    }

    #[test]
    fn a_pause_holds_from_its_beginning_to_its_end() {
        let (_folder, home) = home();
        assert_eq!(read_current(&home, 100).unwrap(), None);
        begin_pause(&home, pause(100, 200)).unwrap();
        for (now, holds) in [(99, false), (100, true), (199, true), (200, false), (u64::MAX, false)]
        {
            assert_eq!(read_current(&home, now).unwrap().is_some(), holds, "at {now}");
        }
        assert!(end_pause(&home).unwrap());
        assert!(!end_pause(&home).unwrap());
        assert_eq!(read_current(&home, 100).unwrap(), None);
    }

    #[test]
    fn nobody_pauses_without_the_key() {
        let (_folder, home) = home();
        let (_other_folder, other) = self::home();
        begin_pause(&other, pause(0, 100)).unwrap();
        let foreign = std::fs::read_to_string(document(&other).path()).unwrap();
        begin_pause(&home, pause(0, 100)).unwrap();
        let own = std::fs::read_to_string(document(&home).path()).unwrap();
        for text in [
            String::new(),
            "{}".into(),
            foreign,
            own.replace("\"until\":100", "\"until\":1000"),
            own.replace("full", "FULL"),
            own.replace("\"code\"", "\"code\":\"\",\"code\""),
            "x".repeat(5000),
        ] {
            std::fs::write(document(&home).path(), &text).unwrap();
            let problem = read_current(&home, 50).unwrap_err().to_string();
            assert!(problem.contains("pauses nothing"), "{text}: {problem}");
        }
        assert!(begin_pause(&home, pause(0, LONGEST + 1)).is_err());
    }
}

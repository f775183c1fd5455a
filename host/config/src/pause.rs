//! Pauses: a person can have the guard observe instead of refuse for a limited time.
//!
//! The pause is a separate file in the state folder and not a record, so that it works even if the
//! journal or the configuration is broken. It is authenticated with the home's key: an agent
//! without the key cannot pause anything by writing such a file.

use anyhow::{Context, Result, bail};
use portcullis_core::known_failure::KnownFailure;
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

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
            "Portcullis is paused until {until} UTC: it records what the agent does and refuses nothing. `portcullis resume` ends it."
        )
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    #[serde(flatten)]
    pause: Pause,
    code: String,
}

/// Returns the pause in force at `now`. A clock that was set back to before its beginning ends it
/// too.
///
/// # Errors
/// Fails if there is a file that this home did not write.
pub fn current(home: &Home, now: u64) -> Result<Option<Pause>> {
    Ok(read(home)?.filter(|pause| (pause.since..pause.until).contains(&now)))
}

fn read(home: &Home) -> Result<Option<Pause>> {
    let path = path(home);
    let found = match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        found => found.with_context(|| format!("cannot read `{}`", path.display()))?,
    };
    if !found.is_file() || found.len() > MOST_BYTES {
        bail!(KnownFailure::Forged(foreign(&path)));
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let Ok(Sealed { pause, code }) = serde_json::from_str(&text) else {
        bail!(KnownFailure::Forged(foreign(&path)))
    };
    let stated = blake3::Hash::from_hex(&code).ok();
    // Comparing `Hash` values takes constant time.
    if stated != Some(seal(home, &pause)) || pause.until.saturating_sub(pause.since) > LONGEST {
        bail!(KnownFailure::Forged(foreign(&path)));
    }
    Ok(Some(pause))
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
pub fn begin(home: &Home, pause: Pause) -> Result<()> {
    if pause.until.saturating_sub(pause.since) > LONGEST {
        bail!("a pause may last a day at most");
    }
    let code = seal(home, &pause).to_hex().to_string();
    let text = serde_json::to_string(&Sealed { pause, code })?;
    let path = path(home);
    portcullis_fs::replace_bytes(&path, 0o600, text.as_bytes())
        .with_context(|| format!("cannot write `{}`", path.display()))
}

/// Ends the pause; returns true if there was one.
///
/// # Errors
/// Fails if the file cannot be removed.
pub fn end(home: &Home) -> Result<bool> {
    let path = path(home);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot remove `{}`", path.display())),
    }
}

fn path(home: &Home) -> PathBuf {
    home.path().join(FILE)
}

fn seal(home: &Home, pause: &Pause) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(&home.derive_key(PURPOSE));
    hasher
        .update(&pause.since.to_le_bytes())
        .update(&pause.until.to_le_bytes())
        .update(pause.reason.as_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        (folder, home)
    }

    fn pause(since: u64, until: u64) -> Pause {
        Pause { since, until, reason: "the disk is full".into() }
    }

    #[test]
    fn a_pause_holds_from_its_beginning_to_its_end() {
        let (_folder, home) = home();
        assert_eq!(current(&home, 100).unwrap(), None);
        begin(&home, pause(100, 200)).unwrap();
        for (now, holds) in [(99, false), (100, true), (199, true), (200, false), (u64::MAX, false)]
        {
            assert_eq!(current(&home, now).unwrap().is_some(), holds, "at {now}");
        }
        assert!(end(&home).unwrap());
        assert!(!end(&home).unwrap());
        assert_eq!(current(&home, 100).unwrap(), None);
    }

    #[test]
    fn nobody_pauses_without_the_key() {
        let (_folder, home) = home();
        let (_other_folder, other) = self::home();
        begin(&other, pause(0, 100)).unwrap();
        let foreign = std::fs::read_to_string(path(&other)).unwrap();
        begin(&home, pause(0, 100)).unwrap();
        let own = std::fs::read_to_string(path(&home)).unwrap();
        for text in [
            String::new(),
            "{}".into(),
            foreign,
            own.replace("\"until\":100", "\"until\":1000"),
            own.replace("full", "FULL"),
            own.replace("\"code\"", "\"code\":\"\",\"code\""),
            "x".repeat(5000),
        ] {
            std::fs::write(path(&home), &text).unwrap();
            let problem = current(&home, 50).unwrap_err().to_string();
            assert!(problem.contains("pauses nothing"), "{text}: {problem}");
        }
        assert!(begin(&home, pause(0, LONGEST + 1)).is_err());
    }
}

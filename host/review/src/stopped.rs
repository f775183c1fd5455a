//! Records outside the journal which sessions were stopped: one file each, sealed with the home's
//! key.
//!
//! The journal's state of a session contains its stop. If the journal is gone, or holds an older
//! state of the session, the file is used instead, and the next review copies the stop into the
//! journal. A file is kept with the person's decision once there is one: `recover` recognises a
//! decided stop by it.

use crate::documents;
use anyhow::{Context, Result, bail};
use portcullis_config::clock::now_ms;
use portcullis_core::incident::Incident;
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::session::{Session, State, Stop};
use portcullis_core::text::one_line;
use portcullis_encryption::{decode_text, encode_text};
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the files in the state folder.
pub(crate) const FOLDER: &str = "stopped";
const PURPOSE: &str = "portcullis 2026 stopped session";
const MOST_BYTES: u64 = 96 << 10;

/// The recorded state of a stopped session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopFile {
    /// The session.
    session: String,
    /// The time when the file was written, in milliseconds since 1970.
    at: u64,
    /// The session's next step at that time.
    step: u64,
    /// The reason for the stop; `None` once a person has let the session continue.
    why: Option<String>,
    /// The stop, with a person's decision about it.
    stop: Stop,
}

/// A stop file as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredStop {
    Encrypted(EncryptedStop),
    Plain(StopFile),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncryptedStop {
    session: String,
    encrypted: String,
}

impl StopFile {
    /// Builds it from a session's state; returns `None` if the session was never stopped.
    pub fn from_state(session: &str, state: &Session, now: u64) -> Option<Self> {
        // The journal shows a note once, so it is not copied.
        let stop = Stop { note: None, ..state.stop.clone()? };
        Some(Self {
            session: session.to_owned(),
            at: now,
            step: state.next_step,
            why: state.stopped.clone(),
            stop,
        })
    }

    /// Builds it from an incident without a known decision.
    pub fn by_incident(incident: &Incident) -> Self {
        let stop = Stop {
            incident: incident.id.clone(),
            issue: String::new(),
            terms: None,
            decided: 0,
            note: None,
        };
        let why = Some(one_line(&incident.report.summary, 512));
        Self { session: incident.session.clone(), at: incident.at, step: 0, why, stop }
    }

    /// Returns the time when the file was written, in milliseconds since 1970.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Returns true if both say the same of the session, regardless of when they were written.
    fn agrees(&self, other: &Self) -> bool {
        (&self.why, &self.stop.incident, self.stop.terms)
            == (&other.why, &other.stop.incident, other.stop.terms)
    }
}

/// Copies the file's stop into a session's state, unless the state is newer.
pub fn apply_stop(state: &mut State, known: Option<&StopFile>) {
    let Some(known) = known else { return };
    let session = &mut state.session;
    let newer = session
        .stop
        .as_ref()
        .is_some_and(|stop| stop.incident == known.stop.incident || session.next_step > known.step);
    if !newer {
        (session.stopped, session.stop) = (known.why.clone(), Some(known.stop.clone()));
    }
}

/// Reads the file of a session; returns `None` if there is none.
///
/// # Errors
/// Fails if there is a file that this home did not write for the session.
pub fn read_stop(home: &Home, session: &str) -> Result<Option<StopFile>> {
    let path = path(home, session);
    match read_file(home, &path)? {
        Some(found) if found.session != session => bail!(KnownFailure::Forged(foreign(&path))),
        found => Ok(found),
    }
}

/// Returns all files of this home, and the problems with the others.
///
/// # Errors
/// Fails if the folder exists and cannot be read.
pub fn read_all(home: &Home) -> Result<(Vec<StopFile>, Vec<String>)> {
    let folder = home.path().join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Vec::new(), Vec::new()));
        }
        entries => entries.with_context(|| format!("cannot read `{}`", folder.display()))?,
    };
    let (mut good, mut damaged) = (Vec::new(), Vec::new());
    // A name that begins with a dot is the draft of a file.
    let is_draft = |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    for entry in entries.flatten().filter(|entry| !is_draft(entry)) {
        match read_file(home, &entry.path()) {
            Ok(Some(stopped)) if path(home, &stopped.session) == entry.path() => good.push(stopped),
            Ok(Some(_)) => damaged.push(foreign(&entry.path())),
            Ok(None) => {}
            Err(error) => damaged.push(format!("{error:#}")),
        }
    }
    Ok((good, damaged))
}

/// Writes the file of a session, unless the known one already says the same.
///
/// # Errors
/// Fails if it cannot be written.
pub fn save_stop(home: &Home, stopped: &StopFile, known: Option<&StopFile>) -> Result<()> {
    if known.is_some_and(|known| known.agrees(stopped)) {
        return Ok(());
    }
    let document = document(home, path(home, &stopped.session));
    let write = || -> Result<()> {
        let plain = serde_json::to_vec(stopped)?;
        let place = [FOLDER, stopped.session.as_str()];
        match home.data_keys().encrypt(documents::KIND, now_ms(), &place, &plain)? {
            Some(sealed) => document.write_content(&StoredStop::Encrypted(EncryptedStop {
                session: stopped.session.clone(),
                encrypted: encode_text(&sealed),
            }))?,
            None => document.write_content(stopped)?,
        }
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", document.path().display()))
}

/// Removes the file of a session.
///
/// # Errors
/// Fails if it cannot be removed.
pub fn remove_stop(home: &Home, stopped: &StopFile) -> Result<()> {
    let document = document(home, path(home, &stopped.session));
    document
        .remove()
        .map(drop)
        .with_context(|| format!("cannot remove `{}`", document.path().display()))
}

fn read_file(home: &Home, path: &Path) -> Result<Option<StopFile>> {
    match document(home, path.to_owned()).read_content::<StoredStop>() {
        Ok(None) => Ok(None),
        Ok(Some(StoredStop::Plain(stopped))) => Ok(Some(stopped)),
        Ok(Some(StoredStop::Encrypted(stored))) => {
            let sealed = decode_text(&stored.encrypted).unwrap_or_default();
            let plain =
                home.data_keys().decrypt(documents::KIND, &[FOLDER, &stored.session], sealed);
            let plain = plain.with_context(|| format!("cannot read `{}`", path.display()))?;
            serde_json::from_slice(&plain).map(Some).context("a stop file of another version")
        }
        Err(SealError::Io(error)) => {
            Err(error).with_context(|| format!("cannot read `{}`", path.display()))
        }
        Err(_) => bail!(KnownFailure::Forged(foreign(path))),
    }
}

fn document(home: &Home, path: PathBuf) -> SealedDocument {
    SealedDocument::new(path, home.derive_key(PURPOSE), MOST_BYTES)
}

fn foreign(path: &Path) -> String {
    format!(
        "`{}`, which says that a session was stopped, was not written by this home: find out who did, and move it away",
        path.display()
    )
}

fn path(home: &Home, session: &str) -> PathBuf {
    home.path().join(FOLDER).join(blake3::hash(session.as_bytes()).to_hex().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::session::ResumeConditions;

    fn state(incident: Option<&str>, step: u64) -> State {
        let mut state = State::decode_state(None, None).unwrap();
        state.session.next_step = step;
        if let Some(incident) = incident {
            state.session.stopped = Some("why".into());
            state.session.stop = Some(Stop {
                incident: incident.into(),
                issue: "i".into(),
                terms: None,
                decided: 0,
                note: None,
            });
        }
        state
    }

    #[test]
    fn a_state_that_knows_less_is_stopped_by_the_file() {
        let mut decided = state(Some("one"), 9);
        decided.session.stopped = None;
        decided.session.stop.as_mut().unwrap().terms = Some(ResumeConditions::Lifted);
        let known = StopFile::from_state("s", &state(Some("one"), 5).session, 1).unwrap();
        for (name, mut state, stopped, incident) in [
            ("a new journal", state(None, 0), true, "one"),
            ("an older state", state(None, 4), true, "one"),
            ("an older stop", state(Some("zero"), 3), true, "one"),
            ("the same stop", state(Some("one"), 5), true, "one"),
            ("decided since", decided, false, "one"),
            ("stopped again since", state(Some("two"), 8), true, "two"),
        ] {
            apply_stop(&mut state, Some(&known));
            let found = (
                state.session.stopped.is_some(),
                state.session.stop.as_ref().unwrap().incident.as_str(),
            );
            assert_eq!(found, (stopped, incident), "{name}");
        }
        let mut state = state(None, 0);
        apply_stop(&mut state, None);
        assert_eq!(state.session.stop, None);
    }

    #[test]
    fn a_file_counts_where_this_home_wrote_it_for_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let encrypted = StopFile::from_state("s", &state(Some("one"), 5).session, 1).unwrap();
        save_stop(&home, &encrypted, None).unwrap();
        assert!(!fs::read_to_string(path(&home, "s")).unwrap().contains("one"));
        assert_eq!(read_stop(&home, "s").unwrap().as_ref(), Some(&encrypted));
        remove_stop(&home, &encrypted).unwrap();
        assert_eq!(read_stop(&home, "s").unwrap(), None);
        // What is changed below is seen in a plain one.
        home.data_keys().set_off(true).unwrap();
        let stopped = StopFile::from_state("s", &state(Some("one"), 5).session, 1).unwrap();
        save_stop(&home, &stopped, None).unwrap();
        assert_eq!(read_stop(&home, "s").unwrap().as_ref(), Some(&stopped));
        // A process was killed while it wrote.
        fs::write(home.path().join(FOLDER).join(".abc.7-0.draft"), "{").unwrap();
        assert_eq!(read_all(&home).unwrap(), (vec![stopped.clone()], Vec::new()));
        let (file, text) = (path(&home, "s"), fs::read_to_string(path(&home, "s")).unwrap());
        let other = Home::open_root(folder.path().join("other")).unwrap();
        for (name, spoiled) in [
            ("another step", text.replace("\"step\":5", "\"step\":4")),
            ("decided", text.replace("\"terms\":null", "\"terms\":\"lifted\"")),
            ("cut", text.split_at(text.len() / 2).0.to_owned()),
            ("empty", String::new()),
        ] {
            fs::write(&file, spoiled).unwrap();
            assert!(
                read_stop(&home, "s")
                    .unwrap_err()
                    .to_string()
                    .contains("was not written by this home"),
                "{name}"
            );
            assert_eq!(read_all(&home).unwrap().1.len(), 1, "{name}");
        }
        fs::write(&file, &text).unwrap();
        fs::copy(&file, path(&home, "t")).unwrap();
        assert!(
            read_stop(&home, "t").is_err() && read_all(&home).unwrap().1.len() == 1,
            "that of another session"
        );
        fs::create_dir(other.path().join(FOLDER)).unwrap();
        fs::copy(&file, path(&other, "s")).unwrap();
        assert!(read_stop(&other, "s").is_err(), "that of another home");
        remove_stop(&home, &stopped).unwrap();
        assert_eq!(read_stop(&home, "s").unwrap(), None);
    }
}

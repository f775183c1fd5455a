//! Quarantines: files that were moved away instead of being deleted, and their restore.
//!
//! Moved files stay in their own project, below `.portcullis/quarantine`, so that moving is a
//! rename. The agent can write there; so the original paths are recorded in the state folder, and
//! no link is followed in either direction. A restore never replaces anything unless a person asks
//! for it, and then the replaced files are quarantined themselves.

mod folders;
mod restore;

pub use restore::{Obstacle, RestoreResult, restore_entry};

use crate::documents::{self, DocumentStore};
use anyhow::{Context, Result, bail};
use folders::MovePaths;
use portcullis_core::known_failure::KnownFailure;
use portcullis_core::record::{MovedEntry, Record};
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::{Filter, Home, NewWork, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// The task that records a quarantine from a journal record.
pub const WORK: &str = "quarantined";
/// The folder in the state folder with the record of each quarantine.
pub(crate) const FOLDER: &str = "quarantine";
/// Our own quarantine folder, below a project's folder.
const OURS: &str = ".portcullis/quarantine";

/// The files that were moved away at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineEntry {
    /// The review's id, or one of our own.
    pub id: String,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The session.
    pub session: String,
    /// The reason, in one line, masked.
    pub what: String,
    /// The moved files and their locations.
    pub moved: Vec<MovedEntry>,
    /// Its end; `None` while it is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<QuarantineEnd>,
}

/// The end of a quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineEnd {
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// `restored` or `purged`.
    pub how: String,
}

/// The state of a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineStatus {
    /// Some of its files are still there.
    Kept,
    /// It was put back.
    Restored,
    /// It was permanently deleted.
    Purged,
    /// None of its files are there: the command did not run, or somebody removed them.
    Gone,
}

impl QuarantineStatus {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Restored => "restored",
            Self::Purged => "purged",
            Self::Gone => "gone",
        }
    }
}

impl QuarantineEntry {
    /// Builds the entry that a record describes.
    fn of(record: &Record) -> Option<Self> {
        let entry = || Self {
            id: record.id.clone(),
            at: record.at,
            session: record.session.clone(),
            what: record.summary.clone(),
            moved: record.quarantined.clone(),
            ended: None,
        };
        (!record.quarantined.is_empty()).then(entry)
    }

    /// Returns its state.
    pub fn status(&self) -> QuarantineStatus {
        if self.moved.iter().any(|moved| MovePaths::of(moved).is_ok_and(|place| place.is_kept())) {
            return QuarantineStatus::Kept;
        }
        match self.ended.as_ref().map(|ended| ended.how.as_str()) {
            Some(RESTORED) => QuarantineStatus::Restored,
            Some(_) => QuarantineStatus::Purged,
            None => QuarantineStatus::Gone,
        }
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> u64 {
        self.moved.iter().filter_map(|moved| MovePaths::of(moved).ok()?.size().ok()).sum()
    }
}

const RESTORED: &str = "restored";
const PURGED: &str = "purged";

/// All known quarantines.
pub struct QuarantineList {
    /// The entries, newest first.
    pub entries: Vec<QuarantineEntry>,
    /// Files that cannot be read.
    pub damaged: Vec<String>,
}

fn document_store(home: &Home) -> DocumentStore {
    DocumentStore::in_home(home, FOLDER)
}

/// Returns the tasks that one event's records queue.
pub fn quarantine_tasks(records: &[Record], now: u64) -> impl Iterator<Item = NewWork> {
    let moves = records.iter().filter(|record| !record.quarantined.is_empty());
    moves.map(move |record| NewWork {
        kind: WORK.into(),
        key: record.id.clone(),
        due_at: now,
        document: String::new(),
    })
}

/// Writes the entry that a record describes, unless it exists.
pub fn save_entry(store: &Store, home: &Home, id: &str) -> Result<String> {
    let documents = document_store(home);
    if matches!(documents.get_document::<QuarantineEntry>(id), Ok(Some(_))) {
        return Ok(format!("the quarantine {id} is written down"));
    }
    let record = store
        .find_record(id)?
        .map(|stored| serde_json::from_str::<Record>(&stored.record.document))
        .transpose()?;
    let Some(entry) = record.as_ref().and_then(QuarantineEntry::of) else {
        return Ok(format!("the journal has no quarantine {id} any more"));
    };
    documents.put_document(id, &entry)?;
    Ok(format!("the quarantine {id} was written down"))
}

/// Deletes quarantines past their retention permanently. Behind a boundary, where a state belongs to a
/// `user`, the files are left to that user: the session's events name the folders, and this process has
/// other rights.
pub fn purge_expired(
    store: &Store,
    home: &Home,
    user: Option<u32>,
    days: u32,
    now: u64,
) -> Result<String> {
    if user.is_some() {
        return Ok("quarantined files are left to their user".to_owned());
    }
    let known = list_quarantines(store, home)?;
    let (mut purged, mut failed) = (0_u64, Vec::new());
    for entry in known.entries.iter().filter(|entry| documents::is_past(entry.at, days, now)) {
        match purge_entry(home, entry, now) {
            Ok(()) => purged += u64::from(entry.ended.is_none()),
            Err(error) => failed.push(format!("{}: {error:#}", entry.id)),
        }
        // The entry is kept for the same time again, so that people can find out why the files are
        // gone.
        if failed.is_empty() && documents::is_past(entry.at, days.saturating_mul(2), now) {
            document_store(home).remove_document(&entry.id)?;
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    let age = count_noun(u64::from(days), "day");
    Ok(format!("emptied {} older than {age}", count_noun(purged, "quarantine")))
}

/// Returns all quarantines.
pub fn list_quarantines(store: &Store, home: &Home) -> Result<QuarantineList> {
    let contents = document_store(home).read_all::<QuarantineEntry>()?;
    let mut found: BTreeMap<String, QuarantineEntry> =
        of_journal(store)?.into_iter().map(|entry| (entry.id.clone(), entry)).collect();
    found.extend(contents.good);
    let mut entries: Vec<QuarantineEntry> = found.into_values().collect();
    entries.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    Ok(QuarantineList { entries, damaged: contents.damaged })
}

fn of_journal(store: &Store) -> Result<Vec<QuarantineEntry>> {
    let mut found = Vec::new();
    let filter =
        Filter { kind: Some("review".into()), verdict: Some("modify".into()), ..Filter::default() };
    store.query_records(&filter, |stored| {
        found.extend(
            serde_json::from_str::<Record>(&stored.record.document)
                .ok()
                .as_ref()
                .and_then(QuarantineEntry::of),
        );
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Finds the quarantine that a person names by its id, a prefix of one, or `last`.
pub fn find_entry(store: &Store, home: &Home, named: &str) -> Result<QuarantineEntry> {
    let mut known = list_quarantines(store, home)?;
    let fits = |entry: &QuarantineEntry| {
        named == "last" || !named.is_empty() && entry.id.starts_with(named)
    };
    let found: Vec<usize> = known
        .entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| fits(entry))
        .map(|(at, _)| at)
        .collect();
    let shown = one_line(named, 64);
    match found.as_slice() {
        [at] => Ok(known.entries.swap_remove(*at)),
        [first, ..] if named == "last" => Ok(known.entries.swap_remove(*first)),
        [] => match known.damaged.first() {
            Some(damaged) => bail!(KnownFailure::NotFound(format!(
                "there is no quarantine `{shown}`, and {damaged}"
            ))),
            None => {
                bail!(KnownFailure::NotFound(format!(
                    "there is no quarantine `{shown}`: `portcullis quarantine list` shows them"
                )))
            }
        },
        several => bail!("{} quarantines begin with `{shown}`: give more of the id", several.len()),
    }
}

/// Deletes its files permanently.
pub fn purge_entry(home: &Home, entry: &QuarantineEntry, now: u64) -> Result<()> {
    for moved in &entry.moved {
        let place = MovePaths::of(moved)?;
        place.delete().with_context(|| format!("cannot delete `{}`", moved.to))?;
        place.tidy(&entry.id);
    }
    if entry.ended.is_some() {
        return Ok(());
    }
    end(home, entry, PURGED, now)
}

/// Records its end.
fn end(home: &Home, entry: &QuarantineEntry, how: &str, now: u64) -> Result<()> {
    document_store(home).put_document(
        &entry.id,
        &QuarantineEntry {
            ended: Some(QuarantineEnd { at: now, how: how.into() }),
            ..entry.clone()
        },
    )
}

/// Moves files away directly, each into the quarantine of the project that contains it; returns
/// `None` if nothing is left to move. A file that cannot be moved stays where it is and causes an
/// error that names it.
pub fn put_away(
    home: &Home,
    roots: &[String],
    paths: &[String],
    session: &str,
    what: &str,
    now: u64,
) -> Result<Option<QuarantineEntry>> {
    let mut entry = QuarantineEntry {
        id: own_id(session, now),
        at: now,
        session: session.into(),
        what: what.into(),
        moved: Vec::new(),
        ended: None,
    };
    let root_of = |path: &String| {
        roots.iter().filter(|root| Path::new(path).starts_with(root)).max_by_key(|root| root.len())
    };
    for (index, path) in paths.iter().enumerate() {
        let (Some(root), Some(name)) = (root_of(path), path.rsplit('/').next()) else { continue };
        let to = format!("{}/{OURS}/{}/{index}/{name}", root.trim_end_matches('/'), entry.id);
        entry.moved.push(MovedEntry { from: path.clone(), to });
    }
    if entry.moved.is_empty() {
        return Ok(None);
    }
    // Record the way back first, then move.
    document_store(home).put_document(&entry.id, &entry)?;
    for moved in &entry.moved {
        match MovePaths::of(moved).and_then(|place| place.put_away()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done.with_context(|| format!("cannot move `{}` away", moved.from))?,
        }
    }
    Ok(Some(entry))
}

fn own_id(seed: &str, now: u64) -> String {
    let digest =
        blake3::hash(format!("quarantine\0{seed}\0{now}\0{}", std::process::id()).as_bytes())
            .to_hex();
    digest.chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_config::boundary::{state_of, user_of_state};
    use portcullis_core::record::RecordKind;
    use portcullis_store::{Durability, Home, NewRecord};
    use std::fs;

    #[test]
    fn behind_a_boundary_nothing_is_deleted_that_a_user_names() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let home = Home::open_root(folder.join("state")).unwrap();
        let mut store = Store::open_database(&home, Durability::Process).unwrap();
        let mut record = Record::outside_session(RecordKind::Review, "x", "rm -rf work", 1, "r");
        let kept = folder.join(OURS).join(&record.id).join("0/work");
        fs::create_dir_all(&kept).unwrap();
        let from = folder.join("work").display().to_string();
        record.quarantined = vec![MovedEntry { from, to: kept.display().to_string() }];
        let row = NewRecord {
            id: record.id.clone(),
            at: 1,
            kind: "review".into(),
            subject: "Bash".into(),
            verdict: Some("modify".into()),
            document: serde_json::to_string(&record).unwrap(),
            ..NewRecord::default()
        };
        store.append_records(vec![row]).unwrap();
        let now = 1_000_000_000_000;
        purge_expired(&store, &home, user_of_state(&state_of(4_000_000_000)), 1, now).unwrap();
        assert!(kept.exists(), "it deletes what a user's record names");
        purge_expired(&store, &home, user_of_state(home.path()), 1, now).unwrap();
        assert!(!kept.exists(), "without a boundary it is deleted");
    }
}

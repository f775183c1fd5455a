//! Quarantines: what was moved away in place of being deleted, and how it comes back.
//!
//! What is moved stands in its own project, below `.portcullis/quarantine`, so that moving it is a rename. The agent
//! can write there; so where each thing came from stands in our state, and on the way there and back no link is
//! followed. What is put back never replaces anything unless a person says so, and what it then replaces is moved
//! into a quarantine itself.

mod folders;
mod restore;

pub use restore::{Obstacle, Restored, restore};

use crate::kept::{self, Shelf};
use anyhow::{Context, Result, bail};
use folders::Place;
use portcullis_core::record::{Moved, Record};
use portcullis_core::text::one_line;
use portcullis_store::{Filter, NewWork, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

/// The task that writes down what a record tells of a quarantine.
pub const WORK: &str = "quarantined";
/// The folder of our state with what is known of each.
const FOLDER: &str = "quarantine";
/// Where we move things ourselves, below a project's folder.
const OURS: &str = ".portcullis/quarantine";

/// What was moved away at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// That of the review, or one of our own.
    pub id: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The session.
    pub session: String,
    /// Why, in one line, masked.
    pub what: String,
    /// What was moved, and where.
    pub moved: Vec<Moved>,
    /// What became of it; none while it is kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Ended>,
}

/// What became of a quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: u64,
    /// `restored` or `purged`.
    pub how: String,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Something of it is there.
    Kept,
    /// It was put back.
    Restored,
    /// It was deleted for good.
    Purged,
    /// Nothing of it is there: the command did not run, or somebody took it away.
    Gone,
}

impl Standing {
    /// In a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Restored => "restored",
            Self::Purged => "purged",
            Self::Gone => "gone",
        }
    }
}

impl Entry {
    /// What a record tells of one.
    fn of(record: &Record) -> Option<Self> {
        let told = || Self {
            id: record.id.clone(),
            at: record.at,
            session: record.session.clone(),
            what: record.summary.clone(),
            moved: record.quarantined.clone(),
            ended: None,
        };
        (!record.quarantined.is_empty()).then(told)
    }

    /// How it stands.
    pub fn standing(&self) -> Standing {
        if self.moved.iter().any(|moved| Place::of(moved).is_ok_and(|place| place.is_kept())) {
            return Standing::Kept;
        }
        match self.ended.as_ref().map(|ended| ended.how.as_str()) {
            Some(RESTORED) => Standing::Restored,
            Some(_) => Standing::Purged,
            None => Standing::Gone,
        }
    }

    /// The bytes that it holds.
    pub fn size(&self) -> u64 {
        self.moved.iter().filter_map(|moved| Place::of(moved).ok()?.size().ok()).sum()
    }
}

const RESTORED: &str = "restored";
const PURGED: &str = "purged";

/// Everything that is known.
pub struct Known {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Files that cannot be read.
    pub damaged: Vec<String>,
}

fn shelf(state: &Path) -> Shelf {
    Shelf::of(state, FOLDER)
}

/// The tasks that records of one event leave.
pub fn work(records: &[Record], now: u64) -> impl Iterator<Item = NewWork> {
    let moves = records.iter().filter(|record| !record.quarantined.is_empty());
    moves.map(move |record| NewWork { kind: WORK.into(), key: record.id.clone(), due_at: now, document: String::new() })
}

/// Writes down what a record tells, unless that was done.
pub fn keep(store: &Store, state: &Path, id: &str) -> Result<String> {
    let shelf = shelf(state);
    if matches!(shelf.get::<Entry>(id), Ok(Some(_))) {
        return Ok(format!("the quarantine {id} is written down"));
    }
    let record = store.record(id)?.map(|stored| serde_json::from_str::<Record>(&stored.record.document)).transpose()?;
    let Some(entry) = record.as_ref().and_then(Entry::of) else { return Ok(format!("the journal has no quarantine {id} any more")) };
    shelf.put(id, &entry)?;
    Ok(format!("the quarantine {id} was written down"))
}

/// Deletes for good what is past its days.
pub fn forget(store: &Store, state: &Path, days: u32, now: u64) -> Result<String> {
    let known = all(store, state)?;
    let (mut purged, mut failed) = (0_usize, Vec::new());
    for entry in known.entries.iter().filter(|entry| kept::is_past(entry.at, days, now)) {
        match purge(state, entry, now) {
            Ok(()) => purged += usize::from(entry.ended.is_none()),
            Err(error) => failed.push(format!("{}: {error:#}", entry.id)),
        }
        // What is known of it goes a like time later, so that nobody wonders where it is.
        if failed.is_empty() && kept::is_past(entry.at, days.saturating_mul(2), now) {
            shelf(state).remove(&entry.id)?;
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(format!("{purged} quarantines older than {days} days were emptied"))
}

/// All quarantines.
pub fn all(store: &Store, state: &Path) -> Result<Known> {
    let contents = shelf(state).all::<Entry>()?;
    let mut found: BTreeMap<String, Entry> = of_journal(store)?.into_iter().map(|entry| (entry.id.clone(), entry)).collect();
    found.extend(contents.good);
    let mut entries: Vec<Entry> = found.into_values().collect();
    entries.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    Ok(Known { entries, damaged: contents.damaged })
}

fn of_journal(store: &Store) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    let filter = Filter { kind: Some("review".into()), verdict: Some("modify".into()), ..Filter::default() };
    store.query(&filter, |stored| {
        found.extend(serde_json::from_str::<Record>(&stored.record.document).ok().as_ref().and_then(Entry::of));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The one that a person means: by its id, the beginning of one, or `last`.
pub fn find(store: &Store, state: &Path, named: &str) -> Result<Entry> {
    let mut known = all(store, state)?;
    let fits = |entry: &Entry| named == "last" || !named.is_empty() && entry.id.starts_with(named);
    let found: Vec<usize> = known.entries.iter().enumerate().filter(|(_, entry)| fits(entry)).map(|(at, _)| at).collect();
    let shown = one_line(named, 64);
    match found.as_slice() {
        [at] => Ok(known.entries.swap_remove(*at)),
        [first, ..] if named == "last" => Ok(known.entries.swap_remove(*first)),
        [] => match known.damaged.first() {
            Some(damaged) => bail!("there is no quarantine `{shown}`, and {damaged}"),
            None => bail!("there is no quarantine `{shown}`: `portcullis quarantine list` shows them"),
        },
        several => bail!("{} quarantines begin with `{shown}`: give more of the id", several.len()),
    }
}

/// Deletes for good what is kept of it.
pub fn purge(state: &Path, entry: &Entry, now: u64) -> Result<()> {
    for moved in &entry.moved {
        let place = Place::of(moved)?;
        place.delete().with_context(|| format!("cannot delete `{}`", moved.to))?;
        place.tidy(&entry.id);
    }
    if entry.ended.is_some() {
        return Ok(());
    }
    end(state, entry, PURGED, now)
}

/// Writes down what became of it.
fn end(state: &Path, entry: &Entry, how: &str, now: u64) -> Result<()> {
    shelf(state).put(&entry.id, &Entry { ended: Some(Ended { at: now, how: how.into() }), ..entry.clone() })
}

/// Moves files away ourselves, each into the quarantine of the project that holds it; none where nothing is left to
/// move. What cannot be moved stays where it is and ends this with an error that names it.
pub fn put_away(state: &Path, roots: &[String], paths: &[String], session: &str, what: &str, now: u64) -> Result<Option<Entry>> {
    let mut entry = Entry { id: own_id(session, now), at: now, session: session.into(), what: what.into(), moved: Vec::new(), ended: None };
    let root_of = |path: &String| roots.iter().filter(|root| Path::new(path).starts_with(root)).max_by_key(|root| root.len());
    for (index, path) in paths.iter().enumerate() {
        let (Some(root), Some(name)) = (root_of(path), path.rsplit('/').next()) else { continue };
        let to = format!("{}/{OURS}/{}/{index}/{name}", root.trim_end_matches('/'), entry.id);
        entry.moved.push(Moved { from: path.clone(), to });
    }
    if entry.moved.is_empty() {
        return Ok(None);
    }
    // First what leads back, then the move.
    shelf(state).put(&entry.id, &entry)?;
    for moved in &entry.moved {
        match Place::of(moved).and_then(|place| place.put_away()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done.with_context(|| format!("cannot move `{}` away", moved.from))?,
        }
    }
    Ok(Some(entry))
}

fn own_id(seed: &str, now: u64) -> String {
    let digest = blake3::hash(format!("quarantine\0{seed}\0{now}\0{}", std::process::id()).as_bytes()).to_hex();
    digest.chars().take(16).collect()
}

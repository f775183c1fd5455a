//! Restores the files of a quarantine: all of them or none.

use super::folders::{MovePaths, Occupant};
use super::{OURS, QuarantineEntry, RESTORED, document_store, end, own_id};
use anyhow::{Context, Result, bail};
use portcullis_core::record::MovedEntry;
use portcullis_store::Home;
use std::path::Path;

/// An obstacle to restoring a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The original path of the file.
    pub path: String,
    /// The reason why it cannot be restored there.
    pub why: &'static str,
    /// True if a person may have the obstacle moved away.
    pub may_go: bool,
}

/// The result of a restore.
#[derive(Debug, PartialEq, Eq)]
pub enum RestoreResult {
    /// Nothing was changed.
    Refused(Vec<Obstacle>),
    /// It was put back.
    Done {
        /// The restored paths.
        paths: Vec<String>,
        /// The quarantine of the replaced files, if any.
        replaced: Option<QuarantineEntry>,
    },
}

/// Restores all files of an entry. `force` moves obstacles into a quarantine of their own.
///
/// # Errors
/// Fails if none of its files are there, or if something cannot be moved: earlier moves are rolled
/// back, and the message names the failed rollbacks.
pub fn restore_entry(
    home: &Home,
    entry: &QuarantineEntry,
    force: bool,
    now: u64,
) -> Result<RestoreResult> {
    let places: Vec<(&MovedEntry, MovePaths)> = entry
        .moved
        .iter()
        .map(|moved| Ok((moved, MovePaths::of(moved)?)))
        .collect::<Result<_>>()?;
    let kept: Vec<(&MovedEntry, MovePaths)> =
        places.into_iter().filter(|(_, place)| place.is_kept()).collect();
    if kept.is_empty() {
        bail!(
            "nothing of the quarantine `{}` is there: its command did not run, or it was put back or taken away",
            entry.id
        );
    }
    let obstacles: Vec<Obstacle> =
        kept.iter().filter_map(|(moved, place)| obstacle(moved, place)).collect();
    if obstacles.iter().any(|obstacle| !force || !obstacle.may_go) {
        return Ok(RestoreResult::Refused(obstacles));
    }
    let replaced = away(entry, &obstacles, &kept, now);
    if let Some(replaced) = &replaced {
        document_store(home).put_document(&replaced.id, replaced)?;
    }
    let obstacles_moved: Vec<(&MovedEntry, MovePaths)> = replaced
        .iter()
        .flat_map(|entry| &entry.moved)
        .map(|moved| Ok((moved, MovePaths::of(moved)?)))
        .collect::<Result<_>>()?;
    let mut done: Vec<Step<'_>> = Vec::new();
    let steps = obstacles_moved.iter().map(|(moved, place)| Step { moved, place, back: false });
    for step in steps.chain(kept.iter().map(|(moved, place)| Step { moved, place, back: true })) {
        if let Err(error) = step.take() {
            let stuck: Vec<&str> = done
                .iter()
                .rev()
                .filter(|step| step.undo().is_err())
                .map(|step| step.moved.from.as_str())
                .collect();
            let left = if stuck.is_empty() {
                String::new()
            } else {
                format!("; not undone: {}", stuck.join(", "))
            };
            let hint = if error.kind() == std::io::ErrorKind::CrossesDevices {
                format!("it is on another file system: move it yourself from `{}`", step.moved.to)
            } else {
                error.to_string()
            };
            return Err(anyhow::anyhow!("{hint}{left}")).with_context(|| {
                format!("cannot move `{}`, so nothing was put back", step.moved.from)
            });
        }
        done.push(step);
    }
    kept.iter().for_each(|(_, place)| place.tidy(&entry.id));
    end(home, entry, RESTORED, now)?;
    Ok(RestoreResult::Done {
        paths: kept.iter().map(|(moved, _)| moved.from.clone()).collect(),
        replaced,
    })
}

/// One move.
struct Step<'a> {
    moved: &'a MovedEntry,
    place: &'a MovePaths,
    /// True for a move out of a quarantine, false for one into it.
    back: bool,
}

impl Step<'_> {
    fn take(&self) -> std::io::Result<()> {
        if self.back { self.place.put_back() } else { self.place.put_away() }
    }

    fn undo(&self) -> std::io::Result<()> {
        if self.back { self.place.put_away() } else { self.place.put_back() }
    }
}

fn obstacle(moved: &MovedEntry, place: &MovePaths) -> Option<Obstacle> {
    let (why, may_go) = match place.in_the_way() {
        Occupant::Nothing => return None,
        Occupant::Something => ("something is there now", true),
        Occupant::Barred => ("a folder above it is a link now, or not a folder", false),
    };
    Some(Obstacle { path: moved.from.clone(), why, may_go })
}

/// Returns the quarantine for obstacles: next to the one that they make room for.
fn away(
    entry: &QuarantineEntry,
    obstacles: &[Obstacle],
    kept: &[(&MovedEntry, MovePaths)],
    now: u64,
) -> Option<QuarantineEntry> {
    let id = own_id(&entry.id, now);
    let moved = |(index, obstacle): (usize, &Obstacle)| {
        let (of, _) = kept.iter().find(|(moved, _)| moved.from == obstacle.path)?;
        let base = of.to.split_once(&format!("/{}/", entry.id)).map(|(base, _)| base.to_owned());
        let base =
            base.or_else(|| Some(format!("{}/{OURS}", Path::new(&of.from).parent()?.display())))?;
        Some(MovedEntry {
            from: obstacle.path.clone(),
            to: format!("{base}/{id}/{index}/{}", obstacle.path.rsplit('/').next()?),
        })
    };
    let moved: Vec<MovedEntry> = obstacles.iter().enumerate().filter_map(moved).collect();
    let what = format!("what was in the way of the quarantine {}", entry.id);
    (!moved.is_empty()).then(|| QuarantineEntry {
        id,
        at: now,
        session: entry.session.clone(),
        what,
        moved,
        ended: None,
    })
}

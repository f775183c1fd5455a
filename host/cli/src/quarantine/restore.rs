//! Putting back what was moved into a quarantine: all of it or nothing.

use super::folders::{Found, Place};
use super::{Entry, OURS, RESTORED, end, own_id, shelf};
use anyhow::{Context, Result, bail};
use portcullis_core::record::Moved;
use std::path::Path;

/// What stands in the way of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Where it stood.
    pub path: String,
    /// Why it cannot go there.
    pub why: &'static str,
    /// A person may have it moved away.
    pub may_go: bool,
}

/// How a restore went.
#[derive(Debug, PartialEq, Eq)]
pub enum Restored {
    /// Nothing was changed.
    Refused(Vec<Obstacle>),
    /// It was put back.
    Done {
        /// What is there again.
        paths: Vec<String>,
        /// What was moved away for it, if anything.
        replaced: Option<Entry>,
    },
}

/// Puts everything of an entry back. `force` moves what stands in the way into a quarantine of its own.
///
/// # Errors
/// Nothing of it is there, or something cannot be moved: what was moved before is moved back, and the message names
/// what could not be.
pub fn restore(state: &Path, entry: &Entry, force: bool, now: u64) -> Result<Restored> {
    let places: Vec<(&Moved, Place)> = entry.moved.iter().map(|moved| Ok((moved, Place::of(moved)?))).collect::<Result<_>>()?;
    let kept: Vec<(&Moved, Place)> = places.into_iter().filter(|(_, place)| place.is_kept()).collect();
    if kept.is_empty() {
        bail!("nothing of the quarantine `{}` is there: its command did not run, or it was put back or taken away", entry.id);
    }
    let obstacles: Vec<Obstacle> = kept.iter().filter_map(|(moved, place)| obstacle(moved, place)).collect();
    if obstacles.iter().any(|obstacle| !force || !obstacle.may_go) {
        return Ok(Restored::Refused(obstacles));
    }
    let replaced = away(entry, &obstacles, &kept, now);
    if let Some(replaced) = &replaced {
        shelf(state).put(&replaced.id, replaced)?;
    }
    let aside: Vec<(&Moved, Place)> =
        replaced.iter().flat_map(|entry| &entry.moved).map(|moved| Ok((moved, Place::of(moved)?))).collect::<Result<_>>()?;
    let mut done: Vec<Step<'_>> = Vec::new();
    let steps = aside.iter().map(|(moved, place)| Step { moved, place, back: false });
    for step in steps.chain(kept.iter().map(|(moved, place)| Step { moved, place, back: true })) {
        if let Err(error) = step.take() {
            let stuck: Vec<&str> = done.iter().rev().filter(|step| step.undo().is_err()).map(|step| step.moved.from.as_str()).collect();
            let left = if stuck.is_empty() { String::new() } else { format!("; not undone: {}", stuck.join(", ")) };
            let hint = if error.kind() == std::io::ErrorKind::CrossesDevices {
                format!("it lies on another file system: move it by hand from `{}`", step.moved.to)
            } else {
                error.to_string()
            };
            return Err(anyhow::anyhow!("{hint}{left}"))
                .with_context(|| format!("cannot move `{}`, so nothing was put back", step.moved.from));
        }
        done.push(step);
    }
    kept.iter().for_each(|(_, place)| place.tidy(&entry.id));
    end(state, entry, RESTORED, now)?;
    Ok(Restored::Done { paths: kept.iter().map(|(moved, _)| moved.from.clone()).collect(), replaced })
}

/// One move.
struct Step<'a> {
    moved: &'a Moved,
    place: &'a Place,
    /// Out of a quarantine, not into one.
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

fn obstacle(moved: &Moved, place: &Place) -> Option<Obstacle> {
    let (why, may_go) = match place.in_the_way() {
        Found::Nothing => return None,
        Found::Something => ("something stands there now", true),
        Found::Barred => ("a folder above it is a link now, or no folder", false),
    };
    Some(Obstacle { path: moved.from.clone(), why, may_go })
}

/// Where what stands in the way goes: beside the quarantine that it makes room for.
fn away(entry: &Entry, obstacles: &[Obstacle], kept: &[(&Moved, Place)], now: u64) -> Option<Entry> {
    let id = own_id(&entry.id, now);
    let moved = |(index, obstacle): (usize, &Obstacle)| {
        let (of, _) = kept.iter().find(|(moved, _)| moved.from == obstacle.path)?;
        let base = of.to.split_once(&format!("/{}/", entry.id)).map(|(base, _)| base.to_owned());
        let base = base.or_else(|| Some(format!("{}/{OURS}", Path::new(&of.from).parent()?.display())))?;
        Some(Moved { from: obstacle.path.clone(), to: format!("{base}/{id}/{index}/{}", obstacle.path.rsplit('/').next()?) })
    };
    let moved: Vec<Moved> = obstacles.iter().enumerate().filter_map(moved).collect();
    let what = format!("what stood in the way of the quarantine {}", entry.id);
    (!moved.is_empty()).then(|| Entry { id, at: now, session: entry.session.clone(), what, moved, ended: None })
}

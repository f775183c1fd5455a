//! The journal: can it be read and written, does its chain hold, what does it tell of the last days.

use super::canary::SESSION;
use super::finding::{Check, Finding};
use crate::amount::{size, span};
use crate::paint;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_store::{Anchor, Facts, Filter, Home, Standing, Store, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How far back faults and unreviewed actions are told, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// How far back held changes of settings are told.
const WEEK: u64 = 7 * DAY;
/// The most records of a kind that are read.
const MOST_RECORDS: u64 = 20_000;
/// A key is made with its journal: one that is so much younger or older belongs to another one.
const APART: u64 = 60 * 60 * 1000;
/// The log that hooks read grows to so many bytes only where nobody empties it.
const LONG_LOG: u64 = 8 * 1024 * 1024;

const ASIDE: &str = "restore a backup, or run `portcullis recover`: it begins a new journal and keeps this one as evidence";

/// Looks at the database without changing it.
pub fn database(home: &Home) -> (Vec<Finding>, Option<Facts>) {
    let facts = match Store::inspect(home) {
        Ok(facts) => facts,
        Err(StoreError::Missing { path }) => return (vec![absent(home, &path)], None),
        Err(error) => return (vec![Finding::problem(Check::Database, error.to_string(), mend(&error))], None),
    };
    let mut findings = Vec::new();
    if let Some(damage) = &facts.damage {
        findings.push(Finding::problem(Check::Database, format!("`{}` is damaged: {damage}", home.journal().display()), ASIDE));
    }
    findings.extend(unwritable(home));
    if facts.log_size > LONG_LOG {
        let what = format!("the log that each hook reads has grown to {}", size(facts.log_size));
        findings.push(Finding::warning(Check::Database, what, "run `portcullis maintain`; end what keeps the journal open"));
    }
    if findings.is_empty() {
        let what = format!(
            "{} of {}, {}",
            count(facts.records, "record"),
            count(facts.sessions, "session"),
            size(facts.size.saturating_add(facts.log_size))
        );
        findings.push(Finding::ok(Check::Database, what));
    }
    (findings, Some(facts))
}

fn mend(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => "replace this program, and the one that the hooks start, by the newer version",
        StoreError::Corrupt { .. } => ASIDE,
        StoreError::Tampered { .. } => "look at it with `portcullis audit verify`; then restore a backup or run `portcullis recover`",
        StoreError::ReadOnly { .. } => "make the file and its folder writable for you",
        _ => "mend what it names, then run `portcullis doctor` again",
    }
}

/// No journal: before the first action it is not there yet, later it was removed.
fn absent(home: &Home, path: &Path) -> Finding {
    let shown = path.display();
    if TRACES.iter().any(|name| home.path().join(name).exists()) {
        let what = format!("the journal `{shown}` is gone, though this installation has had one");
        return Finding::problem(
            Check::Database,
            what,
            "restore it from a backup if you did not remove it; the next action begins a new one",
        );
    }
    Finding::note(Check::Database, format!("there is no journal `{shown}` yet: the first action makes it"), "")
}

/// What only work with a journal leaves in the state folder.
const TRACES: &[&str] = &["journal.db-wal", "journal.db-shm", "maintain.lock", "backups"];

/// The superuser can write everything, whatever its mode.
fn unwritable(home: &Home) -> Vec<Finding> {
    let paths = [home.path().to_owned(), home.journal(), home.path().join("journal.db-wal"), home.path().join("journal.db-shm")];
    let locked = |path: &&PathBuf| path.exists() && rustix::fs::access(path.as_path(), rustix::fs::Access::WRITE_OK).is_err();
    let tell = |path: &PathBuf| {
        let what = format!("you cannot write `{}`: each action is refused, since it cannot be recorded", path.display());
        Finding::problem(
            Check::Database,
            what,
            format!("chmod u+w {}; look at its volume if it is mounted read-only", super::access::quoted(path)),
        )
    };
    paths.iter().filter(locked).map(tell).collect()
}

/// Follows the chain, and compares the lines that were kept elsewhere.
pub fn chain(store: &mut Store, anchors: &[PathBuf]) -> Vec<Finding> {
    let verification = match store.verify(|_| {}) {
        Ok(verification) => verification,
        Err(error) => return vec![Finding::problem(Check::Chain, error.to_string(), mend(&error))],
    };
    let mut findings = Vec::new();
    if let Some((sequence, flaw)) = verification.first_bad {
        let what = format!("the journal was changed at record {sequence}: {flaw}");
        findings.push(Finding::problem(
            Check::Chain,
            what,
            "find out who wrote to it (`portcullis audit verify`); then restore a backup or run `portcullis recover`",
        ));
    }
    let kept: Vec<Finding> = anchors.iter().flat_map(|path| anchor(store, path)).collect();
    findings.extend(kept);
    if findings.is_empty() {
        let elsewhere = if anchors.is_empty() {
            String::new()
        } else {
            format!(", and agrees with {} kept elsewhere", count(anchors.len() as u64, "file"))
        };
        findings.push(Finding::ok(Check::Chain, format!("{} in one chain{elsewhere}", count(verification.records, "record"))));
    }
    findings
}

/// A file of anchors, one a line: the newest that say anything.
fn anchor(store: &mut Store, path: &Path) -> Vec<Finding> {
    const MOST_BYTES: u64 = 64 * 1024 * 1024;
    let shown = path.display();
    let text = match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= MOST_BYTES => fs::read_to_string(path),
        Ok(_) => Err(std::io::Error::other("it is no file of anchors")),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            let what = format!("the anchors in `{shown}` cannot be read: {error}");
            return vec![Finding::warning(Check::Chain, what, "mount or make that folder; `portcullis maintain` writes the next anchor")];
        }
    };
    let parsed: Vec<Result<Anchor, StoreError>> = text.lines().filter(|line| !line.trim().is_empty()).map(str::parse).collect();
    let broken = parsed.iter().filter(|line| line.is_err()).count();
    let anchors: Vec<Anchor> = parsed.into_iter().flatten().collect();
    let mut findings = Vec::new();
    if broken > 0 {
        let what = format!("{} of `{shown}` are no anchors", count(broken as u64, "line"));
        findings.push(Finding::warning(Check::Chain, what, "find out who wrote to it"));
    }
    match store.check_anchors(&anchors) {
        Ok(compared) => findings.extend(compared.iter().find(|(_, standing)| standing.contradicts()).map(|kept| contradiction(path, kept))),
        Err(error) => findings.push(Finding::problem(Check::Chain, error.to_string(), mend(&error))),
    }
    findings
}

fn contradiction(path: &Path, (anchor, standing): &(Anchor, Standing)) -> Finding {
    let what = format!("`{}` names record {} of {} UTC, and {standing}", path.display(), anchor.sequence, paint::time(anchor.at));
    Finding::problem(Check::Chain, what, "find out who replaced the journal; restore it from a backup")
}

/// Whether key and journal belong together by their dates. A journal that an installation began says so in
/// its first record.
pub fn beginning(home: &Home, store: &Store) -> Option<Finding> {
    let (sequence, kind, first) = first(store)?;
    let key = fs::metadata(home.path().join("key")).and_then(|found| found.modified()).ok()?;
    let made = u64::try_from(key.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let what = if sequence == 1 && first > made.saturating_add(APART) && kind != RecordKind::Configuration.as_str() {
        format!(
            "the journal begins {} after its key was made: an earlier one was removed, or nothing was reviewed until then",
            span(first - made)
        )
    } else if made > first.saturating_add(APART) {
        format!("the key was written {} after the first record: it was replaced or restored", span(made - first))
    } else {
        return None;
    };
    Some(Finding::warning(Check::Chain, what, "if you did not do that, find out who did, and restore journal and key from a backup"))
}

/// The first record's position, kind and time.
fn first(store: &Store) -> Option<(u64, String, u64)> {
    let mut first = None;
    let filter = Filter { limit: Some(1), ..Filter::default() };
    store
        .query(&filter, |stored| {
            first = Some((stored.sequence, stored.record.kind, stored.record.at));
            ControlFlow::Break(())
        })
        .ok()?;
    first
}

/// Faults of the last day, by who had them.
pub fn faults(store: &Store, now: u64) -> Vec<Finding> {
    let mut by_source: BTreeMap<String, (u64, String, String)> = BTreeMap::new();
    let read = each(store, now.saturating_sub(DAY), None, |record| {
        for fault in &record.faults {
            let entry = by_source.entry(fault.source.clone()).or_default();
            // Newest first: the first one stays.
            if entry.0 == 0 {
                (entry.1, entry.2) = (format!("{}: {}", fault.kind, fault.detail), record.id.clone());
            }
            entry.0 += 1;
        }
    });
    if let Err(error) = read {
        return vec![Finding::problem(Check::Faults, error.to_string(), mend(&error))];
    }
    let tell = |(source, (times, newest, id)): (String, (u64, String, String))| {
        let whose = if source == "host" { "Portcullis itself".to_owned() } else { format!("the plugin `{}`", one_line(&source, 64)) };
        let what = format!("{whose} had {} in the last day; the newest: {newest}", count(times, "fault"));
        Finding::warning(Check::Faults, what, format!("`portcullis explain {id}` shows it"))
    };
    super::finding::or_ok(by_source.into_iter().map(tell).collect(), Check::Faults, "none in the last day")
}

/// Actions of the last day that ran and were not reviewed.
pub fn unreviewed(store: &Store, now: u64) -> Finding {
    let mut found = 0;
    let read = each(store, now.saturating_sub(DAY), Some(RecordKind::Unreviewed), |_| found += 1);
    match read {
        Err(error) => Finding::problem(Check::Unreviewed, error.to_string(), mend(&error)),
        Ok(()) if found > 0 => {
            let what = format!("{} ran without a review in the last day", count(found, "action"));
            Finding::warning(
                Check::Unreviewed,
                what,
                "`portcullis audit show --kind unreviewed` lists them; look for why the hooks did not run then",
            )
        }
        Ok(()) => Finding::ok(Check::Unreviewed, "no action of the last day ran without a review"),
    }
}

/// Changes of the client's settings that running sessions did not get: the next one starts with them.
pub fn held(store: &Store, now: u64) -> Vec<Finding> {
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    let read = each(store, now.saturating_sub(WEEK), Some(RecordKind::Configuration), |record| {
        if record.details.get("held").and_then(serde_json::Value::as_bool) == Some(true) {
            newest.entry(record.summary.clone()).or_insert(record.at);
        }
    });
    if let Err(error) = read {
        return vec![Finding::problem(Check::Held, error.to_string(), mend(&error))];
    }
    let tell = |(what, at): (String, u64)| {
        let what = format!("a change was held from a running session at {} UTC ({what}): new sessions have it", paint::time(at));
        let mend = "look at that file, and undo what you do not want; the record stays for a week";
        if at.saturating_add(DAY) > now { Finding::warning(Check::Held, what, mend) } else { Finding::note(Check::Held, what, mend) }
    };
    super::finding::or_ok(newest.into_iter().map(tell).collect(), Check::Held, "no change of the settings was held back in the last week")
}

/// The verdict that stands in the journal for a session of the canary.
pub fn recorded(store: &Store, session: &str) -> Option<String> {
    let mut verdict = None;
    let filter = Filter {
        session: Some(session.to_owned()),
        kind: Some(RecordKind::Review.as_str().to_owned()),
        limit: Some(1),
        ..Filter::default()
    };
    store
        .query(&filter, |stored| {
            verdict = stored.record.verdict;
            ControlFlow::Break(())
        })
        .ok()?;
    verdict
}

/// Hands the newest records since then to `look`, newest first, but for those of our own canaries.
fn each(store: &Store, since: u64, kind: Option<RecordKind>, mut look: impl FnMut(&Record)) -> Result<(), StoreError> {
    let filter = Filter {
        kind: kind.map(|kind| kind.as_str().to_owned()),
        since: Some(since),
        newest_first: true,
        limit: Some(MOST_RECORDS),
        ..Filter::default()
    };
    store.query(&filter, |stored| {
        let own = stored.session.as_deref().is_some_and(|session| session.starts_with(SESSION));
        // Most records have no faults, and reading each would take longer than all else.
        let plain = kind.is_none() && !stored.record.document.contains("\"faults\":[");
        if !own
            && !plain
            && let Ok(record) = serde_json::from_str::<Record>(&stored.record.document)
        {
            look(&record);
        }
        ControlFlow::Continue(())
    })
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

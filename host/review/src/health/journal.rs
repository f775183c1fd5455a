//! The journal: checks that it is readable and writable and that its chain is intact, and reports
//! the last days' problems.

use super::finding::{Check, HealthFinding};
use crate::canary_session::CANARY_SESSION;
use crate::hook_caller::WITHOUT_SERVICE;
use portcullis_config::amount::{format_size, format_span};
use portcullis_config::clock::format_utc;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::{Anchor, AnchorStatus, Filter, Home, JournalSummary, Store, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The period for faults and unreviewed actions, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// The period for held changes of settings.
const WEEK: u64 = 7 * DAY;
/// The most records of a kind that are read.
const MOST_RECORDS: u64 = 20_000;
/// A key is created together with its journal: with a larger age difference, it belongs to another
/// journal, in milliseconds.
const APART: u64 = 60 * 60 * 1000;
/// The log that hooks read only exceeds this size if nobody empties it.
const LONG_LOG: u64 = 8 * 1024 * 1024;

const REPLACED: &str = "find out who replaced it; put the newest one back, or run `portcullis \
     recover --keep` if it is a backup that you restored";
const RECOVER: &str = "restore a backup, or run `portcullis recover`: it begins a new journal and \
     keeps this one as evidence";

/// Checks the database without changing it.
pub(super) fn database(home: &Home) -> (Vec<HealthFinding>, Option<JournalSummary>) {
    let facts = match Store::inspect_journal(home) {
        Ok(facts) => facts,
        Err(StoreError::Missing { path }) => return (vec![absent(home, &path)], None),
        Err(error) => {
            return (
                vec![HealthFinding::problem(Check::Database, error.to_string(), fix(&error))],
                None,
            );
        }
    };
    let mut findings = Vec::new();
    if let Some(damage) = &facts.damage {
        findings.push(HealthFinding::problem(
            Check::Database,
            format!("`{}` is damaged: {damage}", home.journal().display()),
            RECOVER,
        ));
    }
    if let Some(replaced) = &facts.replaced {
        let what = format!(
            "`{}` is not the journal that this home knows: {replaced}",
            home.journal().display()
        );
        findings.push(HealthFinding::problem(Check::Database, what, REPLACED));
    }
    findings.extend(unwritable(home));
    if facts.log_size > LONG_LOG {
        let what =
            format!("the log that each hook reads has grown to {}", format_size(facts.log_size));
        findings.push(HealthFinding::warning(
            Check::Database,
            what,
            "run `portcullis maintain`; end what keeps the journal open",
        ));
    }
    if findings.is_empty() {
        let what = format!(
            "{} of {}, {}",
            count_noun(facts.records, "record"),
            count_noun(facts.sessions, "session"),
            format_size(facts.size.saturating_add(facts.log_size))
        );
        findings.push(HealthFinding::ok(Check::Database, what));
    }
    (findings, Some(facts))
}

fn fix(error: &StoreError) -> &'static str {
    match error {
        StoreError::Newer { .. } => {
            "replace this program, and the one that the hooks start, by the newer version"
        }
        StoreError::Corrupt { .. } | StoreError::Vanished { .. } => RECOVER,
        StoreError::Tampered { .. } => {
            "look at it with `portcullis audit verify`; then restore a backup or run `portcullis recover`"
        }
        StoreError::ReadOnly { .. } => "make the file and its folder writable for you",
        _ => "fix what it names, then run `portcullis doctor` again",
    }
}

/// Reports a missing journal: before the first action it does not exist yet, later it was removed.
fn absent(home: &Home, path: &Path) -> HealthFinding {
    let shown = path.display();
    let trace = home
        .journal_evidence()
        .or_else(|| TRACES.iter().find(|name| home.path().join(name).exists()).copied());
    if let Some(trace) = trace {
        let what = format!(
            "the journal `{shown}` is gone, though this installation has had one (`{trace}` is there)"
        );
        let fix = "restore it from a backup, or run `portcullis recover`: it begins a new one, and \
             stopped sessions stay stopped";
        return HealthFinding::problem(Check::Database, what, fix);
    }
    HealthFinding::note(
        Check::Database,
        format!("there is no journal `{shown}` yet: the first action makes it"),
        "",
    )
}

/// Files in the state folder that only exist after work with a journal.
const TRACES: &[&str] = &["journal.db-wal", "journal.db-shm", "maintain.lock", "backups"];

/// Checks that the files are writable. The superuser can write everything, regardless of the mode.
fn unwritable(home: &Home) -> Vec<HealthFinding> {
    let paths = [
        home.path().to_owned(),
        home.journal(),
        home.path().join("journal.db-wal"),
        home.path().join("journal.db-shm"),
    ];
    let locked = |path: &&PathBuf| {
        path.exists() && rustix::fs::access(path.as_path(), rustix::fs::Access::WRITE_OK).is_err()
    };
    let tell = |path: &PathBuf| {
        let what = format!(
            "you cannot write `{}`: each action is refused, since it cannot be recorded",
            path.display()
        );
        HealthFinding::problem(
            Check::Database,
            what,
            format!(
                "chmod u+w {}; look at its volume if it is mounted read-only",
                super::access::quoted(path)
            ),
        )
    };
    paths.iter().filter(locked).map(tell).collect()
}

/// Verifies the chain, and compares it with the anchors that were kept elsewhere.
pub(super) fn chain(store: &mut Store, anchors: &[PathBuf]) -> Vec<HealthFinding> {
    let verification = match store.verify_chain(|_| {}) {
        Ok(verification) => verification,
        Err(error) => {
            return vec![HealthFinding::problem(Check::Chain, error.to_string(), fix(&error))];
        }
    };
    let mut findings = Vec::new();
    if let Some((sequence, flaw)) = verification.first_bad {
        let what = format!("the journal was changed at record {sequence}: {flaw}");
        findings.push(HealthFinding::problem(
            Check::Chain,
            what,
            "find out who wrote to it (`portcullis audit verify`); then restore a backup or run `portcullis recover`",
        ));
    }
    if let Some(what) = verification.states {
        findings.push(HealthFinding::problem(
            Check::Chain,
            what,
            "find out who wrote to it; begin new sessions, or run `portcullis recover`",
        ));
    }
    let beside = verification.beside.map(|what| {
        HealthFinding::problem(Check::Chain, what, "find out who wrote to it; do what it names")
    });
    findings.extend(beside);
    let kept: Vec<HealthFinding> = anchors.iter().flat_map(|path| anchor(store, path)).collect();
    findings.extend(kept);
    if findings.is_empty() {
        let elsewhere = if anchors.is_empty() {
            String::new()
        } else {
            format!(", and agrees with {} kept elsewhere", count_noun(anchors.len() as u64, "file"))
        };
        findings.push(HealthFinding::ok(
            Check::Chain,
            format!("{} in one chain{elsewhere}", count_noun(verification.records, "record")),
        ));
    }
    findings
}

/// Checks a file of anchors, one on each line: the newest ones that can be verified.
fn anchor(store: &mut Store, path: &Path) -> Vec<HealthFinding> {
    const MOST_BYTES: u64 = 64 * 1024 * 1024;
    let shown = path.display();
    let text = match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() <= MOST_BYTES => fs::read_to_string(path),
        Ok(_) => Err(std::io::Error::other("it is not a file of anchors")),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let what =
                format!("the anchors in `{shown}` are missing: nothing is compared with them");
            return vec![HealthFinding::warning(
                Check::Chain,
                what,
                "mount or make their folder, and run `portcullis maintain`, which writes them each hour; if they were there before, find out who removed them",
            )];
        }
        Err(error) => {
            let what = format!("the anchors in `{shown}` cannot be read: {error}");
            return vec![HealthFinding::warning(
                Check::Chain,
                what,
                "mount or make that folder; `portcullis maintain` writes the next anchor",
            )];
        }
    };
    let parsed: Vec<Result<Anchor, StoreError>> =
        text.lines().filter(|line| !line.trim().is_empty()).map(str::parse).collect();
    let broken = parsed.iter().filter(|line| line.is_err()).count();
    let anchors: Vec<Anchor> = parsed.into_iter().flatten().collect();
    let mut findings = Vec::new();
    if broken > 0 {
        let what = format!("{} of `{shown}` are not anchors", count_noun(broken as u64, "line"));
        findings.push(HealthFinding::warning(Check::Chain, what, "find out who wrote to it"));
    }
    match store.check_anchors(&anchors) {
        Ok(compared) => findings.extend(
            compared
                .iter()
                .find(|(_, standing)| standing.contradicts_journal())
                .map(|kept| contradiction(path, kept)),
        ),
        Err(error) => {
            findings.push(HealthFinding::problem(Check::Chain, error.to_string(), fix(&error)))
        }
    }
    findings
}

fn contradiction(path: &Path, (anchor, standing): &(Anchor, AnchorStatus)) -> HealthFinding {
    let what = format!(
        "`{}` names record {} of {} UTC, and {standing}",
        path.display(),
        anchor.sequence,
        format_utc(anchor.at)
    );
    HealthFinding::problem(
        Check::Chain,
        what,
        "find out who replaced the journal; restore it from a backup",
    )
}

/// Checks that the dates of key and journal match. A journal that was created by an installation
/// says so in its first record.
pub(super) fn beginning(home: &Home, store: &Store) -> Option<HealthFinding> {
    let (sequence, kind, first) = first(store)?;
    let key = fs::metadata(home.path().join("key")).and_then(|found| found.modified()).ok()?;
    let made = u64::try_from(key.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let what = if sequence == 1
        && first > made.saturating_add(APART)
        && kind != RecordKind::Configuration.as_str()
    {
        format!(
            "the journal begins {} after its key was made: an earlier one was removed, or nothing \
             was reviewed until then",
            format_span(first - made)
        )
    } else if made > first.saturating_add(APART) {
        format!(
            "the key was written {} after the first record: it was replaced or restored",
            format_span(made - first)
        )
    } else {
        return None;
    };
    Some(HealthFinding::warning(
        Check::Chain,
        what,
        "if you did not do that, find out who did, and restore journal and key from a backup",
    ))
}

/// Returns the first record's position, kind and time.
fn first(store: &Store) -> Option<(u64, String, u64)> {
    let mut first = None;
    let filter = Filter { limit: Some(1), ..Filter::default() };
    store
        .query_records(&filter, |stored| {
            first = Some((stored.sequence, stored.record.kind, stored.record.at));
            ControlFlow::Break(())
        })
        .ok()?;
    first
}

/// Reports faults of the last day, by source.
pub(super) fn faults(store: &Store, now: u64) -> Vec<HealthFinding> {
    let mut by_source: BTreeMap<String, (u64, String, String)> = BTreeMap::new();
    let read = each(store, now.saturating_sub(DAY), None, |record| {
        for fault in &record.faults {
            let entry = by_source.entry(fault.source.clone()).or_default();
            // Newest first: the first one is kept.
            if entry.0 == 0 {
                (entry.1, entry.2) =
                    (format!("{}: {}", fault.kind, fault.detail), record.id.clone());
            }
            entry.0 += 1;
        }
    });
    if let Err(error) = read {
        return vec![HealthFinding::problem(Check::Faults, error.to_string(), fix(&error))];
    }
    let tell = |(source, (times, newest, id)): (String, (u64, String, String))| {
        let whose = if source == "host" {
            "Portcullis itself".to_owned()
        } else {
            format!("the plugin `{}`", one_line(&source, 64))
        };
        let what = format!(
            "{whose} had {} in the last day; the newest: {newest}",
            count_noun(times, "fault")
        );
        HealthFinding::warning(Check::Faults, what, format!("`portcullis explain {id}` shows it"))
    };
    super::finding::or_ok(
        by_source.into_iter().map(tell).collect(),
        Check::Faults,
        "none in the last day",
    )
}

/// Reports reviews of the last day that the resident service should have made, and did not.
pub(super) fn without_service(store: &Store, now: u64) -> Option<HealthFinding> {
    let (mut times, mut newest) = (0, String::new());
    let read = each(store, now.saturating_sub(DAY), Some(RecordKind::Review), |record| {
        let reason = record.details.get(WITHOUT_SERVICE).and_then(serde_json::Value::as_str);
        let Some(reason) = reason else { return };
        // Newest first: the first one is kept.
        if times == 0 {
            newest = one_line(reason, 240);
        }
        times += 1;
    });
    // An unreadable journal is reported by the other checks.
    read.ok().filter(|()| times > 0)?;
    let what = format!(
        "{} of the last day were made without it; the newest: {newest}",
        count_noun(times, "review")
    );
    let fix = "`portcullis serve --status` shows whether it answers now; hooks review by themselves \
               until it does";
    Some(HealthFinding::warning(Check::Service, what, fix))
}

/// Reports actions of the last day that ran and were not reviewed.
pub(super) fn unreviewed(store: &Store, now: u64) -> HealthFinding {
    let mut found = 0;
    let read = each(store, now.saturating_sub(DAY), Some(RecordKind::Unreviewed), |_| found += 1);
    match read {
        Err(error) => HealthFinding::problem(Check::Unreviewed, error.to_string(), fix(&error)),
        Ok(()) if found > 0 => {
            let what =
                format!("{} ran without a review in the last day", count_noun(found, "action"));
            HealthFinding::warning(
                Check::Unreviewed,
                what,
                "`portcullis audit show --kind unreviewed` lists them; look for why the hooks did not run then",
            )
        }
        Ok(()) => {
            HealthFinding::ok(Check::Unreviewed, "no action of the last day ran without a review")
        }
    }
}

/// Reports changes of the client's settings that running sessions did not get: they apply from the
/// next session on.
pub(super) fn held_changes(store: &Store, now: u64) -> Vec<HealthFinding> {
    let mut newest: BTreeMap<String, u64> = BTreeMap::new();
    let read = each(store, now.saturating_sub(WEEK), Some(RecordKind::Configuration), |record| {
        if record.details.get("held").and_then(serde_json::Value::as_bool) == Some(true) {
            newest.entry(record.summary.clone()).or_insert(record.at);
        }
    });
    if let Err(error) = read {
        return vec![HealthFinding::problem(Check::Held, error.to_string(), fix(&error))];
    }
    let tell = |(what, at): (String, u64)| {
        let what = format!(
            "a change was held from a running session at {} UTC ({what}): new sessions have it",
            format_utc(at)
        );
        let fix = "look at that file, and undo what you do not want; the record stays for a week";
        if at.saturating_add(DAY) > now {
            HealthFinding::warning(Check::Held, what, fix)
        } else {
            HealthFinding::note(Check::Held, what, fix)
        }
    };
    super::finding::or_ok(
        newest.into_iter().map(tell).collect(),
        Check::Held,
        "no change of the settings was held back in the last week",
    )
}

/// Returns the recorded verdict for a session of the canary.
pub(super) fn canary_verdict(store: &Store, session: &str) -> Option<String> {
    let mut verdict = None;
    let filter = Filter {
        session: Some(session.to_owned()),
        kind: Some(RecordKind::Review.as_str().to_owned()),
        limit: Some(1),
        ..Filter::default()
    };
    store
        .query_records(&filter, |stored| {
            verdict = stored.record.verdict;
            ControlFlow::Break(())
        })
        .ok()?;
    verdict
}

/// Passes the newest records since `since` to `look`, newest first, except those of our own
/// canaries.
fn each(
    store: &Store,
    since: u64,
    kind: Option<RecordKind>,
    mut look: impl FnMut(&Record),
) -> Result<(), StoreError> {
    let filter = Filter {
        kind: kind.map(|kind| kind.as_str().to_owned()),
        since: Some(since),
        newest_first: true,
        limit: Some(MOST_RECORDS),
        ..Filter::default()
    };
    store.query_records(&filter, |stored| {
        let own =
            stored.session.as_deref().is_some_and(|session| session.starts_with(CANARY_SESSION));
        // Most records have no faults, and parsing each would take longer than all other work.
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

//! The work that waits: whether somebody does it.

use super::finding::{Check, Finding};
use crate::amount::span;
use crate::notifications;
use portcullis_store::{Store, Waiting};
use std::path::Path;

/// Work that is due for longer than this was forgotten, in milliseconds.
const FORGOTTEN: u64 = 60 * 60 * 1000;

/// Looks at the work that waits and at who holds the lock of those who do it.
pub fn check(store: &Store, lock: &Path, now: u64) -> Vec<Finding> {
    let waiting = match store.waiting() {
        Ok(waiting) => waiting,
        Err(error) => {
            return vec![Finding::problem(Check::Maintenance, error.to_string(), "run `portcullis maintain` and mend what it names")];
        }
    };
    let mut findings: Vec<Finding> =
        waiting.iter().filter(|work| work.kind != notifications::KIND).filter_map(|work| stuck(work, now)).collect();
    findings.extend(holder(lock));
    let count: u64 = waiting.iter().map(|work| work.count).sum();
    super::finding::or_ok(
        findings,
        Check::Maintenance,
        if count == 0 { "no work waits".to_owned() } else { format!("{count} tasks wait for their time") },
    )
}

fn stuck(work: &Waiting, now: u64) -> Option<Finding> {
    let late = now.saturating_sub(work.first_due_at);
    let mend = "run `portcullis maintain`, which tells what fails";
    if work.failed > 0 {
        let what = format!("{} of {} tasks `{}` failed and wait to be tried again", work.failed, work.count, work.kind);
        return Some(Finding::warning(Check::Maintenance, what, mend));
    }
    (late > FORGOTTEN).then(|| Finding::warning(Check::Maintenance, format!("a task `{}` waits since {}", work.kind, span(late)), mend))
}

/// A process that holds the lock and was stopped keeps every other one from the work. A dead one holds
/// nothing: the system gives its locks back.
#[cfg(target_os = "linux")]
fn holder(lock: &Path) -> Option<Finding> {
    use std::os::unix::fs::MetadataExt;
    let inode = std::fs::metadata(lock).ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let process = locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (kind, process, file) = (fields.get(1)?, fields.get(4)?, fields.get(5)?);
        let of_file = file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        (*kind == "FLOCK" && of_file).then(|| process.parse::<u32>().ok())?
    })?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let state = stat.rsplit_once(')')?.1.split_whitespace().next()?.to_owned();
    matches!(state.as_str(), "T" | "t").then(|| {
        let what = format!("process {process} holds the lock of `portcullis maintain` and is stopped");
        Finding::warning(Check::Maintenance, what, format!("kill -CONT {process}, or kill -KILL {process}"))
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &Path) -> Option<Finding> {
    None
}

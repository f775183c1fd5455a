//! Queued work: checks that a process does it.

use super::finding::{Check, HealthFinding};
use crate::{exports, notifications};
use portcullis_config::amount::format_span;
use portcullis_core::text::count_noun;
use portcullis_store::{Store, WorkSummary};
use std::path::Path;

/// Work that is overdue for longer than this was forgotten, in milliseconds.
const FORGOTTEN: u64 = 60 * 60 * 1000;

/// Checks the queued work, and which process holds the workers' lock.
pub(super) fn check(store: &Store, lock: &Path, now: u64) -> Vec<HealthFinding> {
    let waiting = match store.queued_work() {
        Ok(waiting) => waiting,
        Err(error) => {
            return vec![HealthFinding::problem(
                Check::Maintenance,
                error.to_string(),
                "run `portcullis maintain` and fix what it names",
            )];
        }
    };
    let mut findings: Vec<HealthFinding> = waiting
        .iter()
        // Messages and exports that failed are reported by checks of their own.
        .filter(|work| work.kind != notifications::KIND && work.kind != exports::WORK)
        .filter_map(|work| stuck(work, now))
        .collect();
    findings.extend(holder(lock));
    let count: u64 = waiting.iter().map(|work| work.count).sum();
    super::finding::or_ok(
        findings,
        Check::Maintenance,
        if count == 0 {
            "no tasks scheduled".to_owned()
        } else {
            format!("{} scheduled", count_noun(count, "task"))
        },
    )
}

fn stuck(work: &WorkSummary, now: u64) -> Option<HealthFinding> {
    let late = now.saturating_sub(work.first_due_at);
    let fix = "run `portcullis maintain`, which shows what fails";
    if work.failed > 0 {
        let what = format!(
            "{} of {} tasks `{}` failed and wait to be tried again",
            work.failed, work.count, work.kind
        );
        return Some(HealthFinding::warning(Check::Maintenance, what, fix));
    }
    (late > FORGOTTEN).then(|| {
        HealthFinding::warning(
            Check::Maintenance,
            format!("a task `{}` waits since {}", work.kind, format_span(late)),
            fix,
        )
    })
}

/// Finds a suspended process that holds the lock, which keeps all others from the work. A dead
/// process holds nothing: the system releases its locks.
#[cfg(target_os = "linux")]
fn holder(lock: &Path) -> Option<HealthFinding> {
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
    // From the last `)` on: the program's name before it may contain spaces and parentheses.
    let state = stat.rsplit_once(')')?.1.split_whitespace().next()?.to_owned();
    matches!(state.as_str(), "T" | "t").then(|| stopped_holder(process))
}

/// Finds a stopped process that has the lock's file open. These systems list no locks.
#[cfg(not(target_os = "linux"))]
fn holder(lock: &Path) -> Option<HealthFinding> {
    let mut command = std::process::Command::new("/usr/sbin/lsof");
    let output = command.arg("-t").arg(lock).env_clear().output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let stopped =
        |id: &u32| crate::process_list::find_process(*id).is_ok_and(|process| process.state == 'T');
    let process = said.lines().filter_map(|line| line.trim().parse().ok()).find(stopped)?;
    Some(stopped_holder(process))
}

fn stopped_holder(process: u32) -> HealthFinding {
    HealthFinding::warning(
        Check::Maintenance,
        format!("process {process} holds the lock of `portcullis maintain` and is stopped"),
        format!("kill -CONT {process}, or kill -KILL {process}"),
    )
}

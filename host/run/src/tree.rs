//! The descendants of a process, from `/proc`.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashMap;
use std::fs;

/// One process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    parent: i32,
    /// In ticks since boot: a reused process id has another start time.
    started: u64,
    /// Pages of memory, including each shared one.
    pages: u64,
    /// Dead, but not yet reaped.
    zombie: bool,
}

/// The id and start time, which distinguish a process from a later one of the same id.
pub(crate) type ProcessIdentity = (i32, u64);

impl Process {
    pub(crate) fn identity(&self) -> ProcessIdentity {
        (self.id, self.started)
    }

    pub(crate) fn read(id: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The name is in parentheses and can contain anything, even parentheses.
        let after = text.iter().rposition(|byte| *byte == b')')?.checked_add(2)?;
        let fields: Vec<&str> =
            std::str::from_utf8(text.get(after..)?).ok()?.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        Some(Self {
            id,
            parent: fields.get(1)?.parse().ok()?,
            // The list begins with the third field of proc_pid_stat(5), so these are `starttime`
            // and `rss`.
            started: number(19)?,
            pages: number(21)?,
            zombie: matches!(fields.first(), Some(&"Z" | &"X")),
        })
    }

    /// Signals this process and not a later one of the same id. False means that it is gone, or
    /// another user's.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let Some(pid) = Pid::from_raw(self.id) else { return false };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        // Only now is the id bound to a handle: check that it still belongs to the process that was
        // found.
        Self::read(self.id).is_some_and(|now| now.started == self.started && !now.zombie)
            && pidfd_send_signal(handle, signal).is_ok()
    }

    /// Returns the bytes of memory that this process has for itself, with its share of common
    /// pages.
    fn proportional_memory(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.id)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
    }
}

/// Returns all living descendants of a process, without the process itself.
///
/// A process that is reparented during the search can be missing; it is found the next time.
pub(crate) fn descendants(of: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![of];
    while let Some(parent) = open.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            open.push(process.id);
            if !process.zombie {
                found.push(process);
            }
        }
    }
    found
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Process::read)
}

/// Returns the bytes of memory of a tree. The fast count is too high, since shared pages count for
/// each process; only if it comes near `matters` are the shares of each process read, which is
/// slow.
pub(crate) fn memory(tree: &[Process], matters: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    let high: u64 = tree.iter().map(|process| process.pages.saturating_mul(page)).sum();
    if high < matters {
        return high;
    }
    tree.iter()
        .map(|process| process.proportional_memory().unwrap_or(process.pages.saturating_mul(page)))
        .sum()
}

//! The processors and the memory that hub, database and clients take, from `/proc`.

use crate::ground::RunningHub;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Ticks of a processor in a second, as `/proc` counts them.
const TICKS: f64 = 100.0;

/// The processor time that was used up to a moment.
pub struct Used {
    at: Instant,
    hub: u64,
    database: u64,
    clients: u64,
}

/// Parts of a processor that were used over a time.
pub struct Share {
    hub: f64,
    database: f64,
    clients: f64,
}

impl Used {
    /// Reads the times.
    pub fn read(hub: &RunningHub) -> Self {
        let own = |id: u32| read_times(id).map_or(0, |(own, _)| own);
        let postmaster = hub.database_id();
        let ended = read_times(postmaster).map_or(0, |(_, ended)| ended);
        let database = list_family(postmaster).into_iter().map(own).sum::<u64>() + ended;
        Self {
            at: Instant::now(),
            hub: hub.replica_ids().into_iter().map(own).sum(),
            database,
            clients: own(std::process::id()),
        }
    }

    /// Returns the parts of a processor that were used since.
    pub fn since(&self, hub: &RunningHub) -> Share {
        let now = Self::read(hub);
        let seconds = now.at.duration_since(self.at).as_secs_f64();
        let part = |before: u64, after: u64| after.saturating_sub(before) as f64 / TICKS / seconds;
        Share {
            hub: part(self.hub, now.hub),
            database: part(self.database, now.database),
            clients: part(self.clients, now.clients),
        }
    }
}

impl Share {
    /// Describes the processor time of each of so many things a second.
    pub fn describe_each(&self, rate: f64) -> String {
        let each = |part: f64| part / rate * 1e6;
        format!("hub {:.0} µs, database {:.0} µs", each(self.hub), each(self.database))
    }

    /// Describes the parts, and what they leave of this machine.
    pub fn describe(&self) -> String {
        let all = self.hub + self.database + self.clients;
        let cores = thread::available_parallelism().unwrap().get() as f64;
        let limit = if all > 0.9 * cores { "the processors are the limit" } else { "" };
        format!(
            "processors: hub {:.2}, database {:.2}, clients {:.2}, of {cores:.0}; {limit}",
            self.hub, self.database, self.clients
        )
        .trim_end_matches("; ")
        .to_owned()
    }
}

/// Describes the memory of hub and database, and the files that the replicas have open.
pub fn describe_memory(hub: &RunningHub) -> String {
    let replicas = hub.replica_ids();
    let each: Vec<String> = replicas
        .iter()
        .map(|id| format!("{} MiB and {} files", read_memory(*id) / 1024, count_files(*id)))
        .collect();
    let database: u64 = list_family(hub.database_id()).into_iter().map(read_memory).sum();
    format!("memory: each replica {}; database {} MiB", each.join(", "), database / 1024)
}

/// Returns the memory of a process, its part of what it shares with others included, in KiB.
pub fn read_memory(id: u32) -> u64 {
    find_number(&format!("/proc/{id}/smaps_rollup"), "Pss:")
}

/// Returns the most memory that a process has had, in KiB.
pub fn read_peak(id: u32) -> u64 {
    find_number(&format!("/proc/{id}/status"), "VmHWM:")
}

/// Lets the most memory of a process begin with what it has now.
pub fn forget_peak(id: u32) {
    let _unprivileged = fs::write(format!("/proc/{id}/clear_refs"), "5");
}

/// Returns the open files of a process.
pub fn count_files(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}

/// Describes the machine and its load.
pub fn describe_machine() -> String {
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name\t: "));
    let memory = find_number("/proc/meminfo", "MemTotal:") / 1024 / 1024;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{} processors ({}), {memory} GiB of memory; load before: {}",
        thread::available_parallelism().unwrap(),
        model.unwrap_or("of an unknown model"),
        load.split(' ').next().unwrap_or_default()
    )
}

/// Returns the value of which a share of all values is not above.
pub fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

fn find_number(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Returns the times of a process, and of its children that have ended, in ticks.
fn read_times(id: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before may hold anything.
    let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let own = next()? + next()?;
    Some((own, next()? + next()?))
}

/// Returns a process and its children.
fn list_family(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |id: &u32| {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let parent_id = text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent_id.and_then(|id| id.parse().ok()) == Some(parent)
    };
    ids.filter(is_child).chain([parent]).collect()
}

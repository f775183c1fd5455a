//! The processes of an agent: its client and everything that it started, measured in `/proc`; on
//! systems without that, in the list of `ps`.
//!
//! A process that left the tree (a daemon, a container) is not part of it.

#[cfg(not(target_os = "linux"))]
mod elsewhere;

use crate::hook_caller::HookCaller;
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::find_obstacle;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::find_parent;
#[cfg(not(target_os = "linux"))]
use elsewhere::{list_tree, proportional_memory};
use portcullis_core::session::{Measured, Session};
#[cfg(target_os = "linux")]
use std::collections::HashMap;
#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::io::Read;
#[cfg(target_os = "linux")]
use std::path::Path;

/// The folder in which the system shows its processes.
pub(crate) const PROCESSES: &str = "/proc";
/// The most ancestors that are searched for the client.
const MOST_ANCESTORS: usize = 16;
/// The most processes that are counted.
const MOST_PROCESSES: usize = 4096;

/// Adds the memory and the number of the processes of the agent that called this hook, as far as
/// the system shows them. `near` is the memory from which the shares of common pages matter.
pub(crate) fn measure_processes(caller: &HookCaller, session: &Session, measured: &mut Measured) {
    let Some(client) = find_client(caller) else { return };
    let own = i32::try_from(caller.environment.process()).unwrap_or(0);
    let tree = list_tree(client, own);
    if tree.is_empty() {
        // The client itself was not seen, so nothing is known.
        return;
    }
    let near = session.limit_for(&portcullis_core::action::Quantity::Memory);
    // A limit warns from 80 % on; below that, a sum that is too high does no harm.
    measured.memory = Some(sum_memory(&tree, near.unwrap_or(u64::MAX) / 5 * 4));
    measured.processes = Some(tree.len() as u64);
}

/// Returns the reason that a client's processes cannot be measured by what `folder` shows, if there
/// is one: a process has to see itself and the one that started it.
#[cfg(target_os = "linux")]
pub(crate) fn find_obstacle(folder: &Path) -> Option<String> {
    let shown = |id: &str| ProcessStat::read_in(folder, id);
    match shown("self").map(|own| own.parent) {
        None => Some(format!("`{}` shows no processes", folder.display())),
        // A parent outside the container has no number in it.
        Some(0) => None,
        Some(parent) if shown(&parent.to_string()).is_some() => None,
        Some(_) => Some(format!("`{}` hides other processes", folder.display())),
    }
}

/// Returns the process that started another one, as far as the system shows it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn find_parent(process: u32) -> Option<u32> {
    u32::try_from(ProcessStat::read(&process.to_string())?.parent).ok()
}

/// Returns the client's process: the one that the client names, if it is an ancestor; otherwise the
/// nearest ancestor that runs the client's program.
fn find_client(caller: &HookCaller) -> Option<i32> {
    let HookCaller { agent, environment, .. } = caller;
    let named: Option<i32> = agent
        .process_variable()
        .and_then(|name| environment.text(name))
        .and_then(|text| text.parse().ok());
    let mut found = None;
    let mut parent = i32::try_from(environment.parent()).ok()?;
    for _ in 0..MOST_ANCESTORS {
        if parent <= 1 {
            break;
        }
        let process = ProcessStat::read(&parent.to_string())?;
        parent = process.parent;
        if Some(process.id) == named {
            return named;
        }
        if found.is_none() && agent.profile().is_program(&process.name) {
            found = Some(process.id);
            if named.is_none() {
                break;
            }
        }
    }
    found
}

/// More bytes than `/proc/ID/stat` has: some fifty numbers and a name of at most 64 bytes.
#[cfg(target_os = "linux")]
const STAT_BYTES: usize = 4096;

/// One process, as the system shows it.
struct ProcessStat {
    id: i32,
    parent: i32,
    name: String,
    /// Pages of memory, including each shared one.
    pages: u64,
    zombie: bool,
}

#[cfg(target_os = "linux")]
impl ProcessStat {
    fn read(id: &str) -> Option<Self> {
        Self::read_in(Path::new(PROCESSES), id)
    }

    fn read_in(folder: &Path, id: &str) -> Option<Self> {
        // Such a file has no size in advance: without room for all of it, reading takes six steps.
        let mut text = Vec::with_capacity(STAT_BYTES);
        let file = fs::File::open(folder.join(id).join("stat")).ok()?;
        file.take(STAT_BYTES as u64).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name is in parentheses and can contain anything, even parentheses.
        let (begin, rest) = text.rsplit_once(") ")?;
        let (id, name) = begin.split_once(" (")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            id: id.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            name: name.to_owned(),
            // The fields here begin with the third of proc_pid_stat(5), so this is the 24th, `rss`.
            pages: fields.get(21)?.parse().ok()?,
            zombie: matches!(fields.first(), Some(&"Z" | &"X")),
        })
    }
}

/// Returns a process and its living descendants, without `own` and what it started.
#[cfg(target_os = "linux")]
fn list_tree(root: i32, own: i32) -> Vec<ProcessStat> {
    let mut children = if lists_children(root) { None } else { Some(group_by_parent()) };
    let (mut found, mut open): (Vec<ProcessStat>, Vec<i32>) = (Vec::new(), vec![root]);
    while let Some(id) = open.pop() {
        if id == own || found.len() >= MOST_PROCESSES {
            continue;
        }
        match &mut children {
            None => open.extend(list_children(id)),
            Some(known) => open.extend(known.remove(&id).unwrap_or_default()),
        }
        found.extend(ProcessStat::read(&id.to_string()).filter(|process| !process.zombie));
    }
    found
}

/// Returns true if the kernel lists the children of a process, so that not all processes have to be
/// read.
#[cfg(target_os = "linux")]
fn lists_children(process: i32) -> bool {
    fs::exists(format!("/proc/{process}/task/{process}/children")).unwrap_or(false)
}

/// Returns the children of a process: each of its threads has its own.
#[cfg(target_os = "linux")]
fn list_children(process: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|text| {
            text.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>()
        })
        .collect()
}

#[cfg(target_os = "linux")]
fn group_by_parent() -> HashMap<i32, Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for name in entries.map(|entry| entry.file_name()) {
        let Some(name) = name.to_str().filter(|name| name.parse::<i32>().is_ok()) else { continue };
        if let Some(process) = ProcessStat::read(name) {
            children.entry(process.parent).or_default().push(process.id);
        }
    }
    children
}

/// Returns the bytes of memory of a tree. The fast sum is too high, since shared pages count for
/// each process; only if it comes to `near` are the shares of each process read, which is slow.
fn sum_memory(tree: &[ProcessStat], near: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    let high: u64 = tree.iter().map(|process| process.pages.saturating_mul(page)).sum();
    if high < near {
        return high;
    }
    let shares = tree.iter().map(|process| {
        proportional_memory(process.id).unwrap_or(process.pages.saturating_mul(page))
    });
    shares.sum()
}

/// Returns the bytes of memory that a process has for itself, with its share of common pages.
#[cfg(target_os = "linux")]
fn proportional_memory(id: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_tree_has_its_descendants_and_their_memory() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 9 & sleep 9 & echo; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let root = i32::try_from(shell.id()).unwrap();
        // A process has its parent's name until it has become another program.
        let tree = (0..1000)
            .map(|_| list_tree(root, 0))
            .inspect(|_| std::thread::sleep(std::time::Duration::from_millis(5)))
            .find(|tree| tree.iter().filter(|process| process.name == "sleep").count() == 2)
            .unwrap();
        let memory = [u64::MAX, 0].map(|near| sum_memory(&tree, near));
        let without = list_tree(own, root);
        for process in &tree {
            Command::new("kill").arg(process.id.to_string()).status().unwrap();
        }
        shell.wait().unwrap();
        assert_eq!(tree.len(), 3);
        assert!(memory.iter().all(|bytes| *bytes > 100_000), "{memory:?}");
        assert!(without.iter().all(|process| process.id != root));
        assert!(without.iter().any(|process| process.id == own));
    }
}

//! The process tree of systems without `/proc`, from the list of `ps`.

use super::{MOST_PROCESSES, ProcessStat};
use crate::process_list::{ListedProcess, find_process, list_processes};
use std::collections::HashMap;
use std::path::Path;

/// Returns the reason that a client's processes cannot be measured, if there is one.
pub(crate) fn find_obstacle(_: &Path) -> Option<String> {
    list_processes().err().map(|error| format!("the processes cannot be listed: {error}"))
}

/// Returns the process that started another one, as far as the system shows it.
#[must_use]
pub fn find_parent(process: u32) -> Option<u32> {
    find_process(process).ok().map(|found| found.parent)
}

impl ProcessStat {
    pub(super) fn read(id: &str) -> Option<Self> {
        find_process(id.parse().ok()?).ok().and_then(Self::of_listed)
    }

    fn of_listed(listed: ListedProcess) -> Option<Self> {
        let ListedProcess { id, parent, memory, state, program } = listed;
        Some(Self {
            id: id.try_into().ok()?,
            parent: parent.try_into().ok()?,
            name: program.rsplit('/').next().unwrap_or_default().to_owned(),
            pages: memory / rustix::param::page_size() as u64,
            zombie: state == 'Z',
        })
    }
}

/// Returns a process and its living descendants, without `own` and what it started.
pub(super) fn list_tree(root: i32, own: i32) -> Vec<ProcessStat> {
    let mut children: HashMap<i32, Vec<ProcessStat>> = HashMap::new();
    let mut open = Vec::new();
    let listed = list_processes().unwrap_or_default();
    for process in listed.into_iter().filter_map(ProcessStat::of_listed) {
        if process.id == root {
            open.push(process);
        } else {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    while let Some(process) = open.pop() {
        if process.id == own || found.len() >= MOST_PROCESSES {
            continue;
        }
        open.extend(children.remove(&process.id).unwrap_or_default());
        if !process.zombie {
            found.push(process);
        }
    }
    found
}

/// Returns nothing: no system but Linux says which share of common pages a process has.
pub(super) const fn proportional_memory(_: i32) -> Option<u64> {
    None
}

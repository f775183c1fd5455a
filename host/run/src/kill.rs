//! Ends every process below the calling one.

use crate::group::{Cgroup, own_id};
use crate::tree::{self, Process, ProcessIdentity};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The deadline after which surviving processes are given up and reported.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause between two rounds of killing: short, since a kernel ends a process quickly.
const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// The pause between two searches for processes that were not asked to end yet.
const TERM_INTERVAL: Duration = Duration::from_millis(50);
/// The most searches of a tree that still forks: then it is killed as it is, and searched again.
const MAX_SCANS: usize = 64;

/// The outcome of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    /// The calling process has no descendant left, according to the kernel.
    Gone,
    /// The time is up.
    Over,
    /// There is a reason to wait no longer.
    Hurry,
}

/// The processes that were killed, and those that could not be.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    pub(crate) killed: u64,
    pub(crate) survivors: Vec<i32>,
}

/// Ends all descendants of the calling process, which must be their reaper. `wait` reaps for the
/// given time, and reports when there is nothing left to reap.
pub(crate) fn tree(
    grace: Duration,
    agent: Option<&GroupLeader>,
    group: Option<&Cgroup>,
    wait: &mut dyn FnMut(Duration) -> WaitOutcome,
) -> Killed {
    let root = own_id();
    if terminate(root, agent, grace, wait) == WaitOutcome::Gone {
        return Killed::default();
    }
    let mut killed: HashSet<ProcessIdentity> = HashSet::new();
    let start = Instant::now();
    while start.elapsed() < KILL_TIMEOUT {
        if let Some(group) = group {
            killed.extend(tree::descendants(root).iter().map(Process::identity));
            group.kill();
            if wait(KILL_INTERVAL) == WaitOutcome::Gone {
                break;
            }
        }
        for process in freeze(root, agent) {
            if process.signal(Signal::KILL) {
                killed.insert(process.identity());
            }
        }
        if wait(KILL_INTERVAL) == WaitOutcome::Gone {
            break;
        }
    }
    let survivors = tree::descendants(root).iter().map(|process| process.id).collect();
    Killed { killed: killed.len() as u64, survivors }
}

/// Asks each process to end, including those that start while others end.
fn terminate(
    root: i32,
    agent: Option<&GroupLeader>,
    grace: Duration,
    wait: &mut dyn FnMut(Duration) -> WaitOutcome,
) -> WaitOutcome {
    let mut asked: HashSet<ProcessIdentity> = HashSet::new();
    let start = Instant::now();
    while start.elapsed() < grace {
        let halted = agent.is_some_and(GroupLeader::halt);
        for process in tree::descendants(root) {
            if asked.insert(process.identity()) {
                process.signal(Signal::TERM);
            }
        }
        // SIGTERM stays pending until the halted group goes on.
        if let (true, Some(agent)) = (halted, agent) {
            agent.resume();
        }
        let waited = wait(TERM_INTERVAL.min(grace.saturating_sub(start.elapsed())));
        if waited != WaitOutcome::Over {
            return waited;
        }
    }
    WaitOutcome::Over
}

/// Halts the tree until nothing in it is new, and returns all of its processes: a halted process
/// cannot fork, and cannot react to the death of others.
fn freeze(root: i32, agent: Option<&GroupLeader>) -> Vec<Process> {
    if let Some(agent) = agent {
        agent.halt();
    }
    let mut halted: HashSet<ProcessIdentity> = HashSet::new();
    let mut seen = Vec::new();
    for _ in 0..MAX_SCANS {
        seen = tree::descendants(root);
        let mut new = false;
        for process in &seen {
            if halted.insert(process.identity()) {
                new |= process.signal(Signal::STOP);
            }
        }
        if !new {
            break;
        }
    }
    seen
}

/// The agent, which leads its session's first group. One call halts all of that group, which is
/// most of a tree: with a thousand runnable processes there would be no time to find them one by
/// one.
#[derive(Debug)]
pub(crate) struct GroupLeader(Process);

impl GroupLeader {
    pub(crate) fn of(agent: i32) -> Option<Self> {
        Process::read(agent).map(Self)
    }

    /// Halts the group if its leader is alive: otherwise its number could be another's.
    fn halt(&self) -> bool {
        self.0.signal(Signal::STOP) && self.group(Signal::STOP)
    }

    /// Resumes a group that was just halted, whose leader is therefore alive.
    fn resume(&self) {
        self.group(Signal::CONT);
    }

    fn group(&self, signal: Signal) -> bool {
        Pid::from_raw(self.0.id).is_some_and(|leader| kill_process_group(leader, signal).is_ok())
    }
}

//! Ends every process below the calling one.

use crate::group::Group;
use crate::tree::{self, Identity, Process};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// After this time what still lives is given up and named.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Between two rounds of killing: short, as a kernel needs little to end a process.
const ROUND: Duration = Duration::from_millis(5);
/// Between two looks for processes that were not asked to end yet.
const ASK: Duration = Duration::from_millis(50);
/// A tree that still forks after so many looks is killed as it stands, and looked at again.
const LOOKS: usize = 64;

/// What a wait came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The calling process has no descendant left: the kernel says so.
    Gone,
    /// The time is over.
    Over,
    /// There is a reason to wait no longer.
    Hurry,
}

/// What was killed, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct Killed {
    pub(crate) killed: u64,
    pub(crate) survivors: Vec<i32>,
}

/// Ends all descendants of the calling process, which must be their reaper. `wait` reaps for as long as it is told
/// to, and says when there is nothing left to reap.
pub(crate) fn tree(grace: Duration, agent: Option<&Leader>, group: Option<&Group>, wait: &mut dyn FnMut(Duration) -> Waited) -> Killed {
    let root = own_id();
    if ask(root, agent, grace, wait) == Waited::Gone {
        return Killed::default();
    }
    let mut killed: HashSet<Identity> = HashSet::new();
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(group) = group {
            killed.extend(tree::descendants(root).iter().map(Process::identity));
            group.kill();
            if wait(ROUND) == Waited::Gone {
                break;
            }
        }
        for process in freeze(root, agent) {
            if process.signal(Signal::KILL) {
                killed.insert(process.identity());
            }
        }
        if wait(ROUND) == Waited::Gone {
            break;
        }
    }
    let survivors = tree::descendants(root).iter().map(|process| process.id).collect();
    Killed { killed: killed.len() as u64, survivors }
}

/// Asks each process to end, those too that are new while others end.
fn ask(root: i32, agent: Option<&Leader>, grace: Duration, wait: &mut dyn FnMut(Duration) -> Waited) -> Waited {
    let mut asked: HashSet<Identity> = HashSet::new();
    let start = Instant::now();
    while start.elapsed() < grace {
        let halted = agent.is_some_and(Leader::halt);
        for process in tree::descendants(root) {
            if asked.insert(process.identity()) {
                process.signal(Signal::TERM);
            }
        }
        if let (true, Some(agent)) = (halted, agent) {
            agent.go_on();
        }
        let waited = wait(ASK.min(grace.saturating_sub(start.elapsed())));
        if waited != Waited::Over {
            return waited;
        }
    }
    Waited::Over
}

/// Halts the tree until nothing in it is new, and gives all that is in it: what is halted cannot fork, and nobody
/// sees the others die.
fn freeze(root: i32, agent: Option<&Leader>) -> Vec<Process> {
    if let Some(agent) = agent {
        agent.halt();
    }
    let mut halted: HashSet<Identity> = HashSet::new();
    let mut seen = Vec::new();
    for _ in 0..LOOKS {
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

/// The agent, which leads its session's first group. One call halts all of that group, which is most of a tree: a
/// thousand processes that want to run leave nobody else the time to look for them one by one.
#[derive(Debug)]
pub(crate) struct Leader(Process);

impl Leader {
    pub(crate) fn of(agent: i32) -> Option<Self> {
        Process::read(agent).map(Self)
    }

    /// Halts the group, if its leader lives: otherwise its number can be another's.
    fn halt(&self) -> bool {
        self.0.signal(Signal::STOP) && self.group(Signal::STOP)
    }

    /// Lets a group go on that was just halted, so that its leader lives.
    fn go_on(&self) {
        self.group(Signal::CONT);
    }

    fn group(&self, signal: Signal) -> bool {
        Pid::from_raw(self.0.id).is_some_and(|leader| kill_process_group(leader, signal).is_ok())
    }
}

/// The calling process.
pub(crate) fn own_id() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

//! The process between caller and agent, which outlives the caller just long enough to kill the agent.

use crate::group::Group;
use crate::kill::{self, Leader, Waited};
use crate::lend;
use crate::outcome::Exit;
use crate::wire::{Ask, Launch, Tell, Watch, arguments, hear, say};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, set_dumpable_behavior, setsid, wait};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The whole of the watcher: call it with the arguments after its word, and end with what it gives.
///
/// Its standard streams are the agent's.
pub fn watcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match watch(args) {
        Ok(()) => ExitCode::SUCCESS,
        // Nothing was started. The caller notices by its pipe, and nobody else listens.
        Err(_) => ExitCode::FAILURE,
    }
}

/// What the watcher's threads tell its main one, which is the agent's parent and must not end before it.
enum Note {
    Ask(Ask),
    CallerGone,
    Died(Pid, WaitStatus),
    NoneLeft,
}

fn watch(args: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    let (told, command): (Watch, _) = arguments(args).ok_or(io::ErrorKind::InvalidInput)?;
    let (asks, tells) = (lend::reader(told.asks)?, lend::writer(told.tells)?);
    lend::keep_from_children();
    // Ctrl-C at the terminal is the caller's matter; and an agent of the same user cannot look into this process.
    let _ = setsid();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    let agent = match launch(&told, &command) {
        Ok(agent) => agent,
        Err(reason) => return say(&tells, &Tell::Refused { reason }),
    };
    // A caller that is gone by now is noticed like one that goes later.
    let _ = say(&tells, &Tell::Started { agent: agent.as_raw_pid() });
    let leader = Leader::of(agent.as_raw_pid());
    Watcher { notes: listen(asks), tells, agent, leader, group: told.group.map(Group::at) }.stay();
    Ok(())
}

/// Starts the launcher and waits until it is the agent, which has the standard streams that the watcher was given.
fn launch(told: &Watch, command: &[OsString]) -> Result<Pid, String> {
    let failed = |error: io::Error| format!("the launcher does not run: {error}");
    let (mut refusal, end) = io::pipe().map_err(failed)?;
    let launch = Launch {
        refusal: lend::lend(&end).map_err(failed)?,
        watcher: getpid().as_raw_pid(),
        group: told.group.clone(),
        confinement: told.confinement.clone(),
    };
    let settings = serde_json::to_string(&launch).map_err(|error| error.to_string())?;
    let child = Command::new(&told.program).arg(&told.launcher).arg(settings).args(command).spawn().map_err(failed)?;
    drop(end);
    let mut reason = String::new();
    refusal.read_to_string(&mut reason).map_err(failed)?;
    if reason.is_empty() { Ok(Pid::from_child(&child)) } else { Err(reason) }
}

/// Hears the caller and reaps what dies, each in a thread of its own.
fn listen(from: File) -> Receiver<Note> {
    let (notes, heard) = channel();
    let asks = notes.clone();
    thread::spawn(move || {
        for ask in hear(from) {
            if asks.send(Note::Ask(ask)).is_err() {
                return;
            }
        }
        let _ = asks.send(Note::CallerGone);
    });
    thread::spawn(move || reap(&notes));
    heard
}

/// Reaps until the kernel says that there is nothing left to reap. Whoever loses its parent below a reaper becomes
/// the reaper's child before the parent can be reaped, so that moment is the death of the whole tree.
fn reap(notes: &Sender<Note>) {
    loop {
        let note = match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) => Note::Died(id, status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => Note::NoneLeft,
        };
        let last = matches!(note, Note::NoneLeft);
        if notes.send(note).is_err() || last {
            return;
        }
    }
}

struct Watcher {
    notes: Receiver<Note>,
    tells: File,
    agent: Pid,
    leader: Option<Leader>,
    group: Option<Group>,
}

impl Watcher {
    /// Until nothing is left to watch.
    fn stay(&self) {
        let killed = loop {
            match self.notes.recv() {
                Ok(Note::Died(id, status)) => self.died(id, status),
                Ok(Note::NoneLeft) => break kill::Killed::default(),
                Ok(Note::Ask(Ask::Stop { grace })) => break self.end(Duration::from_millis(grace)),
                Ok(Note::CallerGone) | Err(_) => break self.end(Duration::ZERO),
            }
        };
        if let Some(group) = &self.group {
            group.remove();
        }
        // A caller that is gone hears nothing more.
        let _ = say(&self.tells, &Tell::Gone { killed: killed.killed, survivors: killed.survivors });
    }

    fn end(&self, grace: Duration) -> kill::Killed {
        let _ = say(&self.tells, &Tell::Stopping);
        kill::tree(grace, self.leader.as_ref(), self.group.as_ref(), &mut |time| self.wait(time))
    }

    /// Passes on what dies for a while. A second stop, or the caller's end, cuts that short.
    fn wait(&self, time: Duration) -> Waited {
        let start = Instant::now();
        loop {
            match self.notes.recv_timeout(time.saturating_sub(start.elapsed())) {
                // What dies without end does not make the wait endless.
                Ok(Note::Died(id, status)) => {
                    self.died(id, status);
                    if start.elapsed() >= time {
                        return Waited::Over;
                    }
                }
                Ok(Note::NoneLeft) => return Waited::Gone,
                Ok(Note::Ask(Ask::Stop { .. }) | Note::CallerGone) => return Waited::Hurry,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Waited::Over,
            }
        }
    }

    fn died(&self, id: Pid, status: WaitStatus) {
        let exit = status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal));
        if let (true, Some(exit)) = (id == self.agent, exit) {
            let _ = say(&self.tells, &Tell::Ended { exit });
        }
    }
}

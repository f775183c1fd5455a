//! The process between caller and agent, which outlives the caller just long enough to kill the
//! agent.

use crate::fd_passing;
use crate::group::Cgroup;
use crate::kill::{self, GroupLeader, WaitOutcome};
use crate::outcome::Exit;
use crate::protocol::{
    LauncherArgs, WatcherArgs, WatcherMessage, WatcherRequest, arguments, read_messages,
    send_message,
};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, setsid, wait,
};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Runs the watcher: call it with the arguments after its word, and exit with the returned code.
///
/// Its standard streams are the agent's.
pub fn watcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match watch(args) {
        Ok(()) => ExitCode::SUCCESS,
        // Nothing was started. The caller notices the closed pipe, and nobody else listens.
        Err(_) => ExitCode::FAILURE,
    }
}

/// The messages of the watcher's threads to its main one, which is the agent's parent and must not
/// end before the agent.
enum WatcherNote {
    WatcherRequest(WatcherRequest),
    CallerGone,
    Died(Pid, WaitStatus),
    NoneLeft,
}

fn watch(args: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    let (watcher_args, command): (WatcherArgs, _) =
        arguments(args).ok_or(io::ErrorKind::InvalidInput)?;
    let (asks, tells) =
        (fd_passing::reader(watcher_args.asks)?, fd_passing::writer(watcher_args.tells)?);
    fd_passing::close_fds_on_exec();
    // Ctrl-C at the terminal is handled by the caller; and an agent of the same user cannot inspect
    // this process.
    let _ = setsid();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    let agent = match launch(&watcher_args, &command) {
        Ok(agent) => agent,
        Err(reason) => return send_message(&tells, &WatcherMessage::Refused { reason }),
    };
    // A caller that is already gone is noticed in the same way as one that ends later.
    let _ = send_message(&tells, &WatcherMessage::Started { agent: agent.as_raw_pid() });
    let leader = GroupLeader::of(agent.as_raw_pid());
    Watcher {
        notes: listen(asks),
        tells,
        agent,
        leader,
        group: watcher_args.group.map(Cgroup::at),
    }
    .run_to_end();
    Ok(())
}

/// Starts the launcher and waits until it is the agent, which gets the standard streams of the
/// watcher.
fn launch(watcher_args: &WatcherArgs, command: &[OsString]) -> Result<Pid, String> {
    let failed = |error: io::Error| format!("the launcher does not run: {error}");
    let (mut refusal, end) = io::pipe().map_err(failed)?;
    let launch = LauncherArgs {
        refusal: fd_passing::lend(&end).map_err(failed)?,
        watcher: getpid().as_raw_pid(),
        group: watcher_args.group.clone(),
        confinement: watcher_args.confinement.clone(),
    };
    let settings = serde_json::to_string(&launch).map_err(|error| error.to_string())?;
    let child = Command::new(&watcher_args.program)
        .arg(&watcher_args.launcher)
        .arg(settings)
        .args(command)
        .spawn()
        .map_err(failed)?;
    // The launcher's copy closes when it becomes the agent; with this one open, the read would wait
    // on.
    drop(end);
    let mut reason = String::new();
    refusal.read_to_string(&mut reason).map_err(failed)?;
    if reason.is_empty() { Ok(Pid::from_child(&child)) } else { Err(reason) }
}

/// Reads the caller's messages and reaps dead children, each in a thread of its own.
fn listen(from: File) -> Receiver<WatcherNote> {
    let (notes, heard) = channel();
    let asks = notes.clone();
    thread::spawn(move || {
        for ask in read_messages(from) {
            if asks.send(WatcherNote::WatcherRequest(ask)).is_err() {
                return;
            }
        }
        let _ = asks.send(WatcherNote::CallerGone);
    });
    thread::spawn(move || reap(&notes));
    heard
}

/// Reaps until the kernel reports that no child is left. An orphan below a reaper becomes the
/// reaper's child before its parent can be reaped, so that moment is the death of the whole tree.
fn reap(notes: &Sender<WatcherNote>) {
    loop {
        let note = match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) => WatcherNote::Died(id, status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => WatcherNote::NoneLeft,
        };
        let last = matches!(note, WatcherNote::NoneLeft);
        if notes.send(note).is_err() || last {
            return;
        }
    }
}

struct Watcher {
    notes: Receiver<WatcherNote>,
    tells: File,
    agent: Pid,
    leader: Option<GroupLeader>,
    group: Option<Cgroup>,
}

impl Watcher {
    /// Runs until nothing is left to watch.
    fn run_to_end(&self) {
        let killed = loop {
            match self.notes.recv() {
                Ok(WatcherNote::Died(id, status)) => self.died(id, status),
                Ok(WatcherNote::NoneLeft) => break kill::Killed::default(),
                Ok(WatcherNote::WatcherRequest(WatcherRequest::Stop { grace })) => {
                    break self.end(Duration::from_millis(grace));
                }
                Ok(WatcherNote::CallerGone) | Err(_) => break self.end(Duration::ZERO),
            }
        };
        if let Some(group) = &self.group {
            group.remove();
        }
        // A caller that is gone receives nothing more.
        let _ = send_message(
            &self.tells,
            &WatcherMessage::Gone { killed: killed.killed, survivors: killed.survivors },
        );
    }

    fn end(&self, grace: Duration) -> kill::Killed {
        let _ = send_message(&self.tells, &WatcherMessage::Stopping);
        kill::tree(grace, self.leader.as_ref(), self.group.as_ref(), &mut |time| self.wait(time))
    }

    /// Reports dead processes for the given time. A second stop, or the caller's end, cuts that
    /// short.
    fn wait(&self, time: Duration) -> WaitOutcome {
        let start = Instant::now();
        loop {
            match self.notes.recv_timeout(time.saturating_sub(start.elapsed())) {
                // An endless series of dying processes does not make the wait endless.
                Ok(WatcherNote::Died(id, status)) => {
                    self.died(id, status);
                    if start.elapsed() >= time {
                        return WaitOutcome::Over;
                    }
                }
                Ok(WatcherNote::NoneLeft) => return WaitOutcome::Gone,
                Ok(
                    WatcherNote::WatcherRequest(WatcherRequest::Stop { .. })
                    | WatcherNote::CallerGone,
                ) => return WaitOutcome::Hurry,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return WaitOutcome::Over;
                }
            }
        }
    }

    fn died(&self, id: Pid, status: WaitStatus) {
        let exit =
            status.exit_status().map(Exit::Code).or(status.terminating_signal().map(Exit::Signal));
        if let (true, Some(exit)) = (id == self.agent, exit) {
            let _ = send_message(&self.tells, &WatcherMessage::Ended { exit });
        }
    }
}

//! The server's process: its streams go through the gateway, and it ends with it.

use super::gate::ReviewGate;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_mcp::{ClientStreams, Relay, RelayEvent, StdioServer};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The time that the server has to end after its input was closed.
const AFTER_INPUT: Duration = Duration::from_secs(10);
/// The time that it has to end after a signal.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);
/// The time in which the rest of its output reaches the client.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The number that shells add to a signal's for an exit code.
const SIGNALLED: u8 = 128;

/// Something that happened to the gateway.
enum Happening {
    Relay(RelayEvent),
    Signal(i32),
    Exited(ExitStatus),
}

/// Runs a server behind the gate until one of the three ends; returns the server's exit code.
pub fn run_server(program: &OsStr, words: &[OsString], gate: ReviewGate) -> Result<ExitCode> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let (sender, happened) = channel();
    // Before the server starts, so that no signal ends the gateway alone.
    forward_signals(sender.clone(), Happening::Signal)?;
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start the server `{}`", program.display()))?;
    let group = ProcessGroup::of(&child)?;
    let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::io("the server has no standard input and output"));
    };
    let server = StdioServer::new(Box::new(to_server), Box::new(from_server));
    let events = Relay::start(client_streams(), Arc::new(server), Arc::new(gate))
        .context("cannot start the gateway")?;
    pass_on(events, sender.clone(), Happening::Relay)?;
    await_exit(child, sender)?;
    let status = supervise(&group, &happened);
    group.send(Signal::KILL);
    Ok(exit_code(status))
}

/// Returns our own standard input and output.
pub fn client_streams() -> ClientStreams {
    ClientStreams {
        from_client: Box::new(std::io::stdin()),
        to_client: Box::new(std::io::stdout()),
    }
}

/// The server and everything that it started, as long as that stays in its group. It is killed with
/// this value.
struct ProcessGroup(Pid);

impl ProcessGroup {
    fn of(child: &Child) -> Result<Self> {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        id.map(Self).ok_or_else(|| Error::io("the server has no process id"))
    }

    fn send(&self, signal: Signal) {
        // It may have ended.
        let _ = kill_process_group(self.0, signal);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Waits for the end of the server and of its output, and helps where it does not come by itself;
/// `None` if it never came.
fn supervise(group: &ProcessGroup, happened: &Receiver<Happening>) -> Option<ExitStatus> {
    let mut status = None;
    let mut output_ended = false;
    let mut next = NextStep::Nothing;
    while status.is_none() || !output_ended {
        let happening = match next.deadline() {
            None => happened.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => happened.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match happening {
            Ok(Happening::Exited(ended)) => {
                status = Some(ended);
                // Processes that it started may hold its output open.
                group.send(Signal::TERM);
                next = NextStep::GiveUp(Instant::now() + LAST_WORDS);
            }
            Ok(Happening::Relay(RelayEvent::ServerEnded)) => {
                output_ended = true;
                // A server without an output is of no use to anybody.
                next.soften(NextStep::Terminate(Instant::now() + AFTER_SIGNAL));
            }
            Ok(Happening::Relay(RelayEvent::ClientEnded)) => {
                next.soften(NextStep::Terminate(Instant::now() + AFTER_INPUT));
            }
            Ok(Happening::Relay(RelayEvent::ClientGone)) if status.is_none() => {
                group.send(Signal::TERM);
                next = NextStep::Kill(Instant::now() + AFTER_SIGNAL);
            }
            Ok(Happening::Relay(RelayEvent::ClientGone)) => return status,
            Ok(Happening::Signal(number)) => {
                group.send(Signal::from_named_raw(number).unwrap_or(Signal::TERM));
                next = NextStep::Kill(Instant::now() + AFTER_SIGNAL);
            }
            Err(RecvTimeoutError::Timeout) => match next {
                NextStep::Terminate(_) => {
                    group.send(Signal::TERM);
                    next = NextStep::Kill(Instant::now() + AFTER_SIGNAL);
                }
                NextStep::Kill(_) => {
                    group.send(Signal::KILL);
                    next = NextStep::GiveUp(Instant::now() + LAST_WORDS);
                }
                NextStep::GiveUp(_) | NextStep::Nothing => return status,
            },
            Err(RecvTimeoutError::Disconnected) => return status,
        }
    }
    status
}

/// The next thing to do to a server that does not end by itself, with its time.
#[derive(Clone, Copy)]
enum NextStep {
    Nothing,
    Terminate(Instant),
    Kill(Instant),
    GiveUp(Instant),
}

impl NextStep {
    const fn deadline(self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::Terminate(at) | Self::Kill(at) | Self::GiveUp(at) => Some(at),
        }
    }

    /// Sets a step, unless there is one.
    const fn soften(&mut self, step: Self) {
        if matches!(self, Self::Nothing) {
            *self = step;
        }
    }
}

/// Passes signals on that would end the gateway, from now on.
pub fn forward_signals<H: Send + 'static>(
    sender: Sender<H>,
    happening: fn(i32) -> H,
) -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])
        .context("cannot receive signals")?;
    spawn("signals", move || {
        for number in signals.forever() {
            // The last one is received by nobody.
            let _ = sender.send(happening(number));
        }
    })
}

/// Passes the events of a relay on.
pub fn pass_on<H: Send + 'static>(
    events: Receiver<RelayEvent>,
    sender: Sender<H>,
    happening: fn(RelayEvent) -> H,
) -> Result<()> {
    spawn("events", move || {
        for event in events {
            let _ = sender.send(happening(event));
        }
    })
}

fn await_exit(mut child: Child, sender: Sender<Happening>) -> Result<()> {
    spawn("exit", move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(Happening::Exited(status));
        }
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let started = Builder::new().name(format!("portcullis-{name}")).spawn(work);
    started.map(drop).context("the system gives no thread")
}

/// Returns the exit code of the server; after a signal the one that a shell gives.
fn exit_code(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else { return CommandExit::Failure.into() };
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(signal)) => SIGNALLED.saturating_add(u8::try_from(signal).unwrap_or(0)),
        (None, None) => 1,
    };
    ExitCode::from(code)
}

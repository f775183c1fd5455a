//! Watches a running agent until its last process is dead.

use crate::event::RunEvent;
use crate::group::Cgroup;
use crate::kill::{self, GroupLeader, Killed, WaitOutcome};
use crate::limits::{RunLimit, RunLimits, Warning};
use crate::outcome::{Exit, RunOutcome, RunResult, RunUsage, Stopped};
use crate::protocol::{WatcherMessage, WatcherRequest, send_message};
use crate::pump::{StreamStats, StreamSums};
use crate::signals::Signals;
use crate::tree;
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use std::io::PipeWriter;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// The interval between two checks that are cheap.
const TICK: Duration = Duration::from_millis(50);
/// The interval between two searches of the processes.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// The time within which a watcher has to confirm a stop; otherwise it is taken for halted.
const STOP_ACK_TIMEOUT: Duration = Duration::from_millis(400);

/// The monitor's messages.
pub(crate) enum MonitorEvent {
    Message(WatcherMessage),
    WatcherGone,
    /// Stop everything, for this reason.
    Stop(RunOutcome),
}

/// The monitor's inputs.
pub(crate) struct Monitor {
    pub(crate) notes: Receiver<MonitorEvent>,
    pub(crate) asks: PipeWriter,
    pub(crate) watcher: Child,
    pub(crate) agent: Option<GroupLeader>,
    pub(crate) group: Option<Cgroup>,
    pub(crate) limits: RunLimits,
    pub(crate) grace: Duration,
    pub(crate) linger: Duration,
    pub(crate) seen: Arc<StreamStats>,
    pub(crate) events: SyncSender<RunEvent>,
    pub(crate) signals: Signals,
}

/// The result of a run, before its streams were read to their end.
pub(crate) struct FinishedRun {
    state: State,
    killed: Killed,
    watched: bool,
    /// The time at which the last process was dead.
    at: Instant,
}

/// The state of a run so far.
struct State {
    start: Instant,
    sampled: Option<Instant>,
    exit: Option<Exit>,
    /// The deadline after which processes that outlive the agent are stopped.
    until: Option<Instant>,
    stop: Option<Stop>,
    /// The time at which the watcher was found to be gone or halted.
    lost: Option<Instant>,
    totals: RunUsage,
    now: (u64, u64),
    warnings: Vec<Warning>,
}

/// A stop that was ordered.
struct Stop {
    /// `None` if only leftover processes of the agent are cleaned up.
    why: Option<RunOutcome>,
    at: Instant,
    heard: bool,
}

impl Monitor {
    /// Runs until the last process is dead.
    pub(crate) fn run_to_end(mut self) -> FinishedRun {
        let mut state = State {
            start: Instant::now(),
            sampled: None,
            exit: None,
            until: None,
            stop: None,
            lost: None,
            totals: RunUsage::default(),
            now: (0, 0),
            warnings: Vec::new(),
        };
        let (killed, watched) = loop {
            match self.notes.recv_timeout(TICK) {
                Ok(MonitorEvent::Message(WatcherMessage::Gone { killed, survivors })) => {
                    break (Killed { killed, survivors }, true);
                }
                Ok(MonitorEvent::Message(WatcherMessage::Ended { exit })) => {
                    state.exit = Some(exit);
                    state.until = Some(Instant::now() + self.linger);
                }
                Ok(MonitorEvent::Message(WatcherMessage::Stopping)) => {
                    state.stop.iter_mut().for_each(|stop| stop.heard = true)
                }
                Ok(MonitorEvent::Message(
                    WatcherMessage::Started { .. } | WatcherMessage::Refused { .. },
                ))
                | Err(RecvTimeoutError::Timeout) => {}
                Ok(MonitorEvent::Stop(why)) => self.stop(&mut state, Some(why)),
                Ok(MonitorEvent::WatcherGone) | Err(RecvTimeoutError::Disconnected) => {
                    break (self.take_over(&mut state), false);
                }
            }
            self.look(&mut state);
            if state.is_unresponsive(self.grace) {
                break (self.take_over(&mut state), false);
            }
        };
        let at = Instant::now();
        // The watcher exits by itself after its last message, unless it was halted just then.
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
        FinishedRun { state, killed, watched, at }
    }

    /// Takes over from a watcher that is dead, or that does not answer.
    fn take_over(&mut self, state: &mut State) -> Killed {
        state.lost = Some(Instant::now());
        take_over(&mut self.watcher, self.agent.as_ref(), self.group.as_ref())
    }

    /// Sends the order, or for a second time the order to end the grace period.
    fn stop(&self, state: &mut State, why: Option<RunOutcome>) {
        let grace = if state.stop.is_some() { Duration::ZERO } else { self.grace };
        // A watcher that cannot be reached is gone, which is reported by another message.
        let _ = send_message(
            &self.asks,
            &WatcherRequest::Stop { grace: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) },
        );
        match &mut state.stop {
            Some(stop) => stop.why = stop.why.or(why),
            None => state.stop = Some(Stop { why, at: Instant::now(), heard: false }),
        }
    }

    fn look(&self, state: &mut State) {
        if self.signals.came() {
            self.stop(state, Some(RunOutcome::Interrupted));
        }
        if state.sampled.is_none_or(|at| at.elapsed() >= SAMPLE_INTERVAL) {
            self.sample(state);
        }
        if state.stop.is_none() && state.until.is_some_and(|until| until <= Instant::now()) {
            self.stop(state, None);
        }
        if state.stop.is_none() && state.exit.is_none() {
            self.measure(state);
        }
    }

    fn sample(&self, state: &mut State) {
        let tree = tree::descendants(i32::try_from(self.watcher.id()).unwrap_or_default());
        let matters = self.limits.memory.map_or(u64::MAX, four_fifths);
        state.now = (tree::memory(&tree, matters), tree.len() as u64);
        state.totals.memory = state.totals.memory.max(state.now.0);
        state.totals.processes = state.totals.processes.max(state.now.1);
        state.sampled = Some(Instant::now());
    }

    fn measure(&self, state: &mut State) {
        let sums = self.seen.sums();
        for limit in RunLimit::ALL {
            let used = match limit {
                RunLimit::Time => {
                    u64::try_from(state.start.elapsed().as_millis()).unwrap_or(u64::MAX)
                }
                RunLimit::Memory => state.now.0,
                RunLimit::Processes => state.now.1,
                RunLimit::Tokens => sums.tokens.spent(),
                RunLimit::Output => sums.output,
            };
            let Some(allowed) = self.limits.value_of(limit) else { continue };
            if used >= four_fifths(allowed)
                && state.warnings.iter().all(|warning| warning.limit != limit)
            {
                let warning = Warning { limit, used, allowed };
                state.warnings.push(warning);
                // A caller that does not read it now finds it in the result.
                let _ = self.events.try_send(RunEvent::Warning(warning));
            }
            if used >= allowed && state.stop.is_none() {
                self.stop(state, Some(RunOutcome::Limit(limit)));
            }
        }
    }
}

impl FinishedRun {
    /// Returns the outcome, including the sums of the complete streams.
    pub(crate) fn into_result(self, sums: StreamSums) -> RunResult {
        let Self { state, killed, watched, at } = self;
        let totals = RunUsage {
            time: at.duration_since(state.start),
            output: sums.output,
            tokens: sums.tokens,
            long_lines: sums.long_lines,
            ..state.totals
        };
        let outcome = match (state.stop.as_ref().and_then(|stop| stop.why), state.exit) {
            (Some(why), _) => why,
            (None, None) if !watched => RunOutcome::Unwatched,
            (None, Some(Exit::Code(0))) if sums.hook_stopped => RunOutcome::Emergency,
            (None, Some(Exit::Code(0))) if !sums.failed => RunOutcome::Success,
            (None, _) => RunOutcome::Failed,
        };
        let stopped = state.stop.map(|stop| stop.at).or(state.lost).map(|since| Stopped {
            took: at.duration_since(since),
            killed: killed.killed,
            survivors: killed.survivors,
        });
        RunResult { outcome, exit: state.exit, stopped, totals, warnings: state.warnings }
    }
}

impl State {
    /// Returns true if the watcher should have answered by now.
    fn is_unresponsive(&self, grace: Duration) -> bool {
        self.stop.as_ref().is_some_and(|stop| {
            stop.at.elapsed()
                > if stop.heard {
                    grace + kill::KILL_TIMEOUT + SAMPLE_INTERVAL
                } else {
                    STOP_ACK_TIMEOUT
                }
        })
    }
}

/// Ends a watcher and, in its place, every process that it left.
pub(crate) fn take_over(
    watcher: &mut Child,
    agent: Option<&GroupLeader>,
    group: Option<&Cgroup>,
) -> Killed {
    let _ = watcher.kill();
    let _ = watcher.wait();
    let killed = kill::tree(Duration::ZERO, agent, group, &mut reap);
    if let Some(group) = group {
        group.remove();
    }
    killed
}

fn four_fifths(of: u64) -> u64 {
    of - of / 5
}

/// Reaps for the given time.
fn reap(time: Duration) -> WaitOutcome {
    let start = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            Err(_) => return WaitOutcome::Gone,
        }
        if start.elapsed() >= time {
            return WaitOutcome::Over;
        }
    }
}

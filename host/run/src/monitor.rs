//! Looks at a running agent until its last process is dead.

use crate::event::Event;
use crate::group::Group;
use crate::kill::{self, Killed, Leader, Waited};
use crate::limits::{Limit, Limits, Warning};
use crate::outcome::{Ended, Exit, Outcome, Stopped, Totals};
use crate::pump::{Seen, Sums};
use crate::signals::Signals;
use crate::tree;
use crate::wire::{Ask, Tell, say};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use std::io::PipeWriter;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at what is cheap to look at.
const TICK: Duration = Duration::from_millis(50);
/// Between two looks at the processes.
const SAMPLE: Duration = Duration::from_millis(500);
/// A watcher that does not say within this time that it heard of a stop is taken for halted.
const DEAF: Duration = Duration::from_millis(400);

/// What reaches the monitor.
pub(crate) enum Note {
    Told(Tell),
    WatcherGone,
    /// End it all, for this reason.
    Stop(Outcome),
}

/// Everything that the monitor looks at.
pub(crate) struct Monitor {
    pub(crate) notes: Receiver<Note>,
    pub(crate) asks: PipeWriter,
    pub(crate) watcher: Child,
    pub(crate) agent: Option<Leader>,
    pub(crate) group: Option<Group>,
    pub(crate) limits: Limits,
    pub(crate) grace: Duration,
    pub(crate) linger: Duration,
    pub(crate) seen: Arc<Seen>,
    pub(crate) events: SyncSender<Event>,
    pub(crate) signals: Signals,
}

/// What a run left, before its streams were read to their end.
pub(crate) struct Left {
    state: State,
    killed: Killed,
    watched: bool,
    /// When the last process was dead.
    at: Instant,
}

/// What is known by now.
struct State {
    start: Instant,
    sampled: Option<Instant>,
    exit: Option<Exit>,
    /// When what outlives the agent is stopped.
    until: Option<Instant>,
    stop: Option<Stop>,
    /// When the watcher was found to be gone or halted.
    lost: Option<Instant>,
    totals: Totals,
    now: (u64, u64),
    warnings: Vec<Warning>,
}

/// A stop that was ordered.
struct Stop {
    /// `None` when only what the agent left behind is tidied up.
    why: Option<Outcome>,
    at: Instant,
    heard: bool,
}

impl Monitor {
    /// Until the last process is dead.
    pub(crate) fn stay(mut self) -> Left {
        let mut state = State {
            start: Instant::now(),
            sampled: None,
            exit: None,
            until: None,
            stop: None,
            lost: None,
            totals: Totals::default(),
            now: (0, 0),
            warnings: Vec::new(),
        };
        let (killed, watched) = loop {
            match self.notes.recv_timeout(TICK) {
                Ok(Note::Told(Tell::Gone { killed, survivors })) => break (Killed { killed, survivors }, true),
                Ok(Note::Told(Tell::Ended { exit })) => {
                    state.exit = Some(exit);
                    state.until = Some(Instant::now() + self.linger);
                }
                Ok(Note::Told(Tell::Stopping)) => state.stop.iter_mut().for_each(|stop| stop.heard = true),
                Ok(Note::Told(Tell::Started { .. } | Tell::Refused { .. })) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Note::Stop(why)) => self.stop(&mut state, Some(why)),
                Ok(Note::WatcherGone) | Err(RecvTimeoutError::Disconnected) => {
                    break (self.take_over(&mut state), false);
                }
            }
            self.look(&mut state);
            if state.deaf(self.grace) {
                break (self.take_over(&mut state), false);
            }
        };
        let at = Instant::now();
        // It ends by itself after its last word, unless it was halted just then.
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
        Left { state, killed, watched, at }
    }

    /// The watcher is dead, or as good as dead.
    fn take_over(&mut self, state: &mut State) -> Killed {
        state.lost = Some(Instant::now());
        take_over(&mut self.watcher, self.agent.as_ref(), self.group.as_ref())
    }

    /// Sends the order, or a second time the order to wait no longer.
    fn stop(&self, state: &mut State, why: Option<Outcome>) {
        let grace = if state.stop.is_some() { Duration::ZERO } else { self.grace };
        // A watcher that cannot be told is gone, which is another note.
        let _ = say(&self.asks, &Ask::Stop { grace: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) });
        match &mut state.stop {
            Some(stop) => stop.why = stop.why.or(why),
            None => state.stop = Some(Stop { why, at: Instant::now(), heard: false }),
        }
    }

    fn look(&self, state: &mut State) {
        if self.signals.came() {
            self.stop(state, Some(Outcome::Interrupted));
        }
        if state.sampled.is_none_or(|at| at.elapsed() >= SAMPLE) {
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
        for limit in Limit::ALL {
            let used = match limit {
                Limit::Time => u64::try_from(state.start.elapsed().as_millis()).unwrap_or(u64::MAX),
                Limit::Memory => state.now.0,
                Limit::Processes => state.now.1,
                Limit::Tokens => sums.tokens.spent(),
                Limit::Output => sums.output,
            };
            let Some(allowed) = self.limits.of(limit) else { continue };
            if used >= four_fifths(allowed) && state.warnings.iter().all(|warning| warning.limit != limit) {
                let warning = Warning { limit, used, allowed };
                state.warnings.push(warning);
                // A caller that does not look now finds it in the end.
                let _ = self.events.try_send(Event::Warning(warning));
            }
            if used >= allowed && state.stop.is_none() {
                self.stop(state, Some(Outcome::Limit(limit)));
            }
        }
    }
}

impl Left {
    /// What it comes to, with what the streams said to their end.
    pub(crate) fn sum_up(self, sums: Sums) -> Ended {
        let Self { state, killed, watched, at } = self;
        let totals = Totals {
            time: at.duration_since(state.start),
            output: sums.output,
            tokens: sums.tokens,
            long_lines: sums.long_lines,
            ..state.totals
        };
        let outcome = match (state.stop.as_ref().and_then(|stop| stop.why), state.exit) {
            (Some(why), _) => why,
            (None, None) if !watched => Outcome::Unwatched,
            (None, Some(Exit::Code(0))) if sums.hook_stopped => Outcome::Emergency,
            (None, Some(Exit::Code(0))) if !sums.failed => Outcome::Well,
            (None, _) => Outcome::Failed,
        };
        let stopped = state.stop.map(|stop| stop.at).or(state.lost).map(|since| Stopped {
            took: at.duration_since(since),
            killed: killed.killed,
            survivors: killed.survivors,
        });
        Ended { outcome, exit: state.exit, stopped, totals, warnings: state.warnings }
    }
}

impl State {
    /// Whether the watcher should have answered by now.
    fn deaf(&self, grace: Duration) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.at.elapsed() > if stop.heard { grace + kill::PATIENCE + SAMPLE } else { DEAF })
    }
}

/// Ends a watcher and, in its place, everything that it left.
pub(crate) fn take_over(watcher: &mut Child, agent: Option<&Leader>, group: Option<&Group>) -> Killed {
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

/// Reaps for a while.
fn reap(time: Duration) -> Waited {
    let start = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            Err(_) => return Waited::Gone,
        }
        if start.elapsed() >= time {
            return Waited::Over;
        }
    }
}

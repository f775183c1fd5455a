//! Starts an agent below its watcher, and waits for both.

use crate::agent::{AgentCommand, Reentry};
use crate::error::RunError;
use crate::event::RunEvent;
use crate::group::Cgroup;
use crate::limits::RunLimits;
use crate::monitor::{FinishedRun, Monitor, MonitorEvent};
use crate::outcome::{RunOutcome, RunResult};
use crate::pump::{self, Sink, StreamStats};
use crate::signals::Signals;
use crate::start::{check, start};
use rustix::process::{getpid, set_child_subreaper};
use std::io::Write;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The capacity of the event queue: small, since each event can hold a line of the greatest length.
const EVENT_QUEUE_LEN: usize = 16;
/// The time that streams may stay open after the last process is dead: somebody else holds them
/// then.
const STREAM_TIMEOUT: Duration = Duration::from_secs(3);

/// The destinations of the agent's own output; it is also delivered as events.
#[derive(Default)]
pub struct Sinks {
    /// Standard output, byte for byte.
    pub output: Option<Box<dyn Write + Send>>,
    /// Standard error, byte for byte.
    pub errors: Option<Box<dyn Write + Send>>,
}

/// An agent that runs, or ran.
///
/// Take its events until there are no more, then [`wait_for_end`](Self::wait_for_end). Limits apply
/// even if nobody takes events. If this is dropped before the agent's end, the agent is stopped.
pub struct Run {
    events: Option<Receiver<RunEvent>>,
    monitor: Option<JoinHandle<FinishedRun>>,
    streams: Vec<JoinHandle<()>>,
    seen: Arc<StreamStats>,
    input: Option<ChildStdin>,
    stopper: Stopper,
}

/// Stops an agent, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Sender<MonitorEvent>);

impl Stopper {
    /// Stops the tree in an emergency: the outcome is [`RunOutcome::Emergency`]. A second order
    /// ends the grace period.
    pub fn emergency(&self) {
        // An agent that is gone needs no stop.
        let _ = self.0.send(MonitorEvent::Stop(RunOutcome::Emergency));
    }

    /// Stops the tree at a person's request: [`RunOutcome::Interrupted`]. A second order ends the
    /// grace period.
    pub fn interrupt(&self) {
        let _ = self.0.send(MonitorEvent::Stop(RunOutcome::Interrupted));
    }
}

impl Run {
    /// Starts an agent, and returns once its program runs.
    ///
    /// From here to the end of [`wait_for_end`](Self::wait_for_end) the calling process reaps all
    /// orphans below it, and SIGINT, SIGTERM and SIGHUP to it stop the agent; they are ignored
    /// afterwards.
    ///
    /// # Errors
    /// Fails if the agent or its watcher does not start, or if the required confinement is not
    /// available.
    pub fn start_agent(
        agent: &AgentCommand,
        limits: &RunLimits,
        reentry: &Reentry,
        sinks: Sinks,
    ) -> Result<Self, RunError> {
        check(agent)?;
        // If the watcher dies, the agent's processes must become children of this one.
        set_child_subreaper(Some(getpid()))
            .map_err(|error| RunError::system("taking in orphans")(error.into()))?;
        let signals = Signals::take().map_err(RunError::system("listening to signals"))?;
        let group = if agent.cgroup { Cgroup::make() } else { None };
        let mut started = start(agent, reentry, group.as_ref())?;
        let (events, taken) = sync_channel(EVENT_QUEUE_LEN);
        let seen = Arc::<StreamStats>::default();
        let (input, output, errors) = (
            started.watcher.stdin.take(),
            started.watcher.stdout.take(),
            started.watcher.stderr.take(),
        );
        let streams = carry(output, errors, sinks, agent.longest_line, &events, &seen);
        let monitor = Monitor {
            notes: started.heard,
            asks: started.asks,
            watcher: started.watcher,
            agent: started.agent,
            group,
            limits: *limits,
            grace: agent.grace,
            linger: agent.linger,
            seen: Arc::clone(&seen),
            events,
            signals,
        };
        let monitor = Some(thread::spawn(move || monitor.run_to_end()));
        Ok(Self {
            events: Some(taken),
            monitor,
            streams,
            seen,
            input,
            stopper: Stopper(started.notes),
        })
    }

    /// Returns a handle that stops it.
    pub fn stop_handle(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Returns its standard input, once, if it is
    /// [`StandardInput::Written`](crate::StandardInput::Written). Dropping it closes the input. A
    /// write to an agent that no longer reads can block until the agent is gone.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// Returns the next event; `None` if there will be no other. Waits as long as the agent is
    /// silent.
    pub fn next_event(&mut self) -> Option<RunEvent> {
        let events = self.events.as_ref()?;
        let mut over = None;
        loop {
            match events.recv_timeout(Duration::from_millis(100)) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.is_over() && over.get_or_insert_with(Instant::now).elapsed() > STREAM_TIMEOUT {
                return None;
            }
        }
    }

    /// Returns true if the last process is dead.
    pub fn is_over(&self) -> bool {
        self.monitor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the last process is dead. Events that were not taken are dropped, and counted in
    /// the totals.
    ///
    /// # Errors
    /// Fails if the monitoring thread ended early; the agent was stopped then.
    pub fn wait_for_end(mut self) -> Result<RunResult, RunError> {
        self.events = None;
        self.input = None;
        let lost = || RunError::System {
            doing: "looking after the agent",
            source: std::io::Error::other("the monitor ended early"),
        };
        let left = self.monitor.take().ok_or_else(lost)?.join().map_err(|_| lost())?;
        let until = Instant::now() + STREAM_TIMEOUT;
        for stream in self.streams.drain(..) {
            while !stream.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(left.into_result(self.seen.sums()))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.monitor.is_some() {
            // The second order ends the grace period of the first.
            self.stopper.emergency();
            self.stopper.emergency();
        }
    }
}

fn carry(
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    sinks: Sinks,
    longest: usize,
    events: &SyncSender<RunEvent>,
    seen: &Arc<StreamStats>,
) -> Vec<JoinHandle<()>> {
    let (out, err): (Sink, Sink) = (sinks.output, sinks.errors);
    let (events_out, seen_out) = (events.clone(), Arc::clone(seen));
    let (events_err, seen_err) = (events.clone(), Arc::clone(seen));
    let output = output.map(|output| {
        thread::spawn(move || pump::output(output, out, longest, &events_out, &seen_out))
    });
    let errors = errors
        .map(|errors| thread::spawn(move || pump::errors(errors, err, &events_err, &seen_err)));
    output.into_iter().chain(errors).collect()
}

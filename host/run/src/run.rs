//! Starts an agent below its watcher, and waits for both.

use crate::agent::{Agent, Reentry};
use crate::error::RunError;
use crate::event::Event;
use crate::group::Group;
use crate::limits::Limits;
use crate::monitor::{Left, Monitor, Note};
use crate::outcome::{Ended, Outcome};
use crate::pump::{self, Seen, Sink};
use crate::signals::Signals;
use crate::start::{check, start};
use rustix::process::{getpid, set_child_subreaper};
use std::io::Write;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Events that wait to be taken: few, as each can hold a line of the longest length.
const WAITING: usize = 16;
/// How long streams may stay open when the last process is dead: somebody else holds them then.
const STREAMS: Duration = Duration::from_secs(3);

/// Where the agent's own output goes; it comes as events in any case.
#[derive(Default)]
pub struct Sinks {
    /// Standard output, byte for byte.
    pub output: Option<Box<dyn Write + Send>>,
    /// Standard error, byte for byte.
    pub errors: Option<Box<dyn Write + Send>>,
}

/// An agent that runs, or ran.
///
/// Take its events until there is none, then [`wait`](Self::wait). Limits hold while nobody takes events. Dropped
/// before its end, it is stopped.
pub struct Run {
    events: Option<Receiver<Event>>,
    monitor: Option<JoinHandle<Left>>,
    streams: Vec<JoinHandle<()>>,
    seen: Arc<Seen>,
    input: Option<ChildStdin>,
    stopper: Stopper,
}

/// Stops an agent, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Sender<Note>);

impl Stopper {
    /// An emergency: the tree ends, and the outcome is [`Outcome::Emergency`]. A second order ends the grace.
    pub fn emergency(&self) {
        // An agent that is gone needs no stop.
        let _ = self.0.send(Note::Stop(Outcome::Emergency));
    }

    /// A person wants it to end: [`Outcome::Interrupted`]. A second order ends the grace.
    pub fn interrupt(&self) {
        let _ = self.0.send(Note::Stop(Outcome::Interrupted));
    }
}

impl Run {
    /// Starts an agent, and gives it back when its program runs.
    ///
    /// From here to the end of [`wait`](Self::wait) the calling process reaps whatever loses its parent below it,
    /// and SIGINT, SIGTERM and SIGHUP to it stop the agent; they are ignored afterwards.
    ///
    /// # Errors
    /// When the agent or its watcher does not start, or the confinement that is required cannot be had.
    pub fn start(agent: &Agent, limits: &Limits, reentry: &Reentry, sinks: Sinks) -> Result<Self, RunError> {
        check(agent)?;
        set_child_subreaper(Some(getpid())).map_err(|error| RunError::system("taking in orphans")(error.into()))?;
        let signals = Signals::take().map_err(RunError::system("listening to signals"))?;
        let group = if agent.cgroup { Group::make() } else { None };
        let mut started = start(agent, reentry, group.as_ref())?;
        let (events, taken) = sync_channel(WAITING);
        let seen = Arc::<Seen>::default();
        let (input, output, errors) = (started.watcher.stdin.take(), started.watcher.stdout.take(), started.watcher.stderr.take());
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
        let monitor = Some(thread::spawn(move || monitor.stay()));
        Ok(Self { events: Some(taken), monitor, streams, seen, input, stopper: Stopper(started.notes) })
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Its standard input, once, when it is [`Input::Written`](crate::Input::Written). It ends when this is dropped. A
    /// write to an agent that reads no more can wait until the agent is gone.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.input.take()
    }

    /// The next event; `None` when there will be no other. Waits as long as the agent is silent.
    pub fn next_event(&mut self) -> Option<Event> {
        let events = self.events.as_ref()?;
        let mut over = None;
        loop {
            match events.recv_timeout(Duration::from_millis(100)) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.is_over() && over.get_or_insert_with(Instant::now).elapsed() > STREAMS {
                return None;
            }
        }
    }

    /// Whether the last process is dead.
    pub fn is_over(&self) -> bool {
        self.monitor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the last process is dead. Events that were not taken are dropped, and counted in the totals.
    ///
    /// # Errors
    /// When the thread that looks after the agent ended early; the agent was stopped then.
    pub fn wait(mut self) -> Result<Ended, RunError> {
        self.events = None;
        self.input = None;
        let lost = || RunError::System { doing: "looking after the agent", source: std::io::Error::other("the monitor ended early") };
        let left = self.monitor.take().ok_or_else(lost)?.join().map_err(|_| lost())?;
        let until = Instant::now() + STREAMS;
        for stream in self.streams.drain(..) {
            while !stream.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(left.sum_up(self.seen.sums()))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.monitor.is_some() {
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
    events: &SyncSender<Event>,
    seen: &Arc<Seen>,
) -> Vec<JoinHandle<()>> {
    let (out, err): (Sink, Sink) = (sinks.output, sinks.errors);
    let (events_out, seen_out) = (events.clone(), Arc::clone(seen));
    let (events_err, seen_err) = (events.clone(), Arc::clone(seen));
    let output = output.map(|output| thread::spawn(move || pump::output(output, out, longest, &events_out, &seen_out)));
    let errors = errors.map(|errors| thread::spawn(move || pump::errors(errors, err, &events_err, &seen_err)));
    output.into_iter().chain(errors).collect()
}

//! Watches the journal while the agent works: for reviews to show, and for a stop that the client
//! did not obey.

use super::view::View;
use portcullis_run::Stopper;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The polling interval; each poll reads two rows by key.
const LOOK: Duration = Duration::from_millis(200);
/// The timeout for the client's list of loaded hooks; its own `SessionStart` hooks count.
const PATIENCE: Duration = Duration::from_secs(90);

/// The state that the two threads share.
pub struct SharedView {
    view: Mutex<View>,
    holds: Box<dyn Fn() -> bool + Send + Sync>,
    over: AtomicBool,
    guarded: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl SharedView {
    /// Creates the shared state for a new run. `holds` returns whether a stop is enforced, which it
    /// is not in observe mode.
    pub fn new(view: View, holds: impl Fn() -> bool + Send + Sync + 'static) -> Arc<Self> {
        let (over, guarded) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self {
            view: Mutex::new(view),
            holds: Box::new(holds),
            over,
            guarded,
            reason: Mutex::default(),
        })
    }

    /// Locks the view of the run.
    pub fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the client has the hooks and the prompt.
    pub fn record_guarded(&self) {
        self.guarded.store(true, Ordering::Relaxed);
    }

    /// Returns true if the agent was given its prompt.
    pub fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    /// Returns why the review stopped the session, if it did and the stop is enforced.
    pub fn stopped(&self) -> Option<String> {
        let stopped = self.view().stopped();
        stopped.filter(|_| (self.holds)())
    }

    /// Stops the agent at once. The first reason is the one that is reported.
    pub fn stop_run(&self, stopper: &Stopper, why: &str) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if reason.is_none() {
            *reason = Some(why.to_owned());
            // A second order would end the grace period.
            stopper.emergency();
        }
    }

    /// Returns why it was stopped, if it was.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The watching thread, which ends when this is dropped.
pub struct Watch {
    shared: Arc<SharedView>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread.
    pub fn begin_watch(shared: &Arc<SharedView>, stopper: Stopper) -> Self {
        let ours = Arc::clone(shared);
        let thread = thread::spawn(move || look(&ours, &stopper));
        Self { shared: Arc::clone(shared), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked has nothing more to report.
            let _ = thread.join();
        }
    }
}

fn look(shared: &SharedView, stopper: &Stopper) {
    let begun = Instant::now();
    while !shared.over.load(Ordering::Relaxed) {
        shared.view().read_journal();
        if let Some(why) = shared.stopped() {
            shared.stop_run(stopper, &why);
        }
        if !shared.is_guarded() && begun.elapsed() > PATIENCE {
            shared.stop_run(stopper, "the client did not report which hooks it has loaded");
        }
        thread::park_timeout(LOOK);
    }
}

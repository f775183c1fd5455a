//! Looks at the journal while the agent works: for reviews that are to be shown, and for a stop that the client did not
//! obey.

use super::view::View;
use portcullis_run::Stopper;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it looks: two rows by their key each time.
const LOOK: Duration = Duration::from_millis(200);
/// How long the client may take to tell which hooks it has loaded; its own `SessionStart` hooks count.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the two threads share.
pub struct Shared {
    view: Mutex<View>,
    over: AtomicBool,
    guarded: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl Shared {
    /// Around a view of a run that begins.
    pub fn new(view: View) -> Arc<Self> {
        Arc::new(Self { view: Mutex::new(view), over: AtomicBool::new(false), guarded: AtomicBool::new(false), reason: Mutex::default() })
    }

    /// What is known of the run.
    pub fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has the hooks, and the prompt.
    pub fn guarded(&self) {
        self.guarded.store(true, Ordering::Relaxed);
    }

    /// Whether the agent was given its prompt.
    pub fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    /// Stops the agent at once. The first reason is the one that is told.
    pub fn stop(&self, stopper: &Stopper, why: &str) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        if reason.is_none() {
            *reason = Some(why.to_owned());
            // A second order would end the grace.
            stopper.emergency();
        }
    }

    /// Why it was stopped, if it was.
    pub fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The thread that looks, until it is dropped.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins. `holds`: whether a stop counts, which it does not where the guard only observes.
    pub fn begin(shared: &Arc<Shared>, stopper: Stopper, holds: impl Fn() -> bool + Send + 'static) -> Self {
        let ours = Arc::clone(shared);
        let thread = thread::spawn(move || look(&ours, &stopper, holds));
        Self { shared: Arc::clone(shared), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked has nothing more to tell.
            let _ = thread.join();
        }
    }
}

fn look(shared: &Shared, stopper: &Stopper, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !shared.over.load(Ordering::Relaxed) {
        let stopped = {
            let mut view = shared.view();
            view.look();
            view.stopped()
        };
        if let Some(why) = stopped.filter(|_| holds()) {
            shared.stop(stopper, &why);
        }
        if !shared.is_guarded() && begun.elapsed() > PATIENCE {
            shared.stop(stopper, "the client did not tell which hooks it has loaded");
        }
        thread::park_timeout(LOOK);
    }
}

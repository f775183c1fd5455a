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
    holds: Box<dyn Fn() -> bool + Send + Sync>,
    over: AtomicBool,
    guarded: AtomicBool,
    reason: Mutex<Option<String>>,
}

impl Shared {
    /// Around a view of a run that begins. `holds`: whether a stop counts, which it does not where the guard only
    /// observes.
    pub fn new(view: View, holds: impl Fn() -> bool + Send + Sync + 'static) -> Arc<Self> {
        let (over, guarded) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { view: Mutex::new(view), holds: Box::new(holds), over, guarded, reason: Mutex::default() })
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

    /// Why the review stopped the session, if it did and that counts.
    pub fn stopped(&self) -> Option<String> {
        let stopped = self.view().stopped();
        stopped.filter(|_| (self.holds)())
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
    /// Begins.
    pub fn begin(shared: &Arc<Shared>, stopper: Stopper) -> Self {
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
            // A thread that panicked has nothing more to tell.
            let _ = thread.join();
        }
    }
}

fn look(shared: &Shared, stopper: &Stopper) {
    let begun = Instant::now();
    while !shared.over.load(Ordering::Relaxed) {
        shared.view().look();
        if let Some(why) = shared.stopped() {
            shared.stop(stopper, &why);
        }
        if !shared.is_guarded() && begun.elapsed() > PATIENCE {
            shared.stop(stopper, "the client did not tell which hooks it has loaded");
        }
        thread::park_timeout(LOOK);
    }
}

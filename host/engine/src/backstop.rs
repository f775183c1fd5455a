//! The wall clock behind the fuel: one review's guests together get so much time, then they end.
//!
//! Fuel already ends every guest, at the same instruction each time. This is for what fuel cannot see:
//! a machine that stands still, a host function that is slow. Time spent compiling is not counted, since
//! it is ours. Off, results depend on fuel alone, as a replay needs it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a guest that is over its time is told so, until it has stopped.
const TICK: Duration = Duration::from_millis(5);

/// Guests that together took less than this need no watch: the next one ends by its fuel long before a
/// budget of seconds is over. So a hook, whose guests take a millisecond, starts no thread.
const CALM: Duration = Duration::from_millis(100);

/// What is left of a review's time.
pub(crate) struct Backstop {
    budget: Option<Duration>,
    left: Duration,
    watch: Option<Watch>,
}

/// The review's time is over.
pub(crate) struct Over;

impl Backstop {
    pub(crate) fn new(budget: Option<Duration>) -> Self {
        Self { budget, left: budget.unwrap_or_default(), watch: None }
    }

    /// A new review begins.
    pub(crate) fn begin(&mut self) {
        self.left = self.budget.unwrap_or_default();
    }

    /// Runs a guest with the time that is left.
    pub(crate) fn during<T>(&mut self, engine: &wasmtime::Engine, body: impl FnOnce(Option<Instant>) -> T) -> Result<T, Over> {
        if self.budget.is_none() {
            return Ok(body(None));
        }
        if self.left.is_zero() {
            return Err(Over);
        }
        let started = Instant::now();
        let deadline = started + self.left;
        if self.wants_watch() {
            self.watch.get_or_insert_with(|| Watch::new(engine)).arm(deadline);
        }
        let result = body(Some(deadline));
        if let Some(watch) = &self.watch {
            watch.disarm();
        }
        self.left = self.left.saturating_sub(started.elapsed());
        Ok(result)
    }

    /// A budget so small that one guest's fuel could outlast it is watched from the start.
    fn wants_watch(&self) -> bool {
        let budget = self.budget.unwrap_or_default();
        budget < 10 * CALM || budget.saturating_sub(self.left) >= CALM
    }
}

/// A thread that sleeps until a deadline and then moves the engine's epoch.
struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Watched>,
    wake: Condvar,
}

#[derive(Default)]
struct Watched {
    /// Set while a guest runs.
    deadline: Option<Instant>,
    /// The thread waits for a call, not for a time.
    idle: bool,
    quit: bool,
}

impl Watch {
    fn new(engine: &wasmtime::Engine) -> Self {
        let shared = Arc::new(Shared::default());
        let (ours, engine) = (Arc::clone(&shared), engine.clone());
        // Without a thread (the system has none left) fuel alone ends guests, which it does anyway.
        drop(std::thread::Builder::new().name("portcullis-backstop".into()).spawn(move || ours.run(&engine)));
        Self { shared }
    }

    fn arm(&self, deadline: Instant) {
        let mut state = self.shared.lock();
        state.deadline = Some(deadline);
        // A thread that waits for an earlier time wakes by itself and looks again.
        if state.idle {
            self.shared.wake.notify_one();
        }
    }

    fn disarm(&self) {
        self.shared.lock().deadline = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody waits for the thread: it holds nothing that matters to anyone else.
        self.shared.lock().quit = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, engine: &wasmtime::Engine) {
        let mut state = self.lock();
        // How long to look away; the deadline may have moved on meanwhile, which costs one look.
        while !state.quit {
            let now = Instant::now();
            state = match state.deadline {
                None => self.idle(state),
                Some(deadline) if now < deadline => self.sleep(state, deadline - now),
                Some(_) => {
                    engine.increment_epoch();
                    self.sleep(state, TICK)
                }
            };
        }
    }

    fn idle<'a>(&self, mut state: MutexGuard<'a, Watched>) -> MutexGuard<'a, Watched> {
        state.idle = true;
        let mut state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.idle = false;
        state
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, Watched>, time: Duration) -> MutexGuard<'a, Watched> {
        self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }
}

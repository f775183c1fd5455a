//! The wall clock behind the fuel: one review's guests together get so much time, then they end.
//!
//! Fuel already ends every guest, at the same instruction each time. This is for what fuel cannot see:
//! a machine that stands still, a host function that is slow. Time spent compiling is not counted, since
//! it is ours. Off, results depend on fuel alone, as a replay needs it.
//!
//! Files share: each gets a bounded part, and all of them together leave a rest to the plugins that come
//! with the program. So what a stranger wrote can use up neither their time nor that of its neighbours.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a guest that is over its time is told so, until it has stopped.
const TICK: Duration = Duration::from_millis(5);

/// Guests that together took less than this need no watch, if their fuel is small: the next one ends by it
/// long before a budget of seconds is over. So a hook, whose guests take a millisecond, starts no thread.
const CALM: Duration = Duration::from_millis(100);

/// Units of fuel that a guest surely uses up in a millisecond: a tenth of what this takes on an idle machine.
const FUEL_IN_A_MILLISECOND: u64 = 500_000;

/// Of a review's time, the part that files never get: a quarter.
const KEPT_FROM_FILES: u32 = 4;

/// How many times its even part of what is left a file may take: most need next to nothing.
const EVEN_PARTS: u32 = 4;

/// What is left of a review's time.
pub(crate) struct Backstop {
    budget: Option<Duration>,
    left: Duration,
    left_to_files: Duration,
    watch: Option<Watch>,
}

/// Whose part of a review's time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A plugin that comes with the program.
    Ours,
    /// A file's, which is one of so many that still wait for their turn.
    File { waiting: usize },
}

/// One plugin's part of a review's time.
pub(crate) struct Part<'a> {
    backstop: Option<&'a mut Backstop>,
    whose: Whose,
    left: Duration,
}

/// The part is used up.
pub(crate) struct Over;

impl Backstop {
    pub(crate) fn new(budget: Option<Duration>) -> Self {
        let mut backstop = Self { budget, left: Duration::ZERO, left_to_files: Duration::ZERO, watch: None };
        backstop.begin();
        backstop
    }

    /// A new review begins.
    pub(crate) fn begin(&mut self) {
        self.left = self.budget.unwrap_or_default();
        self.left_to_files = self.left.saturating_sub(self.left / KEPT_FROM_FILES);
    }

    /// The part of the plugin whose turn it is.
    pub(crate) fn part(&mut self, whose: Whose) -> Part<'_> {
        let left = match whose {
            Whose::Ours => self.left,
            Whose::File { waiting } => {
                let waiting = u32::try_from(waiting).unwrap_or(u32::MAX).max(1);
                self.left_to_files.min(self.left_to_files / waiting * EVEN_PARTS)
            }
        };
        Part { backstop: Some(self), whose, left }
    }

    fn passed(&mut self, time: Duration, whose: Whose) {
        self.left = self.left.saturating_sub(time);
        if whose != Whose::Ours {
            self.left_to_files = self.left_to_files.saturating_sub(time);
        }
        self.left_to_files = self.left_to_files.min(self.left);
    }

    /// A guest whose fuel could outlast its time is watched from the start.
    fn wants_watch(&self, fuel: u64, time: Duration) -> bool {
        let used = self.budget.unwrap_or_default().saturating_sub(self.left);
        used >= CALM || Duration::from_millis(fuel / FUEL_IN_A_MILLISECOND) > time
    }
}

impl Part<'_> {
    /// No clock: what runs is no part of a review.
    pub(crate) const fn unbounded() -> Self {
        Self { backstop: None, whose: Whose::Ours, left: Duration::ZERO }
    }

    /// Nothing is left of it, so that loading the plugin would be for nothing.
    pub(crate) fn is_over(&self) -> bool {
        self.left.is_zero() && self.backstop.as_ref().is_some_and(|backstop| backstop.budget.is_some())
    }

    /// Runs a guest that has so much fuel, with the time that is left.
    pub(crate) fn during<T>(&mut self, engine: &wasmtime::Engine, fuel: u64, body: impl FnOnce(Option<Instant>) -> T) -> Result<T, Over> {
        if self.is_over() {
            return Err(Over);
        }
        let Some(backstop) = self.backstop.as_deref_mut().filter(|backstop| backstop.budget.is_some()) else { return Ok(body(None)) };
        let started = Instant::now();
        let deadline = started + self.left;
        if backstop.wants_watch(fuel, self.left) {
            backstop.watch.get_or_insert_with(|| Watch::new(engine)).arm(deadline);
        }
        let result = body(Some(deadline));
        if let Some(watch) = &backstop.watch {
            watch.disarm();
        }
        let time = started.elapsed();
        self.left = self.left.saturating_sub(time);
        backstop.passed(time, self.whose);
        Ok(result)
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
    /// When the thread looks again by itself; none while it waits for a call.
    looks: Option<Instant>,
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
        if state.looks.is_none_or(|looks| deadline < looks) {
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
        while !state.quit {
            let now = Instant::now();
            state = match state.deadline {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) if now < deadline => self.sleep(state, deadline),
                Some(_) => {
                    engine.increment_epoch();
                    self.sleep(state, now + TICK)
                }
            };
        }
    }

    /// Looks away until that time; the deadline may have moved on meanwhile, which costs one look.
    fn sleep<'a>(&self, mut state: MutexGuard<'a, Watched>, until: Instant) -> MutexGuard<'a, Watched> {
        state.looks = Some(until);
        let time = until.saturating_duration_since(Instant::now());
        let mut state = self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        state.looks = None;
        state
    }
}

//! The wall-clock limit behind the fuel: all guests of one review share a time budget, and end when
//! it is used up.
//!
//! Fuel already ends every guest, at the same instruction each time. The clock covers what fuel
//! cannot see: a stalled machine, a slow host function. Time spent compiling is not counted, since
//! that is the host's own work. With the clock off, results depend on fuel alone, as a replay
//! needs.
//!
//! Plugins from files share: each gets a bounded part, and all of them together leave a reserve for
//! the plugins that come with the program. So a third-party plugin can use up neither their time
//! nor that of its neighbours.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which a guest that is over its deadline is interrupted again, until it has
/// stopped.
const TICK: Duration = Duration::from_millis(5);

/// If the guests so far took less than this together, and the next one has little fuel, no watch is
/// needed: its fuel ends it long before a budget of seconds is over. So a hook, whose guests take a
/// millisecond, starts no thread.
const WATCH_AFTER: Duration = Duration::from_millis(100);

/// Units of fuel that a guest is certain to use up in a millisecond: a tenth of what an idle
/// machine executes.
const FUEL_PER_MS: u64 = 500_000;

/// The divisor for the part of a review's time that is reserved from file plugins: a quarter.
const RESERVE_DIVISOR: u32 = 4;

/// The largest share that one file plugin may take, as a multiple of its even share of what is
/// left: most need next to nothing.
const MAX_SHARES: u32 = 4;

/// The remaining time of a review.
pub(crate) struct ReviewDeadline {
    budget: Option<Duration>,
    left: Duration,
    left_to_files: Duration,
    watch: Option<Watch>,
}

/// The owner of a part of a review's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetOwner {
    /// A plugin that comes with the program.
    Ours,
    /// A plugin from a file; `waiting` file plugins, this one included, have not run yet.
    File { waiting: usize },
}

/// One plugin's part of a review's time.
pub(crate) struct TimeBudget<'a> {
    deadline: Option<&'a mut ReviewDeadline>,
    whose: BudgetOwner,
    left: Duration,
}

/// The part is used up.
pub(crate) struct BudgetExhausted;

impl ReviewDeadline {
    pub(crate) fn new(budget: Option<Duration>) -> Self {
        let mut deadline =
            Self { budget, left: Duration::ZERO, left_to_files: Duration::ZERO, watch: None };
        deadline.begin();
        deadline
    }

    /// Resets the budget for a new review.
    pub(crate) fn begin(&mut self) {
        self.left = self.budget.unwrap_or_default();
        self.left_to_files = self.left.saturating_sub(self.left / RESERVE_DIVISOR);
    }

    /// Returns the time budget of the plugin that runs next.
    pub(crate) fn part(&mut self, whose: BudgetOwner) -> TimeBudget<'_> {
        let left = match whose {
            BudgetOwner::Ours => self.left,
            BudgetOwner::File { waiting } => {
                let waiting = u32::try_from(waiting).unwrap_or(u32::MAX).max(1);
                self.left_to_files.min(self.left_to_files / waiting * MAX_SHARES)
            }
        };
        TimeBudget { deadline: Some(self), whose, left }
    }

    /// Returns true if a guest with this much fuel ends long before the time that is left, so that it
    /// needs no watch.
    pub(crate) fn is_ample(&self, fuel: u64) -> bool {
        self.budget.is_none() || !self.wants_watch(fuel, self.left)
    }

    /// Runs plugins of the program at the same time, for which the time is ample.
    pub(crate) fn during_all<T>(&mut self, body: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = body();
        if self.budget.is_some() {
            self.passed(started.elapsed(), BudgetOwner::Ours);
        }
        result
    }

    fn passed(&mut self, time: Duration, whose: BudgetOwner) {
        self.left = self.left.saturating_sub(time);
        if whose != BudgetOwner::Ours {
            self.left_to_files = self.left_to_files.saturating_sub(time);
        }
        // The program's own plugins may have used more than their reserve.
        self.left_to_files = self.left_to_files.min(self.left);
    }

    /// Returns true if a guest has to be watched from the start: the guests before it took a while,
    /// or its fuel could outlast its time.
    fn wants_watch(&self, fuel: u64, time: Duration) -> bool {
        let used = self.budget.unwrap_or_default().saturating_sub(self.left);
        used >= WATCH_AFTER || Duration::from_millis(fuel / FUEL_PER_MS) > time
    }
}

impl TimeBudget<'_> {
    /// Returns a budget without a clock, for calls that are not part of a review.
    pub(crate) const fn unbounded() -> Self {
        Self { deadline: None, whose: BudgetOwner::Ours, left: Duration::ZERO }
    }

    /// Returns true if nothing is left of the budget, so that loading the plugin would be
    /// pointless.
    pub(crate) fn is_over(&self) -> bool {
        self.left.is_zero()
            && self.deadline.as_ref().is_some_and(|deadline| deadline.budget.is_some())
    }

    /// Runs a guest that has this much fuel, within the time that is left.
    pub(crate) fn during<T>(
        &mut self,
        engine: &wasmtime::Engine,
        fuel: u64,
        body: impl FnOnce(Option<Instant>) -> T,
    ) -> Result<T, BudgetExhausted> {
        if self.is_over() {
            return Err(BudgetExhausted);
        }
        let Some(review) = self.deadline.as_deref_mut().filter(|review| review.budget.is_some())
        else {
            return Ok(body(None));
        };
        let started = Instant::now();
        let deadline = started + self.left;
        if review.wants_watch(fuel, self.left) {
            review.watch.get_or_insert_with(Watch::start).arm(engine, deadline);
        }
        let result = body(Some(deadline));
        if let Some(watch) = &review.watch {
            watch.disarm();
        }
        let time = started.elapsed();
        self.left = self.left.saturating_sub(time);
        review.passed(time, self.whose);
        Ok(result)
    }
}

/// A thread that sleeps until a deadline and then moves the epoch of the guest's engine.
struct Watch {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<WatchState>,
    wake: Condvar,
}

#[derive(Default)]
struct WatchState {
    /// Set while a guest runs.
    deadline: Option<Instant>,
    /// The engine of the guest that ran last.
    engine: Option<wasmtime::Engine>,
    /// The time at which the thread wakes by itself; none while it waits for a call.
    looks: Option<Instant>,
    quit: bool,
}

impl Watch {
    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        // If no thread can be started (the system has none left), fuel alone ends guests, which it
        // does anyway.
        drop(
            std::thread::Builder::new()
                .name("portcullis-deadline".into())
                .spawn(move || ours.run()),
        );
        Self { shared }
    }

    fn arm(&self, engine: &wasmtime::Engine, deadline: Instant) {
        let mut state = self.shared.lock();
        state.deadline = Some(deadline);
        state.engine = Some(engine.clone());
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
        // The thread is not joined: it holds nothing that anyone else needs.
        self.shared.lock().quit = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.quit {
            let now = Instant::now();
            state = match state.deadline {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) if now < deadline => self.sleep(state, deadline),
                Some(_) => {
                    state.engine.iter().for_each(wasmtime::Engine::increment_epoch);
                    self.sleep(state, now + TICK)
                }
            };
        }
    }

    /// Sleeps until that time; the deadline may have moved meanwhile, which costs one extra check.
    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, WatchState>,
        until: Instant,
    ) -> MutexGuard<'a, WatchState> {
        state.looks = Some(until);
        let time = until.saturating_duration_since(Instant::now());
        let mut state =
            self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        state.looks = None;
        state
    }
}

//! Threads that help a review with the plugins of one stage.
//!
//! The plugins of a stage do not see each other's answers, so they can run at the same time. That is
//! worth it only on a processor that has nothing else to do: a process that reviews several events at
//! once has work for all of them, and on a busy machine a review would wait for its helper to get its
//! turn. So a review gets help while there are processors without a review and, as far as the system
//! tells, without any other work.

use crate::machine_code::STACK_BYTES;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most threads that help: no stage has as many plugins that take a while.
const MOST: usize = 3;
/// The stack of such a thread, in bytes: the guest's, and room for the host's functions that it calls.
const STACK: usize = STACK_BYTES + (2 << 20);

/// The file in which Linux shows how many threads run or could run just now.
const LOAD: &str = "/proc/loadavg";
/// The most bytes of it: three decimals, two counts and an id.
const LOAD_BYTES: usize = 96;

/// The threads, and the reviews that they may help. Clones share both.
#[derive(Clone)]
pub struct Helpers(Arc<HelperThreads>);

struct HelperThreads {
    threads: ThreadPool,
    processors: usize,
    /// The reviews that run.
    reviews: AtomicUsize,
    /// The threads that help none.
    idle: AtomicUsize,
    /// What the whole machine does; `None` if only the reviews count.
    load: Option<File>,
}

/// A review that runs, and may be helped. It counts until it is dropped.
pub struct HelpedReview(Helpers);

/// Threads that help one stage. They are free again when this is dropped.
pub(crate) struct StageHelp {
    helpers: Helpers,
    pub(crate) count: usize,
}

impl Helpers {
    /// Starts the threads for this machine; `None` if it has one processor, or does not give threads.
    #[must_use]
    pub fn start() -> Option<Self> {
        let processors = std::thread::available_parallelism().ok()?.get();
        Self::new(processors, File::open(LOAD).ok())
    }

    /// Starts the threads for this many processors, whatever else the machine does; `None` for one, or
    /// if the system does not give threads.
    #[must_use]
    pub fn with_processors(processors: usize) -> Option<Self> {
        Self::new(processors, None)
    }

    fn new(processors: usize, load: Option<File>) -> Option<Self> {
        let count = processors.saturating_sub(1).min(MOST);
        if count == 0 {
            return None;
        }
        let threads = ThreadPoolBuilder::new()
            .num_threads(count)
            .stack_size(STACK)
            .thread_name(|_| "portcullis-help".into())
            .build()
            .ok()?;
        let (reviews, idle) = (AtomicUsize::new(0), AtomicUsize::new(count));
        Some(Self(Arc::new(HelperThreads { threads, processors, reviews, idle, load })))
    }

    /// Counts a review that begins.
    #[must_use]
    pub fn begin_review(&self) -> HelpedReview {
        self.0.reviews.fetch_add(1, Ordering::Relaxed);
        HelpedReview(self.clone())
    }
}

impl Drop for HelpedReview {
    fn drop(&mut self) {
        self.0.0.reviews.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HelpedReview {
    /// Takes threads for a stage of `plugins` plugins; `None` if there is no use for one, or no
    /// processor that has nothing else to do.
    pub(crate) fn take_help(&self, plugins: usize) -> Option<StageHelp> {
        let helpers = &*self.0.0;
        let free = helpers.processors.saturating_sub(helpers.reviews.load(Ordering::Relaxed));
        let wanted = free.min(plugins.saturating_sub(1)).min(helpers.idle.load(Ordering::Relaxed));
        if wanted == 0 {
            return None;
        }
        let running = helpers.load.as_ref().and_then(count_running).unwrap_or(0);
        let wanted = wanted.min(helpers.processors.saturating_sub(running));
        let take = |idle: usize| Some(idle - idle.min(wanted)).filter(|left| *left < idle);
        let before = helpers.idle.fetch_update(Ordering::Acquire, Ordering::Relaxed, take).ok()?;
        Some(StageHelp { helpers: self.0.clone(), count: before.min(wanted) })
    }
}

/// Returns the number of threads that run or could run, this one included.
fn count_running(load: &File) -> Option<usize> {
    let mut bytes = [0; LOAD_BYTES];
    let read = load.read_at(&mut bytes, 0).ok()?;
    parse_running(bytes.get(..read)?)
}

/// Parses them: `0.20 0.18 0.12 1/80 11206`.
fn parse_running(load: &[u8]) -> Option<usize> {
    let mut fields = std::str::from_utf8(load).ok()?.split_ascii_whitespace();
    let (running, _) = fields.nth(3)?.split_once('/')?;
    running.parse().ok()
}

impl StageHelp {
    /// Runs this on one of the threads while the review goes on. A panic ends it alone.
    pub(crate) fn run_beside(self, body: impl FnOnce() + Send + 'static) {
        let helpers = self.helpers.clone();
        helpers.0.threads.spawn(move || {
            let _until_its_end = self;
            let _ended = catch_unwind(AssertUnwindSafe(body));
        });
    }

    /// Runs `help` on each of the threads and `own` on this one, until all of them are done. A panic
    /// of one of them is a panic here.
    pub(crate) fn run<H: Send>(
        &self,
        helps: impl IntoIterator<Item = H>,
        help: impl Fn(H) + Sync,
        own: impl FnOnce(),
    ) {
        let help = &help;
        self.helpers.0.threads.in_place_scope(|scope| {
            for given in helps.into_iter().take(self.count) {
                scope.spawn(move |_| help(given));
            }
            own();
        });
    }
}

impl Drop for StageHelp {
    fn drop(&mut self) {
        self.helpers.0.idle.fetch_add(self.count, Ordering::Release);
    }
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_gets_the_processors_that_have_nothing_else_to_do() {
        assert!(Helpers::with_processors(1).is_none());
        for (processors, reviews, plugins, expected) in [
            (2, 1, 4, 1),
            (2, 2, 4, 0),
            (2, 3, 4, 0),
            (2, 1, 1, 0),
            (2, 1, 0, 0),
            (4, 1, 9, 3),
            (4, 2, 9, 2),
            (4, 1, 2, 1),
            (64, 1, 9, MOST),
        ] {
            let helpers = Helpers::with_processors(processors).unwrap();
            let all: Vec<HelpedReview> = (0..reviews).map(|_| helpers.begin_review()).collect();
            let given = all[0].take_help(plugins).map_or(0, |help| help.count);
            assert_eq!(given, expected, "{processors} {reviews} {plugins}");
            drop(all);
            let again = helpers.begin_review();
            let whole = again.take_help(usize::MAX).map_or(0, |help| help.count);
            assert_eq!(whole, (processors - 1).min(MOST), "all are given back");
        }
    }

    #[test]
    fn a_busy_machine_gives_no_help() {
        let folder = tempfile::tempdir().unwrap();
        for (load, expected) in [
            ("0.20 0.18 0.12 1/80 11206", 3),
            ("0.20 0.18 0.12 2/80 11206", 2),
            ("0.20 0.18 0.12 4/80 11206", 0),
            ("9.20 9.18 9.12 40/800 11206", 0),
            ("", 3),
            ("unknown", 3),
        ] {
            let path = folder.path().join("load");
            std::fs::write(&path, load).unwrap();
            let helpers = Helpers::new(4, Some(File::open(&path).unwrap())).unwrap();
            let review = helpers.begin_review();
            for _ in 0..2 {
                let given = review.take_help(9).map_or(0, |help| help.count);
                assert_eq!(given, expected, "{load}");
            }
        }
        // The thread that reads it runs.
        if let Ok(load) = File::open(LOAD) {
            assert!(count_running(&load).is_some_and(|running| running > 0));
        }
    }

    #[test]
    fn a_thread_helps_one_stage_at_a_time() {
        let helpers = Helpers::with_processors(3).unwrap();
        let review = helpers.begin_review();
        let first = review.take_help(2).unwrap();
        let second = review.take_help(9).unwrap();
        assert_eq!((first.count, second.count), (1, 1));
        assert!(review.take_help(9).is_none());
        drop(first);
        assert_eq!(review.take_help(9).map(|help| help.count), Some(1));
    }
}

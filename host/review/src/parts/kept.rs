//! Parts that are kept between the reviews of one process.

use super::sets::PluginSets;
use super::{ReviewParts, ReviewerBasis};
use crate::compiler::Processes;
use crate::installed;
use crate::plugin_specs::KeptSpecs;
use crate::reviewer::{PluginOrigin, PreparedSetup, Reviewer, cache_key, new_shell_cache};
use anyhow::Result;
use portcullis_config::paths::Paths;
use portcullis_config::{Cache, Config, KeptConfigs};
use portcullis_engine::{Engine, Helpers, Preload, ShellCache};
use portcullis_store::{Durability, Home, SharedCommits, Store, StoreError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The most idle reviewers that are kept: one for each project that agents work in at once. Each
/// holds its plugins' machine code, most of which the processes of a machine share.
const MOST_REVIEWERS: usize = 16;
/// The most idle connections to journals that are kept.
const MOST_STORES: usize = 16;
/// The most caches of parsed command lines, one for each home and setting of it.
const MOST_READINGS: usize = 4;

/// The size from which on a log is emptied, in bytes. While this process has the journal open, nobody
/// reads a log from its begin; and pages that many reviews wrote are copied once.
const LONG_LOG: u64 = 1 << 20;

/// The pause after a log could not be emptied, since others used it.
const PAUSE: Duration = Duration::from_millis(20);

/// The parts of a process that reviews many events. A part serves one review at a time; reviews at
/// the same time get parts of their own.
#[derive(Default)]
pub struct KeptParts {
    /// The home with the compiled code, if it is not that of each review.
    code: Option<Home>,
    configs: KeptConfigs,
    specs: KeptSpecs,
    engines: Mutex<Vec<KeptEngine>>,
    /// Threads that help reviews; `None` on a machine with one processor.
    helpers: OnceLock<Option<Helpers>>,
    /// Parsed command lines, the most recently used cache last.
    readings: Mutex<Vec<KeptReadings>>,
    /// Idle reviewers, the most recently used last.
    reviewers: Mutex<Vec<Reviewer>>,
    /// Idle reviewers of orders that are only tried, the most recently used last.
    tried: Mutex<Vec<Reviewer>>,
    /// Idle connections, the most recently used last.
    stores: Mutex<Vec<KeptStore>>,
    /// Through which reviews that end at the same time commit together.
    commits: SharedCommits,
    logs: LongLogs,
    /// The plugins that each project was reviewed with last. Locked while a change is tried.
    sets: Mutex<PluginSets>,
    /// The changes that are held back, one line each.
    held_back: Mutex<Vec<String>>,
}

impl KeptParts {
    /// Takes the compiled code of all homes from one of them: the users of a boundary share it.
    #[must_use]
    pub fn with_code_of(code: Home) -> Self {
        Self { code: Some(code), ..Self::default() }
    }

    /// Describes the changes of plugins that are held back since they failed their trial, one line
    /// each.
    #[must_use]
    pub fn held_back_changes(&self) -> Vec<String> {
        lock(&self.held_back).clone()
    }

    /// Finds what keeps a review in these places from beginning at `now` (milliseconds since 1970), in
    /// words without any name: whoever asks may be anybody.
    #[must_use]
    pub fn find_obstacle(&self, places: &Paths, now: u64) -> Option<&'static str> {
        let Ok(home) = Home::open_root(&places.state) else {
            return Some("the state folder cannot be used");
        };
        let Ok(engine) = self.open_engine(&home, None) else {
            return Some("WebAssembly cannot run on this machine");
        };
        let Ok(config) = self.load_config(places, &home) else {
            return Some("the configuration cannot be used");
        };
        let durability = config.durability;
        let prepared = installed::prepare_for_hook(places, &home, engine, config, now, &self.specs);
        if prepared.and_then(PreparedSetup::into_reviewer).is_err() {
            return Some("rules, bundles or plugins cannot be used");
        }
        let take_record = |mut store: Store| -> Result<Store, StoreError> {
            store.head_anchor(now)?;
            store.append_records(Vec::new())?;
            Ok(store)
        };
        match self.open_store(&home, durability).and_then(take_record) {
            Ok(store) => {
                self.keep_store(store);
                None
            }
            Err(_) => Some("the journal takes no records"),
        }
    }

    /// Empties the logs of journals that reviews have made long, for after their answers: starting
    /// `maintain` for that would take longer than a review.
    pub fn empty_long_logs(&self) {
        let Ok(mut pause) = self.logs.pause.try_lock() else { return };
        if pause.is_some_and(|end| Instant::now() < end) {
            return;
        }
        *pause = None;
        let long: Vec<KeptStore> = {
            let mut stores = lock(&self.stores);
            let mut journals = BTreeSet::new();
            let is_long = |kept: &mut KeptStore| {
                journals.insert(kept.journal.clone()) && kept.store.log_size() >= LONG_LOG
            };
            stores.extract_if(.., is_long).collect()
        };
        for mut kept in long {
            match kept.store.try_checkpoint_log() {
                Ok(true) => {}
                // The part that was copied stays copied.
                Ok(false) => *pause = Some(Instant::now() + PAUSE),
                // The next review opens the journal again, and its commit says what is wrong.
                Err(_) => continue,
            }
            keep_last(&mut lock(&self.stores), kept, MOST_STORES);
        }
    }

    fn keep_store(&self, store: Store) {
        let (journal, durability) = (store.journal().to_owned(), store.durability());
        let kept = KeptStore { journal, durability, store };
        keep_last(&mut lock(&self.stores), kept, MOST_STORES);
    }

    /// Returns the cache of command lines that a reviewer shares with others of its home: those of
    /// users behind a boundary share none.
    fn readings_for(&self, reviewer: &Reviewer) -> Option<ShellCache> {
        let (origin, cache) = (reviewer.origin(), reviewer.config().cache);
        let mut kept = lock(&self.readings);
        let fits = |kept: &KeptReadings| kept.home == *origin.mask_key() && kept.cache == cache;
        let entry = match kept.iter().rposition(fits) {
            Some(position) => kept.remove(position),
            None => {
                let readings = new_shell_cache(cache)?;
                KeptReadings { home: *origin.mask_key(), cache, readings }
            }
        };
        let readings = entry.readings.clone();
        keep_last(&mut kept, entry, MOST_READINGS);
        Some(readings)
    }

    /// Tries a new reviewer. Others of the same home wait, so that a change is tried once.
    fn try_new(&self, places: &Paths, mut reviewer: Reviewer) -> Reviewer {
        // Each review has the time for compilations that a hook's has.
        reviewer.plugins.with_compiler(Arc::new(Processes::of_hook()));
        let place = (places.state.clone(), places.project.clone());
        let take_earlier = |origin: &PluginOrigin| {
            let mut reviewers = lock(&self.reviewers);
            let fits = |kept: &Reviewer| !kept.has_earlier() && *kept.origin() == *origin;
            reviewers.iter().rposition(fits).map(|position| reviewers.remove(position))
        };
        let mut sets = lock(&self.sets);
        sets.try_reviewer(place, &mut reviewer, take_earlier);
        *lock(&self.held_back) = sets.describe_held_back();
        reviewer
    }
}

/// The logs that are too long.
#[derive(Default)]
struct LongLogs {
    /// The journals that had one. `maintain` was started for each, once: it plans the work that
    /// recurs.
    journals: Mutex<BTreeSet<PathBuf>>,
    /// The end of the pause after a try that others were in the way of. Locked during a try.
    pause: Mutex<Option<Instant>>,
}

/// The sandbox with the code of one home.
struct KeptEngine {
    cache: PathBuf,
    /// The key of the home's cache: a home that replaced another one has its own.
    key: [u8; 32],
    engine: Engine,
}

struct KeptReadings {
    /// The key of the home under which secrets are masked.
    home: [u8; 32],
    cache: Cache,
    readings: ShellCache,
}

struct KeptStore {
    journal: PathBuf,
    durability: Durability,
    store: Store,
}

impl ReviewParts for KeptParts {
    fn loads_ahead(&self) -> bool {
        false
    }

    fn open_engine(&self, home: &Home, _ahead: Option<Preload>) -> Result<Engine> {
        let home = self.code.as_ref().unwrap_or(home);
        let (cache, key) = (home.cache(), cache_key(home));
        let mut engines = lock(&self.engines);
        if let Some(kept) = engines.iter().find(|kept| kept.cache == cache && kept.key == key) {
            return Ok(kept.engine.clone());
        }
        let engine = installed::open_engine(home)?.with_pool();
        engines.retain(|kept| kept.cache != cache);
        engines.push(KeptEngine { cache, key, engine: engine.clone() });
        Ok(engine)
    }

    fn load_config(&self, places: &Paths, home: &Home) -> Result<Arc<Config>> {
        self.configs.load(places, home)
    }

    fn load_reviewer(&self, basis: ReviewerBasis<'_>, _ahead: Option<Preload>) -> Result<Reviewer> {
        let ReviewerBasis { places, home, engine, config, now } = basis;
        let setup = installed::prepare_for_hook(places, home, engine, config, now, &self.specs)?;
        let kept = {
            let mut reviewers = lock(&self.reviewers);
            let fits = |reviewer: &Reviewer| reviewer.is_made_of(&setup);
            let position = reviewers.iter().rposition(fits);
            position.map(|position| reviewers.remove(position))
        };
        let mut reviewer = match kept {
            Some(mut reviewer) => {
                reviewer.move_to(places);
                reviewer
            }
            None => self.try_new(places, setup.into_reviewer()?),
        };
        reviewer.keep_between_events(self.readings_for(&reviewer));
        let helpers = self.helpers.get_or_init(Helpers::start).as_ref();
        reviewer.plugins.use_help(helpers.map(Helpers::begin_review));
        // Each review has the time for compilations that a hook's has.
        reviewer.plugins.with_compiler(Arc::new(Processes::of_hook()));
        Ok(reviewer)
    }

    fn load_tried(&self, basis: ReviewerBasis<'_>) -> Result<Reviewer> {
        let ReviewerBasis { places, home, engine, config, now } = basis;
        // Their configuration is read again for each event.
        let specs = KeptSpecs::default();
        let setup = installed::prepare_for_hook(places, home, engine, config, now, &specs)?;
        let kept = {
            let mut tried = lock(&self.tried);
            let position = tried.iter().rposition(|reviewer| reviewer.is_made_of(&setup));
            position.map(|position| tried.remove(position))
        };
        let mut reviewer = match kept {
            Some(mut reviewer) => {
                reviewer.move_to(places);
                reviewer
            }
            // Its answers count for nothing, so a change of its plugins needs no trial.
            None => setup.into_reviewer()?,
        };
        reviewer.plugins.with_compiler(Arc::new(Processes::of_hook()));
        Ok(reviewer)
    }

    fn put_back_tried(&self, reviewer: Reviewer) {
        if !reviewer.plugins.has_failed_loads() {
            keep_last(&mut lock(&self.tried), reviewer, MOST_REVIEWERS);
        }
    }

    fn open_store(&self, home: &Home, durability: Durability) -> Result<Store, StoreError> {
        let journal = home.journal();
        let kept = {
            let mut stores = lock(&self.stores);
            let fits = |kept: &KeptStore| kept.journal == journal && kept.durability == durability;
            stores.iter().rposition(fits).map(|position| stores.remove(position))
        };
        if let Some(mut kept) = kept
            && kept.store.renew(home)?
        {
            return Ok(kept.store);
        }
        let mut store = Store::open_database(home, durability)?;
        store.share_commits(&self.commits);
        Ok(store)
    }

    fn is_work_due(&self, store: &Store, now: u64) -> bool {
        let plans = || {
            store.checkpoint_due() && lock(&self.logs.journals).insert(store.journal().to_owned())
        };
        store.work_due(now).unwrap_or(false) || plans()
    }

    fn put_back(&self, mut reviewer: Reviewer, store: Store) {
        reviewer.plugins.use_help(None);
        // A plugin that could not be loaded is loaded again: the reason may be gone. A change that
        // nobody has tried yet is tried again.
        let is_settled = || lock(&self.sets).is_settled(&reviewer.origin());
        if !reviewer.plugins.has_failed_loads() && is_settled() {
            keep_last(&mut lock(&self.reviewers), reviewer, MOST_REVIEWERS);
        }
        self.keep_store(store);
    }
}

/// Adds an entry, and drops the one that was used the longest time ago if there are too many.
fn keep_last<T>(kept: &mut Vec<T>, entry: T, most: usize) {
    if kept.len() >= most {
        kept.remove(0);
    }
    kept.push(entry);
}

/// Locks a list. A panic leaves none half-changed.
fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

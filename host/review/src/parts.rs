//! The parts of a review that can outlive it: the sandbox, the loaded plugins and the opened
//! journal.
//!
//! A process that ends after one review makes them for it ([`FreshParts`]). A process that reviews
//! many events keeps them ([`KeptParts`]). A kept part is used again only if it is what a fresh one
//! would be: configuration, verified bundles and rules are read for each review, and a reviewer
//! counts only if all that it was made of is unchanged. So both give the same verdicts and records.

mod kept;
mod sets;
mod trial;

pub use kept::KeptParts;

use crate::compiler::Processes;
use crate::installed;
use crate::plugin_specs::unconfigured_reader_spec;
use crate::reviewer::Reviewer;
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_engine::{Engine, Preload};
use portcullis_store::{Durability, Home, Store, StoreError};
use std::sync::Arc;

/// A review's source of parts.
pub trait ReviewParts: Sync {
    /// Returns true if its sandboxes load plugins ahead of a review.
    fn loads_ahead(&self) -> bool {
        true
    }

    /// Returns the sandbox of a home. `ahead` says what the review will probably need, before the
    /// configuration is read.
    ///
    /// # Errors
    /// Fails if WebAssembly cannot run on this machine.
    fn open_engine(&self, home: &Home, ahead: Option<Preload>) -> Result<Engine>;

    /// Returns the configuration in force in these places.
    ///
    /// # Errors
    /// Fails like [`Config::load`].
    fn load_config(&self, places: &Paths, home: &Home) -> Result<Arc<Config>>;

    /// Returns a reviewer for one review.
    ///
    /// # Errors
    /// Fails if a rule's example fails, a bundle is not what was locked, or the plugins cannot be
    /// set up.
    fn load_reviewer(&self, basis: ReviewerBasis<'_>, ahead: Option<Preload>) -> Result<Reviewer>;

    /// Returns the journal of a home.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    fn open_store(&self, home: &Home, durability: Durability) -> Result<Store, StoreError>;

    /// Returns true if a review leaves work for `maintain`. `now` is in milliseconds since 1970.
    fn is_work_due(&self, store: &Store, now: u64) -> bool {
        store.checkpoint_due() || store.work_due(now).unwrap_or(false)
    }

    /// Takes the parts of a finished review back.
    fn put_back(&self, reviewer: Reviewer, store: Store);

    /// Returns a reviewer of orders that are only tried.
    ///
    /// # Errors
    /// Fails like `load_reviewer`.
    fn load_tried(&self, basis: ReviewerBasis<'_>) -> Result<Reviewer>;

    /// Takes a reviewer of tried orders back.
    fn put_back_tried(&self, reviewer: Reviewer);
}

/// All that a reviewer is made of.
pub struct ReviewerBasis<'a> {
    /// The folders.
    pub places: &'a Paths,
    /// The home.
    pub home: &'a Home,
    /// The sandbox.
    pub engine: Engine,
    /// The configuration, with a pause applied.
    pub config: Arc<Config>,
    /// The time of the review, in milliseconds since 1970.
    pub now: u64,
}

/// Makes the parts for each review.
pub struct FreshParts {
    /// True if the process ends after the review: unmapping and closing one by one would only delay
    /// the answer.
    ends: bool,
}

impl FreshParts {
    /// For a process that ends after one review.
    #[must_use]
    pub const fn of_hook() -> Self {
        Self { ends: true }
    }

    /// For a process that goes on.
    #[must_use]
    pub const fn of_event() -> Self {
        Self { ends: false }
    }
}

impl ReviewParts for FreshParts {
    fn open_engine(&self, home: &Home, ahead: Option<Preload>) -> Result<Engine> {
        let mut engine = installed::open_engine(home)?;
        if ahead.is_some() {
            engine = engine.with_loader();
        }
        if ahead.is_some_and(|ahead| ahead.shell) {
            // Loading it takes longer than all that the main thread does before it is needed.
            engine.load_ahead(unconfigured_reader_spec());
        }
        Ok(engine)
    }

    fn load_config(&self, places: &Paths, home: &Home) -> Result<Arc<Config>> {
        Config::load(places, Some(home)).map(Arc::new)
    }

    fn load_reviewer(&self, basis: ReviewerBasis<'_>, ahead: Option<Preload>) -> Result<Reviewer> {
        let ReviewerBasis { places, home, engine, config, now } = basis;
        let mut reviewer = installed::load_for_hook(places, home, engine, config, now)?;
        reviewer.plugins.with_compiler(Arc::new(Processes::of_hook()));
        if self.ends {
            reviewer.plugins.free_memory_at_exit();
        }
        if let Some(ahead) = ahead {
            reviewer.plugins.use_preload(ahead);
        }
        Ok(reviewer)
    }

    fn open_store(&self, home: &Home, durability: Durability) -> Result<Store, StoreError> {
        Store::open_database(home, durability)
    }

    fn put_back(&self, reviewer: Reviewer, store: Store) {
        if self.ends {
            std::mem::forget(reviewer);
            std::mem::forget(store);
        }
    }

    fn load_tried(&self, basis: ReviewerBasis<'_>) -> Result<Reviewer> {
        self.load_reviewer(basis, None)
    }

    fn put_back_tried(&self, reviewer: Reviewer) {
        if self.ends {
            std::mem::forget(reviewer);
        }
    }
}

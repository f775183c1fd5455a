//! The reviewer of an installation: its rules are tested, its bundles verified, and its home holds
//! the key for masking and the cache of compiled code.

use crate::bundles::verify::{self, ReceiptPolicy};
use crate::plugin_specs::KeptSpecs;
use crate::reviewer::{PreparedSetup, Reviewer, Setup, code_cache, new_engine};
use crate::rules;
use anyhow::Result;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::policy::Mode;
use portcullis_engine::{Engine, ReviewClock};
use portcullis_store::Home;
use std::path::PathBuf;
use std::sync::Arc;

/// Loads the reviewer of an installation. `extra` holds components in addition to those of the
/// configuration.
///
/// # Errors
/// Fails if a rule's example fails, a bundle is not what was locked, or the plugins cannot be set
/// up.
pub fn load_reviewer(
    places: &Paths,
    home: &Home,
    config: Config,
    extra: &[PathBuf],
    now: u64,
) -> Result<Reviewer> {
    load(places, home, open_engine(home)?, config, extra, now)
}

/// Loads the same reviewer with the compiled code of another home.
///
/// # Errors
/// Fails like [`load_reviewer`].
pub fn load_with_code_of(
    code: &Home,
    places: &Paths,
    home: &Home,
    config: Config,
    now: u64,
) -> Result<Reviewer> {
    load(places, home, open_engine(code)?, config, &[], now)
}

/// Loads the reviewer of a hook: its verification is remembered for the next one.
///
/// # Errors
/// Fails like [`load_reviewer`].
pub fn load_for_hook(
    places: &Paths,
    home: &Home,
    engine: Engine,
    config: Arc<Config>,
    now: u64,
) -> Result<Reviewer> {
    prepare_for_hook(places, home, engine, config, now, &KeptSpecs::default())?.into_reviewer()
}

/// Prepares the same reviewer, with specifications of plugins that are kept.
///
/// # Errors
/// Fails like [`load_reviewer`].
pub(crate) fn prepare_for_hook(
    places: &Paths,
    home: &Home,
    engine: Engine,
    config: Arc<Config>,
    now: u64,
    specs: &KeptSpecs,
) -> Result<PreparedSetup> {
    prepare(places, home, engine, config, &[], now, (ReceiptPolicy::Kept, specs))
}

/// Returns the sandbox with a home's compiled code.
///
/// # Errors
/// Fails if WebAssembly cannot run on this machine.
pub fn open_engine(home: &Home) -> Result<Engine> {
    new_engine(Some(code_cache(home)))
}

/// Returns the key under which this home's placeholders of secrets are made.
#[must_use]
pub fn derive_mask_key(home: &Home) -> [u8; 32] {
    home.derive_key("portcullis 2026 masking")
}

fn load(
    places: &Paths,
    home: &Home,
    engine: Engine,
    config: Config,
    extra: &[PathBuf],
    now: u64,
) -> Result<Reviewer> {
    let memory = (ReceiptPolicy::None, &KeptSpecs::default());
    prepare(places, home, engine, Arc::new(config), extra, now, memory)?.into_reviewer()
}

fn prepare(
    places: &Paths,
    home: &Home,
    engine: Engine,
    mut config: Arc<Config>,
    extra: &[PathBuf],
    now: u64,
    (receipts, specs): (ReceiptPolicy, &KeptSpecs),
) -> Result<PreparedSetup> {
    rules::check_examples(&config, home)?;
    // Signatures expire by the real clock, even if the reviewed events are past.
    let bundled =
        verify::verified_plugins(places, home, portcullis_config::clock::now_ms(), receipts)?;
    if config.policy.mode == Mode::Async {
        // The client takes one answer to a request: it is given when the review is done.
        Arc::make_mut(&mut config).policy.mode = Mode::Blocking;
    }
    let setup = Setup {
        config,
        extra,
        bundled: &bundled,
        clock: ReviewClock { now_ms: now, time_budget: Some(ReviewClock::TIME_BUDGET) },
        observes: true,
        mask_key: derive_mask_key(home),
        engine,
        person: places.person.clone(),
        project: places.project.clone(),
        places: Some(places.clone()),
    };
    PreparedSetup::with_kept_specs(setup, specs)
}

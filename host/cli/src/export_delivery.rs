//! Delivers exports: once for a command and for `maintain`, and all the time in the service.
//!
//! Each export has a thread of its own, so that a slow sink delays no other.

use crate::error::{Context, Error, Result};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::count_noun;
use portcullis_review::credentials::WatchedCredentials;
use portcullis_review::exports::{
    ConfiguredExport, Delivery, ExportError, ExportLock, ExportRun, PluginRenderer, RecordOrigin,
    configured_exports,
};
use portcullis_review::installed;
use portcullis_store::{Durability, Home, Store};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// The time between two looks of the service at the configuration, and at the journal.
const CONFIGURATION: Duration = Duration::from_secs(3);
const JOURNAL: Duration = Duration::from_millis(300);
/// The longest run of the service before it looks at the configuration again.
const RUN: Duration = Duration::from_secs(10);
/// The pause after something that the cursor does not note, as a damaged journal.
const PAUSE: Duration = Duration::from_secs(30);

/// The result of one run.
pub enum ExportOutcome {
    /// Another process delivers this export just now.
    Busy,
    /// The run took place.
    Ran(Result<Delivery>),
}

/// The parts that the runs of one export share.
pub struct ExportWorker {
    home: Home,
    store: Store,
    origin: RecordOrigin,
    /// The plugins with the configuration that they were loaded for.
    renderer: Option<(Arc<Config>, PluginRenderer)>,
}

impl ExportWorker {
    /// Opens the journal of a home.
    pub fn open(home: Home, durability: Durability) -> Result<Self> {
        let store = Store::open_database(&home, durability)?;
        let origin = RecordOrigin::of_home(&home);
        Ok(Self { home, store, origin, renderer: None })
    }

    /// Delivers what waits of one export, until `until`. With `patient`, waits are kept: for a retry,
    /// and for a delivery that is not full.
    pub fn run_export(
        &mut self,
        places: &Paths,
        config: &Arc<Config>,
        (name, export): (&str, &ConfiguredExport),
        until: Instant,
        patient: bool,
    ) -> Result<ExportOutcome> {
        let lock = ExportLock::take_lock(&self.home, name);
        let Some(_lock) = lock.with_context(|| format!("cannot lock the export `{name}`"))? else {
            return Ok(ExportOutcome::Busy);
        };
        let credentials = WatchedCredentials::of_home(&self.home);
        let mut run = self.begin_run(places, config, (name, export), &credentials)?;
        let delivered = run.deliver_waiting(until, patient);
        self.record_uses(&credentials, config, name, delivered.as_ref().err())?;
        Ok(ExportOutcome::Ran(delivered.map_err(|error| Error::io(error.to_string()))))
    }

    /// Sends a record that is in no journal; returns the sink's answer.
    pub fn send_trial(
        &mut self,
        places: &Paths,
        config: &Arc<Config>,
        (name, export): (&str, &ConfiguredExport),
    ) -> Result<String> {
        let lock = ExportLock::take_lock(&self.home, name);
        let Some(_lock) = lock.with_context(|| format!("cannot lock the export `{name}`"))? else {
            return Err(Error::io(format!("another process delivers `{name}` just now"))
                .with_hint("try again"));
        };
        let credentials = WatchedCredentials::of_home(&self.home);
        let mut run = self.begin_run(places, config, (name, export), &credentials)?;
        let sent = run.send_trial();
        self.record_uses(&credentials, config, name, sent.as_ref().err())?;
        sent.map_err(|error| Error::io(error.to_string()))
    }

    /// Records the credentials that a run used.
    fn record_uses(
        &self,
        credentials: &WatchedCredentials,
        config: &Config,
        name: &str,
        failure: Option<&ExportError>,
    ) -> Result<()> {
        let purpose = format!("exports.{name}");
        let is_refused = failure.is_some_and(ExportError::is_of_credential);
        credentials.record_uses(&self.home, config.durability, &purpose, is_refused, now_ms())?;
        Ok(())
    }

    /// Begins a run under the export's lock, with the plugins of that configuration.
    fn begin_run<'a>(
        &'a mut self,
        places: &Paths,
        config: &Arc<Config>,
        (name, export): (&'a str, &'a ConfiguredExport),
        credentials: &'a WatchedCredentials,
    ) -> Result<ExportRun<'a>> {
        let kept = self.renderer.take().filter(|(known, _)| Arc::ptr_eq(known, config));
        let renderer = match kept {
            Some(kept) => kept,
            None => {
                let config = Arc::clone(config);
                let reviewer =
                    installed::load_reviewer(places, &self.home, (*config).clone(), &[], now_ms())?;
                (config, PluginRenderer(reviewer))
            }
        };
        let (_, renderer) = self.renderer.insert(renderer);
        Ok(ExportRun {
            name,
            export,
            store: &mut self.store,
            renderer,
            origin: &self.origin,
            credentials,
            now: now_ms,
        })
    }

    /// Opens the journal again if it is another one by now.
    fn renew_store(&mut self, durability: Durability) -> Result<()> {
        if !self.store.renew(&self.home)? {
            self.store = Store::open_database(&self.home, durability)?;
        }
        Ok(())
    }
}

/// Describes what a run did.
pub fn describe_delivery(delivery: &Delivery) -> String {
    let mut text = count_noun(delivery.delivered, "record");
    text.push_str(" delivered");
    if delivery.skipped > 0 {
        text.push_str(&format!(", {} passed over", delivery.skipped));
    }
    if delivery.lost > 0 {
        text.push_str(&format!(", {} lost to retention", delivery.lost));
    }
    if delivery.is_unfinished {
        text.push_str("; more wait");
    }
    match &delivery.answer {
        Some(answer) => format!("{text}: {answer}"),
        None => text,
    }
}

/// The configuration that the threads of the service share.
type SharedConfig = Arc<Mutex<Option<Arc<Config>>>>;

/// Delivers all exports in threads of their own, as long as the process runs. Failures are noted with
/// the cursors; `portcullis exports list` and `doctor` show them.
///
/// # Errors
/// Fails if the first thread cannot be started.
pub fn follow_exports(places: Paths) -> std::io::Result<()> {
    let follow = move || {
        let shared = SharedConfig::default();
        let running: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        loop {
            look_at_configuration(&places, &shared);
            for name in configured_names(&places, &shared) {
                start_worker(&places, &shared, &running, name);
            }
            sleep(CONFIGURATION);
        }
    };
    Builder::new().name("portcullis-exports".into()).spawn(follow).map(drop)
}

/// Shares the configuration if it has changed. One that cannot be read changes nothing: hooks and
/// `doctor` report it.
fn look_at_configuration(places: &Paths, shared: &SharedConfig) {
    let Ok(Some(home)) = Home::open_existing(&places.state) else { return };
    let Ok(config) = Config::load(places, Some(&home)) else { return };
    let mut known = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if known.as_deref() != Some(&config) {
        *known = Some(Arc::new(config));
    }
}

fn current_config(shared: &SharedConfig) -> Option<Arc<Config>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn configured_names(places: &Paths, shared: &SharedConfig) -> Vec<String> {
    let config = current_config(shared);
    config
        .iter()
        .flat_map(|config| configured_exports(config, &places.person).into_keys())
        .collect()
}

/// Starts the thread of an export that has none.
fn start_worker(
    places: &Paths,
    shared: &SharedConfig,
    running: &Arc<Mutex<BTreeSet<String>>>,
    name: String,
) {
    if !running.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()) {
        return;
    }
    let (places, shared, all) = (places.clone(), Arc::clone(shared), Arc::clone(running));
    let named = name.clone();
    let work = move || {
        follow_export(&places, &shared, &named);
        all.lock().unwrap_or_else(PoisonError::into_inner).remove(&named);
    };
    if Builder::new().name(format!("portcullis-export-{name}")).spawn(work).is_err() {
        // The next look tries again.
        running.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    }
}

/// Delivers an export until the configuration has it no more.
fn follow_export(places: &Paths, shared: &SharedConfig, name: &str) {
    let mut worker = None;
    let mut seen = None;
    loop {
        let Some(config) = current_config(shared) else { return };
        let mut exports = configured_exports(&config, &places.person);
        let Some(export) = exports.remove(name) else { return };
        match follow_once(places, &config, (name, &export), &mut worker, &mut seen) {
            Ok(()) => sleep(JOURNAL),
            Err(_) => {
                (worker, seen) = (None, None);
                sleep(PAUSE);
            }
        }
    }
}

/// Delivers what is new. `seen` is the newest record that a finished run has seen, with the
/// configuration of that run.
fn follow_once(
    places: &Paths,
    config: &Arc<Config>,
    (name, export): (&str, &ConfiguredExport),
    worker: &mut Option<ExportWorker>,
    seen: &mut Option<(Arc<Config>, u64)>,
) -> Result<()> {
    let worker = match worker {
        Some(worker) => worker,
        None => {
            let home = Home::open_root(&places.state)?;
            worker.insert(ExportWorker::open(home, config.durability)?)
        }
    };
    worker.renew_store(config.durability)?;
    let head = worker.store.head_anchor(now_ms())?.sequence;
    let is_seen =
        seen.as_ref().is_some_and(|(known, at)| Arc::ptr_eq(known, config) && *at == head);
    if is_seen {
        return Ok(());
    }
    let until = Instant::now() + RUN;
    let outcome = worker.run_export(places, config, (name, export), until, true)?;
    // After a failure the cursor knows when to try again.
    *seen = match outcome {
        ExportOutcome::Ran(Ok(delivery)) if !delivery.is_unfinished => {
            Some((Arc::clone(config), head))
        }
        _ => None,
    };
    Ok(())
}

//! The plugins of a review: the built-in ones first, then files, each by name. Each answer is
//! checked, each failure named.

mod plugin_call;
mod shell;
mod together;

use crate::breakers::{CircuitBreakers, FileOutcome, Hold};
use crate::check::RENDERED_BYTES;
use crate::compiler::Compiler;
use crate::deadline::{BudgetOwner, ReviewDeadline, TimeBudget};
use crate::engine::{Engine, EngineError};
use crate::faults::UnnamedFault;
use crate::helpers::HelpedReview;
use crate::inspect::Inspection;
use crate::kind::Kind;
use crate::lazy_plugins::{LazyPlugins, Preload, lock_slot};
use crate::load_error::LoadError;
use crate::plugin::{LazyPlugin, LoadedPlugin, is_file};
use crate::plugin_spec::{PluginSpec, Source};
use crate::shell_cache::{ShellCache, ShellCacheStats};
use crate::state::GuestState;
use crate::watch::{LoadTimes, ObservedCall};
use crate::world::{BoundPlugin, GuestResult, ready, wrong_kind};
use crate::{cache::CacheEvent, check, from_wit, to_wit};
use plugin_call::PluginCall;
use portcullis_core::action::{Action, Context, History, Reading};
use portcullis_core::fault::{Fault, OnFault};
use portcullis_core::finding::{
    Assessment, AuditRecord, Issue, Rendered, Report, Response, Situation,
};
use portcullis_core::plugins::{Details, PluginResponse, Plugins};
use portcullis_core::run_files::ShellPlace;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, MutexGuard};
use std::time::Duration;
use wasmtime::Store;

/// The time of a review.
#[derive(Clone, Copy, Debug)]
pub struct ReviewClock {
    /// Milliseconds since 1970: what a guest's clock shows.
    pub now_ms: u64,
    /// The time that the guests of one review may run together; none if results must depend on fuel
    /// alone.
    pub time_budget: Option<Duration>,
}

impl ReviewClock {
    /// The time that the guests of one review may run together, by default: far more than they
    /// need, far less than a client waits.
    pub const TIME_BUDGET: Duration = Duration::from_secs(2);
}

/// The plugins that are configured, each loaded when it is first needed.
pub struct PluginSet {
    engine: Engine,
    deadline: ReviewDeadline,
    now_ms: u64,
    slots: LazyPlugins,
    /// The pattern plugins that are called; none for all.
    patterns: Option<Vec<String>>,
    /// The cache of parsed command lines; `None` in a process that ends after one.
    readings: Option<ShellCache>,
    /// True once files that are not plugins were reported in this review.
    bad_files_reported: bool,
    /// The files that are not run in this review, and the outcomes of the others.
    breakers: CircuitBreakers,
    /// The calls since `take_observed_calls` was last called; none if nobody watches.
    watched: Option<RefCell<Vec<ObservedCall>>>,
    /// The review that runs, if threads may help it.
    helped: Option<HelpedReview>,
}

/// A plugin, for people.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name in the configuration.
    pub name: String,
    /// The location of its bytes.
    pub source: Source,
    /// The effect of its faults.
    pub on_fault: OnFault,
    /// Its answers do not count.
    pub shadow: bool,
    /// The properties read from its bytes, or the reason why they could not be read.
    pub inspection: Result<Inspection, LoadError>,
    /// The outcome of loading it; none as long as it has not been needed.
    pub loaded: Option<Result<(), Fault>>,
}

/// One step of [`PluginSet::compile_all`] or [`PluginSet::compile_files`]: each plugin is reported
/// before it is compiled, and after it.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The plugin.
    pub name: &'a str,
    /// Its number, from 1 on.
    pub number: usize,
    /// The number of plugins in total.
    pub total: usize,
    /// None before it is compiled; then an error if it cannot be used.
    pub result: Option<Result<(), Fault>>,
}

impl PluginSet {
    /// Returns a set of the plugins `entries` and the host's own `shell_reader`. Nothing is read or
    /// compiled yet.
    ///
    /// # Errors
    /// Fails if a name is not valid, or is used twice.
    pub fn new(
        engine: Engine,
        shell_reader: PluginSpec,
        mut entries: Vec<PluginSpec>,
        clock: ReviewClock,
    ) -> Result<Self, EngineError> {
        let mut names = BTreeSet::new();
        for entry in entries.iter().chain([&shell_reader]) {
            if !usable_name(&entry.name) {
                return Err(EngineError::BadName(crate::text::line(&entry.name)));
            }
            if RESERVED.contains(&entry.name.as_str()) {
                return Err(EngineError::ReservedName(entry.name.clone()));
            }
            if !names.insert(entry.name.as_str()) {
                return Err(EngineError::SameName(entry.name.clone()));
            }
        }
        drop(names);
        // Third-party plugins come after those of the program, regardless of their names; plugins
        // in shadow come after those that count.
        entries
            .sort_by(|a, b| (is_file(a), a.shadow, &a.name).cmp(&(is_file(b), b.shadow, &b.name)));
        Ok(Self {
            engine,
            deadline: ReviewDeadline::new(clock.time_budget),
            now_ms: clock.now_ms,
            slots: LazyPlugins::new(shell_reader, entries),
            patterns: None,
            readings: None,
            bad_files_reported: false,
            breakers: CircuitBreakers::default(),
            watched: None,
            helped: None,
        })
    }

    /// Lets threads help the review that runs; `None` ends it.
    pub fn use_help(&mut self, helped: Option<HelpedReview>) {
        self.helped = helped;
    }

    /// Sets the compiler for the files that are not loaded yet.
    pub fn with_compiler(&mut self, file_compiler: Arc<dyn Compiler>) {
        self.engine = self.engine.clone().with_compiler(file_compiler);
    }

    /// Leaves the memory of small guests to the end of the process, which frees it at less cost:
    /// for a process that ends after one review.
    pub fn free_memory_at_exit(&mut self) {
        self.engine.left = Some(Arc::default());
    }

    /// Starts a new review at `now_ms`: the guests' time is reset, and nothing is held.
    pub fn begin_review(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.deadline.begin();
        self.bad_files_reported = false;
        self.breakers.begin();
    }

    /// Excludes these files from this review; each call of one is a fault.
    pub fn hold_plugins(&mut self, held: Vec<Hold>) {
        self.breakers.hold(held);
    }

    /// Returns the outcomes of the files that were run in this review.
    #[must_use]
    pub fn file_outcomes(&self) -> &[FileOutcome] {
        self.breakers.file_outcomes()
    }

    /// Records each call from now on, for `take_observed_calls`.
    pub fn watch_calls(&mut self) {
        self.watched = Some(RefCell::default());
    }

    /// Returns the calls since the last time, in order; none unless `watch_calls` was called.
    pub fn take_observed_calls(&self) -> Vec<ObservedCall> {
        self.watched.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Returns the time that loading took for each loaded plugin, by name.
    pub fn load_times(&self) -> Vec<(String, LoadTimes)> {
        self.slots
            .all()
            .filter_map(|slot| Some((slot.entry.name.clone(), slot.loaded()?.took)))
            .collect()
    }

    /// Returns true if a plugin could not be loaded when it was called; it is not tried again.
    pub fn has_failed_loads(&self) -> bool {
        self.slots.reader().has_failed() || self.slots.all().any(|slot| slot.has_failed())
    }

    /// Restricts the pattern plugins that are called to these.
    pub fn ask_patterns(&mut self, names: Vec<String>) {
        self.patterns = Some(names);
    }

    /// Sets the cache of parsed command lines, which other sets may share.
    pub fn use_shell_cache(&mut self, readings: Option<ShellCache>) {
        self.readings = readings;
    }

    /// Returns the hit statistics of that cache.
    #[must_use]
    pub fn shell_cache_stats(&self) -> ShellCacheStats {
        self.readings.as_ref().map(ShellCache::stats).unwrap_or_default()
    }

    /// Returns the names of the plugins whose answers do not count.
    pub fn shadow_plugin_names(&self) -> impl Iterator<Item = String> {
        self.slots.all().filter(|slot| slot.entry.shadow).map(|slot| slot.entry.name.clone())
    }

    /// Returns the names of the plugins of a kind. A file that cannot be understood has none.
    pub fn list_names(&mut self, kind: Kind) -> Vec<String> {
        let engine = &self.engine;
        let of_kind = |mut slot: MutexGuard<'_, LazyPlugin>| {
            (slot.kind(engine) == Some(kind)).then(|| slot.entry.name.clone())
        };
        self.slots.maybe(kind).filter_map(of_kind).collect()
    }

    /// Loads the plugins that a review will need, on a separate thread: the caller continues, and
    /// can call each as soon as it is loaded.
    pub fn use_preload(&mut self, ahead: Preload) {
        self.slots.preload(&self.engine, self.now_ms, ahead);
    }

    /// Calls the exporter of that name to render records; none if there is no such exporter.
    pub fn render_records(
        &mut self,
        name: &str,
        records: &[AuditRecord],
        first: bool,
    ) -> Option<PluginResponse<Rendered>> {
        let records: Vec<_> = records.iter().map(to_wit::record).collect();
        let ask = |loaded: &LoadedPlugin, store: &mut Store<GuestState>| match &*loaded.world {
            BoundPlugin::AuditExporter(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_exporter().call_render(
                    store,
                    &loaded.prepared,
                    &records,
                    first,
                )
            }
            _ => Err(wrong_kind()),
        };
        let mut slot = named(&self.slots, &self.engine, name, Kind::AuditExporter)?;
        let answer_bytes = RENDERED_BYTES + check::TEXT_BYTES;
        let plugin_call = PluginCall {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes,
            details: &|_| None,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        Some(plugin_call.take(
            &mut slot,
            self.deadline.part(BudgetOwner::Ours),
            ask,
            from_wit::rendered,
        ))
    }

    /// Compiles and prepares every plugin now, for an installation or a test.
    pub fn compile_all(&mut self, mut report: impl FnMut(Progress<'_>)) {
        let total = self.slots.len() + 1;
        self.compile_slot(&mut self.slots.reader(), (1, total), &mut report);
        self.slots.all().zip(2..).for_each(|(mut slot, number)| {
            self.compile_slot(&mut slot, (number, total), &mut report);
        });
    }

    /// Compiles and prepares the plugins of files now: those that came with the program are not
    /// touched.
    pub fn compile_files(&mut self, mut report: impl FnMut(Progress<'_>)) {
        let total = self.slots.files().count();
        self.slots.files().zip(1..).for_each(|(mut slot, number)| {
            self.compile_slot(&mut slot, (number, total), &mut report);
        });
    }

    fn compile_slot(
        &self,
        slot: &mut LazyPlugin,
        (number, total): (usize, usize),
        report: &mut impl FnMut(Progress<'_>),
    ) {
        report(Progress { name: &slot.entry.name, number, total, result: None });
        let result = slot.load(&self.engine, self.now_ms, &mut TimeBudget::unbounded());
        let identity = slot.identity();
        let result = result.map_err(|failure| identity.new_fault(failure.kind, failure.detail));
        report(Progress { name: &slot.entry.name, number, total, result: Some(result) });
    }

    /// Describes every plugin, the shell reader first. Reads the files that it needs, compiles
    /// nothing.
    pub fn describe_all(&mut self) -> Vec<Description> {
        let engine = &self.engine;
        let reader = describe(&mut self.slots.reader(), engine);
        std::iter::once(reader)
            .chain(self.slots.all().map(|mut slot| describe(&mut slot, engine)))
            .collect()
    }

    /// Returns the cache entries that could not be used since the last call; they were made again.
    pub fn take_cache_events(&self) -> Vec<CacheEvent> {
        self.engine.cache.as_ref().map(|cache| cache.take_events()).unwrap_or_default()
    }

    /// Calls all plugins of a kind; those that consider ended actions only are called only for
    /// those.
    fn ask_all<W, T: Send>(
        &mut self,
        kind: Kind,
        ended: bool,
        details: &Details<'_>,
        ask: impl Fn(&str, &LoadedPlugin, &mut Store<GuestState>) -> GuestResult<W> + Sync,
        accept: impl Fn(W) -> Result<T, UnnamedFault> + Sync,
    ) -> Vec<PluginResponse<T>> {
        let plugin_call = PluginCall {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        let (engine, patterns) = (&self.engine, &self.patterns);
        let asked = |slot: &mut LazyPlugin| match slot.kind(engine) {
            Some(Kind::Pattern)
                if patterns.as_ref().is_some_and(|names| !names.contains(&slot.entry.name)) =>
            {
                false
            }
            Some(found) => found == kind && (ended || !slot.waits_for_outcome(engine)),
            None => false,
        };
        let mut waiting =
            self.slots.files().filter_map(|mut slot| asked(&mut slot).then_some(())).count();
        let own: Vec<_> = self.slots.own(kind).filter(|slot| asked(&mut lock_slot(slot))).collect();
        // Loading takes time that does not count, and a guest that only the clock can end is watched:
        // both is done one by one.
        let is_ready = |slot: &LazyPlugin| {
            slot.loaded().is_some() && self.deadline.is_ample(slot.entry.limits.fuel)
        };
        let are_ready = self.watched.is_none() && own.iter().all(|slot| is_ready(&lock_slot(slot)));
        let helped = self.helped.as_ref().filter(|_| are_ready);
        let mut answers = Vec::new();
        if let Some(help) = helped.and_then(|review| review.take_help(own.len())) {
            let (engine, now_ms, breakers) = (&self.engine, self.now_ms, &self.breakers);
            let call = |slot: &mut LazyPlugin, details: &Details<'_>| {
                let name = slot.entry.name.clone();
                let call = PluginCall {
                    engine,
                    now_ms,
                    answer_bytes: 0,
                    details,
                    breakers,
                    watched: None,
                };
                let ask = |loaded: &LoadedPlugin, store: &mut _| ask(&name, loaded, store);
                call.take(slot, TimeBudget::unbounded(), ask, &accept)
            };
            answers =
                self.deadline.during_all(|| together::call_together(&help, &own, details, call));
        }
        let is_done = !answers.is_empty();
        for mut slot in self.slots.maybe(kind) {
            let slot = &mut *slot;
            let name = slot.entry.name.clone();
            if is_done && !is_file(&slot.entry) {
                continue;
            }
            if asked(slot) {
                let whose = if is_file(&slot.entry) {
                    BudgetOwner::File { waiting }
                } else {
                    BudgetOwner::Ours
                };
                waiting = waiting.saturating_sub(usize::from(whose != BudgetOwner::Ours));
                answers.push(plugin_call.take(
                    slot,
                    self.deadline.part(whose),
                    |loaded, store| ask(&name, loaded, store),
                    &accept,
                ));
            } else if slot.kind(engine).is_none() && !self.bad_files_reported {
                // A file that is not a plugin might have been meant as one of these: its fault is
                // reported once per review.
                answers.push(plugin_call.take(
                    slot,
                    TimeBudget::unbounded(),
                    |_, _| Err(wrong_kind()),
                    &accept,
                ));
            }
        }
        self.bad_files_reported = true;
        answers.iter().for_each(|answer| self.breakers.note(answer));
        answers
    }
}

impl Plugins for PluginSet {
    fn read_shell(&mut self, text: &str, place: &ShellPlace<'_>) -> Result<Reading, Fault> {
        self.read_cached(text, place)
    }

    fn assess(
        &mut self,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Assessment>> {
        let (action, context) = (to_wit::action(action), to_wit::context(context));
        let ask =
            |_: &str, loaded: &LoadedPlugin, store: &mut Store<GuestState>| match &*loaded.world {
                BoundPlugin::RiskCalculator(pre) => {
                    let guest = ready(store, |store| pre.instantiate(store))?;
                    guest.portcullis_plugin_assessor().call_assess(
                        store,
                        &loaded.prepared,
                        &action,
                        &context,
                    )
                }
                _ => Err(wrong_kind()),
            };
        self.ask_all(Kind::RiskCalculator, true, details, ask, from_wit::assessment)
    }

    fn detect(
        &mut self,
        states: &BTreeMap<String, Vec<u8>>,
        history: &History,
        action: &Action,
        context: &Context,
        details: &Details<'_>,
    ) -> Vec<PluginResponse<Report>> {
        // Lazy: before an action usually no pattern is called.
        let question = LazyLock::new(|| {
            (
                to_wit::steps(&history.steps),
                to_wit::totals(&history.totals),
                to_wit::action(action),
                to_wit::context(context),
            )
        });
        let ask = |name: &str, loaded: &LoadedPlugin, store: &mut Store<GuestState>| match &*loaded
            .world
        {
            BoundPlugin::Pattern(pre) => {
                let state = states.get(name).map_or(&[][..], Vec::as_slice);
                let (steps, totals, action, context) = &*question;
                store.data_mut().steps = Arc::clone(steps);
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_detector().call_detect(
                    store,
                    &loaded.prepared,
                    state,
                    *totals,
                    action,
                    context,
                )
            }
            _ => Err(wrong_kind()),
        };
        self.ask_all(Kind::Pattern, action.outcome.is_some(), details, ask, from_wit::report)
    }

    fn intervene(
        &mut self,
        name: &str,
        issue: &Issue,
        situation: &Situation,
        context: &Context,
        details: &Details<'_>,
    ) -> Option<PluginResponse<Response>> {
        let (issue, situation, context) =
            (to_wit::issue(issue), to_wit::situation(situation), to_wit::context(context));
        let ask = |loaded: &LoadedPlugin, store: &mut Store<GuestState>| match &*loaded.world {
            BoundPlugin::Intervention(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_intervener().call_intervene(
                    store,
                    &loaded.prepared,
                    &issue,
                    &situation,
                    &context,
                )
            }
            _ => Err(wrong_kind()),
        };
        let mut slot = named(&self.slots, &self.engine, name, Kind::Intervention)?;
        let plugin_call = PluginCall {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        let whose =
            if is_file(&slot.entry) { BudgetOwner::File { waiting: 1 } } else { BudgetOwner::Ours };
        let answer =
            plugin_call.take(&mut slot, self.deadline.part(whose), ask, from_wit::response);
        self.breakers.note(&answer);
        Some(answer)
    }
}

/// Returns the plugin of that name, if it is of this kind; a file that cannot be understood may be.
fn named<'a>(
    slots: &'a LazyPlugins,
    engine: &Engine,
    name: &str,
    kind: Kind,
) -> Option<MutexGuard<'a, LazyPlugin>> {
    let mut slot = slots.maybe(kind).find(|slot| slot.entry.name == name)?;
    slot.kind(engine).is_none_or(|found| found == kind).then_some(slot)
}

fn describe(slot: &mut LazyPlugin, engine: &Engine) -> Description {
    let inspection = slot.inspection(engine).cloned();
    let identity = slot.identity();
    let loaded = slot.outcome().map(|outcome| {
        outcome.map_err(|failure| identity.new_fault(failure.kind, failure.detail.clone()))
    });
    Description {
        name: slot.entry.name.clone(),
        source: slot.entry.source.clone(),
        on_fault: slot.entry.on_fault,
        shadow: slot.entry.shadow,
        inspection,
        loaded,
    }
}

/// Names that records use for other speakers: the words of a plugin with such a name would pass for
/// theirs.
const RESERVED: &[&str] = &["agent", "host", "limits", "person", "portcullis"];

fn usable_name(name: &str) -> bool {
    let fit = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    (1..=64).contains(&name.len()) && name.bytes().all(fit)
}

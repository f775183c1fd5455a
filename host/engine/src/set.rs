//! The plugins of a review: ours first, then files, each by name; each answer checked, each failure named.

use crate::backstop::{Backstop, Part, Whose};
use crate::breakers::{Asked, Breakers, Hold};
use crate::check::RENDERED_BYTES;
use crate::compile::Workshop;
use crate::engine::{Engine, EngineError};
use crate::faults::Failure;
use crate::inspect::Inspection;
use crate::kind::Kind;
use crate::load_error::LoadError;
use crate::plugin::{Entry, Loaded, Slot, Source, is_file};
use crate::readings::{self, Memory, Readings, Remembered};
use crate::slots::{Ahead, Slots};
use crate::state::{Seat, State};
use crate::watch::{Loading, Watched};
use crate::world::{self, Called, Said, World, ready, wrong_world};
use crate::{cache::CacheEvent, check, from_wit, reading, to_wit};
use portcullis_core::action::{Action, Context, History, Reading};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::finding::{Assessment, AuditRecord, Issue, Rendered, Report, Response, Situation};
use portcullis_core::plugins::{Answer, Details, Plugins};
use std::cell::{LazyCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};
use wasmtime::Store;

/// The time of a review.
#[derive(Clone, Copy, Debug)]
pub struct ReviewClock {
    /// Milliseconds since 1970: what a guest's clock shows.
    pub now_ms: u64,
    /// How long the guests of one review may run together; none where results must depend on fuel alone.
    pub backstop: Option<Duration>,
}

impl ReviewClock {
    /// How long the guests of one review may run together, if nothing else is configured: far more than
    /// they need, far less than a client waits.
    pub const BACKSTOP: Duration = Duration::from_secs(2);
}

/// The plugins that are configured, each loaded when it is first needed.
pub struct PluginSet {
    engine: Engine,
    backstop: Backstop,
    now_ms: u64,
    slots: Slots,
    /// The pattern plugins that are asked; none for all.
    patterns: Option<Vec<String>>,
    /// How command lines were read; none in a command that ends after one.
    readings: Option<Readings>,
    /// Files that are no plugin were reported in this review.
    strangers_told: bool,
    /// Which files are not run in this review, and what became of the others.
    breakers: Breakers,
    /// The calls since somebody took them; none where nobody watches.
    watched: Option<RefCell<Vec<Watched>>>,
}

/// A plugin, for people.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name in the configuration.
    pub name: String,
    /// Where its bytes are.
    pub source: Source,
    /// What its faults mean.
    pub on_fault: OnFault,
    /// It does not count.
    pub shadow: bool,
    /// What its bytes say of it, or why they say nothing.
    pub inspection: Result<Inspection, LoadError>,
    /// What became of loading it; none while nobody asked for it.
    pub loaded: Option<Result<(), Fault>>,
}

/// One step of `warm`.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The plugin.
    pub name: &'a str,
    /// How many are done, this one included.
    pub done: usize,
    /// How many there are.
    pub total: usize,
    /// Whether it can be used.
    pub result: Result<(), Fault>,
}

impl PluginSet {
    /// The plugins `entries`, and the host's own `shell_reader`. Nothing is read or compiled yet.
    ///
    /// # Errors
    /// If a name is no name, or is there twice.
    pub fn new(engine: Engine, shell_reader: Entry, mut entries: Vec<Entry>, clock: ReviewClock) -> Result<Self, EngineError> {
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
        // What a stranger wrote comes after what comes with the program, whatever its name is; what does not
        // count comes after what does.
        entries.sort_by(|a, b| (is_file(a), a.shadow, &a.name).cmp(&(is_file(b), b.shadow, &b.name)));
        Ok(Self {
            engine,
            backstop: Backstop::new(clock.backstop),
            now_ms: clock.now_ms,
            slots: Slots::new(shell_reader, entries),
            patterns: None,
            readings: None,
            strangers_told: false,
            breakers: Breakers::default(),
            watched: None,
        })
    }

    /// Files that are not loaded yet are compiled there.
    pub fn compile_in(&mut self, workshop: Arc<dyn Workshop>) {
        self.engine = self.engine.clone().compile_in(workshop);
    }

    /// A new review begins at `now_ms`: the guests' time starts anew, and nothing is held.
    pub fn begin(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.backstop.begin();
        self.strangers_told = false;
        self.breakers.begin();
    }

    /// In this review these files are not run; each is a fault.
    pub fn hold(&mut self, held: Vec<Hold>) {
        self.breakers.hold(held);
    }

    /// What became of the files that were run in this review.
    #[must_use]
    pub fn asked(&self) -> &[Asked] {
        self.breakers.asked()
    }

    /// From now on each call is told of by `take_watched`.
    pub fn watch(&mut self) {
        self.watched = Some(RefCell::default());
    }

    /// The calls since the last time, in order; none unless `watch` was called.
    pub fn take_watched(&self) -> Vec<Watched> {
        self.watched.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// What loading each plugin took that is loaded, by name.
    pub fn loading(&self) -> Vec<(String, Loading)> {
        self.slots.all().filter_map(|slot| Some((slot.entry.name.clone(), slot.loaded()?.took))).collect()
    }

    /// Asks these pattern plugins alone.
    pub fn ask_patterns(&mut self, names: Vec<String>) {
        self.patterns = Some(names);
    }

    /// Remembers how command lines were read.
    pub fn remember(&mut self, memory: Memory) {
        self.readings = Some(Readings::new(memory));
    }

    /// How often what was remembered answered.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        self.readings.as_ref().map(|readings| readings.count).unwrap_or_default()
    }

    /// Names of the plugins whose answers do not count.
    pub fn shadows(&self) -> impl Iterator<Item = String> {
        self.slots.all().filter(|slot| slot.entry.shadow).map(|slot| slot.entry.name.clone())
    }

    /// Names of the plugins of a kind. A file that cannot be understood has none.
    pub fn names(&mut self, kind: Kind) -> Vec<String> {
        let engine = &self.engine;
        let of_kind = |mut slot: MutexGuard<'_, Slot>| (slot.kind(engine) == Some(kind)).then(|| slot.entry.name.clone());
        self.slots.maybe(kind).filter_map(of_kind).collect()
    }

    /// Loads what a review will ask for, on a thread of its own: the caller goes on, and asks each as soon as it
    /// is loaded.
    pub fn load_ahead(&mut self, ahead: Ahead) {
        self.slots.load_ahead(&self.engine, self.now_ms, ahead);
    }

    /// Asks the exporter of that name to write records; none when there is no such exporter.
    pub fn render(&mut self, name: &str, records: &[AuditRecord], first: bool) -> Option<Answer<Rendered>> {
        let records: Vec<_> = records.iter().map(to_wit::record).collect();
        let ask = |loaded: &Loaded, store: &mut Store<State>| match &*loaded.world {
            World::AuditExporter(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_exporter().call_render(store, &loaded.prepared, &records, first)
            }
            _ => Err(wrong_world()),
        };
        let mut slot = named(&self.slots, &self.engine, name, Kind::AuditExporter)?;
        let answer_bytes = RENDERED_BYTES + check::TEXT_BYTES;
        let turn = Turn {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes,
            details: &|_| None,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        Some(turn.take(&mut slot, self.backstop.part(Whose::Ours), ask, from_wit::rendered))
    }

    /// Compiles and prepares every plugin now, for an installation or a test.
    pub fn warm(&mut self, mut progress: impl FnMut(Progress<'_>)) {
        let total = self.slots.len() + 1;
        let (engine, now_ms) = (&self.engine, self.now_ms);
        let mut warm = |slot: &mut Slot, done: usize| {
            let result = slot.load(engine, now_ms, &mut Part::unbounded());
            let identity = slot.identity();
            let result = result.map_err(|failure| identity.fault(failure.kind, failure.detail));
            progress(Progress { name: &slot.entry.name, done, total, result });
        };
        warm(&mut self.slots.reader(), 1);
        self.slots.all().zip(2..).for_each(|(mut slot, done)| warm(&mut slot, done));
    }

    /// Every plugin, the shell reader first. Reads what is needed for it, compiles nothing.
    pub fn describe(&mut self) -> Vec<Description> {
        let engine = &self.engine;
        let reader = describe(&mut self.slots.reader(), engine);
        std::iter::once(reader).chain(self.slots.all().map(|mut slot| describe(&mut slot, engine))).collect()
    }

    /// What could not be used of the cache since the last call; it was made anew.
    pub fn take_cache_events(&self) -> Vec<CacheEvent> {
        self.engine.cache.as_ref().map(|cache| cache.take_events()).unwrap_or_default()
    }

    /// Asks all plugins of a kind; those that look at ended actions only, only about those.
    fn ask_all<W, T>(
        &mut self,
        kind: Kind,
        ended: bool,
        details: &Details<'_>,
        ask: impl Fn(&str, &Loaded, &mut Store<State>) -> Said<W>,
        accept: impl Fn(W) -> Result<T, Failure>,
    ) -> Vec<Answer<T>> {
        let turn = Turn {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        let (engine, patterns) = (&self.engine, &self.patterns);
        let asked = |slot: &mut Slot| match slot.kind(engine) {
            Some(Kind::Pattern) if patterns.as_ref().is_some_and(|names| !names.contains(&slot.entry.name)) => false,
            Some(found) => found == kind && (ended || !slot.waits_for_outcome(engine)),
            None => false,
        };
        let mut waiting = self.slots.files().filter_map(|mut slot| asked(&mut slot).then_some(())).count();
        let mut answers = Vec::new();
        for mut slot in self.slots.maybe(kind) {
            let slot = &mut *slot;
            let name = slot.entry.name.clone();
            if asked(slot) {
                let whose = if is_file(&slot.entry) { Whose::File { waiting } } else { Whose::Ours };
                waiting = waiting.saturating_sub(usize::from(whose != Whose::Ours));
                answers.push(turn.take(slot, self.backstop.part(whose), |loaded, store| ask(&name, loaded, store), &accept));
            } else if slot.kind(engine).is_none() && !self.strangers_told {
                // A file that is no plugin might have been one of these: its fault is told once a review.
                answers.push(turn.take(slot, Part::unbounded(), |_, _| Err(wrong_world()), &accept));
            }
        }
        self.strangers_told = true;
        answers.iter().for_each(|answer| self.breakers.note(answer));
        answers
    }

    fn read_anew(&mut self, text: &str, cwd: &str, home: &str) -> Result<Reading, Fault> {
        use crate::bindings::shell_reader::exports::portcullis::shell::reader::Surroundings;
        let surroundings = Surroundings { cwd: cwd.to_owned(), home: home.to_owned() };
        let ask = |loaded: &Loaded, store: &mut Store<State>| match &*loaded.world {
            World::ShellReader(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_shell_reader().call_read(store, text, &surroundings).map(Ok)
            }
            _ => Err(wrong_world()),
        };
        let turn = Turn {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details: &|_| None,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        turn.take(&mut self.slots.reader(), self.backstop.part(Whose::Ours), ask, reading::reading).result
    }
}

impl Plugins for PluginSet {
    fn read_shell(&mut self, text: &str, cwd: &str, home: &str) -> Result<Reading, Fault> {
        let key = readings::key(text, cwd, home);
        if let Some(known) = self.readings.as_mut().and_then(|readings| readings.get(&key, Instant::now())) {
            return Ok(known);
        }
        let read = self.read_anew(text, cwd, home);
        if let (Some(readings), Ok(reading)) = (&mut self.readings, &read) {
            readings.keep(key, reading.clone(), Instant::now());
        }
        read
    }

    fn assess(&mut self, action: &Action, context: &Context, details: &Details<'_>) -> Vec<Answer<Assessment>> {
        let (action, context) = (to_wit::action(action), to_wit::context(context));
        let ask = |_: &str, loaded: &Loaded, store: &mut Store<State>| match &*loaded.world {
            World::RiskCalculator(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_assessor().call_assess(store, &loaded.prepared, &action, &context)
            }
            _ => Err(wrong_world()),
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
    ) -> Vec<Answer<Report>> {
        // Before an action mostly nobody is asked: the question is put together for the first who is.
        let question = LazyCell::new(|| {
            (to_wit::steps(&history.steps), to_wit::totals(&history.totals), to_wit::action(action), to_wit::context(context))
        });
        let ask = |name: &str, loaded: &Loaded, store: &mut Store<State>| match &*loaded.world {
            World::Pattern(pre) => {
                let state = states.get(name).map_or(&[][..], Vec::as_slice);
                let (steps, totals, action, context) = &*question;
                store.data_mut().steps = Arc::clone(steps);
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_detector().call_detect(store, &loaded.prepared, state, *totals, action, context)
            }
            _ => Err(wrong_world()),
        };
        self.ask_all(Kind::Pattern, action.outcome.is_some(), details, ask, from_wit::report)
    }

    fn intervene(&mut self, name: &str, issue: &Issue, situation: &Situation, context: &Context) -> Option<Answer<Response>> {
        let (issue, situation, context) = (to_wit::issue(issue), to_wit::situation(situation), to_wit::context(context));
        let ask = |loaded: &Loaded, store: &mut Store<State>| match &*loaded.world {
            World::Intervention(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_intervener().call_intervene(store, &loaded.prepared, &issue, &situation, &context)
            }
            _ => Err(wrong_world()),
        };
        let mut slot = named(&self.slots, &self.engine, name, Kind::Intervention)?;
        let turn = Turn {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details: &|_| None,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        let whose = if is_file(&slot.entry) { Whose::File { waiting: 1 } } else { Whose::Ours };
        let answer = turn.take(&mut slot, self.backstop.part(whose), ask, from_wit::response);
        self.breakers.note(&answer);
        Some(answer)
    }
}

/// One plugin's turn in a review.
struct Turn<'a> {
    engine: &'a Engine,
    now_ms: u64,
    answer_bytes: usize,
    details: &'a Details<'a>,
    breakers: &'a Breakers,
    watched: Option<&'a RefCell<Vec<Watched>>>,
}

impl Turn<'_> {
    fn take<W, T>(
        &self,
        slot: &mut Slot,
        part: Part<'_>,
        ask: impl FnOnce(&Loaded, &mut Store<State>) -> Said<W>,
        accept: impl FnOnce(W) -> Result<T, Failure>,
    ) -> Answer<T> {
        let called = self.call(slot, part, ask, accept);
        let plugin = slot.identity();
        if let Some(watched) = self.watched {
            watched.borrow_mut().push(Watched { plugin: plugin.name.clone(), cost: called.cost });
        }
        let result = called.result.map_err(|failure| plugin.fault(failure.kind, failure.detail));
        Answer { plugin, result, log: called.log, fuel: called.fuel, uses: called.uses }
    }

    fn call<W, T>(
        &self,
        slot: &mut Slot,
        mut part: Part<'_>,
        ask: impl FnOnce(&Loaded, &mut Store<State>) -> Said<W>,
        accept: impl FnOnce(W) -> Result<T, Failure>,
    ) -> Called<T> {
        if let Some(held) = self.breakers.held(&slot.identity()) {
            return Called::failed(held);
        }
        if part.is_over() {
            return Called::not_run();
        }
        if let Err(failure) = slot.load(self.engine, self.now_ms, &mut part) {
            return Called::failed(failure);
        }
        let grants = Arc::clone(&slot.entry.grants);
        let (identity, limits) = (slot.identity(), slot.entry.limits.clone());
        let Some(loaded) = slot.loaded() else { return Called::failed(Failure::new(FaultKind::Internal, "it was not loaded")) };
        let run = |deadline| {
            let seat = Seat {
                limits: &limits,
                answer_bytes: self.answer_bytes,
                now_ms: self.now_ms,
                deadline,
                seed: &identity.digest,
                grants: &grants,
                web: &self.engine.web,
                foreign: identity.foreign,
                details: self.details,
            };
            world::call(&self.engine.inner, &seat, |store| ask(loaded, store), accept)
        };
        part.during(&self.engine.inner, limits.fuel, run).unwrap_or_else(|_over| Called::not_run())
    }
}

/// The plugin of that name, if it is of this kind; a file that cannot be understood may be.
fn named<'a>(slots: &'a Slots, engine: &Engine, name: &str, kind: Kind) -> Option<MutexGuard<'a, Slot>> {
    let mut slot = slots.maybe(kind).find(|slot| slot.entry.name == name)?;
    slot.kind(engine).is_none_or(|found| found == kind).then_some(slot)
}

fn describe(slot: &mut Slot, engine: &Engine) -> Description {
    let inspection = slot.inspection(engine).cloned();
    let identity = slot.identity();
    let loaded = slot.outcome().map(|outcome| outcome.map_err(|failure| identity.fault(failure.kind, failure.detail.clone())));
    Description {
        name: slot.entry.name.clone(),
        source: slot.entry.source.clone(),
        on_fault: slot.entry.on_fault,
        shadow: slot.entry.shadow,
        inspection,
        loaded,
    }
}

/// Who else speaks in records: what a plugin of that name said would pass for theirs.
const RESERVED: &[&str] = &["agent", "host", "limits", "person", "portcullis"];

fn usable_name(name: &str) -> bool {
    let fit = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(fit)
}

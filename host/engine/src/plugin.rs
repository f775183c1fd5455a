//! One configured plugin: where it comes from, what is known of it, and its way into the engine.

use crate::backstop::Part;
use crate::bindings::types;
use crate::cache::{Card, Stamp};
use crate::check::{self, PREPARED_BYTES};
use crate::compile::{CompileEnd, reason};
use crate::engine::Engine;
use crate::faults::Failure;
use crate::file::{not_a_file, read};
use crate::grants::Grants;
use crate::inspect::{self, Inspection};
use crate::kind::Kind;
use crate::limits::Limits;
use crate::load_error::LoadError;
use crate::settings::{self, Setting};
use crate::shared::Ready;
use crate::state::Seat;
use crate::watch::Loading;
use crate::world::{self, Called, World};
use crate::{host, to_wit};
use portcullis_core::fault::{FaultKind, OnFault};
use portcullis_core::plugins::Identity;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Component;

/// What a descriptor names among `reads` when the plugin has nothing to say before an action has ended.
const OUTCOME: &str = "outcome";

/// What a descriptor names among `reads` when the plugin keeps one state for all agents of a session.
const SESSION: &str = "session";

/// Where a plugin's bytes are.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the program itself.
    Builtin {
        /// The plugin's own name.
        name: &'static str,
        /// Its kind.
        kind: Kind,
        /// It looks at ended actions only; trusted, as `digest` is.
        waits_for_outcome: bool,
        /// What it says of itself; none where that is read from `bytes`, which then hold this plugin alone.
        descriptor: Option<&'static str>,
        /// BLAKE3 of `bytes`, 64 hex digits; trusted, since it was compiled in with them.
        digest: &'static str,
        /// The component. Where it holds several plugins, the first of the settings says which one this is.
        bytes: &'static [u8],
    },
    /// In a file, whatever it holds.
    File(PathBuf),
    /// In a file that has to hold these very bytes, and may hold several plugins.
    Pinned {
        /// The file.
        path: PathBuf,
        /// BLAKE3 of its bytes, 64 hex digits; another file is not loaded.
        digest: String,
        /// Which of the plugins in it, by the name in its descriptor; none where it holds one. The first of the settings
        /// has to say it to the plugin.
        plugin: Option<String>,
    },
}

/// A plugin as the configuration names it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, unique among all entries; it stands in records and settings.
    pub name: String,
    /// Where its bytes are.
    pub source: Source,
    /// What its `prepare` gets.
    pub settings: Vec<Setting>,
    /// What it gets beside `settings` where it is a pattern whose descriptor declares a setting of that name
    /// and `settings` does not say it.
    pub handed: Vec<Setting>,
    /// What its faults mean.
    pub on_fault: OnFault,
    /// What each call may use up.
    pub limits: Limits,
    /// What it may have of the machine while it answers; not while it prepares itself, since that answer is kept.
    pub grants: Arc<Grants>,
    /// It runs and is recorded, but does not count. The engine only carries this; the pipeline applies it.
    pub shadow: bool,
}

/// An entry with whatever is known of it so far.
pub(crate) struct Slot {
    pub(crate) entry: Entry,
    known: Option<Result<Known, LoadError>>,
    loaded: Option<Result<Loaded, Failure>>,
}

/// What is known without compiling.
struct Known {
    inspection: Inspection,
    /// The file's stamp, if it stood still long enough to be recognised by it.
    source: Option<Stamp>,
    bytes: Option<Cow<'static, [u8]>>,
    card: Option<Card>,
}

/// A plugin that can be called.
pub(crate) struct Loaded {
    pub(crate) world: Arc<World>,
    pub(crate) prepared: Vec<u8>,
    pub(crate) took: Loading,
}

impl Slot {
    pub(crate) const fn new(entry: Entry) -> Self {
        Self { entry, known: None, loaded: None }
    }

    /// The kind: none while it is a file that cannot be understood.
    pub(crate) fn kind(&mut self, engine: &Engine) -> Option<Kind> {
        match self.entry.source {
            Source::Builtin { kind, .. } => Some(kind),
            Source::File(_) | Source::Pinned { .. } => self.known(engine).as_ref().ok().map(|known| known.inspection.kind),
        }
    }

    /// What its bytes say of it.
    pub(crate) fn inspection(&mut self, engine: &Engine) -> Result<&Inspection, LoadError> {
        self.known(engine).as_ref().map(|known| &known.inspection).map_err(LoadError::clone)
    }

    /// Who it is, as far as that is known.
    pub(crate) fn identity(&self) -> Identity {
        let inspection = match &self.known {
            Some(Ok(known)) => Some(&known.inspection),
            _ => None,
        };
        let digest = match &self.entry.source {
            Source::Builtin { digest, .. } => (*digest).to_owned(),
            Source::Pinned { digest, .. } => digest.clone(),
            Source::File(_) => inspection.map(|inspection| inspection.digest.clone()).unwrap_or_default(),
        };
        let descriptor = inspection.and_then(|inspection| inspection.descriptor.as_ref());
        let version = descriptor.map(|descriptor| descriptor.version.clone());
        Identity {
            name: self.entry.name.clone(),
            version: version.unwrap_or_default(),
            digest,
            on_fault: self.entry.on_fault,
            foreign: is_file(&self.entry),
            shadow: self.entry.shadow,
            session: descriptor.is_some_and(|descriptor| descriptor.reads.iter().any(|what| what == SESSION)),
        }
    }

    /// What became of loading, if it was tried.
    pub(crate) fn outcome(&self) -> Option<Result<(), &Failure>> {
        self.loaded.as_ref().map(|loaded| loaded.as_ref().map(|_| ()))
    }

    /// Compiles or fetches, binds and prepares it, once. A failure for want of time is no property of the
    /// plugin: it is tried again when it is asked again.
    pub(crate) fn load(&mut self, engine: &Engine, now_ms: u64, part: &mut Part<'_>) -> Result<(), Failure> {
        let for_want_of_time = |failure: &Failure| matches!(failure.kind, FaultKind::Timeout | FaultKind::NotRun);
        let known = match &self.loaded {
            Some(Err(failure)) if for_want_of_time(failure) => None,
            known => known.as_ref(),
        };
        if known.is_none() {
            self.loaded = Some(self.try_load(engine, now_ms, part));
        }
        self.outcome().unwrap_or(Ok(())).map_err(Failure::clone)
    }

    /// The plugin, once it is loaded.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().ok())
    }

    /// Loading it runs nothing that a stranger wrote: it is ours, or what it prepared is remembered.
    pub(crate) fn is_at_rest(&mut self, engine: &Engine) -> bool {
        !is_file(&self.entry) || self.known(engine).as_ref().is_ok_and(|known| known.card.is_some())
    }

    /// It looks at ended actions only. Of a builtin plugin that is known without a look at the disk: before an
    /// action most of them are not needed.
    pub(crate) fn waits_for_outcome(&mut self, engine: &Engine) -> bool {
        if let Source::Builtin { waits_for_outcome, .. } = self.entry.source {
            return waits_for_outcome;
        }
        let Ok(known) = self.known(engine) else { return false };
        known.inspection.descriptor.as_ref().is_some_and(|descriptor| descriptor.reads.iter().any(|what| what == OUTCOME))
    }

    fn known(&mut self, engine: &Engine) -> &Result<Known, LoadError> {
        let entry = &self.entry;
        self.known.get_or_insert_with(|| Known::of(engine, entry))
    }

    fn try_load(&mut self, engine: &Engine, now_ms: u64, part: &mut Part<'_>) -> Result<Loaded, Failure> {
        self.known(engine);
        let Some(Ok(known)) = &mut self.known else {
            let reason = match &self.known {
                Some(Err(error)) => error.clone(),
                _ => LoadError::NotWasm,
            };
            return Err(load_failure(&reason));
        };
        let entry = &self.entry;
        if let Source::Builtin { kind, .. } = entry.source
            && kind != known.inspection.kind
        {
            return Err(load_failure(&LoadError::WrongKind { found: known.inspection.kind, wanted: kind }));
        }
        known.inspection.granted(&entry.grants).map_err(|error| load_failure(&error))?;
        let begun = Instant::now();
        let ready = match entry.source {
            Source::Builtin { digest, .. } => engine.shared.get_or_load(digest, || known.world(engine, entry)),
            Source::File(_) | Source::Pinned { .. } => known.world(engine, entry),
        };
        let (world, code) = ready.map_err(|error| load_failure(&error))?;
        let bound = Instant::now();
        let remembered = known.card.take();
        let prepared = match &remembered {
            Some(card) => card.prepared.clone(),
            None => prepare(engine, &world, entry, &known.inspection, now_ms, part)?,
        };
        let took = Loading { code: bound.duration_since(begun), preparing: bound.elapsed() };
        known.remember(engine, entry, remembered.as_ref(), code, &prepared);
        known.bytes = None;
        Ok(Loaded { world, prepared, took })
    }
}

impl Known {
    fn of(engine: &Engine, entry: &Entry) -> Result<Self, LoadError> {
        match &entry.source {
            Source::Builtin { descriptor, digest, bytes, .. } => Self::builtin(engine, entry, *descriptor, digest, bytes),
            Source::File(path) => Self::file(engine, entry, path, None),
            Source::Pinned { path, digest, plugin } => Self::file(engine, entry, path, Some((digest, plugin.as_deref()))),
        }
    }

    fn builtin(engine: &Engine, entry: &Entry, descriptor: Option<&str>, digest: &str, bytes: &'static [u8]) -> Result<Self, LoadError> {
        let card = card_of(engine, entry, None);
        let inspection = match &card {
            Some(card) => card.facts.inspection.clone(),
            None => Inspection { digest: digest.to_owned(), ..inspect::outline(bytes, descriptor)? },
        };
        Ok(Self { inspection, source: None, bytes: Some(Cow::Borrowed(bytes)), card })
    }

    /// A file; where it is pinned, its digest and which of its plugins is meant.
    fn file(engine: &Engine, entry: &Entry, path: &Path, pin: Option<(&str, Option<&str>)>) -> Result<Self, LoadError> {
        let unreadable = |error: std::io::Error| LoadError::Unreadable { path: path.to_owned(), reason: error.to_string() };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(not_a_file(path));
        }
        let stamp = Stamp::of(&metadata);
        if let Some(card) = card_of(engine, entry, Some(stamp)) {
            held_to(pin, path, &card.facts.inspection.digest)?;
            return Ok(Self { inspection: card.facts.inspection.clone(), source: Some(stamp), bytes: None, card: Some(card) });
        }
        let (bytes, stamp) = read(path)?;
        if pin.is_some() {
            // Before anything of other bytes is looked at.
            held_to(pin, path, &blake3::hash(&bytes).to_hex())?;
        }
        let inspection = match pin {
            Some((_, Some(plugin))) => inspect::inspect_one(&bytes, plugin)?,
            _ => inspect::inspect(&bytes)?,
        };
        if inspection.kind == Kind::ShellReader {
            return Err(LoadError::NoKind("`portcullis:shell/reader`, which only the host's own component may".to_owned()));
        }
        Ok(Self { inspection, source: Some(stamp), bytes: Some(Cow::Owned(bytes)), card: None })
    }

    /// The component bound to its world, and the stamp of the file that its code came from.
    fn world(&self, engine: &Engine, entry: &Entry) -> Result<Ready, LoadError> {
        let (component, code) = self.component(engine, entry)?;
        let pre = host::link(&engine.inner, &component, &entry.grants)?;
        Ok((Arc::new(World::bind(self.inspection.kind, pre)?), code))
    }

    /// The compiled component, and the stamp of the file it came from.
    fn component(&self, engine: &Engine, entry: &Entry) -> Result<(Component, Option<Stamp>), LoadError> {
        let receipt = self.card.as_ref().and_then(|card| card.facts.code);
        let digest = &self.inspection.digest;
        if let Some(found) = engine.cache.as_ref().and_then(|cache| cache.code(&engine.inner, digest, receipt)) {
            return Ok(found);
        }
        let bytes = self.bytes(entry)?;
        // Many hooks may meet a new file at the same time; one of them compiles it, the others take what it found.
        let turn = match entry.source {
            Source::Builtin { .. } => None,
            Source::File(_) | Source::Pinned { .. } => engine.turn(digest)?,
        };
        if let Some(found) = engine.cache.as_ref().filter(|_| turn.is_some()).and_then(|cache| cache.code(&engine.inner, digest, None)) {
            return Ok(found);
        }
        let code = match entry.source {
            Source::Builtin { .. } => engine.compile(&bytes).map_err(|error| invalid(&error))?,
            Source::File(_) | Source::Pinned { .. } => engine.commission(digest, &bytes)?,
        };
        if let Some(cache) = &engine.cache {
            cache.keep_code(digest, &code);
        }
        // SAFETY: our own compiler made these bytes, here or in a process that we started and that nobody
        // else could write to; they were in no one else's hands.
        #[allow(unsafe_code, reason = "wasmtime cannot tell whose machine code it loads; this is our own")]
        let component = unsafe { Component::deserialize(&engine.inner, &code) };
        component.map(|component| (component, None)).map_err(|error| invalid(&error))
    }

    /// The bytes, read again if a card spared reading them before.
    fn bytes<'a>(&'a self, entry: &'a Entry) -> Result<Cow<'a, [u8]>, LoadError> {
        match (&self.bytes, &entry.source) {
            (Some(bytes), _) => Ok(Cow::Borrowed(bytes)),
            (None, Source::Builtin { bytes, .. }) => Ok(Cow::Borrowed(bytes)),
            (None, Source::File(path) | Source::Pinned { path, .. }) => {
                let (bytes, _) = read(path)?;
                if blake3::hash(&bytes).to_hex().as_str() == self.inspection.digest {
                    Ok(Cow::Owned(bytes))
                } else {
                    Err(LoadError::Unreadable { path: path.clone(), reason: "it changed while it was being loaded".into() })
                }
            }
        }
    }

    /// Writes a card where there is none, or one that knows less.
    fn remember(&self, engine: &Engine, entry: &Entry, old: Option<&Card>, code: Option<Stamp>, prepared: &[u8]) {
        let Some(cache) = &engine.cache else { return };
        let known = old.map(|card| (card.facts.source, card.facts.code));
        if known.is_some_and(|known| known == (self.source, code) || code.is_none()) {
            return;
        }
        if self.source.is_some_and(|stamp| !stamp.settled(crate::cache::SETTLED)) {
            return;
        }
        let facts = crate::cache::Facts { inspection: self.inspection.clone(), source: self.source, code };
        cache.keep_card(&card_name(cache, entry), &Card { facts, prepared: prepared.to_vec() });
    }
}

/// What was found has to be what was pinned.
fn held_to(pin: Option<(&str, Option<&str>)>, path: &Path, found: &str) -> Result<(), LoadError> {
    match pin {
        Some((wanted, _)) if wanted != found => {
            Err(LoadError::Other { path: path.to_owned(), wanted: wanted.to_owned(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

fn card_of(engine: &Engine, entry: &Entry, source: Option<Stamp>) -> Option<Card> {
    let cache = engine.cache.as_deref()?;
    cache.card(&card_name(cache, entry)).filter(|card| card.facts.source == source)
}

fn card_name(cache: &crate::cache::CodeCache, entry: &Entry) -> String {
    let source: [&[u8]; 2] = match &entry.source {
        Source::Builtin { digest, .. } => [b"builtin", digest.as_bytes()],
        Source::File(path) | Source::Pinned { path, .. } => [b"file", path.as_os_str().as_bytes()],
    };
    let all: Vec<Setting> = entry.settings.iter().chain(&entry.handed).cloned().collect();
    cache.card_name(&source, &settings::digest(&all))
}

/// Lets a plugin prepare itself; a file within its part of the review's time, ours by their fuel alone.
fn prepare(
    engine: &Engine,
    world: &World,
    entry: &Entry,
    inspection: &Inspection,
    now_ms: u64,
    part: &mut Part<'_>,
) -> Result<Vec<u8>, Failure> {
    let declared = |setting: &&Setting| {
        let said = entry.settings.iter().any(|own| own.key == setting.key);
        !said
            && inspection.kind == Kind::Pattern
            && inspection.descriptor.as_ref().is_some_and(|descriptor| descriptor.declares(&setting.key))
    };
    let all: Vec<Setting> = entry.settings.iter().chain(entry.handed.iter().filter(declared)).cloned().collect();
    let settings: Vec<types::Setting> = to_wit::settings(&all);
    let run = |deadline| {
        let seat = Seat {
            limits: &entry.limits,
            answer_bytes: PREPARED_BYTES + check::TEXT_BYTES,
            now_ms,
            deadline,
            seed: &inspection.digest,
            grants: &Arc::default(),
            web: &engine.web,
            foreign: is_file(entry),
            details: &|_| None,
        };
        world::call(
            &engine.inner,
            &seat,
            |store| world.prepare(store, &settings),
            |prepared| check::bytes("prepared", prepared, PREPARED_BYTES),
        )
    };
    let called: Called<Vec<u8>> = if is_file(entry) {
        part.during(&engine.inner, entry.limits.fuel, run).unwrap_or_else(|_over| Called::not_run())
    } else {
        run(None)
    };
    called.result.map_err(|failure| failure.while_it("prepared itself"))
}

/// Someone else wrote it.
pub(crate) const fn is_file(entry: &Entry) -> bool {
    matches!(entry.source, Source::File(_) | Source::Pinned { .. })
}

fn invalid(error: &wasmtime::Error) -> LoadError {
    CompileEnd::Invalid(reason(error)).into()
}

/// A wish that was not granted and what compiling used up are named as such; all else is a file that cannot be loaded.
fn load_failure(error: &LoadError) -> Failure {
    let kind = match error {
        LoadError::Refused { .. } => FaultKind::MissingGrant,
        LoadError::Compile(CompileEnd::Limit(_) | CompileEnd::Crashed(_)) => FaultKind::CompileLimit,
        LoadError::Compile(CompileEnd::NoTime) => FaultKind::NotRun,
        _ => FaultKind::LoadFailed,
    };
    Failure::new(kind, error.to_string())
}

//! One configured plugin: the facts known about it, and its loading into the engine.

use crate::bindings::types;
use crate::cache::{CachedMetadata, Stamp};
use crate::check::{self, PREPARED_BYTES};
use crate::compile::reason;
use crate::compiler::CompileEnd;
use crate::deadline::TimeBudget;
use crate::engine::Engine;
use crate::faults::UnnamedFault;
use crate::file::{not_a_file, read};
use crate::inspect::{self, Inspection};
use crate::kind::Kind;
use crate::load_error::LoadError;
use crate::plugin_spec::{ComponentBytes, PluginSpec, Source};
use crate::pool::Pool;
use crate::settings::{self, Setting};
use crate::shared::SharedComponent;
use crate::state::CallEnv;
use crate::watch::LoadTimes;
use crate::world::{self, BoundPlugin, CallOutcome};
use crate::{host, to_wit};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::Identity;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::Component;

/// The entry among a descriptor's `reads` for a plugin that has nothing to report before an action
/// has ended.
const OUTCOME: &str = "outcome";

/// The entry among a descriptor's `reads` for a plugin that keeps one state for all agents of a
/// session.
const SESSION: &str = "session";

/// An entry with the facts that are known about it so far.
pub(crate) struct LazyPlugin {
    pub(crate) entry: PluginSpec,
    known: Option<Result<InspectedPlugin, LoadError>>,
    loaded: Option<Result<LoadedPlugin, UnnamedFault>>,
    /// It asked for a past step in some call.
    pub(crate) asks_for_steps: bool,
}

/// The facts that are known without compiling.
struct InspectedPlugin {
    inspection: Inspection,
    /// The file's stamp, if the file has been unchanged for long enough to be recognised by it.
    source: Option<Stamp>,
    /// A file's bytes, if they were just read.
    bytes: Option<Vec<u8>>,
    cached: Option<CachedMetadata>,
}

/// A plugin that can be called.
pub(crate) struct LoadedPlugin {
    pub(crate) world: Arc<BoundPlugin>,
    pub(crate) prepared: Vec<u8>,
    pub(crate) took: LoadTimes,
}

impl LazyPlugin {
    pub(crate) const fn new(entry: PluginSpec) -> Self {
        Self { entry, known: None, loaded: None, asks_for_steps: false }
    }

    /// Returns the kind; none for a file that cannot be understood.
    pub(crate) fn kind(&mut self, engine: &Engine) -> Option<Kind> {
        match self.entry.source {
            Source::Builtin { kind, .. } => Some(kind),
            Source::File(_) | Source::Pinned { .. } => {
                self.known(engine).as_ref().ok().map(|known| known.inspection.kind)
            }
        }
    }

    /// Returns the properties that were read from its bytes.
    pub(crate) fn inspection(&mut self, engine: &Engine) -> Result<&Inspection, LoadError> {
        self.known(engine).as_ref().map(|known| &known.inspection).map_err(LoadError::clone)
    }

    /// Returns its identity, as far as that is known.
    pub(crate) fn identity(&self) -> Identity {
        let inspection = match &self.known {
            Some(Ok(known)) => Some(&known.inspection),
            _ => None,
        };
        let digest = match &self.entry.source {
            Source::Builtin { digest, .. } => (*digest).to_owned(),
            Source::Pinned { digest, .. } => digest.clone(),
            Source::File(_) => {
                inspection.map(|inspection| inspection.digest.clone()).unwrap_or_default()
            }
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
            session: descriptor
                .is_some_and(|descriptor| descriptor.reads.iter().any(|what| what == SESSION)),
        }
    }

    /// Returns the outcome of loading, if it was tried.
    pub(crate) fn outcome(&self) -> Option<Result<(), &UnnamedFault>> {
        self.loaded.as_ref().map(|loaded| loaded.as_ref().map(|_| ()))
    }

    /// Compiles it or fetches it from the cache, binds it and prepares it, once. A failure for lack
    /// of time is not a property of the plugin: loading is tried again at the next call.
    pub(crate) fn load(
        &mut self,
        engine: &Engine,
        now_ms: u64,
        part: &mut TimeBudget<'_>,
    ) -> Result<(), UnnamedFault> {
        let for_want_of_time =
            |failure: &UnnamedFault| matches!(failure.kind, FaultKind::Timeout | FaultKind::NotRun);
        let known = match &self.loaded {
            Some(Err(failure)) if for_want_of_time(failure) => None,
            known => known.as_ref(),
        };
        if known.is_none() {
            self.loaded = Some(self.try_load(engine, now_ms, part));
        }
        self.outcome().unwrap_or(Ok(())).map_err(UnnamedFault::clone)
    }

    /// Returns the plugin, once it is loaded.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.loaded, Some(Err(_))) || matches!(self.known, Some(Err(_)))
    }

    pub(crate) fn loaded(&self) -> Option<&LoadedPlugin> {
        self.loaded.as_ref().and_then(|loaded| loaded.as_ref().ok())
    }

    /// Returns true if loading it runs no third-party code: it is built in, or its preparation is
    /// cached.
    pub(crate) fn loads_without_guest_code(&mut self, engine: &Engine) -> bool {
        !is_file(&self.entry) || self.known(engine).as_ref().is_ok_and(InspectedPlugin::is_prepared)
    }

    /// Returns true if it considers ended actions only. For a builtin plugin this is known without
    /// reading the disk: before an action, most of them are not needed.
    pub(crate) fn waits_for_outcome(&mut self, engine: &Engine) -> bool {
        if let Source::Builtin { waits_for_outcome, .. } = self.entry.source {
            return waits_for_outcome;
        }
        let Ok(known) = self.known(engine) else { return false };
        known
            .inspection
            .descriptor
            .as_ref()
            .is_some_and(|descriptor| descriptor.reads.iter().any(|what| what == OUTCOME))
    }

    fn known(&mut self, engine: &Engine) -> &Result<InspectedPlugin, LoadError> {
        let entry = &self.entry;
        self.known.get_or_insert_with(|| InspectedPlugin::of(engine, entry))
    }

    fn try_load(
        &mut self,
        engine: &Engine,
        now_ms: u64,
        part: &mut TimeBudget<'_>,
    ) -> Result<LoadedPlugin, UnnamedFault> {
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
            return Err(load_failure(&LoadError::WrongKind {
                found: known.inspection.kind,
                wanted: kind,
            }));
        }
        known.inspection.check_grants(&entry.grants).map_err(|error| load_failure(&error))?;
        let begun = Instant::now();
        let ready = match entry.source {
            Source::Builtin { digest, .. } => {
                engine.shared.get_or_load(digest, || known.world(engine, entry))
            }
            Source::File(_) | Source::Pinned { .. } => known.world(engine, entry),
        };
        let (world, code) = ready.map_err(|error| load_failure(&error))?;
        let bound = Instant::now();
        let remembered = known.cached.take();
        let prepared = match remembered.as_ref().and_then(|cached| cached.prepared.clone()) {
            Some(prepared) => prepared,
            None => prepare(engine, &world, entry, &known.inspection, now_ms, part)?,
        };
        let took = LoadTimes { code: bound.duration_since(begun), preparing: bound.elapsed() };
        known.remember(engine, entry, remembered.as_ref(), code, Some(&prepared));
        known.bytes = None;
        Ok(LoadedPlugin { world, prepared, took })
    }
}

impl InspectedPlugin {
    fn of(engine: &Engine, entry: &PluginSpec) -> Result<Self, LoadError> {
        match &entry.source {
            Source::Builtin { descriptor, digest, bytes, .. } => {
                Self::builtin(engine, entry, *descriptor, digest, *bytes)
            }
            Source::File(path) => Self::file(engine, entry, path, None),
            Source::Pinned { path, digest, plugin } => {
                Self::file(engine, entry, path, Some((digest, plugin.as_deref())))
            }
        }
    }

    fn builtin(
        engine: &Engine,
        entry: &PluginSpec,
        descriptor: Option<&str>,
        digest: &str,
        bytes: &'static dyn ComponentBytes,
    ) -> Result<Self, LoadError> {
        let cached = metadata_of(engine, entry, None);
        let inspection = match &cached {
            Some(cached) => cached.facts.inspection.clone(),
            None => {
                let outline = inspect::outline(bytes.as_ref(), descriptor)?;
                Inspection { digest: digest.to_owned(), ..outline }
            }
        };
        Ok(Self { inspection, source: None, bytes: None, cached })
    }

    /// Inspects a file. `pin` holds the digest and the plugin's name of a pinned one.
    fn file(
        engine: &Engine,
        entry: &PluginSpec,
        path: &Path,
        pin: Option<(&str, Option<&str>)>,
    ) -> Result<Self, LoadError> {
        let unreadable = |error: std::io::Error| LoadError::Unreadable {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(not_a_file(path));
        }
        let stamp = Stamp::of(&metadata);
        if let Some(cached) = metadata_of(engine, entry, Some(stamp)) {
            check_pin(pin, path, &cached.facts.inspection.digest)?;
            return Ok(Self {
                inspection: cached.facts.inspection.clone(),
                source: Some(stamp),
                bytes: None,
                cached: Some(cached),
            });
        }
        let (bytes, stamp) = read(path)?;
        if pin.is_some() {
            // This comes first, so that no other bytes are parsed.
            check_pin(pin, path, &blake3::hash(&bytes).to_hex())?;
        }
        let inspection = match pin {
            Some((_, Some(plugin))) => inspect::inspect_one(&bytes, plugin)?,
            _ => inspect::inspect_component(&bytes)?,
        };
        if inspection.kind == Kind::ShellReader {
            return Err(LoadError::NoKind(
                "`portcullis:shell/reader`, which only the host's own component may".to_owned(),
            ));
        }
        let known = Self { inspection, source: Some(stamp), bytes: Some(bytes), cached: None };
        // Most hooks need no more of it, and reading a large file takes longer than all else.
        known.remember(engine, entry, None, None, None);
        Ok(known)
    }

    /// Returns true if its preparation is cached.
    fn is_prepared(&self) -> bool {
        self.cached.as_ref().is_some_and(|cached| cached.facts.is_prepared)
    }

    /// Returns the component bound to its world, and the stamp of the file that its code came from.
    fn world(&self, engine: &Engine, entry: &PluginSpec) -> Result<SharedComponent, LoadError> {
        let (component, code) = self.component(engine, entry)?;
        let pre = host::link(engine.runner(is_file(entry)), &component, &entry.grants)?;
        Ok((Arc::new(BoundPlugin::bind(self.inspection.kind, pre)?), code))
    }

    /// Returns the compiled component, and the stamp of the file that it came from.
    fn component(
        &self,
        engine: &Engine,
        entry: &PluginSpec,
    ) -> Result<(Component, Option<Stamp>), LoadError> {
        let runner = engine.runner(is_file(entry));
        let receipt = self.cached.as_ref().and_then(|cached| cached.facts.code);
        let digest = &self.inspection.digest;
        if let Some(found) =
            engine.cache.as_ref().and_then(|cache| cache.code(runner, digest, receipt))
        {
            return Ok(found);
        }
        let bytes = self.bytes(entry)?;
        // Many hooks may meet a new file at the same time; one of them compiles it, the others use
        // its result.
        let lock = match entry.source {
            Source::Builtin { .. } => None,
            Source::File(_) | Source::Pinned { .. } => engine.lock_compile(digest)?,
        };
        if let Some(found) = engine
            .cache
            .as_ref()
            .filter(|_| lock.is_some())
            .and_then(|cache| cache.code(runner, digest, None))
        {
            return Ok(found);
        }
        let code = match entry.source {
            Source::Builtin { .. } => engine.compile(&bytes).map_err(|error| invalid(&error))?,
            Source::File(_) | Source::Pinned { .. } => engine.compile_isolated(digest, &bytes)?,
        };
        if let Some(cache) = &engine.cache {
            cache.store_code(digest, &code);
        }
        // SAFETY: our own compiler made these bytes, here or in a process that we started and that
        // nobody else could write to; no one else has had access to them.
        #[allow(
            unsafe_code,
            reason = "wasmtime cannot tell whose machine code it loads; this is our own"
        )]
        let component = unsafe { Component::deserialize(runner, &code) };
        component.map(|component| (component, None)).map_err(|error| invalid(&error))
    }

    /// Returns the bytes, and reads them now if cached metadata made that unnecessary before.
    fn bytes<'a>(&'a self, entry: &'a PluginSpec) -> Result<Cow<'a, [u8]>, LoadError> {
        match (&self.bytes, &entry.source) {
            (Some(bytes), _) => Ok(Cow::Borrowed(bytes)),
            (None, Source::Builtin { bytes, .. }) => Ok(Cow::Borrowed((*bytes).as_ref())),
            (None, Source::File(path) | Source::Pinned { path, .. }) => {
                let (bytes, _) = read(path)?;
                if blake3::hash(&bytes).to_hex().as_str() == self.inspection.digest {
                    Ok(Cow::Owned(bytes))
                } else {
                    Err(LoadError::Unreadable {
                        path: path.clone(),
                        reason: "it changed while it was being loaded".into(),
                    })
                }
            }
        }
    }

    /// Caches the metadata, if that adds to the entry that there is.
    fn remember(
        &self,
        engine: &Engine,
        entry: &PluginSpec,
        old: Option<&CachedMetadata>,
        code: Option<Stamp>,
        prepared: Option<&[u8]>,
    ) {
        let Some(cache) = &engine.cache else { return };
        let facts = crate::cache::CachedFacts {
            inspection: self.inspection.clone(),
            source: self.source,
            code,
            is_prepared: prepared.is_some(),
        };
        let adds = old.is_none_or(|old| {
            let old = &old.facts;
            old.source != facts.source
                || (facts.is_prepared && !old.is_prepared)
                || (code.is_some() && old.code != code)
        });
        let is_settled =
            self.source.is_none_or(|stamp| stamp.settled(crate::cache::MIN_RECEIPT_AGE));
        if adds && is_settled {
            cache.store_metadata(
                &metadata_name(cache, entry),
                &CachedMetadata { facts, prepared: prepared.map(<[u8]>::to_vec) },
            );
        }
    }
}

impl Engine {
    /// Loads the component of a plugin that came with the program on the loader's thread: for a
    /// plugin that will be needed whatever the configuration says. Does nothing if its metadata is
    /// not in the cache, since its code would have to be hashed, or compiled.
    pub fn load_ahead(&self, spec: PluginSpec) {
        self.run_ahead(move |engine| {
            let Source::Builtin { digest, .. } = spec.source else { return };
            if let Ok(known) = InspectedPlugin::of(engine, &spec)
                && known.is_prepared()
            {
                // The call finds and reports a failure again.
                drop(engine.shared.get_or_load(digest, || known.world(engine, &spec)));
            }
        });
    }
}

/// Checks that the digest found is the pinned one.
fn check_pin(pin: Option<(&str, Option<&str>)>, path: &Path, found: &str) -> Result<(), LoadError> {
    match pin {
        Some((wanted, _)) if wanted != found => Err(LoadError::Other {
            path: path.to_owned(),
            wanted: wanted.to_owned(),
            found: found.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn metadata_of(
    engine: &Engine,
    entry: &PluginSpec,
    source: Option<Stamp>,
) -> Option<CachedMetadata> {
    let cache = engine.cache.as_deref()?;
    cache.metadata(&metadata_name(cache, entry)).filter(|cached| cached.facts.source == source)
}

fn metadata_name(cache: &crate::cache::CodeCache, entry: &PluginSpec) -> String {
    let source: [&[u8]; 2] = match &entry.source {
        Source::Builtin { digest, .. } => [b"builtin", digest.as_bytes()],
        Source::File(path) | Source::Pinned { path, .. } => [b"file", path.as_os_str().as_bytes()],
    };
    let all: Vec<Setting> =
        entry.settings.iter().chain(&entry.injected_settings).cloned().collect();
    cache.metadata_name(&source, &settings::digest(&all))
}

/// Calls the plugin's `prepare`: a file plugin within its part of the review's time, a built-in one
/// bounded by its fuel alone.
fn prepare(
    engine: &Engine,
    world: &BoundPlugin,
    entry: &PluginSpec,
    inspection: &Inspection,
    now_ms: u64,
    part: &mut TimeBudget<'_>,
) -> Result<Vec<u8>, UnnamedFault> {
    let declared = |setting: &&Setting| {
        let said = entry.settings.iter().any(|own| own.key == setting.key);
        !said
            && inspection.kind == Kind::Pattern
            && inspection
                .descriptor
                .as_ref()
                .is_some_and(|descriptor| descriptor.declares_setting(&setting.key))
    };
    let all: Vec<Setting> = entry
        .settings
        .iter()
        .chain(entry.injected_settings.iter().filter(declared))
        .cloned()
        .collect();
    let settings: Vec<types::Setting> = to_wit::settings(&all);
    let foreign = is_file(entry);
    let run = |deadline| {
        let _place = engine.pool_for(foreign).map(Pool::take_place);
        let env = CallEnv {
            limits: &entry.limits,
            answer_bytes: PREPARED_BYTES + check::TEXT_BYTES,
            now_ms,
            deadline,
            seed: &inspection.digest,
            grants: &Arc::default(),
            granted: entry.grants.has_files_or_hosts(),
            web: &engine.web,
            foreign,
            left: engine.left.as_deref(),
            details: &|_| None,
        };
        world::call(
            engine.runner(foreign),
            &env,
            |store| world.prepare(store, &settings),
            |prepared| check::bytes("prepared", prepared, PREPARED_BYTES),
        )
    };
    let called: CallOutcome<Vec<u8>> = if foreign {
        part.during(engine.runner(foreign), entry.limits.fuel, run)
            .unwrap_or_else(|_over| CallOutcome::not_run())
    } else {
        run(None)
    };
    called.result.map_err(|failure| failure.in_step("prepared itself"))
}

/// Returns true if it is a file, which someone else wrote.
pub(crate) const fn is_file(entry: &PluginSpec) -> bool {
    matches!(entry.source, Source::File(_) | Source::Pinned { .. })
}

fn invalid(error: &wasmtime::Error) -> LoadError {
    CompileEnd::Invalid(reason(error)).into()
}

/// Maps a load error to a failure: missing grants and compile limits have their own kind, all
/// others are files that cannot be loaded.
fn load_failure(error: &LoadError) -> UnnamedFault {
    let kind = match error {
        LoadError::Refused { .. } => FaultKind::MissingGrant,
        LoadError::Compile(CompileEnd::Limit(_) | CompileEnd::Crashed(_)) => {
            FaultKind::CompileLimit
        }
        LoadError::Compile(CompileEnd::NoTime) => FaultKind::NotRun,
        _ => FaultKind::LoadFailed,
    };
    UnnamedFault::new(kind, error.to_string())
}

//! The plugins' slots, which a thread may load before the first call.
//!
//! A hook opens its journal and reads its shell text while the plugins that it will call are
//! mapped. The code that needs a slot locks it, and finds it loaded or loads it: it waits only for
//! the one plugin that is being loaded.

use crate::deadline::TimeBudget;
use crate::engine::Engine;
use crate::kind::Kind;
use crate::plugin::LazyPlugin;
use crate::plugin_spec::{PluginSpec, Source};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The needs of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preload {
    /// The action has ended.
    pub ended: bool,
    /// It contains text for the shell reader.
    pub shell: bool,
}

/// All slots of a set.
pub(crate) struct LazyPlugins {
    /// The host's own shell reader.
    reader: Arc<Mutex<LazyPlugin>>,
    /// Kinds that are known without reading the disk, in the same order.
    kinds: Vec<Option<Kind>>,
    slots: Arc<[Mutex<LazyPlugin>]>,
}

impl LazyPlugins {
    pub(crate) fn new(reader: PluginSpec, entries: Vec<PluginSpec>) -> Self {
        let kind = |entry: &PluginSpec| match entry.source {
            Source::Builtin { kind, .. } => Some(kind),
            Source::File(_) | Source::Pinned { .. } => None,
        };
        let kinds = entries.iter().map(kind).collect();
        let slots = entries.into_iter().map(|entry| Mutex::new(LazyPlugin::new(entry))).collect();
        Self { reader: Arc::new(Mutex::new(LazyPlugin::new(reader))), kinds, slots }
    }

    /// Returns the shell reader's slot.
    pub(crate) fn reader(&self) -> MutexGuard<'_, LazyPlugin> {
        lock_slot(&self.reader)
    }

    /// Returns the shell reader's slot, for another thread.
    pub(crate) fn share_reader(&self) -> Arc<Mutex<LazyPlugin>> {
        Arc::clone(&self.reader)
    }

    /// Returns the number of slots without the shell reader's.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns all of them, in order, each as soon as its lock is free.
    pub(crate) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, LazyPlugin>> {
        self.slots.iter().map(lock_slot)
    }

    /// Returns those that may be of this kind: a file's kind is not known here.
    pub(crate) fn maybe(&self, kind: Kind) -> impl Iterator<Item = MutexGuard<'_, LazyPlugin>> {
        let others = move |known: &Option<Kind>| known.is_some_and(|known| known != kind);
        self.kinds
            .iter()
            .zip(self.slots.iter())
            .filter(move |(known, _)| !others(known))
            .map(|(_, slot)| lock_slot(slot))
    }

    /// Returns the slots of the program's own plugins of this kind, which come before all others.
    pub(crate) fn own(&self, kind: Kind) -> impl Iterator<Item = &Mutex<LazyPlugin>> {
        self.kinds
            .iter()
            .zip(self.slots.iter())
            .filter(move |(known, _)| **known == Some(kind))
            .map(|(_, slot)| slot)
    }

    /// Returns those of third-party plugins.
    pub(crate) fn files(&self) -> impl Iterator<Item = MutexGuard<'_, LazyPlugin>> {
        self.kinds
            .iter()
            .zip(self.slots.iter())
            .filter(|(known, _)| known.is_none())
            .map(|(_, slot)| lock_slot(slot))
    }

    /// Loads the plugins that a review will need on the engine's loader, in the order of their use,
    /// except for files that must prepare themselves first. Without a loader, each plugin is loaded
    /// at its call.
    pub(crate) fn preload(&self, engine: &Engine, now_ms: u64, ahead: Preload) {
        let theirs = Self {
            reader: Arc::clone(&self.reader),
            kinds: self.kinds.clone(),
            slots: Arc::clone(&self.slots),
        };
        engine.run_ahead(move |engine| theirs.load_for(engine, now_ms, ahead));
    }

    fn load_for(&self, engine: &Engine, now_ms: u64, ahead: Preload) {
        let load =
            |slot: &mut LazyPlugin| drop(slot.load(engine, now_ms, &mut TimeBudget::unbounded()));
        if ahead.shell {
            load(&mut self.reader());
        }
        let kinds: &[Kind] =
            if ahead.ended { &[Kind::Pattern] } else { &[Kind::RiskCalculator, Kind::Pattern] };
        for kind in kinds {
            for mut slot in self.maybe(*kind) {
                // No clock runs here: a file whose own code would have to run first is loaded at
                // its call.
                let awaited = ahead.ended || !slot.waits_for_outcome(engine);
                if awaited
                    && slot.loads_without_guest_code(engine)
                    && slot.kind(engine) == Some(*kind)
                {
                    load(&mut slot);
                }
            }
        }
    }
}

/// Locks a slot. If a thread panicked while holding it, the slot is unchanged: it loads, or fails,
/// at its call.
pub(crate) fn lock_slot(slot: &Mutex<LazyPlugin>) -> MutexGuard<'_, LazyPlugin> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The plugins' slots, which a thread may load ahead of the first question.
//!
//! A hook opens its journal and reads its shell text while the plugins that it will ask are mapped. Whoever needs
//! a slot takes it, and finds it loaded or loads it: nobody waits but for the one plugin that is being loaded.
//! Which thread loads a plugin changes nothing about the plugin.

use crate::backstop::Part;
use crate::engine::Engine;
use crate::kind::Kind;
use crate::plugin::{Entry, Slot, Source};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// What a review will ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The action has ended.
    pub ended: bool,
    /// It holds text for a shell.
    pub shell: bool,
}

/// All slots of a set.
pub(crate) struct Slots {
    /// The host's own shell reader.
    reader: Arc<Mutex<Slot>>,
    /// Kinds that are known without a look at the disk, in the same order.
    kinds: Vec<Option<Kind>>,
    slots: Arc<[Mutex<Slot>]>,
}

impl Slots {
    pub(crate) fn new(reader: Entry, entries: Vec<Entry>) -> Self {
        let kind = |entry: &Entry| match entry.source {
            Source::Builtin { kind, .. } => Some(kind),
            Source::File(_) | Source::Pinned { .. } => None,
        };
        let kinds = entries.iter().map(kind).collect();
        let slots = entries.into_iter().map(|entry| Mutex::new(Slot::new(entry))).collect();
        Self { reader: Arc::new(Mutex::new(Slot::new(reader))), kinds, slots }
    }

    /// The shell reader's.
    pub(crate) fn reader(&self) -> MutexGuard<'_, Slot> {
        taken(&self.reader)
    }

    /// How many there are beside the shell reader's.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All of them, in order, each as soon as nobody else has it.
    pub(crate) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, Slot>> {
        self.slots.iter().map(taken)
    }

    /// Those that may be of this kind: a file's kind is not known here.
    pub(crate) fn maybe(&self, kind: Kind) -> impl Iterator<Item = MutexGuard<'_, Slot>> {
        let others = move |known: &Option<Kind>| known.is_some_and(|known| known != kind);
        self.kinds.iter().zip(self.slots.iter()).filter(move |(known, _)| !others(known)).map(|(_, slot)| taken(slot))
    }

    /// Those that others wrote.
    pub(crate) fn files(&self) -> impl Iterator<Item = MutexGuard<'_, Slot>> {
        self.kinds.iter().zip(self.slots.iter()).filter(|(known, _)| known.is_none()).map(|(_, slot)| taken(slot))
    }

    /// Loads what a review will ask for on a thread of its own, in the order in which it will, but for files that
    /// must prepare themselves first.
    pub(crate) fn load_ahead(&self, engine: &Engine, now_ms: u64, ahead: Ahead) {
        let theirs = Self { reader: Arc::clone(&self.reader), kinds: self.kinds.clone(), slots: Arc::clone(&self.slots) };
        let engine = engine.clone();
        let load = move || {
            let _room = room();
            let load = |slot: &mut Slot| drop(slot.load(&engine, now_ms, &mut Part::unbounded()));
            if ahead.shell {
                load(&mut theirs.reader());
            }
            let kinds: &[Kind] = if ahead.ended { &[Kind::Pattern] } else { &[Kind::RiskCalculator, Kind::Pattern] };
            for kind in kinds {
                for mut slot in theirs.maybe(*kind) {
                    // Here no clock runs: a file whose code has something to do first waits for its turn.
                    let awaited = ahead.ended || !slot.waits_for_outcome(&engine);
                    if awaited && slot.is_at_rest(&engine) && slot.kind(&engine) == Some(*kind) {
                        load(&mut slot);
                    }
                }
            }
        };
        // Without a thread each plugin is loaded when it is asked.
        drop(Builder::new().name("portcullis-load".into()).spawn(load));
    }
}

/// A slot whose thread panicked is as it was: it loads, or fails, when asked.
fn taken(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room on the heap for what the plugins take, made at once and given back but for its end. glibc lets the heap of
/// a thread that is not the first grow by a page at a time, each with a system call that makes all threads of the
/// process wait: two hundred of them in a hook. Elsewhere it costs nothing.
fn room() -> Vec<u8> {
    /// Larger ones would not lie on the heap.
    const BLOCK: usize = 112 << 10;
    const BLOCKS: usize = 9;
    let mut blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| std::hint::black_box(Vec::with_capacity(BLOCK))).collect();
    blocks.pop().unwrap_or_default()
}

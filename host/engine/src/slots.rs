//! The plugins' slots: here, or with a thread that loads some of them ahead of the first question.
//!
//! A hook opens its journal and reads its shell text while the plugins that it will ask are mapped. Which thread
//! loads a plugin changes nothing about the plugin.

use crate::backstop::Part;
use crate::engine::Engine;
use crate::kind::Kind;
use crate::plugin::Slot;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// All slots of a set.
pub(crate) struct Slots {
    here: Vec<Slot>,
    away: Option<Away>,
}

struct Away {
    slots: Arc<Mutex<Vec<Slot>>>,
    thread: JoinHandle<()>,
}

impl Slots {
    pub(crate) const fn new(slots: Vec<Slot>) -> Self {
        Self { here: slots, away: None }
    }

    /// The slots; waits for a thread that has them.
    pub(crate) fn all(&mut self) -> &mut Vec<Slot> {
        if let Some(away) = self.away.take() {
            // A thread that panicked has left its slots as they were: each loads, or fails, when asked.
            drop(away.thread.join());
            self.here = std::mem::take(&mut *away.slots.lock().unwrap_or_else(PoisonError::into_inner));
        }
        &mut self.here
    }

    /// Loads the plugins of these kinds on a thread of its own, but for files that must prepare themselves first;
    /// `ended` as in the question that will come.
    pub(crate) fn load_ahead(&mut self, engine: &Engine, now_ms: u64, kinds: &'static [Kind], ended: bool) {
        let slots = Arc::new(Mutex::new(std::mem::take(self.all())));
        let (theirs, engine) = (Arc::clone(&slots), engine.clone());
        let load = move || {
            let _room = room();
            let mut slots = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            for slot in slots.iter_mut() {
                // Here no clock runs: a file whose code has something to do first waits for its turn.
                if slot.is_at_rest(&engine)
                    && slot.kind(&engine).is_some_and(|kind| kinds.contains(&kind))
                    && (ended || !slot.waits_for_outcome(&engine))
                {
                    drop(slot.load(&engine, now_ms, &mut Part::unbounded()));
                }
            }
        };
        match Builder::new().name("portcullis-load".into()).spawn(load) {
            Ok(thread) => self.away = Some(Away { slots, thread }),
            // Without a thread each plugin is loaded when it is asked.
            Err(_) => self.here = std::mem::take(&mut *slots.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }
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

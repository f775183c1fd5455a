//! Readings of command lines: from the cache, from a thread that began in time, or from the reader.

use super::PluginSet;
use super::plugin_call::PluginCall;
use crate::breakers::CircuitBreakers;
use crate::deadline::{BudgetOwner, TimeBudget};
use crate::lazy_plugins::lock_slot;
use crate::plugin::{LazyPlugin, LoadedPlugin};
use crate::state::GuestState;
use crate::world::{BoundPlugin, ready, wrong_kind};
use crate::{from_shell, shell_cache};
use portcullis_core::action::Reading;
use portcullis_core::fault::Fault;
use portcullis_core::run_files::ShellPlace;
use std::time::Instant;
use wasmtime::Store;

impl PluginSet {
    /// Begins to read a command line on a thread that has nothing else to do, so that `read_shell`
    /// finds its reading in the cache. Without a cache or such a thread, nothing happens. A fault is
    /// that of `read_shell`, which reads again.
    pub fn read_ahead(&self, text: &str, place: &ShellPlace<'_>) {
        let (Some(readings), Some(helped)) = (&self.readings, &self.helped) else { return };
        let key = shell_cache::key(text, place);
        if self.watched.is_some() || readings.peek(&key).is_some() {
            return;
        }
        let Some(help) = helped.take_help(2) else { return };
        let (slot, readings) = (self.slots.share_reader(), readings.clone());
        let (engine, now_ms) = (self.engine.clone(), self.now_ms);
        let (text, surroundings) = (text.to_owned(), from_shell::surroundings(place));
        let span = tracing::Span::current();
        help.run_beside(move || {
            let _entered = span.enter();
            let mut slot = lock_slot(&slot);
            // Loading takes long, and is the review's own business.
            if slot.loaded().is_none() || readings.peek(&key).is_some() {
                return;
            }
            let call = PluginCall {
                engine: &engine,
                now_ms,
                answer_bytes: 0,
                details: &|_| None,
                breakers: &CircuitBreakers::default(),
                watched: None,
            };
            let read = read_text(&call, &mut slot, TimeBudget::unbounded(), &text, &surroundings);
            if let Ok(reading) = read {
                readings.keep(key, reading, Instant::now());
            }
        });
    }

    pub(super) fn read_cached(
        &mut self,
        text: &str,
        place: &ShellPlace<'_>,
    ) -> Result<Reading, Fault> {
        let Some(readings) = self.readings.clone() else { return self.read_uncached(text, place) };
        let key = shell_cache::key(text, place);
        if let Some(known) = readings.get(&key, Instant::now()) {
            return Ok(known);
        }
        // A thread that reads it just now holds the slot.
        drop(self.slots.reader());
        if let Some(read) = readings.peek(&key) {
            return Ok(read);
        }
        let read = self.read_uncached(text, place);
        if let Ok(reading) = &read {
            readings.keep(key, reading.clone(), Instant::now());
        }
        read
    }

    fn read_uncached(&mut self, text: &str, place: &ShellPlace<'_>) -> Result<Reading, Fault> {
        let call = PluginCall {
            engine: &self.engine,
            now_ms: self.now_ms,
            answer_bytes: 0,
            details: &|_| None,
            breakers: &self.breakers,
            watched: self.watched.as_ref(),
        };
        let part = self.deadline.part(BudgetOwner::Ours);
        let surroundings = from_shell::surroundings(place);
        read_text(&call, &mut self.slots.reader(), part, text, &surroundings)
    }
}

fn read_text(
    call: &PluginCall<'_>,
    slot: &mut LazyPlugin,
    part: TimeBudget<'_>,
    text: &str,
    surroundings: &from_shell::Surroundings,
) -> Result<Reading, Fault> {
    let ask = |loaded: &LoadedPlugin, store: &mut Store<GuestState>| match &*loaded.world {
        BoundPlugin::ShellReader(pre) => {
            let guest = ready(store, |store| pre.instantiate(store))?;
            guest.portcullis_shell_reader().call_read(store, text, surroundings).map(Ok)
        }
        _ => Err(wrong_kind()),
    };
    call.take(slot, part, ask, from_shell::reading).result
}

//! One call of one plugin in a review, with its limits and its share of the time.

use crate::breakers::CircuitBreakers;
use crate::deadline::TimeBudget;
use crate::engine::Engine;
use crate::faults::UnnamedFault;
use crate::plugin::{LazyPlugin, LoadedPlugin};
use crate::pool::Pool;
use crate::state::{CallEnv, GuestState};
use crate::watch::ObservedCall;
use crate::world::{self, CallOutcome, GuestResult};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::{Details, PluginResponse};
use std::cell::RefCell;
use std::sync::Arc;
use wasmtime::Store;

/// The call of one plugin in a review.
pub(super) struct PluginCall<'a> {
    pub(super) engine: &'a Engine,
    pub(super) now_ms: u64,
    pub(super) answer_bytes: usize,
    pub(super) details: &'a Details<'a>,
    pub(super) breakers: &'a CircuitBreakers,
    pub(super) watched: Option<&'a RefCell<Vec<ObservedCall>>>,
}

impl PluginCall<'_> {
    pub(super) fn take<W, T>(
        &self,
        slot: &mut LazyPlugin,
        part: TimeBudget<'_>,
        ask: impl FnOnce(&LoadedPlugin, &mut Store<GuestState>) -> GuestResult<W>,
        accept: impl FnOnce(W) -> Result<T, UnnamedFault>,
    ) -> PluginResponse<T> {
        let span = tracing::info_span!(
            target: "portcullis",
            "plugin",
            "portcullis.plugin" = slot.entry.name.as_str(),
            "portcullis.fuel" = tracing::field::Empty,
            "error.type" = tracing::field::Empty,
            "otel.status_code" = tracing::field::Empty,
        )
        .entered();
        let called = self.call(slot, part, ask, accept);
        span.record("portcullis.fuel", called.fuel);
        if let Err(failure) = &called.result {
            span.record("error.type", failure.kind.as_str());
            span.record("otel.status_code", "ERROR");
        }
        drop(span);
        let plugin = slot.identity();
        if let Some(watched) = self.watched {
            watched
                .borrow_mut()
                .push(ObservedCall { plugin: plugin.name.clone(), cost: called.cost });
        }
        let result =
            called.result.map_err(|failure| plugin.new_fault(failure.kind, failure.detail));
        PluginResponse { plugin, result, log: called.log, fuel: called.fuel, uses: called.uses }
    }

    fn call<W, T>(
        &self,
        slot: &mut LazyPlugin,
        mut part: TimeBudget<'_>,
        ask: impl FnOnce(&LoadedPlugin, &mut Store<GuestState>) -> GuestResult<W>,
        accept: impl FnOnce(W) -> Result<T, UnnamedFault>,
    ) -> CallOutcome<T> {
        if let Some(held) = self.breakers.held(&slot.identity()) {
            return CallOutcome::failed(held);
        }
        if part.is_over() {
            return CallOutcome::not_run();
        }
        if let Err(failure) = slot.load(self.engine, self.now_ms, &mut part) {
            return CallOutcome::failed(failure);
        }
        let grants = Arc::clone(&slot.entry.grants);
        let (identity, limits) = (slot.identity(), slot.entry.limits.clone());
        let Some(loaded) = slot.loaded() else {
            return CallOutcome::failed(UnnamedFault::new(
                FaultKind::Internal,
                "it was not loaded",
            ));
        };
        let runner = self.engine.runner(identity.foreign);
        let run = |deadline| {
            let _place = self.engine.pool_for(identity.foreign).map(Pool::take_place);
            let env = CallEnv {
                limits: &limits,
                answer_bytes: self.answer_bytes,
                now_ms: self.now_ms,
                deadline,
                seed: &identity.digest,
                grants: &grants,
                granted: grants.has_files_or_hosts(),
                web: &self.engine.web,
                foreign: identity.foreign,
                left: self.engine.left.as_deref(),
                details: self.details,
            };
            world::call(runner, &env, |store| ask(loaded, store), accept)
        };
        part.during(runner, limits.fuel, run).unwrap_or_else(|_over| CallOutcome::not_run())
    }
}

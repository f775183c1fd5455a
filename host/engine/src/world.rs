//! A component bound to the world of its kind, and the calls into it.
//!
//! Each call creates a new instance: a guest that kept state between actions could be talked into
//! keeping the wrong thing, and after a trap nothing of it may be used again.

use crate::bindings::{
    audit_exporter, intervention, pattern, risk_calculator, shell_reader, types,
};
use crate::faults::{self, UnnamedFault};
use crate::kind::Kind;
use crate::load_error::LoadError;
use crate::state::{CallEnv, GuestState};
use crate::watch::{self, CallCost};
use portcullis_core::fault::FaultKind;
use portcullis_core::plugins::GrantUse;
use std::time::Instant;
use wasmtime::Store;
use wasmtime::component::InstancePre;

/// A component that is ready to be instantiated.
pub(crate) enum BoundPlugin {
    RiskCalculator(risk_calculator::RiskCalculatorPre<GuestState>),
    Pattern(pattern::PatternPre<GuestState>),
    Intervention(intervention::InterventionPre<GuestState>),
    AuditExporter(audit_exporter::AuditExporterPre<GuestState>),
    ShellReader(shell_reader::ShellReaderPre<GuestState>),
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome<T> {
    pub(crate) result: Result<T, UnnamedFault>,
    pub(crate) log: Vec<String>,
    pub(crate) fuel: u64,
    /// The uses of its grants.
    pub(crate) uses: Vec<GrantUse>,
    /// The cost, for plugin authors.
    pub(crate) cost: CallCost,
}

impl<T> CallOutcome<T> {
    pub(crate) fn failed(failure: UnnamedFault) -> Self {
        Self {
            result: Err(failure),
            log: Vec::new(),
            fuel: 0,
            uses: Vec::new(),
            cost: CallCost::default(),
        }
    }

    /// Returns the outcome of a call whose part of the review's time was over before it began.
    pub(crate) fn not_run() -> Self {
        Self::failed(UnnamedFault::new(
            FaultKind::NotRun,
            "the review's time was up before its turn",
        ))
    }
}

/// A guest's own answer: its result, or its error.
pub(crate) type GuestResult<T> = wasmtime::Result<Result<T, types::Error>>;

/// Runs `body` in a fresh store, names the error that ended it, and checks the result.
pub(crate) fn call<W, T>(
    engine: &wasmtime::Engine,
    env: &CallEnv<'_>,
    body: impl FnOnce(&mut Store<GuestState>) -> GuestResult<W>,
    accept: impl FnOnce(W) -> Result<T, UnnamedFault>,
) -> CallOutcome<T> {
    let (said, mut state, fuel) = match env.with_store(engine, body) {
        Ok(done) => done,
        Err(error) => {
            return CallOutcome::failed(UnnamedFault::new(
                FaultKind::Internal,
                format!("no store: {error:#}"),
            ));
        }
    };
    let cost = cost(&said, &state, fuel, env);
    let result = match said {
        Ok(Ok(answer)) => accept(answer),
        Ok(Err(error)) => Err(faults::of_answer(error, &state)),
        Err(error) => Err(faults::of_error(&error, &mut state, env.limits)),
    };
    let uses = state.take_uses().finish();
    CallOutcome { result, log: state.log.finish(), fuel, uses, cost }
}

fn cost<W>(said: &GuestResult<W>, state: &GuestState, fuel: u64, env: &CallEnv<'_>) -> CallCost {
    let ready = state.wants.answering_since;
    CallCost {
        instantiating: ready.map_or_else(
            || state.begun.elapsed(),
            |since| since.saturating_duration_since(state.begun),
        ),
        running: ready.map(|since| since.elapsed()).unwrap_or_default(),
        memory_bytes: state.limiter.memory_in_use(env.limits),
        fuel,
        trace: said.as_ref().err().map(watch::trace).unwrap_or_default(),
    }
}

impl BoundPlugin {
    pub(crate) fn bind(kind: Kind, pre: InstancePre<GuestState>) -> Result<Self, LoadError> {
        let bound = match kind {
            Kind::RiskCalculator => {
                risk_calculator::RiskCalculatorPre::new(pre).map(Self::RiskCalculator)
            }
            Kind::Pattern => pattern::PatternPre::new(pre).map(Self::Pattern),
            Kind::Intervention => intervention::InterventionPre::new(pre).map(Self::Intervention),
            Kind::AuditExporter => {
                audit_exporter::AuditExporterPre::new(pre).map(Self::AuditExporter)
            }
            Kind::ShellReader => shell_reader::ShellReaderPre::new(pre).map(Self::ShellReader),
        };
        bound.map_err(|error| LoadError::Types(crate::text::line(&format!("{error:#}"))))
    }

    /// Calls `prepare`, which all kinds but the shell reader have.
    pub(crate) fn prepare(
        &self,
        store: &mut Store<GuestState>,
        settings: &[types::Setting],
    ) -> GuestResult<Vec<u8>> {
        match self {
            Self::RiskCalculator(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_assessor().call_prepare(store, settings)
            }
            Self::Pattern(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_detector().call_prepare(store, settings)
            }
            Self::Intervention(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_intervener().call_prepare(store, settings)
            }
            Self::AuditExporter(pre) => {
                let guest = ready(store, |store| pre.instantiate(store))?;
                guest.portcullis_plugin_exporter().call_prepare(store, settings)
            }
            Self::ShellReader(_) => Ok(Ok(Vec::new())),
        }
    }
}

/// Creates an instance; from here on the guest is answering.
pub(crate) fn ready<G>(
    store: &mut Store<GuestState>,
    instantiate: impl FnOnce(&mut Store<GuestState>) -> wasmtime::Result<G>,
) -> wasmtime::Result<G> {
    let guest = instantiate(store)?;
    store.data_mut().wants.answering_since = Some(Instant::now());
    Ok(guest)
}

/// Returns the error for a bug in the host: a plugin was asked something that its kind cannot
/// answer.
pub(crate) fn wrong_kind() -> wasmtime::Error {
    wasmtime::Error::msg("the plugin is of another kind than the question")
}
